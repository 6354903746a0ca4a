"""Tables as text, plots, and reports of several tables: for the terminal, CSV, LaTeX, Markdown and HTML."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
from collections.abc import Sequence
from typing import Any

from seasync.errors import DataError, MissingExtra
from seasync.evaluate.results import Curve, Row, Table, format_cell
from seasync.files import Location, Place, atomic_write, write_text


def as_json(table: Table) -> str:
    """One table as JSON."""
    return json.dumps(table.to_json(), ensure_ascii=False, indent=2)


def all_as_json(tables: Sequence[Table]) -> str:
    """Several tables as JSON, by their names."""
    return json.dumps({table.name: table.to_json() for table in tables}, ensure_ascii=False, indent=2)


def print_table(table: Table) -> None:
    """Print our rows and the paper's on the terminal, with the notes.

    Settings that all rows share come first, in a line. What is wider than the terminal continues in a second
    table below, which repeats the settings.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(table.title, style="bold"))
    names, rows = header(table), body(table)
    settings = [at for at, name in enumerate(names) if name in table.columns and not _is_figure(table, name)]
    shared = [at for at in settings if len(rows) > 1 and len({cells[at] for cells in rows}) == 1]
    if shared:
        console.print(Text(", ".join(f"{names[at]} {rows[0][at]}" for at in shared)))
    left = [at for at in settings if at not in shared]
    figures = [at for at in range(len(names)) if at not in settings]
    widths = [max(len(name), *(len(cells[at]) for cells in rows), 1) + 2 for at, name in enumerate(names)]
    for chosen in _blocks(left, figures, widths, console.width):
        shown = RichTable(box=None, header_style="dim", padding=(0, 2, 0, 0))
        for at in chosen:
            shown.add_column(Text(names[at]))
        for cells in rows:
            shown.add_row(*(Text(cells[at]) for at in chosen))
        console.print(shown)
        console.print()
    for note in table.notes:
        console.print(Text(note, style="dim"))


def _blocks(left: list[int], figures: list[int], widths: list[int], room: int) -> list[list[int]]:
    """The columns of each table that fits into `room`: the settings, and as many figures as fit."""
    fixed = sum(widths[at] for at in left)
    blocks: list[list[int]] = [[]]
    for at in figures:
        if blocks[-1] and fixed + sum(widths[n] for n in blocks[-1]) + widths[at] > room:
            blocks.append([])
        blocks[-1].append(at)
    return [[*left, *block] for block in blocks]


def _is_figure(table: Table, column: str) -> bool:
    return any(isinstance(row.get(column), float) for row in table.rows)


def as_csv(table: Table) -> str:
    """All rows as CSV; `source` is seasync or paper, intervals are NAME_low and NAME_high."""
    out = io.StringIO()
    if table.curves:
        writer = csv.writer(out)
        writer.writerow(["curve", *table.axes, "low", "high"])
        for curve in table.curves:
            writer.writerows(
                [curve.name, *p] for p in zip(curve.x, curve.y, curve.low, curve.high, strict=True)
            )
        return out.getvalue()
    names = list(dict.fromkeys(name for row in table.rows + table.paper for name in row))
    header = ["source"]
    for name in names:
        header += [] if name.endswith("_interval") else [name]
        header += [f"{name}_low", f"{name}_high"] if f"{name}_interval" in names else []
    writer = csv.writer(out)
    writer.writerow(header)
    for source, rows in (("seasync", table.rows), ("paper", table.paper)):
        for row in rows:
            low, high = {}, {}
            for name in names:
                if name.endswith("_interval"):
                    plain = name.removesuffix("_interval")
                    low[f"{plain}_low"], high[f"{plain}_high"] = row.get(name) or (None, None)
            cells = {"source": source} | row | low | high
            writer.writerow(["" if cells.get(name) is None else cells[name] for name in header])
    return out.getvalue()


