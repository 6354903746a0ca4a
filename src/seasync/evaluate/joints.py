"""Penn Action's annotated joints as frame features: real motion without pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError

NAME = "joints"
FPS = 30.0  # Penn Action states no frame rate; 4 frames then span the motion recipe's 1/7.5 s
MIRROR = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11])  # head; then left, right of six joints
ABSENT = 1.01  # an unannotated joint is written as invisible at (1, 1)

Array = NDArray[np.float64]


def encode_joints(
    x: NDArray[Any], y: NDArray[Any], visibility: NDArray[Any], *, name: str = NAME
) -> Encoding:
    """Encode 13 joints over a clip.

    Parameters
    ----------
    x, y, visibility : numpy.ndarray [shape=(T, 13)]
        Positions in pixels, and whether the joint is visible.
    name : str
        Where they come from, for errors.

    Raises
    ------
    DataError
        If the shapes differ from (T, 13).
    """
    if x.ndim != 2 or x.shape[1:] != (13,) or y.shape != x.shape or visibility.shape != x.shape or not len(x):
        raise DataError(
            f"{name}: expected x, y, visibility (T, 13), got {x.shape}, {y.shape}, {visibility.shape}"
        )
    features = joint_features(x, y, visibility)
    seconds = np.arange(len(features)) / FPS
    mean, trajectory = clip_vector_parts(features, seconds)
    stream = Stream(NAME, seconds, np.arange(len(features)), features)
    return Encoding(NAME, (stream,), mean, trajectory)


def joint_features(x: NDArray[Any], y: NDArray[Any], visibility: NDArray[Any]) -> NDArray[np.float32]:
    """Joint positions relative to the clip's own center and size, smoothed: (T, 13) each → (T, 26).

    Gaps are interpolated in time; a joint that is never seen takes its mirror's place, or else the body's
    center. Positions are taken minus the median centroid, over 1.6 × the median RMS spread, and smoothed with
    a Gaussian of σ = 1 frame.
    """
    seen = np.asarray((visibility > 0) | (np.maximum(x, y) > ABSENT))
    place = _fill(np.stack([x, y], axis=2).astype(np.float64), seen)
    centroid = place.mean(1, keepdims=True)
    spread = np.median(np.sqrt(((place - centroid) ** 2).sum(2).mean(1)))
    scaled = (place - np.median(centroid, axis=0)) / (1.6 * max(float(spread), 1e-6))
    return _smooth(scaled.reshape(len(place), 26)).astype(np.float32)


def _fill(place: Array, seen: NDArray[np.bool_]) -> Array:
    times = np.arange(len(place))
    filled = place.copy()
    ever = np.asarray(seen.any(0))
    for joint in np.flatnonzero(ever):
        known = seen[:, joint]
        for axis in range(2):
            filled[:, joint, axis] = np.interp(times, times[known], place[known, joint, axis])
    for joint in np.flatnonzero(~ever):
        if ever[MIRROR[joint]]:
            filled[:, joint] = filled[:, MIRROR[joint]]
        else:
            filled[:, joint] = filled[:, ever].mean(1) if ever.any() else 0
    return filled


def _smooth(features: Array) -> Array:
    """Smooth with a Gaussian of σ = 1 frame over time, ends repeated: (T, d) → (T, d)."""
    reach = 4
    kernel = np.exp(-(np.arange(-reach, reach + 1) ** 2) / 2)
    kernel /= kernel.sum()
    padded = np.pad(features, ((reach, reach), (0, 0)), mode="edge")
    return np.asarray(sum(w * padded[i : i + len(features)] for i, w in enumerate(kernel)))
