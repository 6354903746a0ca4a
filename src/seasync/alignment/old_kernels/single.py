"""DTW and the exact random cost of one pair, row block by row block, so that long pairs need little memory.

Moves are diagonal, up (i−1) and left (j−1); among equal ones the diagonal wins, then up. With i, j counted
from 1, a random path at (i, j) moves diagonally, up or left with probabilities ij, i², j² over i² + ij + j²;
along the border it takes the one legal move.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.lanes import random_shares

_INFINITY = np.float32(np.inf)


@njit(cache=True, nogil=True)
def advance(costs, first, penalty, corridor, anchors, totals, means, moves):
    """Carry DTW totals and mean random costs over a block of rows.

    costs    (k, m) float32, rows first … first + k − 1 of the matrix
    penalty  price of each step that is not diagonal
    corridor (2, n) int32: the path keeps to columns corridor[0, i] … corridor[1, i] of row i
    anchors  (2, n) int32: the first and last column it must pass in row i, −1 where there is none
    totals, means (m + 1,) float32: the row before the block, replaced by the block's last row
    moves    (n, ⌈m/4⌉) uint8, written: two bits a cell, 0 diagonal, 1 up, 2 left
    """
    m = costs.shape[1]
    diagonal_share = np.empty(m, np.float32)
    up_share = np.empty(m, np.float32)
    left_share = np.empty(m, np.float32)
    for r in range(len(costs)):
        i = first + r
        random_shares(i, diagonal_share, up_share, left_share)
        low = corridor[0, i]
        high = corridor[1, i]
        hold = anchors[0, i] if anchors[0, i] >= 0 else m
        corner = totals[0]
        totals[0] = _INFINITY
        mean_corner = means[0]
        left = _INFINITY
        mean_left = np.float32(0.0)
        packed = np.uint8(0)
        for j in range(m):
            cost = costs[r, j]
            above = totals[j + 1]
            best = corner
            move = np.uint8(0)
            if above + penalty < best:
                best = above + penalty
                move = np.uint8(1)
            if left + penalty < best or j > hold:
                best = left + penalty
                move = np.uint8(2)
            corner = above
            left = best + cost if low <= j <= high else _INFINITY
            totals[j + 1] = left
            packed |= move << np.uint8(2 * (j & 3))
            if j & 3 == 3 or j == m - 1:
                moves[i, j >> 2] = packed
                packed = np.uint8(0)
            mean_above = means[j + 1]
            near = cost + diagonal_share[j] * mean_corner + up_share[j] * mean_above
            mean_left = near + left_share[j] * mean_left
            mean_corner = mean_above
            means[j + 1] = mean_left
        for j in range(anchors[1, i]):
            totals[j + 1] = _INFINITY


@njit(cache=True, nogil=True)
def trace(moves, n, m):
    """The path (L, 2) int32 from (0, 0) to (n − 1, m − 1) that `moves` describe."""
    path = np.empty((n + m - 1, 2), np.int32)
    i = n - 1
    j = m - 1
    at = len(path)
    while True:
        at -= 1
        path[at, 0] = i
        path[at, 1] = j
        if i == 0 and j == 0:
            return path[at:].copy()
        move = (moves[i, j >> 2] >> np.uint8(2 * (j & 3))) & 3
        if move != 2:
            i -= 1
        if move != 1:
            j -= 1


@njit(cache=True, nogil=True)
def sampled_random_cost(costs, paths, seed):
    """Mean cost of `paths` random paths, drawn by splitmix64 from `seed`."""
    state = np.uint64(seed)
    total = 0.0
    for _ in range(paths):
        i = costs.shape[0]
        j = costs.shape[1]
        total += costs[i - 1, j - 1]
        while i > 1 or j > 1:
            if i == 1:
                j -= 1
            elif j == 1:
                i -= 1
            else:
                state += np.uint64(0x9E3779B97F4A7C15)
                z = state
                z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                z = z ^ (z >> np.uint64(31))
                # Both coins from one number: the upper and the lower 32 bits.
                up = float(z >> np.uint64(32)) * 2.0**-32 * (i + j) < i
                left = float(z & np.uint64(0xFFFFFFFF)) * 2.0**-32 * (i + j) < j
                if up:
                    i -= 1
                if left:
                    j -= 1
                if not up and not left:
                    continue
            total += costs[i - 1, j - 1]
    return total / paths
