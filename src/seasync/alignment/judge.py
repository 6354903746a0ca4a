"""How good an alignment is: DRAQ, the score that ranks, the likelihood of the same movement, the verdict."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.alignment.recipe import Recipe
from seasync.encoding import Floats

if TYPE_CHECKING:
    from seasync.alignment.result import Alignment


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
    """Costs and coverage of B pairs of clips, in full or in part; usually one query with its candidates.

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
    whole_cost : numpy.ndarray [shape=(B,)], float64, optional
        Cost of the path through both clips as a whole; NaN where it is not known.
    query_span : float
        Length of the query in seconds.
    pieces : ScoredPieces
        The pieces of pairs that are aligned in part.
    paths : tuple of tuples of numpy.ndarray [shape=(L, 2)], length B or 0
        The path of each piece of each pair, if paths were asked for.
    costs : tuple of numpy.ndarray [shape=(n_b, m_b)], length B or 0
        The cost matrices, if they were asked for; None where one is too large to keep.
    """

    dtw_cost: NDArray[np.float64]
    random_cost: NDArray[np.float64]
    query_coverage: NDArray[np.float64]
    match_coverage: NDArray[np.float64]
    contrast: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    whole_draq: NDArray[np.float64] = field(default_factory=lambda: np.full(1, np.inf))
    whole_cost: NDArray[np.float64] = field(default_factory=lambda: np.full(1, np.nan))
    query_span: float = field(default=0.0, kw_only=True)
    pieces: ScoredPieces = field(default_factory=ScoredPieces.none, kw_only=True)
    paths: tuple[tuple[NDArray[np.int32], ...], ...] = field(default=(), kw_only=True)
    costs: tuple[Floats | None, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in ("contrast", "whole_draq", "whole_cost"):
            if (column := getattr(self, name)).shape != self.dtw_cost.shape:
                object.__setattr__(self, name, np.broadcast_to(column, self.dtw_cost.shape))

    def __len__(self) -> int:
        return len(self.dtw_cost)

    @classmethod
    def joined(cls, parts: Sequence[Scores], numbers: Sequence[Sequence[int]]) -> Scores:
        """The scores of all parts, in the order of the pairs' numbers."""
        if len(parts) == 1 and list(numbers[0]) == list(range(len(parts[0]))):
            return parts[0]
        order = np.argsort(np.concatenate([np.empty(0, np.int64), *map(np.asarray, numbers)]))

        def column(name: str) -> Any:
            return np.concatenate([np.empty(0), *(getattr(part, name) for part in parts)])[order]

        def items(name: str) -> tuple[Any, ...]:
            every = [item for part in parts for item in getattr(part, name)]
            return tuple(every[n] for n in order) if every else ()

        pieces = [part.pieces.renumbered(own) for part, own in zip(parts, numbers, strict=True)]
        return cls(
            *map(column, COLUMNS), pieces=ScoredPieces.joined(pieces),
            paths=items("paths"), costs=items("costs"),
        )  # fmt: skip

    def only(self, chosen: Sequence[int]) -> Scores:
        """The scores of the pairs that are chosen, in that order."""
        columns = (getattr(self, name)[list(chosen)] for name in COLUMNS)
        paths = tuple(self.paths[n] for n in chosen) if self.paths else ()
        costs = tuple(self.costs[n] for n in chosen) if self.costs else ()
        pieces = self.pieces.only(chosen)
        return Scores(*columns, query_span=self.query_span, pieces=pieces, paths=paths, costs=costs)

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


COLUMNS = tuple(Scores.__dataclass_fields__)[:7]


# Whether an alignment counts, and which number decides it.


NOISE = 1.5  # von Neumann's ratio from which on nothing moves in a clip
LIKELY = 0.5  # from this likelihood on, clips count as alignable


@dataclass(frozen=True)
class Verdict:
    """The decision on one alignment: by its likelihood, or by DRAQ where that is not known.

    The same DRAQ means different things for different footage, the same likelihood does not. It counts what a
    partial alignment leaves out already.

    Attributes
    ----------
    draq : float
        Of the path.
    coverage : tuple of float
        Share of the movement in the query, and in the match, that the path covers.
    whole : bool
        Whether the path covers both clips in one piece.
    recipe : Recipe
        Its threshold decides without a likelihood.
    likelihood : float, optional
        Probability, at even odds, that both clips show the same movement.
    """

    draq: float
    coverage: tuple[float, float]
    whole: bool
    recipe: Recipe
    likelihood: float | None = None

    @property
    def threshold(self) -> float:
        """DRAQ must be below this, where it decides."""
        return round(self.recipe.threshold - (0 if self.whole else self.recipe.strictness), 9)

    @property
    def covers_enough(self) -> bool:
        """Whether the pieces cover enough of one clip for DRAQ to count."""
        return self.whole or max(self.coverage) >= self.recipe.least_coverage

    @property
    def alignable(self) -> bool:
        """The decision."""
        if self.likelihood is not None:
            return self.likelihood >= LIKELY
        return self.draq < self.threshold and self.covers_enough

    @property
    def reason(self) -> str:
        """The number that decides, and its limit."""
        shares = f"{self.coverage[0]:.0%} of the query and {self.coverage[1]:.0%} of the match"
        of_parts = "" if self.whole else f" for {shares}"
        if self.likelihood is not None:
            limit = "" if self.alignable else f", less than {LIKELY:.0%}"
            return (
                f"{per_cent(self.likelihood)} likely the same movement{limit}; DRAQ {self.draq:.3f}{of_parts}"
            )
        if not self.covers_enough:
            return f"only {shares} correspond; at least half of one is needed"
        relation = "below" if self.draq < self.threshold else "not below"
        return f"DRAQ {shown(self.draq, self.threshold)}{of_parts}, {relation} {self.threshold:g}"


