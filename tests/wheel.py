"""Installs the wheel without extras in a fresh environment and does the whole job with it, on a small sample.

python tests/wheel.py [WHEEL]    builds the wheel if none is given; prints the size of the environment
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKE_SAMPLE = (
    "import sys, seasync; seasync.sample.make(sys.argv[1], clips=5, seconds=(2, 3), size=(160, 120))"
)


def run(*command: object, cwd: Path) -> str:
    """Run a command outside the checkout and return what it prints; its errors go to the terminal."""
    print("$", *command, flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    if done.returncode:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def main(wheel: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="seasync-wheel-") as temporary:
        here = Path(temporary)
        if wheel is None:
            run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", here, ROOT, cwd=here)
            (wheel,) = here.glob("*.whl")
        run(sys.executable, "-m", "venv", "installed", cwd=here)
        programs = here / "installed" / ("Scripts" if os.name == "nt" else "bin")
        python, seasync = programs / "python", programs / "seasync"
        run(python, "-m", "pip", "install", "--quiet", wheel.resolve(), cwd=here)
        files = [file for file in (here / "installed").rglob("*") if file.is_file() and not file.is_symlink()]
        print(f"installed: {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
        use(python, seasync, here)


def use(python: Path, seasync: Path, here: Path) -> None:
    """Every job of the core, each looked at."""
    run(python, "-c", MAKE_SAMPLE, "sample", cwd=here)
    (action,) = [folder for folder in (here / "sample").iterdir() if len(list(folder.glob("*.mp4"))) == 2]
    query, match = sorted(action.glob("*.mp4"))
    print(run(seasync, "version", "--all", cwd=here))
    aligned = json.loads(run(seasync, "align", query, match, "--json", cwd=here))
    assert aligned["draq"] > 0, aligned
    run(seasync, "add", "sample", "--sea", "a.sea", "--labels", "folder", "--split", "shots", cwd=here)
    found = json.loads(run(seasync, "search", query, "--sea", "a.sea", "--json", cwd=here))
    assert len(found["matches"]) == 4, found  # all clips but the query
    run(seasync, "render", query, match, "--to", "both.mp4", cwd=here)
    assert (here / "both.mp4").stat().st_size > 1000
    for name in ("otio", "fcpxml", "edl", "mlt", "xml", "csv", "json"):
        run(seasync, "export", query, match, "--to", f"edit.{name}", cwd=here)
        assert (here / f"edit.{name}").stat().st_size > 100
    print(f"ok: align, add, search, render, export on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
