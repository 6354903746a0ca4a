"""Who waits for a worker process or a search, for how long, and what becomes of it when a server stops."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from seasync.alignment import MOTION
from seasync.clip import Clip
from seasync.errors import ServeError
from seasync.serve import Limits
from seasync.serve.backend import Backend
from seasync.serve.served_sea import ServedSea
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import Turn, WorkerProcess
from tests.serve.films import film, pace

CALLS = 4


def hang(report: Callable[[object], None]) -> None:
    report("running")
    threading.Event().wait()


def test_a_closed_worker_starts_none_of_the_calls_that_wait() -> None:
    worker, running = WorkerProcess("test"), threading.Event()
    started: list[object] = []
    ended: list[ServeError] = []

    def report(value: object) -> None:
        started.append(value)
        running.set()

    def call() -> None:
        try:
            worker.run(hang, report=report)
        except ServeError as error:
            ended.append(error)

    calls = [threading.Thread(target=call, daemon=True) for _ in range(CALLS)]
    for each in calls:
        each.start()
    assert running.wait(120)
    worker.close()
    for each in calls:
        each.join(60)
    assert [(str(error), error.status) for error in ended] == [("the server is stopping", 503)] * CALLS
    assert len(started) == 1


def test_a_search_that_waits_while_its_sea_is_closed_is_refused(sea: Path) -> None:
    served, gate = ServedSea("small", SeaLocation(str(sea)), WorkerProcess("test"), 60), threading.Event()
    (clip,) = served.snapshot().clips(limit=1)
    for _ in range(os.cpu_count() or 1):  # every turn is taken
        served._searches.submit(gate.wait)
    refused: list[ServeError] = []

    def search() -> None:
        with pytest.raises(ServeError) as raised:
            served.search(clip, k=1, recipe=MOTION)
        refused.append(raised.value)

    searches = [threading.Thread(target=search) for _ in range(CALLS)]
    closing = threading.Thread(target=served.close)
    for each in (*searches, closing):
        each.start()
    for each in searches:
        each.join()
    gate.set()
    closing.join()
    assert [(str(error), error.status) for error in refused] == [("this sea is being closed", 503)] * CALLS


def test_the_start_of_a_process_does_not_count_against_the_time_limit() -> None:
    """On a busy machine it may take longer than the limit: every call would end in a new, slow start."""
    worker = WorkerProcess("test")
    try:
        assert worker.run(os.getpid, seconds=0.2) != os.getpid()
    finally:
        worker.close()


def test_turns_are_taken_in_the_order_in_which_they_are_asked_for() -> None:
    turn, done = Turn(), list[int]()

    def ask(number: int) -> None:
        with turn.taken():
            done.append(number)

    with turn.taken():
        asking = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for count, each in enumerate(asking, 1):
            each.start()
            while len(turn._waiting) < count:
                pass
    for each in asking:
        each.join(60)
    assert done == list(range(20))


def test_who_waits_too_long_is_refused_and_takes_nobodys_turn() -> None:
    turn = Turn(wait_seconds=0.05)
    with (
        turn.taken(),
        pytest.raises(ServeError, match="too much to do at the moment; try again later") as raised,
        turn.taken(),
    ):
        pytest.fail("two have the turn at once")
    assert raised.value.status == 503
    with turn.taken():
        assert not turn._waiting
    with turn.taken():
        pass


def test_searches_that_wait_for_the_encoder_hold_up_no_others(sea: Path, films: Path, tmp_path: Path) -> None:
    worker, running = WorkerProcess("test"), threading.Event()
    served = ServedSea("small", SeaLocation(str(sea)), worker, 60)
    (clip,) = served.snapshot().clips(limit=1)
    unknown = film(tmp_path / "unknown.mp4", pace(30), action="arc", tint=40)
    found: list[int] = []

    def hold() -> None:
        with suppress(ServeError):
            worker.run(hang, report=lambda value: running.set())

    def search(query: Clip) -> None:
        with suppress(ServeError):
            found.append(len(served.search(query, k=1, recipe=MOTION).matches))

    waiting = [threading.Thread(target=hold, daemon=True)]
    waiting[0].start()
    assert running.wait(120)
    waiting += [
        threading.Thread(target=search, args=(Clip(str(unknown)),), daemon=True)
        for _ in range(2 * (os.cpu_count() or 1))
    ]
    for each in waiting[1:]:
        each.start()
    while len(worker._turn._waiting) < (os.cpu_count() or 1):
        pass
    quick = threading.Thread(target=search, args=(Clip("", id=clip.id),), daemon=True)
    quick.start()
    quick.join(60)
    answered = list(found)
    worker.close()
    for each in waiting:
        each.join(60)
    served.close()
    assert answered == [1]


def test_as_many_callers_as_there_are_places_have_their_turn() -> None:
    turn = Turn(wait_seconds=0.05, places=2)
    with turn.taken() as first:
        with turn.taken() as second:
            assert (first, second) == (0, 1)
            with pytest.raises(ServeError, match="too much to do"), turn.taken():
                pass
        with turn.taken() as again:
            assert again == 1


def chatter(report: Callable[[object], None]) -> None:
    """A call that never stops to report."""
    while True:
        report("still at it")


def answer(number: int, report: Callable[[object], None]) -> int:
    report("begun")
    return number


@pytest.mark.parametrize("stop", ["cancel", "seconds"])
def test_a_call_that_reports_all_the_time_is_stopped_too(stop: str) -> None:
    worker, cancel = WorkerProcess("test"), threading.Event()
    how = {"seconds": 0.5} if stop == "seconds" else {}
    try:
        with pytest.raises(ServeError, match=r"cancelled|longer than 0\.5 s"):
            worker.run(chatter, report=lambda value: stop == "cancel" and cancel.set(), cancel=cancel, **how)
    finally:
        worker.close()


def test_a_call_whose_report_fails_leaves_no_answer_to_the_next() -> None:
    worker = WorkerProcess("test")

    def fail(value: object) -> None:
        raise RuntimeError("the disk is gone")

    try:
        with pytest.raises(RuntimeError, match="the disk is gone"):
            worker.run(answer, 1, report=fail)
        assert worker.run(answer, 2, report=lambda value: None) == 2
    finally:
        worker.close()


def fill(size: int) -> int:
    return len(bytearray(size))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_worker_has_so_much_memory_and_no_more(sea: Path, tmp_path: Path, encoder: str) -> None:
    backend = Backend(
        {"small": SeaLocation(str(sea), encoder)}, state=tmp_path, limits=Limits(memory_bytes=1 << 30)
    )
    try:
        workers = [backend.inspector, backend._encoder, backend._adder, backend._maker, backend._carrier]
        for worker in (*workers, *backend._searches._workers):
            with pytest.raises(ServeError, match="more memory than the server allows"):
                worker.run(fill, 2 << 30)
            assert worker.run(fill, 1 << 20) == 1 << 20
    finally:
        backend.close()
