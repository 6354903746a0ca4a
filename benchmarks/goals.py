"""What all benchmarks share: their options, goals measured against targets, the JSON file."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path

HERE = Path(__file__).parents[1]


def parser(doc: str | None, *, quick: str = "", against: bool = False) -> ArgumentParser:
    """Options with the docstring as help: `--json` always, `--quick` and `--against` where they exist."""
    options = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
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


def _plain(value: object) -> object:
    """Numbers and arrays of numpy as JSON has them; anything else, such as a path, as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def commit(checkout: Path) -> str:
    """The commit of a checkout, with `-dirty` if files differ from it; nothing outside of git."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
