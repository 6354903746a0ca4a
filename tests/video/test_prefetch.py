"""ahead(): the same items, made in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from seasync.video import ahead


def running() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "seasync-ahead"]


def test_gives_the_same_items_in_order() -> None:
    assert list(ahead(range(100), depth=3)) == list(range(100))
    assert not running()


def test_makes_items_in_another_thread_and_at_most_depth_ahead() -> None:
    made: list[int] = []
    threads: set[str] = set()

    def items() -> Iterator[int]:
        for i in range(20):
            threads.add(threading.current_thread().name)
            made.append(i)
            yield i

    for item in ahead(items(), depth=2):
        assert len(made) <= item + 1 + 2
    assert threads == {"seasync-ahead"}


def test_an_exception_is_raised_after_the_items_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise KeyError("here")

    iterator = ahead(items())
    assert next(iterator) == 1
    with pytest.raises(KeyError, match="here"):
        next(iterator)
    assert not running()


def test_closing_early_closes_the_source_and_ends_the_thread() -> None:
    closed = threading.Event()

    def items() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.set()

    source = items()
    iterator = ahead(source, depth=1)
    assert next(iterator) == 0
    iterator.close()  # type: ignore[attr-defined]
    assert closed.is_set()
    assert not running()


def test_depth_must_be_positive() -> None:
    with pytest.raises(ValueError, match="depth"):
        next(ahead([1], depth=0))
