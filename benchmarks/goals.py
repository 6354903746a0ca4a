"""What all benchmarks share: their options, goals measured against targets, the JSON file."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]


def parser(doc: str | None, *folders: str, quick: str = "", against: bool = False) -> ArgumentParser:
    """Options with the docstring as help: folders, `--json`, `--quick` and `--against` where they exist."""
    options = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    for folder in folders:
        options.add_argument(folder, type=Path)
    if quick:
        options.add_argument("--quick", action="store_true", help=quick)
    if against:
        said = "compare the speed with a checkout of another commit, by turns; nothing else runs"
        options.add_argument("--against", type=Path, metavar="CHECKOUT", help=said)
    options.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    return options


class Goals:
    """Prints `goal NAME: MEASURED (target TARGET) ok|SHORT` lines; `finish` writes the JSON file.

    Parameters
    ----------
    options : argparse.Namespace, optional
        What `parser` parsed.
    """

    def __init__(self, options: Namespace | None = None) -> None:
        self._options = vars(options) if options else {}
        self._lines: list[dict[str, object]] = []

    def at_least(self, name: str, measured: float, target: float, unit: str = "") -> None:
        self._add(name, measured, "≥", target, measured >= target, unit)

    def at_most(self, name: str, measured: float, target: float, unit: str = "") -> None:
        self._add(name, measured, "≤", target, measured <= target, unit)

    def _add(self, name: str, measured: float, sign: str, target: float, ok: bool, unit: str) -> None:
        said = f"(target {sign} {target:g}{unit}) {'ok' if ok else 'SHORT'}"
        print(f"goal {name}: {measured:.4g}{unit} {said}", flush=True)
        line = {"measured": float(measured), "sign": sign, "target": float(target), "unit": unit}
        self._lines.append({"name": name, **line, "ok": bool(ok)})

    def finish(self, figures: object = None) -> int:
        """Write the file of `--json`, if it is asked for; give the exit code, 1 if a goal is short."""
        if file := self._options.get("json"):
            from seasync.alignment import RECIPES

            given = {name: value for name, value in self._options.items() if name != "json"}
            about = {
                "benchmark": Path(sys.argv[0]).stem,
                "commit": commit(HERE),
                "recipes": {name: recipe.fingerprint for name, recipe in RECIPES.items()},
                "options": given,
            }
            text = json.dumps(about | {"figures": figures, "goals": self._lines}, indent=2, default=_plain)
            file.write_text(text + "\n")
        return int(not all(line["ok"] for line in self._lines))


def show(figures: Mapping[str, Any], indent: str = "") -> None:
    """Print nested figures: a line for each row of numbers, under the names of what it belongs to."""
    for name, value in figures.items():
        nested = [key for key, each in value.items() if isinstance(each, dict) and "interval" not in each]
        if nested:
            print(f"\n{indent}{name}")
            show(value, f"{indent}  ")
        else:
            row = ", ".join(f"{key} {_in_words(each)}" for key, each in value.items())
            print(f"{indent}{name:{34 - len(indent)}}  {row}", flush=True)


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        low, high = value["interval"]
        return f"{value['mean']:.4g} [{low:.4g}, {high:.4g}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> object:
    """Numbers and arrays of numpy as JSON has them; of a path its name; anything else as text."""
    if isinstance(value, Path):
        return value.name
    return value.tolist() if hasattr(value, "tolist") else str(value)


def commit(checkout: Path) -> str:
    """The commit of a checkout, with `-dirty` if its code differs from it; nothing outside of git."""
    git = ["git", "-C", str(checkout)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "src", "benchmarks"], check=False)
    return head.strip() + "-dirty" * (bool(head) and changed.returncode == 1)
