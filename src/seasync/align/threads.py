"""Work on arrays in a few threads: the kernels let go of Python's lock while they compute."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_here = threading.local()


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`work` for every item, on all cores. It must not call `in_threads` itself."""
    if len(items) < 2 or (os.cpu_count() or 1) < 2 or getattr(_here, "alone", False):
        return [work(item) for item in items]
    return list(_pool(os.getpid()).map(work, items))


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Within it, `in_threads` works in the thread that calls it, because others keep the cores busy."""
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = False


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that are kept, because starting them takes longer than their work; a fork needs its own."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="seasync-align")
