"""Prices of frames, and the path that gains most by them: the pieces of a partial alignment.

A frame's random price is what a random path would spend on it: its mean cost with the other clip's frames,
times the mean number of cells that such a path has in a row. Leaving a frame out costs a share of that. The
best path weighs it against the cost of its cells, and may jump ahead where both clips show something that the
other one lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import kernels
from seasync.alignment.costs import BatchedCosts, scratch
from seasync.alignment.judge import ScoredPieces, draq_of, score_of
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Cells, Path, SolvedPath, disordered_cost
from seasync.encoding import Floats

# Shares of the random price of both clips as a whole:
_JUMP = 0.025  # the cost of a jump ahead
# … and of a jump anywhere. Chosen on golf swings in two and three pieces; in their order, they stay whole.
JUMP_IN_ANY_ORDER = 0.015
_MARGIN = 0.02  # what leaving something out must gain over the whole path
# … and as a share of what the whole path costs, because clips that fit badly gain more by chance. Of falls,
# golf swings and two robots' work, whose clips correspond whole, next to no pair gains that much.
NOISE = 0.1
# How much more than that it must gain where the order of the frames says nothing. Two films of a mouse gained
# 1.2 times what is needed by leaving out half of them, which was wrong.
_DOUBTFUL = 0.3


@dataclass(frozen=True, eq=False)
class Prices:
    """What leaving out each frame of a pair costs.

    Attributes
    ----------
    rows : numpy.ndarray [shape=(n,)], float32
        `share` times the random price of each of the query's frames.
    columns : numpy.ndarray [shape=(m,)], float32
        The same for the match.
    totals : (float, float)
        The sums of both.
    share : float
    jump_share : float
        The cost of a jump, as a share of the random price of both clips together.
    """

    rows: Floats
    columns: Floats
    totals: tuple[float, float]
    share: float
    jump_share: float = _JUMP

    @classmethod
    def of(cls, cost: Floats, share: float, jump_share: float = _JUMP) -> Prices:
        """Compute the prices of a cost matrix, shape (n, m)."""
        cost = np.ascontiguousarray(cost)
        n, m = np.array(cost.shape)[:, None]
        rows, columns, totals = kernels.price_frames(cost, n, m, share)
        return cls(rows[:, 0], columns[:, 0], tuple(totals[0].tolist()), share, jump_share)

    @property
    def whole(self) -> float:
        """The random price of both clips together."""
        return sum(self.totals) / self.share

    @property
    def jump(self) -> np.float32:
        """The cost of a jump."""
        return np.float32(self.jump_share * self.whole)

    @property
    def anchor(self) -> np.float32:
        """A reward that makes one cell worth more than all the rest."""
        return np.float32(1 + 2 * self.whole)

    def gain(self, cost: Floats, pieces: list[Path]) -> float:
        """What these pieces of a path gain, given the cost matrix, shape (n, m)."""
        measured = (self.measure(cost, piece) for piece in pieces)
        gain = sum(rows + columns - along for along, rows, columns in measured)
        return float(gain) - float(self.jump) * (len(pieces) - 1)

    def measure(self, cost: Floats, piece: Path) -> tuple[float, float, float]:
        """What a piece costs, and the prices of the rows and of the columns it enters."""
        return kernels.measure(cost, self.rows[:, None], self.columns[:, None], piece)

    def better(self, gain: float, dtw_cost: float, doubt: float = 0.0) -> bool:
        """Whether a partial path of that gain beats the whole path of that cost; see `order_doubt`."""
        return bool(_beats(gain, self.whole, self.share, dtw_cost, doubt))


def best_pieces(cost: Floats, prices: Prices, anchors: Cells = ()) -> tuple[float, list[Path]]:
    """Find the best path with jumps.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], float32
    prices : Prices
    anchors : sequence of (int, int)
        Cells that it must pass, in the same order in both clips.

    Returns
    -------
    float
        What the path gains.
    list of numpy.ndarray [shape=(L, 2)]
        Its pieces, in order in both clips.
    """
    if anchors:
        return _pieces_through(sorted(anchors), cost, prices)
    return _best_pieces(cost, prices.rows, prices.columns, prices.jump)


def _best_pieces(cost: Floats, rows: Floats, columns: Floats, jump: np.float32) -> tuple[float, list[Path]]:
    """What the best path with jumps gains, and its pieces."""
    moves, sources = np.empty(cost.shape, np.uint8), np.empty(cost.shape, np.int32)
    jumps = np.full(1, jump, np.float32)
    gains, ends = kernels.solve_priced(
        np.ascontiguousarray(cost), rows[:, None], columns[:, None], jumps, moves, sources
    )
    path, breaks = kernels.trace_priced(moves, sources, int(ends[0]))
    return float(gains[0]), [path[a:b] for a, b in pairwise(breaks.tolist())]


def _pieces_through(anchors: Cells, cost: Floats, prices: Prices) -> tuple[float, list[Path]]:
    """Go from anchor to anchor: in the box between two, both corners get a reward above all else."""
    n, m = cost.shape
    pieces: list[Path] = []
    for (i, j), (k, last) in pairwise([(0, 0), *anchors, (n - 1, m - 1)]):
        box = cost[i : k + 1, j : last + 1].copy()
        for corner, cell in (((i, j), (0, 0)), ((k, last), (-1, -1))):
            box[cell] = -prices.anchor if corner in anchors else box[cell]
        _, found = _best_pieces(box, prices.rows[i : k + 1], prices.columns[j : last + 1], prices.jump)
        found = [piece + np.array([i, j], np.int32) for piece in found]
        if pieces:  # the last one ends where the first of these begins
            found[0] = np.concatenate([pieces.pop(), found[0][1:]])
        pieces += found
    return prices.gain(cost, pieces), pieces


class BatchedPrices:
    """`Prices` of every matrix of a batch and what `best_pieces` gains there, computed together.

    Attributes
    ----------
    gains : numpy.ndarray [shape=(LANES,)], float64
        What the best path of each matrix gains.
    """

    def __init__(self, batch: BatchedCosts, share: float) -> None:
        self.batch, self.share = batch, share
        size = batch.n, batch.m * LANES
        self.rows, self.columns, self.totals = kernels.price_frames(
            batch.cells, batch.rows, batch.columns, share
        )
        jumps = (_JUMP * (self.totals.sum(1) / share)).astype(np.float32)
        self._moves = scratch("priced", np.uint8, *size), scratch("sources", np.int32, *size)
        gains, self._ends = kernels.solve_priced(batch.cells, self.rows, self.columns, jumps, *self._moves)
        self.gains = gains.astype(np.float64)

    def better(
        self, costs: NDArray[np.float64], doubt: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.bool_]:
        """Whether the best partial path beats the whole path of that cost, for each matrix."""
        whole, count = self.totals.sum(1) / self.share, len(costs)
        return np.asarray(_beats(self.gains[:count], whole[:count], self.share, costs, doubt))

    def prices(self, lane: int) -> Prices:
        """The prices of one matrix of the batch."""
        n, m = self.batch.rows[lane], self.batch.columns[lane]
        rows, columns = self.rows[:n, lane].copy(), self.columns[:m, lane].copy()
        return Prices(rows, columns, tuple(self.totals[lane].tolist()), self.share)

    def pieces(self, lane: int) -> list[Path]:
        """The pieces of its best path."""
        path, breaks = kernels.trace_priced(*self._moves, int(self._ends[lane]), lane=lane, lanes=LANES)
        return [path[a:b] for a, b in pairwise(breaks.tolist())]

    def measure(self, lane: int, piece: Path) -> tuple[float, float, float]:
        """What a piece costs, and the prices of the rows and of the columns it enters."""
        return kernels.measure(self.batch.cells, self.rows, self.columns, piece, lane=lane)

    def all_pieces(self, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The pieces of some matrices without their cells.

        Parameters
        ----------
        chosen : numpy.ndarray [shape=(C,)]
            The lanes of these matrices.

        Returns
        -------
        numpy.ndarray [shape=(P, 5)]
            Lane, first row, first column, number of rows and of columns of the box around each piece.
        numpy.ndarray [shape=(P, 3)]
            What each piece costs, and the prices of the rows and of the columns it enters.
        """
        return kernels.take_pieces(
            self.batch.cells, self.rows, self.columns, *self._moves, self._ends, chosen
        )