def as_latex(table: Table) -> str:
    """Our rows as a booktabs table; intervals are small brackets."""
    columns = table.columns
    lines = [f"% seasync evaluate {table.name}", rf"\begin{{tabular}}{{{'l' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(map(_tex, columns)) + r" \\", r"\midrule"]
    for row in table.rows:
        cells = []
        for column in columns:
            value, bracket, bounds = format_cell(row, column, table.decimals(column)).partition(" [")
            cells.append(_tex(value) + (rf" {{\scriptsize [{_tex(bounds)}}}" if bracket else ""))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def as_markdown(table: Table) -> str:
    """Our rows with the paper's beside them as Markdown, then notes and settings."""
    lines = ["| " + " | ".join(header(table)) + " |", "|" + "---|" * len(header(table))]
    lines += ["| " + " | ".join(cells) + " |" for cells in body(table)]
    lines += ["", *(f"- {note}" for note in table.notes), ""]
    settings = json.dumps(table.to_json()["settings"], ensure_ascii=False)
    return "\n".join([f"## {table.title}", "", *lines, f"<sub>`{settings}`</sub>", ""])


def as_html(table: Table) -> str:
    """The same as HTML."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header(table))
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in body(table)
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in table.notes)
    settings = html.escape(json.dumps(table.to_json()["settings"], ensure_ascii=False, indent=1))
    return (
        f"<h2>{html.escape(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<ul>{notes}</ul><details><summary>Settings</summary><pre>{settings}</pre></details>"
    )


def header(table: Table) -> list[str]:
    """Our columns; a figure that the paper has too is followed by the paper's."""
    names = []
    for column in table.columns:
        names.append(column)
        if _both(table, column):
            names.append(f"paper's {column} ({table.paper[0]['dataset']})")
    return names


def body(table: Table) -> list[list[str]]:
    """Cells in the order of `header`."""
    made = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            cells.append(format_cell(row, column, table.decimals(column)))
            if _both(table, column):
                cells.append(table.paper_value(row, column) or "–")
        made.append(cells)
    return made


def _both(table: Table, column: str) -> bool:
    """Whether the paper has `column` for at least one of our settings."""
    return column not in table.compare and any(table.paper_value(row, column) for row in table.rows)


def _tex(text: str) -> str:
    for plain, tex in (("\\", r"\textbackslash "), ("&", r"\&"), ("%", r"\%"), ("_", r"\_"), ("#", r"\#")):
        text = text.replace(plain, tex)
    return text.replace("–", "--").replace("τ", r"$\tau$").replace("⇄", r"$\rightleftarrows$")


# Plots of tables: curves as lines, rows as points with intervals and the paper's figures.


INK, OURS, THEIRS = "#1b2a33", "#0b7285", "#c2762a"


def plot(table: Table) -> bytes | None:
    """A PNG of the table's curves or of its main figure; None if there is nothing to draw."""
    if not table.curves and not any(isinstance(row.get(table.main), float) for row in table.rows):
        return None
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("evaluate", "a report with plots") from None
    rows = [row for row in table.rows if isinstance(row.get(table.main), float)]
    height = 4.5 if table.curves else 1.0 + 0.27 * len(rows)
    figure = Figure(figsize=(8, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    if table.curves:
        _curves(axes, table)
    else:
        _points(axes, table, rows)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=130)
    return out.getvalue()


def _curves(axes: Any, table: Table) -> None:
    """One color per indicator, one line style per recipe."""
    recipes, indicators = (list(dict.fromkeys(part)) for part in zip(*map(_parts, table.curves), strict=True))
    for curve in table.curves:
        recipe, indicator = _parts(curve)
        color, stroke = f"C{indicators.index(indicator)}", ("--", "-", ":", "-.")[recipes.index(recipe) % 4]
        axes.plot(curve.x, curve.y, stroke, color=color, label=curve.name, linewidth=1.6)
        axes.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.1, linewidth=0)
    axes.set_xlabel(table.axes[0])
    axes.set_ylabel(table.axes[1])
    axes.legend(frameon=False, fontsize=8)


def _parts(curve: Curve) -> tuple[str, str]:
    recipe, _, indicator = curve.name.partition(": ")
    return recipe, indicator


def _points(axes: Any, table: Table, rows: list[Row]) -> None:
    for y, row in enumerate(rows):
        low, high = row.get(f"{table.main}_interval") or (row[table.main], row[table.main])
        axes.plot([low, high], [y, y], color=OURS, linewidth=2, alpha=0.5)
        axes.plot(row[table.main], y, "o", color=OURS, markersize=4, label="Seasync" if not y else None)
    drawn = False
    for y, row in enumerate(rows):
        for theirs in table.paper:
            same = table.compare and all(theirs.get(k) == row.get(k) for k in table.compare)
            if same and isinstance(theirs.get(table.main), float):
                label = None if drawn else "the paper, by its features"
                axes.plot(theirs[table.main], y, "|", color=THEIRS, markersize=9, label=label)
                drawn = True
    axes.set_yticks(range(len(rows)), [_setting(table, row) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"{table.main} ({'lower' if table.lower else 'higher'} is better), 95 % interval")
    axes.legend(frameon=False, fontsize=8)


def _setting(table: Table, row: Row) -> str:
    """The settings of a row, in words."""
    words = []
    for name, value in row.items():
        if isinstance(value, bool):
            words += [name] if value else []
        elif isinstance(value, str):
            words.append(value)
    return " · ".join(words)


# A report of several tables with their plots in one Markdown or HTML file.


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
