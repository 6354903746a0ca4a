"""Plots of tables: curves as lines, rows as points with intervals and the paper's figures."""

from __future__ import annotations

import io
from typing import Any

from seasync.errors import MissingExtra
from seasync.evaluate.results import Curve, Row, Table

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