def shown(value: float, limit: float) -> str:
    """`value` with three digits, or as many as it takes to stay on its side of the limit."""
    digits = next((n for n in range(3, 9) if (round(value, n) < limit) == (value < limit)), 9)
    return f"{value:.{digits}f}"


def per_cent(likelihood: float) -> str:
    """A likelihood in percent, with as many digits as it takes to stay on its side of the limit."""
    if not 0.005 <= likelihood <= 0.995:
        return "over 99%" if likelihood > LIKELY else "under 1%"
    sides = (n for n in range(7) if (round(likelihood, n + 2) < LIKELY) == (likelihood < LIKELY))
    return f"{likelihood:.{next(sides, 7)}%}"


# How likely two clips show the same movement, judged from the two alone.


Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """The curve p = σ(a + b·ln(product + 0.001)), at even odds of same and different movement.

    Attributes
    ----------
    a, b : float
    error : float, optional
        Mean difference between p and the true share, on clips that it was not fitted to.
    pairs : int, optional
        How many pairs it was fitted to.
    false_half, false_nine : float, optional
        Of the first matches of searches for movements that a sea does not have, the share with 50 %, and with
        90 %, or more; on clips that it was not fitted to.
    recall : float, optional
        Of the first matches that show the movement, the share with 50 % or more, measured likewise.
    """

    a: float
    b: float
    error: float | None = None
    pairs: int | None = None
    false_half: float | None = None
    false_nine: float | None = None
    recall: float | None = None

    def probability(self, product: ArrayLike) -> Doubles:
        """The probability of the same movement, shape of `product`."""
        return sigmoid(self.a + self.b * log_product(product))


CurveOf = Literal["pair", "search"]
"""What a curve rates: any two clips, or what a search finds. The best of many candidates look alike even
where none shows the movement, so the same product says less of them."""


@lru_cache(maxsize=1)
def shipped_calibrations() -> dict[tuple[CurveOf, str, str], Calibration]:
    """The curves that come with Seasync, by what they rate and the fingerprints of encoder and recipe.

    `python -m benchmarks.calibrations` fits them and writes the file. One that was fitted to other values of
    a recipe is not used.
    """
    text = resources.files("seasync.alignment").joinpath("calibrations.json").read_text(encoding="utf-8")
    names = Calibration.__dataclass_fields__
    return {
        (row["of"], row["encoder"], row["recipe"]): Calibration(
            **{key: row[key] for key in names if key in row}
        )
        for row in json.loads(text)["curves"]
    }


def shipped_calibration(encoder: str, recipe: Recipe, of: CurveOf = "pair") -> Calibration | None:
    """The curve that comes with Seasync for an encoder, by its fingerprint, and a recipe."""
    return shipped_calibrations().get((of, encoder, recipe.fingerprint))


class ClipVector(Protocol):
    """What is compared of a clip: its raw mean and trajectory."""

    @property
    def encoder(self) -> str: ...
    @property
    def mean(self) -> Floats: ...
    @property
    def trajectory(self) -> Floats: ...


class RawVector(NamedTuple):
    """The raw parts of a clip's vector, and the fingerprint of its encoder."""

    encoder: str
    mean: Floats
    trajectory: Floats


def pair_similarity(query: ClipVector, match: ClipVector) -> float:
    """½(cosine of means + cosine of trajectories), 1 at most."""
    return (_cosine(query.mean, match.mean) + _cosine(query.trajectory, match.trajectory)) / 2


def product_of(query: ClipVector, match: ClipVector, best_score: float) -> float | None:
    """(1 − similarity) · score: the lower, the likelier do both show the same movement.

    None if the clips come without their vectors.
    """
    if not query.mean.size or not match.mean.size:
        return None
    return (1 - pair_similarity(query, match)) * best_score


def likelihood(product: float | None, calibration: Calibration | None) -> float | None:
    """The probability, at even odds, that two clips with this product show the same movement, if known."""
    if product is None or calibration is None:
        return None
    return float(calibration.probability(product))


def nothing_moves(query: ClipVector, match: ClipVector, recipe: Recipe) -> bool:
    """Whether a recipe that adds context meets a clip in which nothing moves: there, context is a clock.

    Such clips align with nothing, whatever their DRAQ. Of a clip without its frames it is not known.
    """
    sampled = [each for clip in (query, match) if (each := getattr(clip, "features", None)) is not None]
    return recipe.context and any(map(motionless, sampled))


def motionless(features: Floats) -> bool:
    """Whether frames differ from the next one as they do from any: noise, and no movement.

    Mean square of the change between frames over their variance (von Neumann's ratio): 2 for noise, .3–.4 at
    the median of filmed movements at 7.5 frames per second and 1.41 at most.
    """
    wide = features.astype(np.float64)
    spread = np.square(wide - wide.mean(0)).sum()
    return bool(np.square(np.diff(wide, axis=0)).sum() >= NOISE * spread)


def log_product(product: ArrayLike) -> Doubles:
    """ln(product + 0.001), which is finite for all products."""
    return np.log(np.maximum(np.asarray(product, np.float64), 0) + 0.001)


def sigmoid(values: Doubles) -> Doubles:
    """1 / (1 + e^−x)."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -60, 60))))


def _cosine(one: Floats, other: Floats) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length > 0 else 0.0
