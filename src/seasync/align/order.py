"""Pieces in another order: the match's stretches are laid out anew, so that the best path gains more.

The two neighbouring stretches of the match whose exchange gains most are exchanged, wherever they begin and
end, and the cuts between all stretches are moved to where they gain most; again, while that helps. Walls
between the stretches make paths pay for a jump there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from seasync.align.matrix import Cells, Path
from seasync.align.priced import Prices, best_pieces
from seasync.encoding import Floats, Indices
from seasync.errors import FeatureError

Runs = list[tuple[int, int]]  # stretches of columns, first and last (exclusive), as they are laid out

_WALL = 1e9  # what a cell costs that no path enters
_POINTS = 128  # of either clip, that are looked at while stretches are exchanged
_MARKS = 12  # parts of the match: stretches begin and end with one of them, until the cuts are moved
_ROUNDS = 5


def best_pieces_in_any_order(cost: Floats, prices: Prices, anchors: Cells = ()) -> tuple[float, list[Path]]:
    """The gain of the best path with jumps in the best layout, and its pieces (L, 2) as in the query.

    anchors  cells that it must pass, in whatever order they come in the match
    """
    thin = -(-max(cost.shape) // _POINTS)
    few = np.ascontiguousarray(cost[::thin, ::thin])
    runs = _climbed(_Board(few, Prices.of(few, prices.share), [(i // thin, j // thin) for i, j in anchors]))
    board = _Board(cost, prices, anchors)
    if thin > 1:
        scaled = [(thin * first, min(thin * last, cost.shape[1])) for first, last in runs]
        runs, _ = _moved(scaled, board, thin)
    gain, pieces = board.path(runs)
    if not anchors:
        return gain, pieces
    passed = {(i, j) for piece in pieces for i, j in piece.tolist()}
    if not passed.issuperset(anchors):
        raise FeatureError("no order of the match's stretches was found that passes all anchors: drop one")
    return prices.gain(cost, pieces), pieces


class _Board:
    """A cost matrix whose columns can be laid out in stretches. Anchors are worth more than all the rest."""

    def __init__(self, cost: Floats, prices: Prices, anchors: Cells) -> None:
        self.width, self.prices = cost.shape[1], prices
        # One more column, the wall.
        self.cost = np.pad(cost, ((0, 0), (0, 1)), constant_values=_WALL)
        for cell in set(anchors):
            self.cost[cell] -= prices.anchor
        marks = np.linspace(0, self.width, _MARKS + 1).astype(int).tolist()
        self.marks = sorted({*marks, *(column for _, column in anchors)})
        self.columns = np.append(prices.columns, np.float32(0))

    def path(self, runs: Runs) -> tuple[float, list[Path]]:
        laid = np.concatenate([np.append(np.arange(*run), self.width) for run in runs])[:-1]
        there = replace(self.prices, columns=self.columns[laid])
        gain, pieces = best_pieces(self.cost.take(laid, axis=1), there)
        for piece in pieces:
            piece[:, 1] = laid[piece[:, 1]]
        return gain, pieces

    def gain(self, runs: Runs) -> float:
        return self.path(runs)[0]


def _climbed(board: _Board) -> Runs:
    runs: Runs = [(0, board.width)]
    gain = board.gain(runs)
    for _ in range(_ROUNDS):
        exchanged = [_exchanged(runs, *cuts) for cuts in combinations(board.marks, 3)]
        if not exchanged:
            break
        tried, better = _moved(max(exchanged, key=board.gain), board, board.width // _MARKS)
        if better <= gain:
            break
        runs, gain = tried, better
    return runs


def _moved(runs: Runs, board: _Board, step: int) -> tuple[Runs, float]:
    """With cuts moved while that gains, by `step` columns and then by fewer; and what it gains."""
    gain = board.gain(runs)
    while step:
        shifts = [(cut, by) for cut, _ in runs if cut for by in (-step, step)]
        tried = [[(a + by * (a == cut), b + by * (b == cut)) for a, b in runs] for cut, by in shifts]
        valid = [(board.gain(layout), layout) for layout in tried if all(a < b for a, b in layout)]
        best, layout = max(valid, default=(gain, runs))
        if best > gain:
            runs, gain = layout, best
        else:
            step //= 2
    return runs, gain


def _exchanged(runs: Runs, first: int, middle: int, last: int) -> Runs:
    """With what is laid out from `first` to `middle` behind what is from `middle` to `last`."""
    laid: Indices = np.concatenate([np.arange(*run) for run in runs])
    laid = np.concatenate([laid[:first], laid[middle:last], laid[first:middle], laid[last:]])
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(laid, np.flatnonzero(np.diff(laid) != 1) + 1)]
