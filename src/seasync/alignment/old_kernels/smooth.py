"""Smoothing a sequence: the Whittaker smoother, and the nearest monotone sequence."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def whittaker(values, weights, bending):
    """w that minimizes Σ weights (w − values)² + bending Σ (Δ²w)²; (K,) each, in O(K).

    The normal equations have five diagonals; they are solved by LDLᵀ.
    """
    count = len(values)
    if count < 3:
        return values.copy()
    main = weights.copy()
    near = np.zeros(count)
    far = np.zeros(count)
    for k in range(count - 2):
        main[k] += bending
        main[k + 1] += 4 * bending
        main[k + 2] += bending
        near[k] -= 2 * bending
        near[k + 1] -= 2 * bending
        far[k] += bending
    out = weights * values
    for k in range(count):
        if k + 1 < count:
            factor = near[k] / main[k]
            main[k + 1] -= factor * near[k]
            near[k + 1] -= factor * far[k]
            out[k + 1] -= factor * out[k]
        if k + 2 < count:
            factor = far[k] / main[k]
            main[k + 2] -= factor * far[k]
            out[k + 2] -= factor * out[k]
    for k in range(count - 1, -1, -1):
        if k + 1 < count:
            out[k] -= near[k] * out[k + 1]
        if k + 2 < count:
            out[k] -= far[k] * out[k + 2]
        out[k] /= main[k]
    return out


@njit(cache=True, nogil=True)
def monotone(values, weights):
    """The non-decreasing (K,) nearest to `values` in weighted least squares (pool adjacent violators)."""
    count = len(values)
    means = np.empty(count)
    masses = np.empty(count)
    sizes = np.empty(count, np.int64)
    pools = 0
    for k in range(count):
        means[pools] = values[k]
        masses[pools] = weights[k]
        sizes[pools] = 1
        pools += 1
        while pools > 1 and means[pools - 2] > means[pools - 1]:
            mass = masses[pools - 2] + masses[pools - 1]
            means[pools - 2] = (
                means[pools - 2] * masses[pools - 2] + means[pools - 1] * masses[pools - 1]
            ) / mass
            masses[pools - 2] = mass
            sizes[pools - 2] += sizes[pools - 1]
            pools -= 1
    out = np.empty(count)
    at = 0
    for pool in range(pools):
        out[at : at + sizes[pool]] = means[pool]
        at += sizes[pool]
    return out
