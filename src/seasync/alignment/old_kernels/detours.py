"""How much more the cheapest path costs when it must pass through a given cell."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _totals(costs):
    """Cost of the cheapest path from the first cell to each, (n, m) float64."""
    n, m = costs.shape
    totals = np.empty((n, m), np.float64)
    for i in range(n):
        left = np.inf
        for j in range(m):
            best = left
            if i > 0:
                best = min(best, totals[i - 1, j])
                if j > 0:
                    best = min(best, totals[i - 1, j - 1])
            left = (0.0 if i == 0 and j == 0 else best) + costs[i, j]
            totals[i, j] = left
    return totals


@njit(cache=True, nogil=True)
def reachable_columns(costs, more, first, last):
    """The first and last column in each row that some path passes for at most `more` than the cheapest.

    costs      (n, m) float32
    more   float, in units of cost
    first, last  (n,) int64, written
    """
    n, m = costs.shape
    ahead = _totals(costs)
    back = _totals(costs[::-1, ::-1].copy())
    limit = ahead[n - 1, m - 1] + more + 1e-9
    for i in range(n):
        first[i] = m
        for j in range(m):
            if ahead[i, j] + back[n - 1 - i, m - 1 - j] - costs[i, j] <= limit:
                first[i] = min(first[i], j)
                last[i] = j
