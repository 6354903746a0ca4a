"""Clip vectors as they are compared: standardized over the set, each half of unit length.

A clip's vector is [a/‖a‖, t/‖t‖]/√2 with a its standardized mean and t its raw trajectory, so that the dot
product of two is ½(cosine of means + cosine of trajectories). A query by the mean alone, [√2·a/‖a‖, 0],
gives the cosine of means against the same vectors: one index serves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Encoding, Floats


class Moments:
    """Sums over raw means, as distances from `origin`: squares of small numbers lose no digits."""

    def __init__(self, origin: NDArray[np.float64]) -> None:
        self.origin, self.count = origin, 0
        self.total, self.squares = np.zeros(len(origin)), np.zeros(len(origin))

    def take(self, means: Floats) -> None:
        """Add a batch (N, d)."""
        away = means.astype(np.float64) - self.origin
        self.count += len(away)
        self.total, self.squares = self.total + away.sum(0), self.squares + (away**2).sum(0)

    def with_those_of(self, other: Moments) -> Moments:
        """Of both sets together; the origin must be the same."""
        both = Moments(self.origin)
        both.count = self.count + other.count
        both.total, both.squares = self.total + other.total, self.squares + other.squares
        return both

    def standard(self) -> Standard:
        mean = self.total / self.count
        std = np.sqrt(np.maximum(self.squares / self.count - mean**2, 0))
        std[std <= 1e-6 * max(std.max(), 1e-30)] = 1  # a channel that never varies tells nothing
        return Standard((self.origin + mean).astype(np.float32), std.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Standard:
    """Mean and standard deviation of a set's mean frame features, (d,) each."""

    mean: Floats
    std: Floats

    @classmethod
    def of(cls, batches: Iterable[Floats]) -> Standard:
        """Over batches of raw means (N, d), in one pass."""
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
    """(N, d) raw means and (N, e) raw trajectories → (N, d + e) clip vectors."""
    halves = [_unit((means - standard.mean) / standard.std), _unit(trajectories)]
    return np.concatenate(halves, axis=1) * np.float32(np.sqrt(0.5))


def query_vector(query: Encoding, standard: Standard, *, trajectory: bool) -> Floats:
    """(d + e,) whose dot product with a clip vector is the similarity.

    A query that does not move, and any with `trajectory` false, is compared by its mean alone.
    """
    course = query.trajectory if trajectory else np.zeros_like(query.trajectory)
    vector = clip_vectors(query.mean[None], course[None], standard)[0]
    return np.asarray(vector if course.any() else vector * np.float32(2))


def best(similarities: Floats, k: int) -> NDArray[np.int64]:
    """Positions of the k largest, best first; of equal ones the earlier first."""
    k = min(k, len(similarities))
    if not k:
        return np.empty(0, np.int64)
    bar = np.partition(similarities, -k)[-k]
    found = np.flatnonzero(similarities >= bar)
    return np.asarray(found[np.argsort(-similarities[found], kind="stable")][:k])


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)
