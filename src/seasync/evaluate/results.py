"""A table of results: our rows, the paper's beside them, and what is needed to repeat the run."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.evaluate.bootstrap import interval, mean_interval

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line to plot: x, y and the interval's low and high, all (P,)."""

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """One table or figure of the evaluation.

    rows      settings and figures; a figure `NAME` has its 95 % interval in `NAME_interval`
    paper     the paper's rows in the same form
    main      the figure to plot; lower is better if `lower`
    compare   columns that make one of our rows and one of the paper's the same setting
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
        """`{"rows", "paper", "settings"}` with plain values; what is not a number is null."""
        return {
            "table": self.name,
            "title": self.title,
            "rows": [_plain(row) for row in self.rows],
            "paper": [_plain(row) for row in self.paper],
            "settings": _plain(self.settings),
            "notes": list(self.notes),
        } | ({"curves": [_plain(vars(curve)) for curve in self.curves]} if self.curves else {})

    def with_notes(self, notes: Iterable[str]) -> Table:
        return replace(self, notes=(*self.notes, *notes))

    @property
    def columns(self) -> list[str]:
        """Every column of our rows but the intervals, in the order of their first appearance."""
        seen = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in seen if not name.endswith("_interval")]

    def paper_value(self, row: Row, column: str) -> str:
        """What the paper has in `column` for the setting of `row`, by its features: `BYOL 0.54, NMS 13.4`."""
        same = [p for p in self.paper if "features" in p and all(p[k] == row.get(k) for k in self.compare)]
        found = [f"{p['features']} {p[column]:g}" for p in same if isinstance(p.get(column), float)]
        return ", ".join(found)


def merge_tables(tables: Sequence[Table]) -> Table:
    """The same table of several encoders as one: all rows and curves, the encoders listed in the settings."""
    first = tables[0]
    if len(tables) == 1:
        return first
    several = first.settings | {"encoder": [table.settings["encoder"] for table in tables]}
    curves = tuple(
        replace(curve, name=f"{table.settings['encoder']}, {curve.name}")
        for table in tables
        for curve in table.curves
    )
    rows: list[Row] = []
    for row in (row for table in tables for row in table.rows):
        if row not in rows:  # controls may be the same with every encoder
            rows.append(row)
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return replace(first, rows=rows, curves=curves, settings=several, notes=notes)


def add_mean(row: Row, name: str, values: ArrayLike, *, scale: float = 1.0, seed: int = 0) -> None:
    """The mean of `values` over queries as figure `name` with its interval; NaN entries are left out."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)] * scale
    row[name] = float(known.mean()) if len(known) else None
    row[f"{name}_interval"] = list(mean_interval(known, seed=seed)) if len(known) else None


def add_median(row: Row, name: str, values: ArrayLike, *, seed: int = 0) -> None:
    """The median of `values` over queries, likewise."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    add_figure(row, name, lambda drawn: float(np.median(known[drawn])), len(known), seed=seed)


def add_figure(
    row: Row, name: str, statistic: Callable[[NDArray[np.int64]], float], n: int, *, seed: int = 0
) -> None:
    """`statistic` of all n queries as figure `name` with its interval."""
    row[name] = statistic(np.arange(n))
    row[f"{name}_interval"] = list(interval(statistic, n, seed=seed))


def run_settings(**settings: Any) -> Row:
    """Settings of a run, with the versions it ran on."""
    return settings | {
        "versions": _versions(("seasync", "numpy", "numba", "scipy", "scikit-learn", "onnxruntime"))
    }


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _plain(value: Any) -> Any:
    """The value as JSON has it: arrays as lists, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def format_cell(row: Row, column: str) -> str:
    """A cell for reading: figures with their interval, settings in words."""
    value = row.get(column)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    bounds: Sequence[float] | None = row.get(f"{column}_interval")
    text = rounded(value)
    return text if bounds is None else f"{text} [{rounded(bounds[0])}, {rounded(bounds[1])}]"


def rounded(value: float) -> str:
    """Three significant places for small figures, one decimal for large ones."""
    size = abs(value)
    return f"{value:.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.3f}"
