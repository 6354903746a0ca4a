"""Tables as text: for the terminal, CSV, LaTeX, Markdown and HTML."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Sequence

from seasync.evaluate.results import Table, format_cell


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
