"""Run an iterator ahead of its consumer, so that decoding overlaps with what is done with the frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import copy_context
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Make the items of an iterable in a background thread, ahead of their consumer.

    Closing this iterator early closes the other one and ends its thread.

    Parameters
    ----------
    items
        What to iterate over.
    depth
        How many items may wait.

    Yields
    ------
    object
        The same items in the same order. An exception is raised here where it happened there.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    room, made, stopped = Semaphore(depth), SimpleQueue[tuple[bool, Any]](), False

    def produce() -> None:
        source = iter(items)
        try:
            while room.acquire() and not stopped:
                made.put((True, next(source)))
        except BaseException as error:  # noqa: BLE001  every exception belongs to the consumer, Ctrl-C included
            made.put((False, error))
        finally:
            if hasattr(source, "close"):
                source.close()

    thread = Thread(target=copy_context().run, args=(produce,), name="seasync-ahead", daemon=True)
    thread.start()
    try:
        while True:
            good, item = made.get()
            if good:
                room.release()
                yield item
            elif isinstance(item, StopIteration):
                return
            else:
                raise item
    finally:
        stopped = True
        room.release()
        thread.join()
