"""The figures of the docs, measured anew: `python -m benchmarks.all DATA [--only NAME …] [--jobs N]`.

DATA is the folder of `benchmarks.world`, with `penn_action/labels` in it. Each benchmark below writes
docs/results/figures/NAME.json. Then `docs/make_results.py` writes the tables of docs/results.
What measures time runs last and alone.
"""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.goals import HERE

RUNS = {  # the longest first
    "world": "world {data}",
    "left-out": "left_out {data}",
    "tables": "tables {data}",
    "marks-golf": "marks {data} --set golf --fps 30",
    "partial": "partial {data}/golf {data}/actions",
    "interrupted": "interrupted {data}/golf {data}/actions",
    "golf": "golf {data}/golf",
    "pair-rate": "pair_rate {data}",
    "marks": "marks {data} --set robots/drawer --set robots/bottle --set falls --labeled 1 5",
    "verdict": "verdict {data}/golf {data}/actions",
    "repetitions": "repetitions {data}",
}
TIMED = {"group": "group", "find": "find"}


def main() -> int:
    options = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path)
    options.add_argument("--only", nargs="+", choices=RUNS | TIMED, default=[*RUNS, *TIMED])
    options.add_argument("--jobs", type=int, default=2, help="benchmarks at a time")
    given = options.parse_args()
    figures, data, failed = HERE / "docs" / "results" / "figures", given.data.resolve(), []
    figures.mkdir(exist_ok=True)

    def run(name: str) -> None:
        command = (RUNS | TIMED)[name].format(data=data).split()
        begin, file = time.monotonic(), figures / f"{name}.json"
        command = [sys.executable, "-m", f"benchmarks.{command[0]}", *command[1:], "--json", str(file)]
        done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)
        lines = done.stdout.splitlines()
        print("".join(f"  {line}\n" for line in lines if line.startswith("goal ") and line.endswith("SHORT")))
        if not file.exists() or file.stat().st_mtime < started:
            failed.append(name)
            print("\n".join(lines[-12:]))

    started = time.time()
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(run, [name for name in RUNS if name in given.only]))
    for name in TIMED:
        if name in given.only:
            run(name)
    if failed:
        print(f"no figures of {', '.join(failed)}")
        return 1
    return subprocess.run([sys.executable, HERE / "docs" / "make_results.py"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
