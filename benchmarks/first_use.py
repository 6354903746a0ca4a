"""What a new user waits for: the first `align` and the first `search`, and the room on disk.

`python -m benchmarks.first_use`

A fresh virtual environment with `pip install .`, without extras; the cache is empty but for the weights. Each
command is run twice, in a cache of its own; the query is not in the sea. The goals are CPU seconds: on a busy
machine, the wall clock measures the other programs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.goals import HERE, Goals, parser
from seasync.files import cache_folder

SAMPLE = "import seasync; seasync.sample.make('sample', clips=24, seconds=(3, 4), size=(320, 240))"
ALIGN_SECONDS, SEARCH_SECONDS = 3.0, 5.0
Figures = dict[str, float]


def main() -> int:
    goals, figures = Goals(parser(__doc__).parse_args()), measure()
    for name, target in (
        ("first align, CPU seconds", ALIGN_SECONDS),
        ("first search, CPU seconds", SEARCH_SECONDS),
    ):
        goals.at_most(name, figures[name], target, " s")
    return goals.finish(figures)


def measure() -> Figures:
    """Install this checkout into a new environment, and use it for the first time."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory(prefix="seasync-first-") as temporary:
        here = Path(temporary)
        python = here / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(here, sys.executable, "-m", "venv", here / "env")
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        figures["pip install, seconds"], figures["pip install, CPU seconds"] = run(here, *pip, HERE)
        figures["environment, MB"] = size_of(here / "env") / 1e6
        compiler = here / "compiler"  # which pip installs to build, and deletes again
        figures["compiler, seconds"], _ = run(here, *pip, "--target", compiler, "ziglang")
        figures["compiler, MB"] = size_of(compiler) / 1e6
        run(here, python, "-c", SAMPLE)
        seasync = [python, "-m", "seasync", "--quiet"]
        query, match, *others = sorted((here / "sample").rglob("*.mp4"))
        commands = {
            "align": [*seasync, "align", query, match, "--json"],
            "search": [*seasync, "search", query, "--sea", here / "a.sea", "--json"],
        }
        run(here, *seasync, "add", match, *others, "--sea", here / "a.sea", cache="add")
        for name, command in commands.items():
            for turn in ("first", "second"):
                wall, cpu = run(here, *command, cache=name)
                figures |= {f"{turn} {name}, seconds": wall, f"{turn} {name}, CPU seconds": cpu}
    for name, figure in figures.items():
        print(f"{name:28} {figure:7.1f}", flush=True)
    return figures


def run(here: Path, *command: object, cache: str = "") -> tuple[float, float]:
    """Wall and CPU seconds of a command, with a cache of its own that holds your weights."""
    folder = here / "caches" / cache
    folder.mkdir(parents=True, exist_ok=True)
    own = {"SEASYNC_CACHE": str(folder), "SEASYNC_MODELS": str(cache_folder() / "models")}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), cwd=here, env=kept | own, text=True, capture_output=True, check=False
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


if __name__ == "__main__":
    sys.exit(main())
