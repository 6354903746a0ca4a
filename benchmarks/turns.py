"""Speed of this code against another checkout's, by turns: the `--against CHECKOUT` of other benchmarks.

Each turn does the same work with either code, each in a process of its own, so that a noisy machine disturbs
both alike. The median of the turns' ratios counts. A process measures CPU seconds of a pair, a search or a
clip; this file runs in it as a script, with that checkout's `src`. So it uses only names that both have.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from benchmarks.goals import Goals

TURNS, MOST = 5, 1.05
Figures = dict[str, float]


def against(other: Path, measure: Callable[[Path], Figures], goals: Goals) -> int:
    """Measure both codes by turns (`measure` takes a checkout); print ratios; give the exit code."""
    from benchmarks.goals import HERE, commit

    measured: dict[str, list[tuple[float, float]]] = defaultdict(list)
    measure(HERE), measure(other)  # compiles, reads files into memory
    for turn in range(TURNS):
        order = (HERE, other) if turn % 2 else (other, HERE)
        found = {place: measure(place) for place in order}
        for name, old in found[other].items():
            measured[name].append((found[HERE][name], old))
            print(f"turn {turn + 1}, {name}: {found[HERE][name]:.4g} against {old:.4g}", flush=True)
    for name, pairs in measured.items():
        goals.at_most(f"{name}, over the other code's", float(np.median([a / b for a, b in pairs])), MOST)
    return goals.finish({"other commit": commit(other), "seconds, here and there": measured})


def run(place: Path, *command: object) -> str:
    """What Python prints that runs a command with a checkout's code."""
    code = os.pathsep.join((str(place.resolve() / "src"), str(place.resolve())))
    arguments = [sys.executable, *map(str, command)]
    environment = os.environ | {"PYTHONPATH": code}
    done = subprocess.run(arguments, cwd=place, env=environment, text=True, capture_output=True)
    if not done.stdout:
        raise SystemExit(f"{place}: the benchmark did not run\n{done.stderr}")
    return done.stdout


def work(name: str, *arguments: object) -> Callable[[Path], Figures]:
    """The `measure` that does one of the works below."""
    # -P: this folder has modules of the same names as libraries.
    return lambda place: json.loads(run(place, "-P", __file__, name, *arguments).splitlines()[-1])


def cpu(call: Callable[[], object], rounds: int = 1) -> float:
    """CPU seconds of a call; of several rounds the least, after one that may compile."""
    spent = []
    for _ in range(rounds + (rounds > 1)):
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return min(spent[-rounds:])


def align_clips() -> Figures:
    """CPU seconds of a pair: costs solved, clips scored and aligned, 64 and 256 samples long."""
    new = importlib.util.find_spec("seasync.alignment")
    solvers: Any = importlib.import_module("seasync.alignment" if new else "seasync.align")
    from seasync.encoding import Encoding, Stream

    def clip(length: int, seed: int) -> Encoding:
        steps = np.random.default_rng(seed).normal(size=(length, 384))
        features = np.cumsum(steps, axis=0).astype(np.float32)
        stream = Stream("frames", np.arange(length) / 7.5, 4 * np.arange(length), features)
        return Encoding("random", (stream,), features[0], features[0])

    out, count = {}, 50
    for length, rounds in ((64, 20), (256, 3)):
        rng = np.random.default_rng(0)
        costs = [rng.random((length, length), dtype=np.float32) for _ in range(count)]
        query, matches = clip(length, 0), [clip(length, 1 + n) for n in range(count)]
        works: dict[str, Callable[[], object]] = {
            "costs solved": lambda costs=costs: solvers.draq_many(costs),
            "the same with paths": lambda costs=costs: solvers.dtw_many(costs),
            "clips scored": lambda q=query, m=matches: solvers.score_many(q, m),
            "clips aligned": lambda q=query, m=matches: solvers.align_many(q, m),
        }
        for name, call in works.items():
            out[f"{name} at {length}"] = cpu(call, rounds) / count
        out[f"one pair aligned at {length}"] = cpu(
            lambda q=query, m=matches: solvers.align_encodings(q, m[0]), 3 * rounds
        )
    return out


def search_sea(folder: str) -> Figures:
    """CPU seconds of a whole query in a sea: the best match, ten with consensus, ten of a clip by id."""
    from seasync import Sea
    from seasync.encoding import Encoding, Stream

    sea, given = Sea(folder), np.load(Path(folder).with_suffix(".npz"))
    count = len(given["features"][0])
    queries = []
    for features, mean, trajectory in zip(*(given[name] for name in given.files), strict=True):
        stream = Stream("synthetic", np.arange(count) / 7.5, np.arange(count) * 4, features)
        queries.append(Encoding("synthetic/1", (stream,), mean, trajectory))

    def each(k: int) -> Callable[[], object]:
        return lambda: [sea.search(query, k=k, candidates=100) for query in queries]

    return {
        "search, best of 100": cpu(each(1), 3) / len(queries),
        "search, ten of 100": cpu(each(10), 3) / len(queries),
        "search by clip, ten": cpu(lambda: [sea.search(f"{n:032x}", k=10) for n in range(10)], 3) / 10,
    }


def add_clips(folder: str) -> Figures:
    """CPU seconds of a clip added to a new sea with the default encoder."""
    from seasync import Sea

    files = sorted(Path(folder).glob("*.mp4"))
    with tempfile.TemporaryDirectory() as scratch:
        Sea(Path(scratch) / "warm.sea").add(files[0])
        begin = time.process_time()
        added = Sea(Path(scratch) / "new.sea").add(*files)
        spent = time.process_time() - begin
    assert (added.added, added.failed) == (len(files), [])
    return {"clip added": spent / len(files)}


if __name__ == "__main__":
    works = {each.__name__: each for each in (align_clips, search_sea, add_clips)}
    print(json.dumps(works[sys.argv[1]](*sys.argv[2:])))
