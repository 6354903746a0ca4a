"""The ranking: one query's candidates in, their order and scores out; and the clip vectors that propose them.

Search, `find`, calibration, every table of `evaluate` and training call this module, so all of them measure
and use the same order. It works on encodings alone: no files, no sea.

The key that orders candidates (lowest first) is named by `Rerank`:

=======  ==================================================================================
order    distance + 1.5·ln(score) + 3·w·ln(contrast): motion's key
product  (1 − similarity) · score: right kind of movement *and* good alignment
draq     the score alone: DRAQ, raised by what a partial alignment leaves out (the paper's)
dtw      the plain cost of the path through both clips as a whole
none     similarity alone: candidates stay as clip vectors order them
=======  ==================================================================================

The distance of motion's key is relative to the sea (see `Cohort`), so the same numbers mean
the same for all kinds of footage. Contrast shows which take of one movement aligns best. The factor w is
(query seconds / 6)², at most 1: two seconds of movement fit many others in the right order by chance, six
seconds do not. The first place belongs to the lowest key. To the keys of the others, how near they are to
the three best is added: who resembles the best matches is likely to show what they do.

A clip's vector is [a/‖a‖, t/‖t‖]/√2 with a its standardized mean and t its raw trajectory, so that the dot
product of two is ½(cosine of means + cosine of trajectories). A query by the mean alone, [√2·a/‖a‖, 0],
gives the cosine of means against the same vectors: one index serves both.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import Recipe, Scores, kernels, score_many
from seasync.alignment.judge import COLUMNS, ScoredPieces
from seasync.alignment.prepare import PreparedClip
from seasync.encoding import Encoding, Floats, Indices
from seasync.errors import SeaError
from seasync.options import Rerank, expect

COHORT = 256  # clips of a set that tell how far others are from it; with 128 the order hardly changes
FEWEST = 5  # with fewer there is no cohort; with ten clips it is better than none
LEAST_DEVIATION = 0.25  # of the median deviation of the cohort
NEAREST, SAME = 1e-6, 1e-5  # 1 − similarity: the least that counts; below, two clips are one


class Moments:
    """Running sums of mean features, from which a `Standard` is computed in one pass.

    Values are summed as distances from `origin`, because squares of small numbers lose no digits.

    Parameters
    ----------
    origin : numpy.ndarray [shape=(d,)], float64
        A point near the data, such as the first mean.
    """

    def __init__(self, origin: NDArray[np.float64]) -> None:
        self.origin, self.count = origin, 0
        self.total, self.squares = np.zeros(len(origin)), np.zeros(len(origin))

    def take(self, means: Floats) -> None:
        """Add a batch, shape (N, d)."""
        away = means.astype(np.float64) - self.origin
        self.count += len(away)
        self.total, self.squares = self.total + away.sum(0), self.squares + (away**2).sum(0)

    def with_those_of(self, other: Moments) -> Moments:
        """The moments of both sets together; both need the same origin."""
        both = Moments(self.origin)
        both.count = self.count + other.count
        both.total, both.squares = self.total + other.total, self.squares + other.squares
        return both

    def standard(self) -> Standard:
        """Mean and standard deviation of what was added."""
        mean = self.total / self.count
        std = np.sqrt(np.maximum(self.squares / self.count - mean**2, 0))
        std[std <= 1e-6 * max(std.max(), 1e-30)] = 1  # a channel that never varies carries no information
        return Standard((self.origin + mean).astype(np.float32), std.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Standard:
    """Mean and standard deviation of a set's mean frame features.

    Attributes
    ----------
    mean, std : numpy.ndarray [shape=(d,)], float32
    """

    mean: Floats
    std: Floats

    @classmethod
    def of(cls, batches: Iterable[Floats]) -> Standard:
        """Compute it over batches of raw means, shape (N, d) each, in one pass."""
        moments: Moments | None = None
        for batch in batches:
            if len(batch):
                moments = moments or Moments(batch[0].astype(np.float64))
                moments.take(batch)
        return moments.standard() if moments else cls(np.zeros(0, np.float32), np.ones(0, np.float32))

    def drift_from(self, other: Standard) -> float:
        """How far this set has moved from `other`, in its standard deviations (mean over channels)."""
        shift = np.abs(self.mean - other.mean) / other.std
        stretch = np.abs(np.log(self.std / other.std))
        return float(np.mean(np.maximum(shift, stretch)))


def clip_vectors(means: Floats, trajectories: Floats, standard: Standard) -> Floats:
    """Make clip vectors of raw means and trajectories.

    Parameters
    ----------
    means : numpy.ndarray [shape=(N, d)]
    trajectories : numpy.ndarray [shape=(N, e)]
    standard : Standard
        What the means are standardized with.

    Returns
    -------
    numpy.ndarray [shape=(N, d + e)], float32
    """
    halves = [_unit((means - standard.mean) / standard.std), _unit(trajectories)]
    return np.concatenate(halves, axis=1) * np.float32(np.sqrt(0.5))


def clip_vectors_of(encodings: Sequence[Encoding], standard: Standard) -> Floats:
    """The clip vectors of encodings, shape (N, d + e)."""
    means, trajectories = (np.stack([getattr(e, part) for e in encodings]) for part in ("mean", "trajectory"))
    return clip_vectors(means, trajectories, standard)


def query_vector(query: Encoding, standard: Standard, *, trajectory: bool) -> Floats:
    """The vector whose dot product with a clip vector is the similarity.

    Parameters
    ----------
    query : Encoding
    standard : Standard
        That of the clips to compare with.
    trajectory : bool
        Whether trajectories count; see `Recipe.trajectory`. A query that does not move is compared by its
        mean alone in any case.

    Returns
    -------
    numpy.ndarray [shape=(d + e,)], float32
    """
    course = query.trajectory if trajectory else np.zeros_like(query.trajectory)
    vector = clip_vectors(query.mean[None], course[None], standard)[0]
    return np.asarray(vector if course.any() else vector * np.float32(2))


class Relation(NamedTuple):
    """How far a query and its candidates are from each other, compared with how far each is from others.

    Distances are those of `Cohort.relate`: 0 is as far as a clip is from any other, below is nearer.

    Attributes
    ----------
    distance : numpy.ndarray [shape=(B,)]
        Of the candidates to the query.
    among : numpy.ndarray [shape=(B, B)]
        Of the candidates to each other.
    """

    distance: NDArray[np.float64]
    among: NDArray[np.float64]


class Cohort:
    """Clips of a set that tell how far a clip is from any other (the s-norm of speaker verification).

    In a sea of many kinds of footage, .9 is a high similarity for one clip and a low one for another. What
    travels between kinds is how much nearer two clips are than each is to the cohort.

    Parameters
    ----------
    vectors : numpy.ndarray [shape=(C, d + e)], float32
        Clip vectors of the cohort.
    """

    def __init__(self, vectors: Floats) -> None:
        self.vectors, self._least = vectors, 0.0
        self._least = LEAST_DEVIATION * float(np.median(self._moments(vectors)[1]))

    def relate(self, asked: Floats, vectors: Floats) -> Relation:
        """Compare a query and its candidates.

        Each distance is ln(1 − similarity), minus the mean of the same to the cohort, over its deviation: the
        mean of doing so by the one clip's cohort and by the other's.

        Parameters
        ----------
        asked : numpy.ndarray [shape=(d + e,)]
            The query's vector; see `query_vector`.
        vectors : numpy.ndarray [shape=(B, d + e)]
            The candidates' clip vectors.
        """
        everyone = np.concatenate([vectors, asked[None]])
        mean, deviation = self._moments(everyone)
        apart = _distances(vectors, everyone)
        related = (apart - mean) / deviation + (apart - mean[:-1, None]) / deviation[:-1, None]
        return Relation(related[:, -1] / 2, related[:, :-1] / 2)

    def _moments(self, vectors: Floats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the distances of clips to the cohort, shape (N,) each.

        A clip does not count for itself, and no deviation is below a quarter of the median one.
        """
        apart = _distances(vectors, self.vectors)
        other = apart > math.log(SAME)
        count = np.maximum(other.sum(1), 1)
        mean = np.where(other, apart, 0).sum(1) / count
        square = np.where(other, (apart - mean[:, None]) ** 2, 0).sum(1) / count
        return mean, np.maximum(np.sqrt(square), self._least or 1e-6)


