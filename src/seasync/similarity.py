"""Clip vectors and their similarity.

A clip's vector is [a/‖a‖, t/‖t‖]/√2 with a its standardized mean and t its raw trajectory, so that the dot
product of two is ½(cosine of means + cosine of trajectories). A query by the mean alone, [√2·a/‖a‖, 0],
gives the cosine of means against the same vectors: one index serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Encoding, Floats

FEW_CANDIDATES = 5  # of this many, half of what they have in common counts as common


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


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """How a query and its candidates resemble each other, measured among the candidates.

    In a sea of many kinds of footage, clips of one kind lie so close together that their vectors hardly
    differ: what they have in common fills them. Without it, one sea of everything ranks like a sea of the
    candidates' kind alone.

    Attributes
    ----------
    similarity : numpy.ndarray [shape=(B,)]
        Of the candidates to the query.
    kinship : numpy.ndarray [shape=(B, B)]
        Of the candidates to each other.
    """

    similarity: Floats
    kinship: Floats

    @classmethod
    def of(cls, asked: Floats, vectors: Floats, dimensions: int) -> Neighborhood:
        """Compare clip vectors after the center of the candidates' mean features is taken out of all.

        Parameters
        ----------
        asked : numpy.ndarray [shape=(d + e,)]
            The query's vector; see `query_vector`.
        vectors : numpy.ndarray [shape=(B, d + e)]
            The candidates' clip vectors.
        dimensions : int
            Of the mean features, d.
        """
        everyone = np.concatenate([vectors, asked[None]])
        means, courses = _unit(everyone[:, :dimensions]), _unit(everyone[:, dimensions:])
        count = len(vectors)
        # A few candidates say little about what is common: with fewer, less is taken out.
        means = _unit(means - means[:-1].sum(0) / (count + FEW_CANDIDATES))
        alike = _products(means[:-1], means), _products(courses[:-1], courses)
        kinship = (alike[0] + alike[1]) / 2
        similarity = kinship[:, -1] if courses[-1].any() else alike[0][:, -1]
        return cls(similarity.astype(np.float32), kinship[:, :-1].astype(np.float32))


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
