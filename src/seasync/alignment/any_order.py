"""Pieces in another order: rearrange stretches of the match so that the best path gains more.

A hill climb: exchange the two neighboring stretches of the match whose exchange gains most, wherever they
begin and end, then move the cuts between all stretches to where they gain most; repeat while that helps.
Walls between the stretches make paths pay for a jump there. In the best order, as in the given one, clips
correspond as a whole unless leaving something out is clearly better.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from seasync.alignment.matrix import Cells, Path, solve_whole
from seasync.alignment.partial import Prices, best_pieces, gains_clearly
from seasync.encoding import Floats, Indices
from seasync.errors import FeatureError

Layout = list[tuple[int, int]]  # stretches of columns (first, last exclusive) in their new order

_WALL = 1e9  # what a cell costs that no path enters
_POINTS = 128  # samples of either clip that the search for exchanges looks at
_MARKS = 12  # equal parts of the match: stretches start as runs of them, before the cuts move
_ROUNDS = 5


def best_pieces_in_any_order(cost: Floats, prices: Prices, anchors: Cells = ()) -> tuple[float, list[Path]]:
    """Find the best path with jumps, with the match's stretches in any order.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], float32
    prices : Prices
    anchors : sequence of (int, int)
        Cells that it must pass, in any order in the match. Without them, and with `partial` "auto", something
        is left out only where that is clearly better.

    Returns
    -------
    float
        What the path gains at best.
    list of numpy.ndarray [shape=(L, 2)]
        Its pieces, in the query's order.

    Raises
    ------
    FeatureError
        If no order was found that passes all anchors.
    """
    matrix = _Rearrangeable(cost, prices, anchors)
    layout = _best_layout(cost, prices, anchors, matrix)
    gain, pieces = matrix.path(layout)
    if not anchors:
        stays = prices.recipe.partial == "auto" and _whole_pieces(cost, prices, layout, gain)
        return gain, stays or pieces
    passed = {(i, j) for piece in pieces for i, j in piece.tolist()}
    if not passed.issuperset(anchors):
        raise FeatureError("no order of the match's stretches passes through all anchors: remove one of them")
    return prices.gain(cost, pieces), pieces


def _best_layout(cost: Floats, prices: Prices, anchors: Cells, matrix: "_Rearrangeable") -> Layout:
    """The order of stretches that gains most: sought among few samples, then moved to the best cuts."""
    factor = -(-max(cost.shape) // _POINTS)
    coarse = np.ascontiguousarray(cost[::factor, ::factor])
    near_anchors = [(i // factor, j // factor) for i, j in anchors]
    layout = _climb(_Rearrangeable(coarse, Prices.of(coarse, prices.recipe), near_anchors))
    if factor == 1:
        return layout
    scaled = [(factor * first, min(factor * last, cost.shape[1])) for first, last in layout]
    return _move_cuts(scaled, matrix, factor)[0]


def _whole_pieces(cost: Floats, prices: Prices, layout: Layout, gain: float) -> list[Path]:
    """The path from end to end through the rearranged match, cut where stretches meet.

    Empty if leaving something out, which gains `gain`, is clearly better, or if nothing is rearranged.
    """
    if len(layout) == 1:
        return []
    columns: Indices = np.concatenate([np.arange(*run) for run in layout])
    solved = solve_whole(cost.take(columns, axis=1))
    jumps = float(prices.jumps[0]) * (len(layout) - 1)
    if gains_clearly(gain + jumps, prices.whole[0], solved.cost, prices.recipe):
        return []
    pieces: list[Path] = []
    for part in np.split(solved.path, _first_cells(solved.path, layout)):
        # A row on both sides of a cut belongs to the piece before it.
        new = part[part[:, 0] > pieces[-1][-1, 0]] if pieces else part
        if len(new):
            pieces.append(np.stack([new[:, 0], columns[new[:, 1]].astype(np.int32)], axis=1))
    return pieces


def _first_cells(path: Path, layout: Layout) -> Indices:
    """Where on a path through the rearranged match each stretch but the first begins."""
    ends = np.cumsum([last - first for first, last in layout])[:-1]
    return np.searchsorted(path[:, 1], ends)


class _Rearrangeable:
    """A cost matrix whose columns can be rearranged in stretches. Anchors get a reward above all else."""

    def __init__(self, cost: Floats, prices: Prices, anchors: Cells) -> None:
        self.width, self.prices = cost.shape[1], prices
        # One more column, the wall.
        self.cost = np.pad(cost, ((0, 0), (0, 1)), constant_values=_WALL)
        for cell in set(anchors):
            self.cost[cell] = -prices.anchor
        marks = np.linspace(0, self.width, _MARKS + 1).astype(int).tolist()
        self.marks = sorted({*marks, *(column for _, column in anchors)})
        self.columns = np.append(prices.columns, np.zeros((1, 1), np.float32), axis=0)

    def path(self, layout: Layout) -> tuple[float, list[Path]]:
        columns = np.concatenate([np.append(np.arange(*run), self.width) for run in layout])[:-1]
        there = replace(self.prices, columns=self.columns[columns])
        gain, pieces = best_pieces(self.cost.take(columns, axis=1), there)
        for piece in pieces:
            piece[:, 1] = columns[piece[:, 1]]
        return gain, pieces

    def gain(self, layout: Layout) -> float:
        return self.path(layout)[0]


def _climb(matrix: _Rearrangeable) -> Layout:
    """Exchange stretches and move cuts while that gains."""
    layout: Layout = [(0, matrix.width)]
    gain = matrix.gain(layout)
    for _ in range(_ROUNDS):
        exchanged = [_exchange(layout, *cuts) for cuts in combinations(matrix.marks, 3)]
        if not exchanged:
            break
        tried, better = _move_cuts(max(exchanged, key=matrix.gain), matrix, matrix.width // _MARKS)
        if better <= gain:
            break
        layout, gain = tried, better
    return layout


def _move_cuts(layout: Layout, matrix: _Rearrangeable, step: int) -> tuple[Layout, float]:
    """Move the cuts while that gains, by `step` columns and then by fewer; the layout and its gain."""
    gain = matrix.gain(layout)
    while step:
        shifts = [(cut, by) for cut, _ in layout if cut for by in (-step, step)]
        tried = [[(a + by * (a == cut), b + by * (b == cut)) for a, b in layout] for cut, by in shifts]
        valid = [(matrix.gain(other), other) for other in tried if all(a < b for a, b in other)]
        best, moved = max(valid, default=(gain, layout))
        if best > gain:
            layout, gain = moved, best
        else:
            step //= 2
    return layout, gain


def _exchange(layout: Layout, first: int, middle: int, last: int) -> Layout:
    """Put columns `middle`–`last` of the layout before columns `first`–`middle`."""
    columns: Indices = np.concatenate([np.arange(*run) for run in layout])
    columns = np.concatenate([columns[:first], columns[middle:last], columns[first:middle], columns[last:]])
    runs = np.split(columns, np.flatnonzero(np.diff(columns) != 1) + 1)
    return [(int(run[0]), int(run[-1]) + 1) for run in runs]
