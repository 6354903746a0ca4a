"""Error at every step: call k of a flow fails, for k = 1, 2, …; nothing is lost, doubled, stuck or wrong.

Each call fails before it takes effect and, in a second pass, after it. Then the flow says so in one line or
goes through; the sea verifies; and the same work, done again, ends as if nothing had failed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seasync.errors import SeasyncError
from seasync.sea.copies import copy
from seasync.sea.record import Record
from seasync.sea.rows import CHECKSUMS, FACTS
from seasync.sea.sea import Sea
from stress import server_steps
from stress.bench import Bench, lost, rows
from stress.failing import Failing, Photographed
from stress.journal import Round
from stress.kind import Kind, Play
from stress.server_steps import failing_server
from tests.sea.footage import encoding, facts

LOST, DOUBLED, WRONG, OTHER = "lost", "doubled", "wrong answers", "other errors"


@dataclass(frozen=True)
class Flow:
    """What is done to a sea.

    Attributes
    ----------
    prepare
        Makes what lies at the place before.
    work
        The work at the place; gives an answer, if that is what it is for.
    result
        Where the sea lies that changes, below the place.
    """

    name: str
    prepare: Callable[[Bench, Path], Any]
    work: Callable[[Bench, Path], Any]
    result: str = "s.sea"


def _made(bench: Bench, place: Path) -> None:
    shutil.copytree(bench.made, place / "s.sea")


def _first(bench: Bench, place: Path) -> None:
    Sea(place / "s.sea", bench.encoder).add(bench.footage / "circle", labels="folder", split=0.5)


def _added(bench: Bench, place: Path) -> None:
    Sea(place / "s.sea", bench.encoder).add(bench.footage, labels="folder", split=0.5)


def _unsealed(bench: Bench, place: Path) -> None:
    _made(bench, place)
    dataset = Sea(place / "s.sea").record.open()
    dataset.drop_columns([CHECKSUMS])
    dataset.update_schema_metadata({FACTS: replace(facts(), format=2).to_json()})


def _relabel(bench: Bench, place: Path) -> None:
    Sea(place / "s.sea").add(bench.footage_list, split=0.5)


def _seal(bench: Bench, place: Path) -> None:
    Sea(place / "s.sea").verify(files=False, seal=True)


def _remove(bench: Bench, place: Path) -> None:
    clips = [str(clip.id) for clip in Sea(bench.made).clips(label="kind 2")]
    Sea(place / "s.sea").remove(clips=clips[1:], labels=["kind 1"])


def _search(bench: Bench, place: Path) -> Any:
    matches = Sea(place / "s.sea", create=False).search(encoding(3, kind=3), k=5)
    return [(str(match.clip.id), match.draq) for match in matches]


def _copied(bench: Bench, place: Path) -> None:
    copy(Record(place / "s.sea"), Record(place / "copy.sea"))


FLOWS = (
    Flow("add to a new sea", lambda bench, place: None, _added),
    Flow("add to a sea", _first, _added),
    Flow("relabel", _added, _relabel),
    Flow("search", _made, _search),
    Flow("remove", _made, _remove),
    Flow("rebuild", _made, lambda bench, place: Sea(place / "s.sea").rebuild("ivf_pq")),
    Flow("seal", _unsealed, _seal),
    Flow("copy", _made, _copied, "copy.sea"),
)


def fail_everywhere(bench: Bench, flow: Flow, *, every: int = 1) -> Round:
    """Let each call of a flow fail, or every n-th."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder, prefix="steps"))
    template, place = folder / "template", folder / "place"
    template.mkdir()
    flow.prepare(bench, template)
    before, _ = rows(Sea(template / flow.result))
    shutil.copytree(template, place)
    with Failing(place).patched() as counted:
        answer = flow.work(bench, place)
    expected, _ = rows(Sea(place / flow.result))
    played = Round(flow.name, facts={"steps": len(counted.calls), "tried": 0})
    for late in (False, True):
        for at in range(1, len(counted.calls) + 1, every):
            shutil.rmtree(place)
            shutil.copytree(template, place)
            with Failing(place, at=at, late=late).patched() as failing:
                outcome = _outcome(played, failing, lambda: flow.work(bench, place))
            where = f"{flow.name}, call {at} ({failing.calls[-1] if failing.calls else '-'}, late: {late})"
            played.facts["tried"] += 1
            if outcome not in (None, "refused"):
                played.expect(outcome == answer, WRONG, where)
            sea = Sea(place / flow.result)
            now, doubled = rows(sea)
            played.expect(not doubled, DOUBLED, where)
            gone = lost(before, now, expected)
            played.expect(not gone, LOST, f"{where}: {len(gone)} clips")
            again = flow.work(bench, place)
            played.expect(again == answer or answer is None, WRONG, f"{where}: done again")
            now, doubled = rows(Sea(place / flow.result))
            played.expect(now == expected and not doubled, LOST, f"{where}: done again")
            problems = Sea(place / flow.result).verify(files=False)
            played.expect(not problems, LOST, f"{where}: {problems[:2]}")
    shutil.rmtree(folder)
    return played


