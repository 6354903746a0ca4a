"""A report of several tables with their plots in one Markdown or HTML file."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence

from seasync.errors import DataError
from seasync.evaluate.plots import plot
from seasync.evaluate.results import Table
from seasync.evaluate.table_text import as_html, as_markdown
from seasync.files import Location, Place, atomic_write, write_text

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #8884; padding: .25rem .6rem; text-align: left; vertical-align: top; }
.wide { overflow-x: auto; } img { max-width: 100%; } pre { font-size: 12px; overflow-x: auto; }
:root { color-scheme: light dark; }
"""


def write_report(tables: Sequence[Table], file: Place, *, title: str) -> None:
    """Write tables to FILE.html (with plots) or FILE.md (plots beside it, in FILE_plots/).

    Raises
    ------
    DataError
        If the file is named otherwise.
    """
    place = Location(file)
    if place.suffix.lower() not in (".html", ".md"):
        raise DataError(f"{file}: a report is written as .html or .md")
    pictures = [(table, plot(table)) for table in tables]
    make = _html if place.suffix.lower() == ".html" else _markdown
    write_text(place, make(pictures, place, title), make_folder=True, error=DataError)


def _markdown(pictures: Sequence[tuple[Table, bytes | None]], file: Location, title: str) -> str:
    folder = file.with_name(f"{file.stem}_plots")
    parts = [f"# {title}", ""]
    for table, picture in pictures:
        parts.append(as_markdown(table))
        if picture is not None:
            with atomic_write(folder.join(f"{table.name}.png"), make_folder=True, error=DataError) as part:
                part.write_bytes(picture)
            parts += [f"![{table.title}]({folder.name}/{table.name}.png)", ""]
    return "\n".join(parts)


def _html(pictures: Sequence[tuple[Table, bytes | None]], file: Location, title: str) -> str:
    parts = []
    for table, picture in pictures:
        parts.append(f'<section><div class="wide">{as_html(table)}</div>')
        if picture is not None:
            data = base64.b64encode(picture).decode()
            parts.append(f'<img alt="{html.escape(table.title)}" src="data:image/png;base64,{data}">')
        parts.append("</section>")
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
    return f"{head}<style>{STYLE}</style><h1>{html.escape(title)}</h1>{''.join(parts)}</html>\n"
