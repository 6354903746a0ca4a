"""One writer at a time in a folder: the sea's lock file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from seasync.errors import SeaError
from seasync.files import Locked, lock

NAME = "_writer.lock"


class Busy(SeaError):
    """Another process is writing, and the caller did not want to wait."""


@contextmanager
def writing(folder: Path, *, wait: bool = True, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Be the only writer in `folder` (made if need be). `waiting` is called once if another one is at work.

    Raises
    ------
    SeaError
        If the folder cannot be written, or another process is writing and `wait` is false.
    """
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(lock(folder / NAME, wait=wait, waiting=waiting))
        except Locked as error:
            raise Busy(
                f"{folder}: another process is writing to this sea; try again when it is done"
            ) from error
        except OSError as error:
            raise SeaError(
                f"{folder}: cannot be written ({error.strerror}); check the folder's permissions"
            ) from error
        yield