def _beats(gain: Any, whole: Any, share: float, dtw_cost: Any, doubt: Any) -> Any:
    """Whether a partial path beats the whole one; `whole` is the random price of both clips together."""
    needed = (1 + _DOUBTFUL * doubt) * np.maximum(_MARGIN * whole, NOISE * dtw_cost)
    return gain - (share * whole - dtw_cost) > needed


# The pieces of two clips that correspond, with their costs and what they cover.


@dataclass(frozen=True, eq=False)
class Pieces:
    """The path between two clips, in one or more pieces.

    Attributes
    ----------
    pieces : list of SolvedPath
        In the query's order.
    coverage : (float, float)
        Share of the query's and of the match's random price that they cover.
    whole_cost, whole_random : float
        Cost of the path that covers both clips as a whole, and mean cost of random paths through both.
    """

    pieces: list[SolvedPath]
    coverage: tuple[float, float]
    whole_cost: float
    whole_random: float

    @classmethod
    def whole(cls, path: SolvedPath) -> Pieces:
        """Both clips as a whole, in one piece."""
        return cls([path], (1.0, 1.0), path.cost, path.random)

    @property
    def cost(self) -> float:
        """Cost of all pieces."""
        return sum(piece.cost for piece in self.pieces)

    @property
    def random(self) -> float:
        """Mean cost of random paths through the boxes around the pieces."""
        return sum(piece.random for piece in self.pieces)

    @property
    def whole_draq(self) -> float:
        """DRAQ of both clips as a whole."""
        return draq_of(self.whole_cost, self.whole_random)

    @property
    def score(self) -> float:
        """Coverage-adjusted DRAQ; see `coverage_score`."""
        return score_of(draq_of(self.cost, self.random), self.coverage[0])

    def scored(self, number: int) -> ScoredPieces:
        """The pieces without their paths, of a candidate of that number."""
        boxes = np.array([(number, *corners_of(piece.path)) for piece in self.pieces])
        costs = np.array([(piece.cost, piece.random) for piece in self.pieces])
        return ScoredPieces(boxes, *costs.T)


