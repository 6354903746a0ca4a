"""DRAQ and the score that ranks candidates: each formula has its one place here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from seasync.align.alignment import Alignment


def draq_ratio(dtw_cost: ArrayLike, random_cost: ArrayLike) -> NDArray[np.float64]:
    """Divide the cost of a path by the mean cost of random paths.

    Parameters
    ----------
    dtw_cost : array_like [shape=(...)]
        Cost of the cheapest path.
    random_cost : array_like [shape=(...)]
        Mean cost of random paths through the same cells.

    Returns
    -------
    numpy.ndarray [shape=(...)], float64
        DRAQ: 0 is perfect, 1 is no better than chance. It is 1 where random paths cost nothing,
        because then nothing distinguishes a good path from a bad one.

    Examples
    --------
    >>> draq_ratio([1.0, 0.0], [4.0, 0.0]).tolist()
    [0.25, 1.0]
    """
    cost, mean = np.asarray(dtw_cost, np.float64), np.asarray(random_cost, np.float64)
    return np.divide(cost, mean, out=np.ones(cost.shape), where=mean > 0)


def draq_of(dtw_cost: float, random_cost: float) -> float:
    """`draq_ratio` of one path."""
    return float(dtw_cost / random_cost) if random_cost > 0 else 1.0


# Cost of the cheapest path over that of paths with the match's order broken: from here on the order says
# little. Of the ten nearest falls, golf swings and robots' clips, 0.6 % get there, and all films of a mouse,
# whose cheapest paths are worse than a uniform stretch.
_LITTLE = 0.85


def order_doubt(dtw_cost: ArrayLike, disordered_cost: ArrayLike) -> NDArray[np.float64]:
    """How little the order of the frames says about the path.

    Parameters
    ----------
    dtw_cost : array_like [shape=(...)]
        Cost of the cheapest path.
    disordered_cost : array_like [shape=(...)]
        Cost of the cheapest paths with the match's order broken.

    Returns
    -------
    numpy.ndarray [shape=(...)], float64
        0 where these are clearly more expensive, 1 where they are not.

    Examples
    --------
    >>> order_doubt([1.0, 1.0, 2.0], [2.0, 1.0, 1.0]).tolist()
    [0.0, 1.0, 1.0]
    """
    return np.clip((draq_ratio(dtw_cost, disordered_cost) - _LITTLE) / (1 - _LITTLE), 0.0, 1.0)


def coverage_score(draq: ArrayLike, query_coverage: ArrayLike) -> NDArray[np.float64]:
    """Raise DRAQ by the share of the query that a partial alignment leaves out.

    The score is ``1 − √coverage · (1 − DRAQ)``, which is DRAQ itself at full coverage. The square root
    separates composites that share an action from others better than the plain coverage does.

    Parameters
    ----------
    draq : array_like [shape=(...)]
        DRAQ of the pieces that are aligned.
    query_coverage : array_like [shape=(...)]
        Share (0–1) of the query's movement that they cover.

    Returns
    -------
    numpy.ndarray [shape=(...)], float64
        The score; lower is better.

    Examples
    --------
    >>> coverage_score([0.5, 0.5], [1.0, 0.25]).tolist()
    [0.5, 0.75]
    """
    return np.asarray(1 - np.sqrt(query_coverage) * (1 - np.asarray(draq, np.float64)))


def score_of(draq: float, query_coverage: float) -> float:
    """`coverage_score` of one path."""
    return 1 - math.sqrt(query_coverage) * (1 - draq)


class ScoredPieces(NamedTuple):
    """The pieces of candidates that are aligned in part, without their paths.

    boxes : numpy.ndarray [shape=(P, 5)], int64
        Candidate, first row, first column, number of rows and of columns of the box around each piece. The
        pieces of one candidate are in order.
    costs, randoms : numpy.ndarray [shape=(P,)], float64
        What each piece costs, and the mean cost of random paths through its box.
    """

    boxes: NDArray[np.int64]
    costs: NDArray[np.float64]
    randoms: NDArray[np.float64]

    @classmethod
    def none(cls) -> ScoredPieces:
        """No pieces: all candidates are aligned as a whole."""
        return cls(np.empty((0, 5), np.int64), np.empty(0), np.empty(0))

    @classmethod
    def joined(cls, parts: Iterable[ScoredPieces]) -> ScoredPieces:
        """The pieces of all parts."""
        return cls(*map(np.concatenate, zip(*parts, cls.none(), strict=True)))

    def renumbered(self, numbers: ArrayLike) -> ScoredPieces:
        """The pieces with ``numbers[n]`` for candidate `n`."""
        boxes = self.boxes.copy()
        boxes[:, 0] = np.asarray(numbers)[boxes[:, 0]]
        return self._replace(boxes=boxes)

    def only(self, chosen: Sequence[int]) -> ScoredPieces:
        """The pieces of the candidates that are chosen, each with its place among them as its number."""
        places = {candidate: place for place, candidate in enumerate(chosen)}
        numbers = [places.get(candidate, -1) for candidate in self.boxes[:, 0].tolist()]
        boxes, own = self.boxes.copy(), np.flatnonzero(np.array(numbers) >= 0)
        boxes[:, 0] = numbers
        return ScoredPieces(boxes[own], self.costs[own], self.randoms[own])

    def of(self, n: int) -> list[tuple[list[int], float, float]]:
        """Box and costs of each piece of a candidate; none if it is aligned as a whole."""
        own = np.flatnonzero(self.boxes[:, 0] == n)
        return list(zip(*(column[own].tolist() for column in self), strict=True))


@dataclass(frozen=True, eq=False)
class Scores:
    """Costs and coverage of one query aligned with B candidates, in full or in part.

    Attributes
    ----------
    dtw_cost, random_cost : numpy.ndarray [shape=(B,)], float64
        Cost of each path, and mean cost of random paths through the same pieces.
    query_coverage, match_coverage : numpy.ndarray [shape=(B,)], float64
        Share (0–1) of the movement in either clip that the path covers.
    contrast : numpy.ndarray [shape=(B,)], float64, optional
        Cost of each path over that of the cheapest paths through the same pieces with the order of the
        match broken; see `disordered_cost`. 1 where it is not known.
    whole_draq : numpy.ndarray [shape=(B,)], float64, optional
        DRAQ of both clips as a whole; infinite where it is not known.
    query_span : float
        Length of the query in seconds.
    pieces : ScoredPieces
        The pieces of candidates that are aligned in part.
    """

    dtw_cost: NDArray[np.float64]
    random_cost: NDArray[np.float64]
    query_coverage: NDArray[np.float64]
    match_coverage: NDArray[np.float64]
    contrast: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    whole_draq: NDArray[np.float64] = field(default_factory=lambda: np.full(1, np.inf))
    query_span: float = field(default=0.0, kw_only=True)
    pieces: ScoredPieces = field(default_factory=ScoredPieces.none, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("contrast", "whole_draq"):
            object.__setattr__(self, name, np.broadcast_to(getattr(self, name), self.dtw_cost.shape))

    @classmethod
    def of_alignments(cls, alignments: Sequence[Alignment]) -> Scores:
        """Scores of alignments that are already solved; contrast and the whole's DRAQ are not known."""
        rows = [(each.dtw_cost, each.random_cost, *each.coverage, 1.0, np.inf) for each in alignments]
        return cls(*np.array(rows, np.float64).reshape(-1, 6).T)

    @property
    def draq(self) -> NDArray[np.float64]:
        """DRAQ of each candidate, shape (B,); see `draq_ratio`."""
        return draq_ratio(self.dtw_cost, self.random_cost)

    @property
    def score(self) -> NDArray[np.float64]:
        """Coverage-adjusted DRAQ of each candidate, shape (B,); see `coverage_score`."""
        return coverage_score(self.draq, self.query_coverage)

    @property
    def best_score(self) -> NDArray[np.float64]:
        """The lower of `score` and `whole_draq`, shape (B,).

        Of clips that resemble each other only somewhat, a part is easily left out too much. That says little
        about whether they show the same movement.
        """
        return np.minimum(self.score, self.whole_draq)
