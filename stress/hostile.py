"""Hostile files, through the command line's own code in a sandbox: no crash, no hang, one-line errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from stress.good_files import VIDEOS, mutations_of, write_good_files
from stress.journal import Finding, Round
from stress.kind import Kind, Play
from stress.mutate import mutated
from stress.sandbox import Sandbox
from stress.targets import COMMANDS

MEASURES = ("crashed", "hung", "over memory", "other errors")


class Hostile:
    """Plays rounds: one mutated file each, opened by one of the commands that read such files."""

    def __init__(self, folder: Path) -> None:
        self._good, self._work = folder / "good", folder / "work"
        self._work.mkdir()
        self.names = write_good_files(self._good)
        self._sandbox = Sandbox(self._good, self._work)

    def play(self, seed: int) -> Round:
        rng = np.random.default_rng(seed)
        name = self.names[seed % len(self.names)]
        content = mutated((self._good / name).read_bytes(), mutations_of(name), rng)
        file = self._work / name
        file.write_bytes(content)
        target = _target(name, rng)
        measure, what = self._sandbox.open(target, file)
        found = [] if measure == "fine" else [Finding(measure, what, file)]
        return Round(f"{name}, {target}", found, {"outcome": what if measure == "fine" else measure})

    def close(self) -> None:
        self._sandbox.close()


def _target(name: str, rng: np.random.Generator) -> str:
    known = COMMANDS["video"] if name in VIDEOS else COMMANDS.get(name) or COMMANDS[Path(name).suffix]
    weights = np.array([weight for _, weight in known])
    return str(rng.choice([target for target, _ in known], p=weights / weights.sum()))


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    hostile = Hostile(work)
    try:
        yield hostile.play
    finally:
        hostile.close()


KIND = Kind("hostile", MEASURES, 10_000, opened, " files")