def measured(
    cost: Floats, prices: Prices, pieces: list[Path], whole: SolvedPath, random: Callable[[Floats], float]
) -> Pieces:
    """Pieces with their costs and their coverage.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)]
    prices : Prices
        Of that matrix.
    pieces : list of numpy.ndarray [shape=(L, 2)]
        In the query's order.
    whole : SolvedPath
        The path that covers both clips as a whole.
    random : callable
        Gives the mean cost of random paths through a box around a piece.
    """
    measures = [prices.measure(cost, piece) for piece in pieces]
    return from_measures(
        measures, prices.totals, pieces, [random(box) for box in _boxes(cost, pieces)], whole
    )


def contrast_of(cost: Floats, found: Pieces) -> float:
    """The cost of pieces over that of paths through the same boxes with the match's order broken."""
    whole = found.coverage == (1.0, 1.0)
    boxes = [cost] if whole else _boxes(cost, [piece.path for piece in found.pieces])
    return draq_of(found.cost, sum(map(disordered_cost, boxes)))


def _boxes(cost: Floats, pieces: list[Path]) -> list[Floats]:
    """The part of the matrix around each piece."""
    corners = map(corners_of, pieces)
    return [cost[top : top + rows, left : left + columns] for top, left, rows, columns in corners]


def corners_of(piece: Path) -> tuple[int, int, int, int]:
    """First row and column of the box around a piece, and how many rows and columns it has."""
    (top, left), (last, right) = piece[0].tolist(), piece[-1].tolist()
    return top, left, last + 1 - top, right + 1 - left


def from_measures(
    measures: Sequence[tuple[float, float, float]],
    totals: Sequence[float],
    pieces: list[Path],
    randoms: list[float],
    whole: SolvedPath,
) -> Pieces:
    """Pieces with their costs and their coverage; each was measured as by `Prices.measure`."""
    solved = [
        SolvedPath(piece, along, random)
        for piece, (along, _, _), random in zip(pieces, measures, randoms, strict=True)
    ]
    covered = sum(rows for _, rows, _ in measures), sum(columns for _, _, columns in measures)
    of_query, of_match = (float(a / b) if b > 0 else 1.0 for a, b in zip(covered, totals, strict=True))
    return Pieces(solved, (of_query, of_match), whole.cost, whole.random)
