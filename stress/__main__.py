"""`python -m stress [KIND…]`: run rounds until the count or the time is reached; run again to continue."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from stress.journal import Finding, Journal, Round
from stress.kind import Kind

KINDS = ("kills", "hostile", "server", "faults", "flips", "steps", "models", "schema")
TOLD_EVERY = 10.0  # seconds


def main() -> int:
    arguments = _arguments()
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    good = True
    for name in arguments.kinds or KINDS:
        kind: Kind = import_module(f"stress.{name}").KIND
        count = arguments.count or kind.count
        journal = Journal(arguments.state, name)
        if arguments.recheck:
            journal.drop_findings()
        seeds = journal.missing(arguments.first, count) if arguments.again is None else [arguments.again]
        with tempfile.TemporaryDirectory(prefix="stress", ignore_cleanup_errors=True) as work:
            if seeds and not (end and time.monotonic() > end):
                _play(kind, Path(work), seeds, journal, end)
        print(summary(kind, journal, count), flush=True)
        good = good and not journal.findings
    return 0 if good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stress", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--count", type=int, help="rounds in total, earlier runs included")
    parser.add_argument("--first", type=int, default=0, help="the first round, where machines share them")
    parser.add_argument("--state", type=Path, default=Path("stress-state"), help="folder of the journals")
    parser.add_argument("--minutes", type=float, help="stop after this time; the next run continues")
    parser.add_argument("--again", type=int, metavar="SEED", help="run one round once more")
    parser.add_argument("--recheck", action="store_true", help="run the rounds with findings once more")
    given = parser.parse_args()
    if wrong := set(given.kinds) - set(KINDS):
        parser.error(f"{', '.join(wrong)}: expected {', '.join(KINDS)}")
    return given


def _play(kind: Kind, work: Path, seeds: Sequence[int], journal: Journal, end: float | None) -> None:
    told = time.monotonic()
    with kind.opened(work) as play:
        for seed in seeds:
            begin = time.monotonic()
            try:
                played = play(seed)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                last = traceback.extract_tb(error.__traceback__)[-1]
                what = (
                    f"{type(error).__name__}: {str(error)[:500]} ({Path(last.filename).name}:{last.lineno})"
                )
                played = Round("failed", [Finding(kind.measures[-1], what)])
            played.facts |= {"seconds": round(time.monotonic() - begin, 1)}
            journal.add(seed, played)
            for finding in played.findings:
                print(f"  {kind.name} {seed} ({played.name}): {finding.measure}: {finding.what}", flush=True)
            if time.monotonic() - told > TOLD_EVERY:
                told = time.monotonic()
                print(f"  {kind.name} {journal.count} rounds", flush=True)
            if end and time.monotonic() > end:
                break


def summary(kind: Kind, journal: Journal, count: int) -> str:
    """One line: the rounds, and how many findings of each sort."""
    tally = journal.tally()
    found = ", ".join(f"{tally[measure]} {measure}" for measure in kind.measures)
    return f"{kind.name}: {journal.count} of {max(count, journal.count)}{kind.unit}, {found}"


if __name__ == "__main__":
    sys.exit(main())
