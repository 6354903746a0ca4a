"""Searches in processes of their own, for a server that is asked for more of them than one process can do.

Python runs one thread at a time between the kernels of a search. So a second thread hardly helps, but a
second process does. Until more searches wait than there are cores, none is started.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from seasync.alignment.costs import in_this_thread
from seasync.clip import Clip
from seasync.errors import ServeError
from seasync.forms import SearchForm
from seasync.sea.sea import Sea
from seasync.sea.search import Matches, Query
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import Turn, WorkerProcess

log = logging.getLogger("seasync.serve")
OPEN_SEAS = 8  # that a process keeps open
Answer = TypeVar("Answer")
Find = Callable[[Sea, Clip | Query, dict[str, Any]], Answer]


class SearchProcesses:
    """Processes that search the seas of a server, one search at a time each.

    Parameters
    ----------
    count
        How many processes. 0: the server searches by itself only.
    wait_seconds
        How long a search waits for its turn at most.
    """

    def __init__(self, count: int, *, wait_seconds: float | None) -> None:
        self._workers = [WorkerProcess(f"search-{number}") for number in range(count)]
        self._turn = Turn(wait_seconds, places=max(count, 1))
        self._guard = threading.Lock()
        self._starting = self._ready = False

    @property
    def ready(self) -> bool:
        """Whether the processes are up."""
        return self._ready

    def start(self, *search: Any) -> None:
        """Start the processes in the background, unless that was done before; each does this search first.

        Parameters
        ----------
        search
            The arguments of `search_in_process`.
        """
        with self._guard:
            if self._starting or not self._workers:
                return
            self._starting = True
        threading.Thread(target=self._start, args=search, name="search-start", daemon=True).start()

    def _start(self, *search: Any) -> None:
        for worker in self._workers:
            try:
                worker.run(search_in_process, *search)
            except ServeError as error:  # whoever asked for this search gets the error as well
                log.info("start of %s: %s", worker.name, error)
        self._ready = True

    def search(self, find: Find[Answer], *search: Any) -> Answer:
        """Search in the next process that is free.

        Parameters
        ----------
        find, search
            The arguments of `search_in_process`.

        Raises
        ------
        ServeError
            With the message of a SeasyncError; also if the wait takes too long.
        """
        with self._turn.taken() as place:
            found: Answer = self._workers[place].run(search_in_process, find, *search)
        return found

    def close(self) -> None:
        """End the processes. Searches that run or wait fail."""
        for worker in self._workers:
            worker.close()


def search_in_process(
    find: Find[Answer], served: str, location: SeaLocation, asked: Clip | Query, options: dict[str, Any]
) -> Answer:
    """Search a sea that stays open.

    Parameters
    ----------
    find
        `find_form` or `find_matches`.
    served
        Names the served sea: one that is deleted and made again at the same place has another name.
    asked
        A clip of the sea by its id, or what `Sea.query` returned.
    options
        Options of the search.
    """
    with in_this_thread():  # other processes keep the cores busy
        return find(_opened(served, location), asked, options)


def find_form(sea: Sea, asked: Clip | Query, options: dict[str, Any]) -> SearchForm:
    """All that the answer to a search says; no path is computed for it."""
    return sea.search(asked, **options).form()


def find_matches(sea: Sea, asked: Clip | Query, options: dict[str, Any]) -> Matches:
    """`Sea.search`, without consensus."""
    return sea.search(asked, consensus=False, **options)


@lru_cache(maxsize=OPEN_SEAS)
def _opened(served: str, location: SeaLocation) -> Sea:
    sea = location.open()
    snapshot = sea.record.snapshot()
    if snapshot.index:
        snapshot.index.prewarm(snapshot)
    return sea
