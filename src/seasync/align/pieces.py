"""The pieces of two clips that correspond, with their costs and what they cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seasync.align.matrix import Path, SolvedPath, disordered_cost
from seasync.align.prices import Prices
from seasync.align.scores import ScoredPieces, draq_of, score_of
from seasync.encoding import Floats


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
