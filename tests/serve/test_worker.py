"""What waits for its turn when a server stops, and is refused then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from seasync.align import MOTION
from seasync.errors import ServeError
from seasync.serve.served_sea import ServedSea
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import WorkerProcess

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
