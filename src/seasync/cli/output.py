"""What commands print: tables, verdicts, counts. File names and labels are never read as rich markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seasync.align import Alignment


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
        table.add_row(*map(Text, row))
    console = Console()
    console.width = max(
        console.width, console.measure(table, options=console.options.update(width=10_000)).maximum
    )
    with console.capture() as captured:
        console.print(table)
    print(re.sub(" +$", "", captured.get(), flags=re.MULTILINE), end="")


def print_bold(text: str) -> None:
    """Print a line that stands out on a terminal."""
    from rich.console import Console
    from rich.text import Text

    Console(highlight=False, soft_wrap=True).print(Text(text, style="bold"))


def counted(number: int, noun: str) -> str:
    """`1 clip`, `2 clips`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def summary(alignment: Alignment) -> list[str]:
    """The verdict with the number that decides it, then a line for each warning."""
    return [alignment.summary, *(f"warning: {text}" for text in alignment.warnings)]
