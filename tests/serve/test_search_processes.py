"""Searches in processes of their own find what the server itself finds."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER
from seasync.clip import Clip
from seasync.errors import ServeError
from seasync.sea.sea import Sea
from seasync.sea.search import Matches
from seasync.serve import served_sea
from seasync.serve.served_sea import SearchProcesses, ServedSea
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import WorkerProcess


@pytest.fixture
def processes() -> Iterator[SearchProcesses]:
    made = SearchProcesses(2, wait_seconds=60)
    yield made
    made.close()


def assert_same(found: Matches, expected: Matches) -> None:
    assert found.to_json() == expected.to_json()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.alignment.path, other.alignment.path)


def test_a_busy_server_searches_in_processes_once_they_are_up(
    sea: Path, processes: SearchProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_sea, "CORES", 0)  # every search finds the server busy
    served = ServedSea("small", SeaLocation(str(sea)), WorkerProcess("test"), 60, processes=processes)
    (clip,) = served.snapshot().clips(limit=1)
    query, expected = Clip("by its id", id=clip.id), Sea(sea).search(str(clip.id), k=3, consensus=False)
    assert served.search(query, k=3, recipe=MOTION) == expected.form()
    for thread in threading.enumerate():
        if thread.name == "search-start":
            thread.join(120)
    assert processes.ready
    assert served.search(query, k=3, recipe=MOTION) == expected.form()
    found = served.matches(query, k=3, recipe=MOTION)
    assert_same(found, expected)
    assert len(pickle.dumps(found)) < 10_000  # what comes from a process has neither features nor paths
    by_file = Sea(sea).search(clip.file, k=3, consensus=False)
    assert served.search(Clip(clip.file), k=3, recipe=MOTION) == by_file.form()
    assert_same(served.matches(Clip(clip.file), k=3, recipe=MOTION), by_file)
    with pytest.raises(ServeError, match="no such clip") as refused:
        served.search(Clip("by its id", id="0" * 32), k=3, recipe=MOTION)
    assert refused.value.status == 404
    processes.close()
    with pytest.raises(ServeError, match="stopping"):
        served.search(query, k=3, recipe=MOTION)
    served.close()


def test_a_server_that_is_not_busy_starts_no_process(sea: Path, processes: SearchProcesses) -> None:
    served = ServedSea("small", SeaLocation(str(sea)), WorkerProcess("test"), 60, processes=processes)
    (clip,) = served.snapshot().clips(limit=1)
    for _ in range(3):
        served.search(Clip("by its id", id=clip.id), k=1, recipe=MOTION)
    assert not processes.ready
    assert not any(thread.name == "search-start" for thread in threading.enumerate())
    served.close()


def test_the_matches_of_an_answer_are_opened_without_another_search(sea: Path) -> None:
    served = ServedSea("small", SeaLocation(str(sea)), WorkerProcess("test"), 60)
    (clip,) = served.snapshot().clips(limit=1)
    query = Clip("by its id", id=clip.id)
    assert len(served.search(query, k=4, recipe=MOTION).matches) == 4
    assert served.search(query, k=5, recipe=MOTION, max_draq=0.0).matches == []  # says nothing of the others
    served.close()  # whoever searches from now on fails
    found = served.matches(query, k=3, recipe=MOTION)
    expected = Sea(sea).search(str(clip.id), k=4, consensus=False)
    assert_same(found, expected)
    with pytest.raises(ServeError, match="being closed"):
        served.matches(query, k=5, recipe=MOTION)
    with pytest.raises(ServeError, match="being closed"):
        served.matches(query, k=3, recipe=PAPER)
