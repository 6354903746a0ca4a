"""A whole query somewhere in a long film: the gain of ending at each frame, streamed over the film."""

from __future__ import annotations

import numpy as np
from numba import njit

_NONE = np.float32(-np.inf)


@njit(cache=True, nogil=True)
def add_column_sums(costs, sums):
    """Add costs (k, n) to sums (n,) float64, column by column."""
    for r in range(costs.shape[0]):
        for i in range(costs.shape[1]):
            sums[i] += costs[r, i]


@njit(cache=True, nogil=True)
def stream_gains(costs, first, query_prices, share, gains, starts, best, since):
    """Carry the best open-ended paths over a block of film frames.

    A path begins at the query's first sample and ends at its last, anywhere in the film. It earns the price
    of each sample and frame it takes in and pays its cells; a frame's price is `share` of its mean cost.

    costs         (k, n) float32: film frames first … first + k − 1 against the query's n samples
    query_prices  (n,) float32
    gains, starts (m,) written: the gain of the best path that ends with each film frame; where it began
    best, since   (n,): the same for paths that end at each query sample in the frame before, replaced
    """
    n = costs.shape[1]
    for r in range(costs.shape[0]):
        total = np.float32(0.0)
        for i in range(n):
            total += costs[r, i]
        price = np.float32(share) * total / np.float32(n)
        corner, corner_since = np.float32(0.0), np.int64(first + r)  # a path may begin here
        above, above_since = _NONE, np.int64(0)
        for i in range(n):
            earned = query_prices[i]
            value = corner + earned + price
            origin = corner_since
            if best[i] + price > value:
                value = best[i] + price
                origin = since[i]
            if above + earned > value:
                value = above + earned
                origin = above_since
            corner, corner_since = best[i], since[i]
            above, above_since = value - costs[r, i], origin
            best[i], since[i] = above, origin
        gains[first + r] = best[n - 1]
        starts[first + r] = since[n - 1]
