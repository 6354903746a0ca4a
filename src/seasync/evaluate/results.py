"""Tables of results: our rows, the paper's beside them, and the settings to repeat the run.

Then the same as text, as plots and in reports: for the terminal, JSON, CSV, LaTeX, Markdown and HTML.
"""

import base64
import csv
import html
import io
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata, resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.errors import DataError, MissingExtra
from seasync.files import Location, Place, atomic_write, write_text

RESAMPLES = 1000
Row = dict[str, Any]
Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line to plot, with its interval; all arrays have shape (P,)."""

    name: str
    x: Array
    y: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Table:
    """One table or figure of the evaluation.

    Attributes
    ----------
    name, title : str
    rows : list of dict
        Settings and figures; a figure ``NAME`` has its 95 % interval in ``NAME_interval``.
    settings : dict
        What is needed to repeat the run.
    paper : list of dict
        The paper's rows in the same form.
    main : str
        The figure to plot.
    lower : bool
        Whether lower is better.
    compare : tuple of str
        Columns that must agree for one of our rows and one of the paper's to be compared.
    notes : tuple of str
    curves : tuple of Curve
    axes : (str, str)
        Labels of the curves' axes.
    """

    name: str
    title: str
    rows: list[Row]
    settings: Row
    paper: list[Row] = field(default_factory=list)
    main: str = ""
    lower: bool = False
    compare: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()
    axes: tuple[str, str] = ("", "")

    def to_json(self) -> Row:
        """Rows, the paper's rows and settings as plain values; NaN is null."""
        content: Row = {"table": self.name, "title": self.title, "rows": self.rows, "paper": self.paper}
        content |= {"settings": self.settings, "notes": self.notes}
        if self.curves:
            content["curves"] = [vars(curve) for curve in self.curves]
        return {key: _plain(value) for key, value in content.items()}

    @property
    def columns(self) -> list[str]:
        """All columns of our rows except the intervals, in order of first appearance."""
        seen = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in seen if not name.endswith("_interval")]

    def paper_value(self, row: Row, column: str) -> str:
        """The paper's figures in `column` for the setting of `row`, such as `BYOL 0.54, NMS 13.4`."""
        same = [p for p in self.paper if "features" in p and all(p[k] == row.get(k) for k in self.compare)]
        found = [f"{p['features']} {p[column]:g}" for p in same if isinstance(p.get(column), float)]
        return ", ".join(found)

    def cell(self, row: Row, column: str) -> str:
        """A cell as text: figures with their interval, settings in words.

        All figures of a column have as many decimals: three for small ones, fewer for large ones.
        """
        value = row.get(column)
        if value is None:
            return "–"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if not isinstance(value, float):
            return str(value)
        figures = [abs(other[column]) for other in self.rows if isinstance(other.get(column), float)]
        largest = max((figure for figure in figures if np.isfinite(figure)), default=0.0)
        decimals = 0 if largest >= 1000 else 1 if largest >= 10 else 3
        bounds: Sequence[float] | None = row.get(f"{column}_interval")
        text = f"{value:.{decimals}f}"
        return text if bounds is None else f"{text} [{bounds[0]:.{decimals}f}, {bounds[1]:.{decimals}f}]"


def _plain(value: Any) -> Any:
    """A value for JSON: arrays as lists, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def paper_rows(table: str, dataset: str | None) -> list[Row]:
    """The paper's rows of a table; for a data set it does not have, those of Penn Action, which say so."""
    tables = json.loads(resources.files("seasync.evaluate").joinpath("paper.json").read_text("utf-8"))
    rows: list[Row] = tables.get(table, [])
    there = {row["dataset"] for row in rows}
    return [row for row in rows if row["dataset"] == (dataset if dataset in there else "PennAction")]