def _distances(vectors: Floats, others: Floats) -> NDArray[np.float64]:
    """ln(1 − similarity), shape (N, M)."""
    return np.log(np.maximum(1 - _products(vectors, others).astype(np.float64), NEAREST))


def cohort_of(vectors: Floats) -> Cohort | None:
    """The cohort of a set of clips, shape (N, d + e): evenly spaced ones; None if there are too few."""
    count = len(vectors)
    if count < FEWEST:
        return None
    chosen = np.unique(np.linspace(0, count - 1, min(COHORT, count)).astype(np.int64))
    return Cohort(np.ascontiguousarray(vectors[chosen]))


def similarity_matrix(
    queries: Sequence[Encoding], clips: Sequence[Encoding], *, trajectory: bool
) -> NDArray[np.float64]:
    """Similarity of every query with every clip, standardized over the clips, as in a sea of them.

    Returns
    -------
    numpy.ndarray [shape=(queries, clips)], float64
    """
    standard = Standard.of([np.stack([clip.mean for clip in clips])])
    asked = np.stack([query_vector(query, standard, trajectory=trajectory) for query in queries])
    return (asked @ clip_vectors_of(clips, standard).T).astype(np.float64)


def best(similarities: Floats, k: int) -> NDArray[np.int64]:
    """Positions of the k largest values, best first; of equal ones the earlier comes first."""
    k = min(k, len(similarities))
    if not k:
        return np.empty(0, np.int64)
    bar = np.partition(similarities, -k)[-k]
    found = np.flatnonzero(similarities >= bar)
    return np.asarray(found[np.argsort(-similarities[found], kind="stable")][:k])


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)


