"""What long commands show on stderr: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

Show = Callable[[str, float, float], None]
QUIET_SECONDS = 30.0  # between two lines where no terminal shows a bar


def shows_bars() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


@contextmanager
def progress(what: str = "reading") -> Iterator[Show]:
    """A function that shows what is being done, how much of it is done, and of how much (0: unknown).

    On a terminal it moves a bar. Elsewhere it prints a line every 30 seconds: nothing for short work.
    """
    if not shows_bars():
        yield _line_printer()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    description = TextColumn("{task.description}", markup=False)  # a file's name is not markup
    columns = (BarColumn(), TaskProgressColumn(), description, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total or None
        )


def _line_printer() -> Show:
    began = last = time.monotonic()

    def show(what: str, done: float, total: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= QUIET_SECONDS:
            last = now
            share = f", {done / total:.0%}" if total else ""
            print(f"seasync: {what}{share} after {now - began:.0f} s", file=sys.stderr, flush=True)

    return show


def announce_compiling() -> None:
    """Say on a terminal when kernels are compiled: the first alignment of an installation waits for it."""
    if not shows_bars():
        return
    from numba.core import event

    class Announcement(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, _: object) -> None:
            if not self.said:
                print("seasync: compiling for this processor; only the first run does this", file=sys.stderr)
            self.said = True

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Announcement())


@contextmanager
def resumable() -> Iterator[None]:
    """After Ctrl-C, say that the same command continues where it stopped."""
    try:
        yield
    except KeyboardInterrupt:
        print("seasync: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(130) from None
