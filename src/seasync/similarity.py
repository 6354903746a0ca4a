"""Clip vectors and their similarity.

A clip's vector is [a/‖a‖, t/‖t‖]/√2 with a its standardized mean and t its raw trajectory, so that the dot
product of two is ½(cosine of means + cosine of trajectories). A query by the mean alone, [√2·a/‖a‖, 0],
gives the cosine of means against the same vectors: one index serves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Encoding, Floats

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
    from seasync.alignment.kernels import products

    return products(np.ascontiguousarray(rows, np.float32), np.ascontiguousarray(others, np.float32))
