"""What long commands show on stderr: a bar where somebody watches, and how to go on after Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

Show = Callable[[str, int, int], None]


@contextmanager
def progress(what: str = "reading") -> Iterator[Show]:
    """A bar to be told what is done, how much of it, and of how much; none where nobody watches."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@contextmanager
def resumable() -> Iterator[None]:
    """Ctrl-C ends a command that goes on where it was when it is run again: it says so."""
    try:
        yield
    except KeyboardInterrupt:
        print("seasync: interrupted; run the same command again to go on where it was", file=sys.stderr)
        raise typer.Exit(130) from None
