"""Bootstrap intervals over queries: how far a figure would move with other queries of the same kind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
Indices = NDArray[np.int64]


def mean_interval(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % percentile interval of the mean of `values` (n,); NaN entries are left out."""
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    return interval(lambda draw: float(known[draw].mean()), len(known), seed=seed, resamples=resamples)


def interval(
    statistic: Callable[[Indices], float], n: int, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of `statistic(indices)` over `resamples` draws of n of n queries."""
    if not n:
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    drawn = np.array([statistic(random.integers(0, n, n)) for _ in range(resamples)])
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return float("nan"), float("nan")
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


def mean_over_groups(values: ArrayLike, groups: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Plain mean over groups (actions) of the weighted mean of their `values`; NaN values are left out."""
    value = np.asarray(values, np.float64)
    weight = np.ones(len(value)) if weights is None else np.asarray(weights, np.float64)
    known = np.isfinite(value) & (weight > 0)
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    total = np.bincount(group[known], weight[known])
    part = np.bincount(group[known], weight[known] * value[known])
    return float((part[total > 0] / total[total > 0]).mean()) if known.any() else float("nan")