def lose_power_everywhere(bench: Bench, flow: Flow, *, empty: bool, every: int = 1) -> Round:
    """Let the power fail before each call of a flow, or every n-th, and at the end; then go on."""
    folder = Path(tempfile.mkdtemp(dir=bench.folder, prefix="power"))
    place, photographs = folder / "place", folder / "photographs"
    place.mkdir()
    flow.prepare(bench, place)
    before, _ = rows(Sea(place / flow.result))
    photographed = Photographed(place, photographs, empty=empty)
    with photographed.patched():
        flow.work(bench, place)
    photographed.calls.append("end")
    photographed.photograph()
    expected, _ = rows(Sea(place / flow.result))
    count = len(photographed.calls)
    played = Round(f"{flow.name}, power fails", facts={"steps": count})
    for at in [*range(1, count, every), count]:
        shutil.rmtree(place)
        (photographs / str(at)).rename(place)
        where = f"{played.name} before call {at} ({photographed.calls[at - 1]}, empty: {empty})"
        try:
            now, doubled = rows(Sea(place / flow.result))
            played.expect(not doubled, DOUBLED, where)
            gone = lost(before, now, expected)
            played.expect(not gone, LOST, f"{where}: {len(gone)} clips")
            played.expect(
                at < count or now == expected, LOST, f"{where}: {len(now)} clips of {len(expected)}"
            )
            flow.work(bench, place)
            now, doubled = rows(Sea(place / flow.result))
            played.expect(now == expected and not doubled, LOST, f"{where}: done again")
            problems = Sea(place / flow.result).verify(files=False)
            played.expect(not problems, LOST, f"{where}: {problems[:2]}")
        except (SeasyncError, OSError, ValueError) as error:
            played.expect(False, LOST, f"{where}: {error}")
    shutil.rmtree(folder)
    return played


def _outcome(played: Round, failing: Failing, work: Callable[[], Any]) -> Any:
    """What the work answers, or "refused"; any other error is a finding."""
    try:
        return work()
    except SeasyncError as error:
        played.expect("\n" not in str(error), OTHER, f"more than one line: {str(error)!r}")
    except OSError as error:  # the command line prints the system's own words, in one line
        played.expect(
            error.errno is not None, OTHER, f"{type(error).__name__}: {error} ({failing.calls[-1]})"
        )
    except Exception as error:  # noqa: BLE001 - each is a finding
        played.expect(False, OTHER, f"{type(error).__name__}: {error} ({failing.calls[-1]})")
    return "refused"


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    with Bench(work) as bench:

        def play(seed: int) -> Round:
            flow, kind = FLOWS[seed // 3 % len(FLOWS)], seed % 3
            if seed >= 3 * len(FLOWS):
                with failing_server(bench) as server:
                    played = server.fail_everywhere(server_steps.FLOWS[seed - 3 * len(FLOWS)])
            elif kind == 0:
                played = fail_everywhere(bench, flow)
            else:
                played = lose_power_everywhere(bench, flow, empty=kind == 2)
            print(f"  steps of {played.name}: {played.facts['steps']}", flush=True)
            return played

        yield play


KIND = Kind(
    "steps", (LOST, DOUBLED, WRONG, OTHER), 3 * len(FLOWS) + len(server_steps.FLOWS), opened, " flows"
)
