"""One process at a time: a lock that the operating system holds, and releases when its process dies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

LOOK_SECONDS = 0.2


class Locked(OSError):
    """Another process holds the lock, and the caller did not want to wait."""


@contextmanager
def lock(file: Path, *, wait: bool = True, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `file` (made if need be, and left there: deleting it would let two hold it).

    Parameters
    ----------
    wait
        Wait while another process, or another thread of this one, holds it.
    waiting
        Called once if there is anyone to wait for.

    Raises
    ------
    Locked
        If another one holds it and `wait` is false.
    OSError
        If the file cannot be opened or locked.
    """
    with file.open("ab") as opened:
        if not _take(opened):
            if not wait:
                raise Locked(f"{file}: held by another process")
            if waiting:
                waiting()
            while not _take(opened):
                time.sleep(LOOK_SECONDS)
        yield


if sys.platform == "win32":
    import msvcrt

    def _take(file: BinaryIO) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
