"""One writer at a time: a lock the operating system holds, and lets go of when its process dies."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from seasync.errors import SeaError

NAME = "_writer.lock"


class Busy(SeaError):
    """Another process writes, and it was asked not to wait."""


@contextmanager
def writing(folder: Path, *, wait: bool = True, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Be the only writer in `folder` (made if need be). `waiting` is called once if another one is at work.

    Raises
    ------
    SeaError
        If the folder cannot be written, or another process writes and `wait` is false.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        opened = (folder / NAME).open("ab")
    except OSError as error:
        raise SeaError(
            f"{folder}: cannot be written ({error.strerror}); check the folder's rights"
        ) from error
    with opened:
        if not _take(opened):
            if not wait:
                raise Busy(f"{folder}: another process is writing to this sea; try again when it is done")
            if waiting:
                waiting()
            while not _take(opened):
                time.sleep(0.2)
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