def _products(rows: Floats, others: Floats) -> Floats:
    """rows · othersᵀ; without BLAS, whose threads go on spinning and slow the rest of a query down."""
    return kernels.products(np.ascontiguousarray(rows, np.float32), np.ascontiguousarray(others, np.float32))


Doubles = NDArray[np.float64]
BEST = 3  # matches that others should resemble
AHEAD = 0.01  # of the first match, where company would put another one before it
LEAST_SCORE = 1e-3  # a score of 0 is no infinite reason


def _order_key(ranking: Ranking) -> Doubles:
    recipe, scores, relation = ranking.recipe, ranking.scores, ranking.relation
    if relation:
        distance = relation.distance
    else:
        distance = np.log(np.maximum(1 - ranking.similarity, NEAREST)) / recipe.usual_deviation
    weight = recipe.contrast_weight * min((scores.query_span / recipe.contrast_seconds) ** 2, 1.0)
    contrast = np.log(np.maximum(scores.contrast, LEAST_SCORE))
    return distance + recipe.score_weight * np.log(scores.best_score + LEAST_SCORE) + weight * contrast


_KEYS: dict[Rerank, Callable[[Ranking], Any]] = {
    "order": _order_key,
    "product": lambda ranking: (1 - ranking.similarity) * ranking.scores.score,
    "draq": lambda ranking: ranking.scores.score,
    "dtw": lambda ranking: np.fmax(ranking.scores.dtw_cost, ranking.scores.whole_cost),
    "none": lambda ranking: -ranking.similarity.astype(np.float64),
}


