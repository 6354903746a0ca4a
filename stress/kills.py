"""SIGKILL at random moments: the sea verifies, and the work done again ends as if undisturbed."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seasync.errors import SeasyncError
from seasync.files.store import objects
from seasync.sea.sea import Sea
from stress.bench import Bench, Rows, lost, rows
from stress.journal import Round
from stress.kind import Kind, Play
from stress.slow_kills import SlowKills
from stress.victims import WORK, started
from tests.sea.footage import encoding

LOST, DOUBLED, UNREADABLE = "lost", "doubled", "unreadable"
CYCLE, SERVER, ADAPT, RAY = 250, 10, 2, 4  # of so many rounds so many kill a server, an adaptation, Ray
MOST_TRIES = 6
PATIENCE = 120.0  # seconds for the work that is not killed


@dataclass(frozen=True)
class Case:
    """Work that is killed: which, with what, on which sea, and whether its files can be verified."""

    name: str
    work: str
    given: dict[str, Any]
    sea: str  # the one that changes
    files: bool = True
    also: list[dict[str, Any]] = field(default_factory=list)  # the same work at the same time, not killed


Make = Callable[[Bench, bool, np.random.Generator], Case]


def _adding(paths: Callable[[Bench], list[str]], *, jobs: int = 1, labels: str | None = "folder") -> Make:
    def make(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
        uri = bench.place(remote=remote)
        given = {"uri": uri, "encoder": bench.encoder, "paths": paths(bench), "jobs": jobs, "labels": labels}
        return Case("add", "add", given, uri)

    return make


def _racing(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    """Two add the same, in the same order or each in an order of its own."""
    uri, files = bench.place(remote=True), [str(each) for each in sorted(bench.footage.rglob("*.mp4"))]
    orders = [files, files] if rng.uniform() < 0.5 else [[*rng.permutation(files)] for _ in range(2)]
    given, other = ({"uri": uri, "encoder": bench.encoder, "paths": order} for order in orders)
    return Case("race", "add", given, uri, also=[other])


def _relabeling(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    uri = bench.place(remote=remote)
    Sea(uri, bench.encoder).add(bench.footage, labels="folder", split=0.5)
    given = {"uri": uri, "encoder": bench.encoder, "paths": [str(bench.footage_list)], "labels": None}
    return Case("relabel", "add", given, uri)


def _rebuilding(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    uri = bench.copied(bench.made, remote=remote)
    return Case("rebuild", "rebuild", {"uri": uri}, uri, files=False)


def _removing(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    uri = bench.copied(bench.made, remote=remote)
    clips = [str(clip.id) for clip in Sea(uri).clips() if clip.label != "kind 1"]
    given = {"uri": uri, "clips": [*rng.choice(clips, 5, replace=False)], "labels": ["kind 1"]}
    return Case("remove", "remove", given, uri, files=False)


def _copying(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    target = bench.place(remote=remote)
    return Case("copy", "copy_to", {"uri": str(bench.made), "target": target}, target, files=False)


def _reencoding(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    source, target = bench.folder / "source.sea", bench.place(remote=remote)
    if not source.exists():
        Sea(source, bench.encoder).add(bench.footage, labels="folder", split=0.5)
    given = {"uri": str(source), "target": target, "encoder": bench.other_encoder}
    return Case("reencode", "reencode", given, target)


def _sweeping(bench: Bench, remote: bool, rng: np.random.Generator) -> Case:
    uri = bench.copied(bench.made, remote=remote)
    if not remote:
        for n in range(3):  # left by an add that was killed
            file = Path(uri) / "data" / f"{n:032x}.lance"
            file.write_bytes(bytes(1000))
    return Case("sweep", "sweep", {"uri": uri}, uri, files=False)


CASES: dict[str, tuple[float, Make]] = {
    "add a folder": (24, _adding(lambda bench: [str(bench.footage)])),
    "add a list": (12, _adding(lambda bench: [str(bench.footage_list)], labels=None)),
    "add with two jobs": (1, _adding(lambda bench: [str(bench.footage)], jobs=2)),
    "two adds, one killed": (10, _racing),
    "relabel": (8, _relabeling),
    "rebuild": (12, _rebuilding),
    "remove": (12, _removing),
    "copy": (12, _copying),
    "reencode": (10, _reencoding),
    "sweep": (5, _sweeping),
}
REMOTE_SHARE = 0.35


class Kills:
    """Plays the rounds; remembers how long each kind of work takes, to aim at all of its moments."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._slow = bench, SlowKills(bench)
        self._seconds: dict[tuple[str, bool], float] = {}
        self._after: dict[tuple[str, bool], Rows] = {}

    def play(self, seed: int) -> Round:
        place = CYCLE - 1 - seed % CYCLE
        if place >= SERVER + ADAPT + RAY:
            self._slow.close_cluster()
            return self._quick(np.random.default_rng(seed))
        if place < RAY:
            return self._slow.ray(seed)
        return self._slow.adapt(seed) if place < RAY + ADAPT else self._slow.server(seed)

    def close(self) -> None:
        self._slow.close_cluster()

    def _quick(self, rng: np.random.Generator) -> Round:
        weights = np.array([weight for weight, _ in CASES.values()])
        name = str(rng.choice(list(CASES), p=weights / weights.sum()))
        remote = name == "two adds, one killed" or bool(rng.uniform() < REMOTE_SHARE)
        played = Round(f"{name}{', on object storage' if remote else ''}")
        make, kind = CASES[name][1], (name, remote)
        if kind not in self._seconds:
            case = make(self._bench, remote, rng)
            self._seconds[kind] = self._run(case, None, rng)[1]
        for _ in range(MOST_TRIES):
            case = make(self._bench, remote, rng)
            before, _ = rows(Sea(case.sea))
            killed, alive = self._run(case, rng.uniform(0, self._seconds[kind]), rng)
            if killed:
                break
            self._seconds[kind] = min(self._seconds[kind], 1.1 * alive)
        else:
            self._seconds.pop(kind)
        played.facts = {"killed": killed, "after": round(alive, 3)}
        self._check(played, case, before, rng)
        if not remote:
            for place in {case.sea, case.given["uri"]} - {
                str(self._bench.made),
                str(self._bench.folder / "source.sea"),
            }:
                shutil.rmtree(place, ignore_errors=True)
        return played

    def _run(self, case: Case, seconds: float | None, rng: np.random.Generator) -> tuple[bool, float]:
        """Do the work, killed after so many seconds: whether it was alive then, and how long it lived."""
        log = self._bench.folder / "log"
        others = [started(log, case.work, given) for given in case.also]
        process = started(log, case.work, case.given)
        begin = time.monotonic()
        process.join(PATIENCE if seconds is None else seconds)
        killed, alive = process.is_alive(), time.monotonic() - begin
        group = rng.uniform() < 0.5
        with suppress(ProcessLookupError):  # alone, or with the processes it has started
            os.killpg(process.pid, signal.SIGKILL) if group else os.kill(process.pid, signal.SIGKILL)
        process.join()
        for other in others:
            other.join(PATIENCE)
            if other.exitcode != 0:
                raise RuntimeError(
                    f"the add that was not killed ended with {other.exitcode}: {log.read_text()[-500:]}"
                )
        if not killed and process.exitcode:
            raise RuntimeError(f"{case.work} ended with {process.exitcode}: {log.read_text()[-500:]}")
        log.unlink(missing_ok=True)
        return killed, alive

    def _check(self, played: Round, case: Case, before: Rows, rng: np.random.Generator) -> None:
        sea = Sea(case.sea)
        now, doubled = rows(sea)
        self._verify(played, sea, case, "after the kill")
        played.expect(not doubled, DOUBLED, f"{len(doubled)} clips, after the kill")
        if rng.uniform() < 0.25 and sea.exists() and not case.also:
            sea.sweep()
            played.expect(rows(sea)[0] == now, LOST, "clips differ after a sweep")
        WORK[case.work](**case.given)
        sea = Sea(case.sea)
        after, doubled = rows(sea)
        self._verify(played, sea, case, "after the work was done again")
        played.expect(not doubled, DOUBLED, f"{len(doubled)} clips, after the work was done again")
        gone = lost(before, now, after)
        played.expect(not gone, LOST, f"{len(gone)} clips are neither as before nor as after the work")
        expected = self._undisturbed(case, played.name, before)
        played.expect(
            after == expected, LOST, f"{len(after)} clips; undisturbed it is {len(expected)}, or they differ"
        )
        if case.work == "rebuild":
            played.expect(sea.record.snapshot().index is not None, LOST, "no index")

    def _undisturbed(self, case: Case, name: str, before: Rows) -> Rows:
        """What the same work makes that nobody kills; of a removal, what is asked for is known."""
        if case.work == "remove":
            return {
                c: r for c, r in before.items() if r["label"] != "kind 1" and c not in case.given["clips"]
            }
        if case.work in ("rebuild", "sweep"):
            return before
        if case.work == "copy_to":
            return rows(Sea(case.given["uri"]))[0]
        key = (case.name if case.given.get("labels") else f"listed {case.name}", case.work == "reencode")
        if key not in self._after:
            place = str(self._bench.folder / f"undisturbed {len(self._after)}.sea")
            if case.name == "relabel":
                Sea(place, self._bench.encoder).add(self._bench.footage, labels="folder", split=0.5)
            WORK[case.work](**case.given | {"target" if case.work == "reencode" else "uri": place})
            self._after[key] = rows(Sea(place))[0]
        return self._after[key]

    def _verify(self, played: Round, sea: Sea, case: Case, when: str) -> None:
        if not sea.exists():
            return
        try:
            problems = sea.verify(files=case.files)
            if len(sea) and case.work == "rebuild":
                sea.search(encoding(3, kind=3), k=3)
        except SeasyncError as error:
            played.expect(False, UNREADABLE, f"{when}: {error}")
        else:
            played.expect(not problems, UNREADABLE, f"{when}: {problems[:2]}")
        if case.sea.startswith("s3:") and when.startswith("after the work"):
            left = objects(f"{case.sea}/_writers")
            played.expect(len(left) <= 1, UNREADABLE, f"{len(left)} writers are still announced")


@contextmanager
def opened(work: Path) -> Iterator[Play]:
    with Bench(work) as bench:
        kills = Kills(bench)
        try:
            yield kills.play
        finally:
            kills.close()


KIND = Kind("kills", (LOST, DOUBLED, UNREADABLE), 1000, opened)
