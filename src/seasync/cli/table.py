"""Tables on the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def show(table: Table) -> None:
    """Print a table as wide as it is: long names run on in a narrow terminal, instead of being folded."""
    from rich.console import Console

    console = Console()
    widest = console.measure(table, options=console.options.update(width=10_000)).maximum
    console.width = max(console.width, widest)
    with console.capture() as captured:
        console.print(table)
    print(re.sub(" +$", "", captured.get(), flags=re.MULTILINE), end="")