@dataclass(frozen=True, eq=False)
class Ranking:
    """How one query's B candidates compare.

    Attributes
    ----------
    recipe : Recipe
        Its `rerank` names the key that orders them, unless a method is asked for another one.
    similarity : numpy.ndarray [shape=(B,)]
        Similarity of their clip vectors to the query's.
    scores : Scores
        Costs and coverage of their alignments with the query.
    relation : Relation, optional
        Their distances to the query and among themselves, relative to the sea. Without it, a distance is
        ln(1 − similarity) over a usual deviation, and nearness to the best matches does not count.
    """

    recipe: Recipe
    similarity: NDArray[Any]
    scores: Scores
    relation: Relation | None = None

    def __len__(self) -> int:
        return len(self.similarity)

    @property
    def rerank(self) -> Rerank:
        """The key that orders them."""
        return self.recipe.rerank

    def keys(self, rerank: Rerank | None = None) -> Doubles:
        """The values that decide, lowest first, shape (B,)."""
        return np.array(_KEYS[named_key(rerank or self.rerank)](self), np.float64)

    def in_company(self, rerank: Rerank | None = None) -> Doubles:
        """The keys with how near each candidate is to the three best, shape (B,): `order` sorts by these."""
        keys: Doubles = self.keys(rerank)
        if self.relation is None or named_key(rerank or self.rerank) != "order" or len(keys) < BEST:
            return keys
        best = np.argsort(keys, kind="stable")[:BEST]
        others = np.arange(len(self))[:, None] != best  # a candidate does not count as its own company
        near = np.where(others, self.relation.among[:, best], 0).sum(1) / others.sum(1)
        keys += self.recipe.company * near
        first = best[0]  # the first place belongs to the lowest own key
        keys[first] = min(keys[first], np.delete(keys, first).min() - AHEAD)
        return keys

    def order(self, rerank: Rerank | None = None) -> Indices:
        """The candidates' positions, best first, shape (B,). Of equal ones the earlier comes first."""
        return np.argsort(self.in_company(rerank), kind="stable")

    def pick(self, rerank: Rerank | None = None) -> int:
        """The position of the best candidate."""
        return int(self.order(rerank)[0])

    def improved(self, others: Ranking, positions: Sequence[int]) -> tuple[Ranking, list[int]]:
        """Replace candidates by alternatives that rank lower.

        Parameters
        ----------
        others : Ranking
            The alternatives, ranked by the same key.
        positions : sequence of int
            The candidate that each of them may replace, each at most once.

        Returns
        -------
        Ranking
            This ranking with the better ones in place.
        list of int
            The alternatives that were taken, by their positions in `others`.
        """
        places = np.asarray(positions, np.int64)
        taken = np.flatnonzero(others.keys() < self.keys()[places])

        def merged(values: NDArray[Any], better: NDArray[Any]) -> NDArray[Any]:
            out = values.copy()
            out[places[taken]] = better[taken]
            return out

        columns = (merged(getattr(self.scores, name), getattr(others.scores, name)) for name in COLUMNS)
        similarity, relation = merged(self.similarity, others.similarity), self.relation
        if relation and others.relation:
            relation = relation._replace(distance=merged(relation.distance, others.relation.distance))
        own_pieces = self.scores.pieces
        kept = np.setdiff1d(np.arange(len(self)), places[taken])
        pieces = [own_pieces.only(kept.tolist()).renumbered(kept)]
        pieces.append(others.scores.pieces.only(taken.tolist()).renumbered(places[taken]))
        scores = Scores(*columns, query_span=self.scores.query_span, pieces=ScoredPieces.joined(pieces))
        return Ranking(self.recipe, similarity, scores, relation), taken.tolist()


@lru_cache(maxsize=1)
def _warn_of_evidence() -> None:
    warnings.warn("rerank 'evidence' is called 'order' now; the old name goes soon", stacklevel=4)


def named_key(rerank: Rerank) -> Rerank:
    """The key of that name; `evidence` is the former name of `order`."""
    expect("rerank", rerank, Rerank, SeaError)
    if rerank != "evidence":
        return rerank
    _warn_of_evidence()
    return "order"


def rank(
    query: Encoding | PreparedClip,
    candidates: Sequence[Encoding],
    similarity: NDArray[Any],
    *,
    recipe: Recipe,
    rerank: Rerank | None = None,
    relation: Relation | None = None,
) -> Ranking:
    """Rank one query's candidates.

    Parameters
    ----------
    query : Encoding
        What is searched for.
    candidates : sequence of Encoding, length B
        What the clip vectors propose; their mean and trajectory are not used here.
    similarity : numpy.ndarray [shape=(B,)]
        Similarity of their clip vectors to the query's.
    recipe : Recipe
        How the clips are aligned. What its `partial` leaves out of the query raises the score.
    rerank : {"order", "product", "draq", "dtw", "none"}, optional
        What orders them. Default: the recipe's own key.
    relation : Relation, optional
        Their distances relative to the sea; see `Ranking`.

    Returns
    -------
    Ranking
        Scores, keys and order.

    Raises
    ------
    SeaError
        If `rerank` is none of the five.
    """
    chosen = replace(recipe, rerank=named_key(rerank or recipe.rerank))
    return Ranking(chosen, similarity, score_many(query, candidates, recipe=recipe, partial=None), relation)
