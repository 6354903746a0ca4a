"""How likely two clips show the same movement, judged from the two alone.

It decides the verdict, so it must not depend on what else is in a sea: the similarity here is ½(cosine of
means + cosine of trajectories), with nothing standardized. A DRAQ that is good for a robot's work is poor for
a gesture; together with that similarity, one curve holds for both. Clips that align in part are judged by
that part or by the whole, whichever is better (`Scores.best_score`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.recipe import MOTION, Recipe
from seasync.encoding import Floats

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
    """

    a: float
    b: float
    error: float | None = None
    pairs: int | None = None

    def probability(self, product: ArrayLike) -> Doubles:
        """The probability of the same movement, shape of `product`."""
        return sigmoid(self.a + self.b * log_product(product))


FINGERPRINTS = {"motion": "78fab7185bb7302a", "paper": "293e7d8bc383ca32"}
"""What the named recipes were when calibrations were fitted to them.

Written out, because a calibration belongs to values: a recipe that changes loses it.
"""

SHIPPED = {
    ("dinov2-small/0cd026c8/224", FINGERPRINTS["motion"]): Calibration(-8.48, -8.91, error=0.030, pairs=772),
    ("dinov2-small/08a9661b/224/flow", FINGERPRINTS["motion"]): Calibration(
        -10.36, -11.15, error=0.039, pairs=4560
    ),
}
"""Calibrations of (1 − similarity) · best score by the fingerprints of encoder and recipe.

Fitted to pairs of 285 real clips, the first one of 64: golf swings, falls, two kinds of robot work, five
gestures, five actions.
The error is that of all pairs together, each rated by a fit to the other sets.
"""


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


def is_calibrated(encoder: str, recipe: Recipe) -> bool:
    """Whether `likelihood` knows this encoder, by its fingerprint, and this recipe."""
    return _shipped(encoder, recipe) is not None


def likelihood(query: ClipVector, match: ClipVector, score: float, recipe: Recipe) -> float | None:
    """The probability, at even odds, that both show the same movement, given their best score.

    None if encoder and recipe have no calibration, or if the clips come without their vectors.
    """
    calibration = _shipped(query.encoder, recipe)
    if calibration is None or not query.mean.size or not match.mean.size:
        return None
    return float(calibration.probability((1 - pair_similarity(query, match)) * score))


@lru_cache(maxsize=64)
def _shipped(encoder: str, recipe: Recipe) -> Calibration | None:
    """The calibration for an encoder and a recipe, if there is one."""
    # A finer grid shows the same movement; how much it changes DRAQ was not measured.
    coarse = recipe if recipe.grid_fps is None else replace(recipe, grid_fps=MOTION.grid_fps)
    return SHIPPED.get((encoder, coarse.fingerprint))


def log_product(product: ArrayLike) -> Doubles:
    """ln(product + 0.001), which is finite for all products."""
    return np.log(np.maximum(np.asarray(product, np.float64), 0) + 0.001)


def sigmoid(values: Doubles) -> Doubles:
    """1 / (1 + e^−x)."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -60, 60))))


def _cosine(one: Floats, other: Floats) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / length if length > 0 else 0.0
