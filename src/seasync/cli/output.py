"""What commands print: tables, verdicts, counts. File names and labels are never read as rich markup."""

import builtins
import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from seasync.alignment import Alignment


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """Text with its control characters spelled out: names of files may hold codes that terminals obey."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def print(*values: object, **how: Any) -> None:
    """`print`, with what is printed made `visible`."""
    builtins.print(*(visible(str(value)) for value in values), **how)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """Print a table as wide as it is: long names run on in a narrow terminal instead of being folded.

    right  names of the columns that are aligned to the right
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim")
    for name in columns:
        table.add_column(Text(name), justify="right" if name and name in right else "left")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console()
    console.width = max(
        console.width, console.measure(table, options=console.options.update(width=10_000)).maximum
    )
    with console.capture() as captured:
        console.print(table)
    builtins.print(re.sub(" +$", "", captured.get(), flags=re.MULTILINE), end="")


def print_bold(text: str) -> None:
    """Print a line that stands out on a terminal."""
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False, soft_wrap=True).print(Text(visible(text), style="bold"))


def print_lines(lines: Iterable[object], file: TextIO | None = None) -> None:
    """Print each on a line of its own: nothing if there are none."""
    for line in lines:
        print(line, file=file)


def print_json(value: object, *, indent: int | None = None) -> None:
    """What `--json` prints."""
    print(json.dumps(value, indent=indent))


def counted(number: int, noun: str) -> str:
    """`1 clip`, `2 clips`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def summary(alignment: "Alignment") -> list[str]:
    """The verdict with the number that decides it, then a line for each warning."""
    return [alignment.summary, *(f"warning: {text}" for text in alignment.warnings)]


# What long commands show on stderr: a bar on a terminal, a line now and then anywhere else.


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


class LogLines(logging.Handler):
    """Prints what a logger says on standard error, a line for each message."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"seasync: {record.getMessage()}", file=sys.stderr, flush=True)


def print_downloads() -> None:
    """Print what fetches weights: the first use of an encoder waits for it."""
    log = logging.getLogger("seasync.weights")
    log.setLevel(logging.INFO)
    log.handlers = [LogLines()]


class Terminated(KeyboardInterrupt):
    """The system, or somebody, asked this process to end (SIGTERM): it ends as orderly as after Ctrl-C."""


def end_in_order() -> None:
    """Let the first SIGTERM raise `Terminated` in the main thread; a second one ends the process."""

    def terminate(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)


def exit_code(interruption: BaseException | None) -> int:
    """The exit code of a command that was interrupted."""
    return 128 + (signal.SIGTERM if isinstance(interruption, Terminated) else signal.SIGINT)


@contextmanager
def resumable() -> Iterator[None]:
    """After Ctrl-C or SIGTERM, say that the same command continues where it stopped."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        print("seasync: interrupted; run the same command again to continue", file=sys.stderr)
        raise typer.Exit(exit_code(interruption)) from None


# `--quiet` and `--log-file`: what is shown on standard error, and a copy of it.


_SECRET = ("--token", "--storage-option")
_SHOWN_ANYWAY = "failed: "  # files that could not be used: no success to be quiet about


class StandardError:
    """A stream in the place of standard error.

    quiet     shows only which files failed, and the error that ends a command
    log_file  whole lines are appended to it, with the time; moving bars are not
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False, log_file: Path | None = None) -> None:
        self.stream = stream
        self._quiet = quiet
        self._log = log_file.open("a", encoding="utf-8", errors="backslashreplace") if log_file else None
        self._rest = ""
        self._note(f"$ seasync {' '.join(_without_secrets(sys.argv[1:]))}")

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            if line.strip() and "\x1b" not in line:
                self._note(line)
            if self._quiet and line.startswith(_SHOWN_ANYWAY):
                self.stream.write(f"{line}\n")
        if not self._quiet:
            self.stream.write(text)
        return len(text)

    def end(self, text: str) -> None:
        """Show the line that ends a command."""
        self._note(text)
        print(text, file=self.stream)

    def _note(self, line: str) -> None:
        if self._log:
            self._log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
            self._log.flush()

    def isatty(self) -> bool:
        return not self._quiet and self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        """All else that a stream has."""
        return getattr(self.stream, name)


def _without_secrets(arguments: list[str]) -> list[str]:
    kept = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and name in _SECRET:
            kept.append(f"{name}=***")
        else:
            kept.append("***" if before in _SECRET else argument)
    return kept
