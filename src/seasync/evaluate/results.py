"""Tables of results: our rows, the paper's beside them, and the settings to repeat the run."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Bootstrap intervals over queries: how much a figure would vary with other queries of the same kind.


RESAMPLES = 1000
Indices = NDArray[np.int64]


def mean_interval(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % percentile interval of the mean of `values`, shape (n,); NaN is ignored."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    at_once = max(1, 1_000_000 // len(known))
    means: list[float] = []
    while len(means) < resamples:
        means += known[random.integers(0, len(known), (at_once, len(known)))].mean(1).tolist()
    return _middle(means[:resamples])


def interval(
    statistic: Callable[[Indices], float], n: int, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of ``statistic(indices)`` over `resamples` draws of n of n queries."""
    random = np.random.default_rng(seed)
    drawn = [statistic(random.integers(0, n, n)) for _ in range(resamples if n else 0)]
    return _middle([value for value in drawn if np.isfinite(value)])


def _middle(values: list[float]) -> tuple[float, float]:
    if not values:
        return float("nan"), float("nan")
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


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


Row = dict[str, Any]


def paper_rows(table: str, dataset: str | None) -> list[Row]:
    """The paper's rows of a table; for a data set it does not have, those of Penn Action, which say so."""
    tables = json.loads(files("seasync.evaluate").joinpath("paper.json").read_text("utf-8"))
    rows: list[Row] = tables.get(table, [])
    there = {row["dataset"] for row in rows}
    return [row for row in rows if row["dataset"] == (dataset if dataset in there else "PennAction")]


@dataclass(frozen=True, eq=False)
class Curve:
    """A line to plot, with its interval; all arrays have shape (P,)."""

    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


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
        return {
            "table": self.name,
            "title": self.title,
            "rows": [_plain(row) for row in self.rows],
            "paper": [_plain(row) for row in self.paper],
            "settings": _plain(self.settings),
            "notes": list(self.notes),
        } | ({"curves": [_plain(vars(curve)) for curve in self.curves]} if self.curves else {})

    def with_notes(self, notes: Iterable[str]) -> Table:
        """The table with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    @property
    def columns(self) -> list[str]:
        """All columns of our rows except the intervals, in order of first appearance."""
        seen = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in seen if not name.endswith("_interval")]

    def decimals(self, column: str) -> int:
        """How many decimals all figures of a column have: three for small ones, fewer for large ones."""
        figures = [abs(row[column]) for row in self.rows if isinstance(row.get(column), float)]
        largest = max((figure for figure in figures if np.isfinite(figure)), default=0.0)
        return 0 if largest >= 1000 else 1 if largest >= 10 else 3

    def paper_value(self, row: Row, column: str) -> str:
        """The paper's figures in `column` for the setting of `row`, such as `BYOL 0.54, NMS 13.4`."""
        same = [p for p in self.paper if "features" in p and all(p[k] == row.get(k) for k in self.compare)]
        found = [f"{p['features']} {p[column]:g}" for p in same if isinstance(p.get(column), float)]
        return ", ".join(found)


def merge_tables(tables: Sequence[Table]) -> Table:
    """Merge the same table of several encoders: all rows and curves; settings list the encoders."""
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
    """Add the mean of `values` over queries as figure `name`, with its interval; NaN is ignored."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)] * scale
    row[name] = float(known.mean()) if len(known) else None
    row[f"{name}_interval"] = list(mean_interval(known, seed=seed)) if len(known) else None


def add_median(row: Row, name: str, values: ArrayLike, *, seed: int = 0) -> None:
    """Add the median of `values` over queries, with its interval; NaN is ignored."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    add_figure(row, name, lambda drawn: float(np.median(known[drawn])), len(known), seed=seed)


def add_figure(
    row: Row, name: str, statistic: Callable[[NDArray[np.int64]], float], n: int, *, seed: int = 0
) -> None:
    """Add ``statistic(indices)`` of all n queries as figure `name`, with its interval."""
    row[name] = statistic(np.arange(n))
    row[f"{name}_interval"] = list(interval(statistic, n, seed=seed))


def run_settings(**settings: Any) -> Row:
    """The settings of a run, with the versions of what it ran on."""
    return settings | {"versions": _versions(("seasync", "numpy", "scipy", "scikit-learn", "onnxruntime"))}


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


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


def format_cell(row: Row, column: str, decimals: int) -> str:
    """Format a cell: figures with their interval, settings in words."""
    value = row.get(column)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    bounds: Sequence[float] | None = row.get(f"{column}_interval")
    text = f"{value:.{decimals}f}"
    return text if bounds is None else f"{text} [{bounds[0]:.{decimals}f}, {bounds[1]:.{decimals}f}]"
