"""Faults: full and read-only disks, lost permissions, clock jumps, a store in trouble, several writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from stress.bench import Bench
from stress.journal import Round
from stress.kind import Kind, Play
from stress.local_faults import clock_jumps, disk_full, lost_permissions, read_only, state_full
from stress.store_faults import (
    begin_at_once,
    flapping,
    missing_objects,
    server_errors,
    slow_store,
    two_writers,
)

ROUNDS = (
    *(begin_at_once, disk_full, server_errors, lost_permissions, two_writers, disk_full, read_only),
    *(begin_at_once, clock_jumps, slow_store, disk_full, flapping, state_full, missing_objects),
)
MEASURES = ("lost", "doubled", "other errors")


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    with Bench(work) as bench, ExitStack() as stack:

        def play(seed: int) -> Round:
            scenario = ROUNDS[seed % len(ROUNDS)]
            played = Round(scenario.__name__.replace("_", " "))
            scenario(bench, stack, seed, played)
            return played

        yield play


KIND = Kind("faults", MEASURES, 350, opened)
