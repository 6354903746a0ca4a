"""Whose turn it is at something that only one caller at a time can use."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from seasync.errors import ServeError


class Turn:
    """A lock that callers get in the order in which they ask for it.

    `threading.Lock` promises no order: of many callers, one may wait while later ones are served.

    Parameters
    ----------
    wait_seconds
        How long a caller waits at most. None: as long as it takes.
    """

    def __init__(self, wait_seconds: float | None = None) -> None:
        self._seconds = wait_seconds
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for your turn, and keep it.

        Raises
        ------
        ServeError
            If it takes longer than `wait_seconds`.
        """
        self._take()
        try:
            yield
        finally:
            self._pass_on()

    def _take(self) -> None:
        mine = threading.Event()
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            self._waiting.append(mine)
        if mine.wait(self._seconds):
            return
        with self._guard:
            if mine.is_set():  # it came at the last moment
                return
            self._waiting.remove(mine)
        raise ServeError("the server has too much to do at the moment; try again later", status=503)

    def _pass_on(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False
