"""Bootstrap intervals over queries: how much a figure would vary with other queries of the same kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
Indices = NDArray[np.int64]


def mean_interval(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % percentile interval of the mean of `values`, shape (n,); NaN is ignored."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    at_once = max(1, 1_000_000 // len(known))
    means: list[float] = []
    while len(means) < resamples:
        means += known[random.integers(0, len(known), (at_once, len(known)))].mean(1).tolist()
    return _middle(means[:resamples])


def interval(
    statistic: Callable[[Indices], float], n: int, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of ``statistic(indices)`` over `resamples` draws of n of n queries."""
    random = np.random.default_rng(seed)
    drawn = [statistic(random.integers(0, n, n)) for _ in range(resamples if n else 0)]
    return _middle([value for value in drawn if np.isfinite(value)])


def _middle(values: list[float]) -> tuple[float, float]:
    if not values:
        return float("nan"), float("nan")
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def mean_over_groups(values: ArrayLike, groups: Indices, weights: ArrayLike | None = None) -> float:
    """Plain mean over groups (actions) of the weighted mean of their values; NaN is ignored.

    Parameters
    ----------
    values : array_like [shape=(n,)]
    groups : numpy.ndarray [shape=(n,)]
        Group numbers from 0.
    weights : array_like [shape=(n,)], optional
    """
    value = np.asarray(values, np.float64)
    weight = np.ones(len(value)) if weights is None else np.asarray(weights, np.float64)
    known = np.isfinite(value) & (weight > 0)
    total = np.bincount(groups[known], weight[known])
    part = np.bincount(groups[known], weight[known] * value[known])
    return float((part[total > 0] / total[total > 0]).mean()) if known.any() else float("nan")