def run_settings(**settings: Any) -> Row:
    """The settings of a run, with the versions of what it ran on."""
    versions = {"python": platform.python_version()}
    for package in ("seasync", "numpy", "scipy", "scikit-learn", "onnxruntime"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return settings | {"versions": versions}


def merge_tables(tables: Sequence[Table]) -> Table:
    """Merge the same table of several encoders: all rows and curves; settings list the encoders."""
    if len(tables) == 1:
        return tables[0]
    encoders = [table.settings["encoder"] for table in tables]
    curves = [
        replace(curve, name=f"{encoder}, {curve.name}")
        for encoder, table in zip(encoders, tables, strict=True)
        for curve in table.curves
    ]
    rows: list[Row] = []
    for row in (row for table in tables for row in table.rows):
        if row not in rows:  # controls may be the same with every encoder
            rows.append(row)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    settings = tables[0].settings | {"encoder": encoders}
    return replace(tables[0], rows=rows, curves=tuple(curves), settings=settings, notes=notes)


# Figures with bootstrap intervals over queries: how much they would vary with other queries of the same kind.


def add_mean(row: Row, name: str, values: ArrayLike, *, scale: float = 1.0, seed: int = 0) -> None:
    """Add the mean of `values` over queries as figure `name`, with its interval; NaN is ignored."""
    known = _known(values) * scale
    row[name] = float(known.mean()) if len(known) else None
    row[f"{name}_interval"] = list(mean_interval(known, seed=seed)) if len(known) else None


def add_median(row: Row, name: str, values: ArrayLike, *, seed: int = 0) -> None:
    """Add the median of `values` over queries, with its interval; NaN is ignored."""
    known = _known(values)
    add_figure(row, name, lambda drawn: float(np.median(known[drawn])), len(known), seed=seed)


def add_figure(row: Row, name: str, statistic: Callable[[Indices], float], n: int, *, seed: int = 0) -> None:
    """Add ``statistic(indices)`` of all n queries as figure `name`, with its interval."""
    row[name] = statistic(np.arange(n))
    row[f"{name}_interval"] = list(interval(statistic, n, seed=seed))


def mean_interval(values: ArrayLike, *, seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of the mean of `values`, shape (n,); NaN is ignored."""
    known = _known(values)
    random = np.random.default_rng(seed)
    at_once = max(1, 1_000_000 // max(len(known), 1))
    means: list[float] = []
    while len(known) and len(means) < RESAMPLES:
        means += known[random.integers(0, len(known), (at_once, len(known)))].mean(1).tolist()
    return _middle(means[:RESAMPLES])


def interval(statistic: Callable[[Indices], float], n: int, *, seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of ``statistic(indices)`` over draws of n of n queries."""
    random = np.random.default_rng(seed)
    return _middle(_known([statistic(random.integers(0, n, n)) for _ in range(RESAMPLES if n else 0)]))


def mean_over_groups(values: ArrayLike, groups: Indices, weights: ArrayLike | None = None) -> float:
    """Plain mean over groups (actions) of the weighted mean of their values; NaN is ignored.

    Parameters
    ----------
    values : array_like [shape=(n,)]
    groups : numpy.ndarray [shape=(n,)]
        Group numbers from 0.
    weights : array_like [shape=(n,)], optional
    """
    value = np.asarray(values, np.float64)
    weight = np.ones(len(value)) if weights is None else np.asarray(weights, np.float64)
    known = np.isfinite(value) & (weight > 0)
    total = np.bincount(groups[known], weight[known])
    part = np.bincount(groups[known], weight[known] * value[known])
    return float((part[total > 0] / total[total > 0]).mean()) if known.any() else float("nan")


def _known(values: ArrayLike) -> Array:
    found = np.asarray(values, np.float64)
    return found[np.isfinite(found)]


def _middle(values: Sequence[float] | Array) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (np.nan, np.nan)
    return float(low), float(high)


# Tables as text.


def as_json(*tables: Table) -> str:
    """One table as JSON, or several by their names."""
    content = {table.name: table.to_json() for table in tables}
    return json.dumps(content if len(tables) > 1 else tables[0].to_json(), ensure_ascii=False, indent=2)


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
    with_figures = {name for row in table.rows for name, value in row.items() if isinstance(value, float)}
    settings = [at for at, name in enumerate(names) if name in {*table.columns} - with_figures]
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


def as_csv(table: Table) -> str:
    """All rows as CSV; `source` is seasync or paper, intervals are NAME_low and NAME_high."""
    out = io.StringIO()
    writer = csv.writer(out)
    if table.curves:
        writer.writerow(["curve", *table.axes, "low", "high"])
        for curve in table.curves:
            points = zip(curve.x, curve.y, curve.low, curve.high, strict=True)
            writer.writerows([curve.name, *point] for point in points)
        return out.getvalue()
    sources = {"seasync": table.rows, "paper": table.paper}
    rows: list[Row] = [{"source": source} | row for source, several in sources.items() for row in several]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in (name for name in names if not name.endswith("_interval")):
        columns += [name, *((f"{name}_low", f"{name}_high") if f"{name}_interval" in names else ())]
    writer.writerow(columns)
    for row in rows:
        for name in [name for name in row if name.endswith("_interval")]:
            plain, bounds = name.removesuffix("_interval"), row[name] or (None, None)
            row |= {f"{plain}_low": bounds[0], f"{plain}_high": bounds[1]}
        writer.writerow(["" if row.get(name) is None else row[name] for name in columns])
    return out.getvalue()


def as_latex(table: Table) -> str:
    """Our rows as a booktabs table; intervals are small brackets."""
    columns = table.columns
    lines = [f"% seasync evaluate {table.name}", rf"\begin{{tabular}}{{{'l' * len(columns)}}}", r"\toprule"]
    lines += [" & ".join(map(_tex, columns)) + r" \\", r"\midrule"]
    for row in table.rows:
        cells = []
        for column in columns:
            value, bracket, bounds = table.cell(row, column).partition(" [")
            cells.append(_tex(value) + (rf" {{\scriptsize [{_tex(bounds)}}}" if bracket else ""))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _tex(text: str) -> str:
    for plain, tex in (("\\", r"\textbackslash "), ("&", r"\&"), ("%", r"\%"), ("_", r"\_"), ("#", r"\#")):
        text = text.replace(plain, tex)
    return text.replace("–", "--").replace("τ", r"$\tau$").replace("⇄", r"$\rightleftarrows$")


def as_markdown(table: Table) -> str:
    """Our rows with the paper's beside them as Markdown, then notes and settings."""
    lines = ["| " + " | ".join(header(table)) + " |", "|" + "---|" * len(header(table))]
    lines += ["| " + " | ".join(cells) + " |" for cells in body(table)]
    lines += ["", *(f"- {note}" for note in table.notes), ""]
    settings = json.dumps(table.to_json()["settings"], ensure_ascii=False)
    return "\n".join([f"## {table.title}", "", *lines, f"<sub>`{settings}`</sub>", ""])


def as_html(table: Table) -> str:
    """The same as HTML."""

    def elements(tag: str, texts: Sequence[str]) -> str:
        return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

    rows = "".join(f"<tr>{elements('td', cells)}</tr>" for cells in body(table))
    settings = html.escape(json.dumps(table.to_json()["settings"], ensure_ascii=False, indent=1))
    return (
        f"{elements('h2', [table.title])}<table><thead><tr>{elements('th', header(table))}</tr></thead>"
        f"<tbody>{rows}</tbody></table><ul>{elements('li', table.notes)}</ul>"
        f"<details><summary>Settings</summary><pre>{settings}</pre></details>"
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
    made: list[list[str]] = [[] for _ in table.rows]
    for column in table.columns:
        both = _both(table, column)
        for cells, row in zip(made, table.rows, strict=True):
            cells += [table.cell(row, column), *([table.paper_value(row, column) or "–"] if both else [])]
    return made


def _both(table: Table, column: str) -> bool:
    """Whether the paper has `column` for at least one of our settings."""
    return column not in table.compare and any(table.paper_value(row, column) for row in table.rows)


# Plots of tables: curves as lines, rows as points with intervals and the paper's figures.

INK, OURS, THEIRS = "#1b2a33", "#0b7285", "#c2762a"


def plot(table: Table) -> bytes | None:
    """A PNG of the table's curves or of its main figure; None if there is nothing to draw."""
    rows = [row for row in table.rows if isinstance(row.get(table.main), float)]
    if not table.curves and not rows:
        return None
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("evaluate", "a report with plots") from None
    figure = Figure(figsize=(8, 4.5 if table.curves else 1.0 + 0.27 * len(rows)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    if table.curves:
        _draw_curves(axes, table)
    else:
        _draw_points(axes, table, rows)
    axes.legend(frameon=False, fontsize=8)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=130)
    return out.getvalue()


def _draw_curves(axes: Any, table: Table) -> None:
    """One color per indicator, one line style per recipe."""
    parts = [curve.name.partition(": ")[::2] for curve in table.curves]
    recipes, indicators = (list(dict.fromkeys(column)) for column in zip(*parts, strict=True))
    for curve, (recipe, indicator) in zip(table.curves, parts, strict=True):
        color, stroke = f"C{indicators.index(indicator)}", ("--", "-", ":", "-.")[recipes.index(recipe) % 4]
        axes.plot(curve.x, curve.y, stroke, color=color, label=curve.name, linewidth=1.6)
        axes.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.1, linewidth=0)
    axes.set_xlabel(table.axes[0])
    axes.set_ylabel(table.axes[1])


def _draw_points(axes: Any, table: Table, rows: list[Row]) -> None:
    for y, row in enumerate(rows):
        low, high = row.get(f"{table.main}_interval") or (row[table.main], row[table.main])
        axes.plot([low, high], [y, y], color=OURS, linewidth=2, alpha=0.5)
        axes.plot(row[table.main], y, "o", color=OURS, markersize=4, label="Seasync" if not y else None)
    label: str | None = "the paper, by its features"
    for y, row in enumerate(rows):
        for theirs in table.paper:
            same = table.compare and all(theirs.get(k) == row.get(k) for k in table.compare)
            if same and isinstance(theirs.get(table.main), float):
                axes.plot(theirs[table.main], y, "|", color=THEIRS, markersize=9, label=label)
                label = None
    axes.set_yticks(range(len(rows)), [_setting(row) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(f"{table.main} ({'lower' if table.lower else 'higher'} is better), 95 % interval")


def _setting(row: Row) -> str:
    """The settings of a row, in words."""
    words = [name if value is True else value for name, value in row.items()]
    return " · ".join(word for word in words if isinstance(word, str))


# A report of several tables with their plots in one Markdown or HTML file.


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
    make = _html_report if place.suffix.lower() == ".html" else _markdown_report
    write_text(place, make(pictures, place, title), make_folder=True, error=DataError)


def _markdown_report(pictures: Sequence[tuple[Table, bytes | None]], file: Location, title: str) -> str:
    folder = file.with_name(f"{file.stem}_plots")
    parts = [f"# {title}", ""]
    for table, picture in pictures:
        parts.append(as_markdown(table))
        if picture is not None:
            with atomic_write(folder.join(f"{table.name}.png"), make_folder=True, error=DataError) as part:
                part.write_bytes(picture)
            parts += [f"![{table.title}]({folder.name}/{table.name}.png)", ""]
    return "\n".join(parts)


def _html_report(pictures: Sequence[tuple[Table, bytes | None]], file: Location, title: str) -> str:
    parts = []
    for table, picture in pictures:
        parts.append(f'<section><div class="wide">{as_html(table)}</div>')
        if picture is not None:
            data = base64.b64encode(picture).decode()
            parts.append(f'<img alt="{html.escape(table.title)}" src="data:image/png;base64,{data}">')
        parts.append("</section>")
    style = resources.files("seasync.evaluate").joinpath("report.css").read_text("utf-8")
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
    return f"{head}<style>{style}</style><h1>{html.escape(title)}</h1>{''.join(parts)}</html>\n"
