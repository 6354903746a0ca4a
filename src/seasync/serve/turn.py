"""Whose turn it is at something that only a few callers at a time can use."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from seasync.errors import ServeError


class Turn:
    """Places that callers get in the order in which they ask for them; a lock, if there is one place.

    `threading.Lock` promises no order: of many callers, one may wait while later ones are served.

    Parameters
    ----------
    wait_seconds
        How long a caller waits at most. None: as long as it takes.
    places
        How many callers have their turn at the same time.
    """

    def __init__(self, wait_seconds: float | None = None, *, places: int = 1) -> None:
        self._seconds = wait_seconds
        self._guard = threading.Lock()
        self._free = list(range(places))
        self._waiting: deque[SimpleQueue[int]] = deque()

    @contextmanager
    def taken(self) -> Iterator[int]:
        """Wait for your turn, and keep it; gives the number of your place, the lowest that is free.

        Raises
        ------
        ServeError
            If it takes longer than `wait_seconds`.
        """
        place = self._take()
        try:
            yield place
        finally:
            self._pass_on(place)

    def _take(self) -> int:
        mine = SimpleQueue[int]()
        with self._guard:
            if self._free:
                return self._free.pop(0)
            self._waiting.append(mine)
        try:
            return mine.get(timeout=self._seconds)
        except Empty:
            pass
        with self._guard:
            if not mine.empty():  # it came at the last moment
                return mine.get()
            self._waiting.remove(mine)
        raise ServeError("the server has too much to do at the moment; try again later", status=503)

    def _pass_on(self, place: int) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().put(place)
            else:
                self._free = sorted([*self._free, place])
