"""The priced local path: which stretches of two clips correspond, and what is better left out.

A path pays its cells and earns the price of every row and column it enters; a frame left out earns nothing.
It may start and end anywhere, and jump ahead in both clips for a fixed price.
Of equal ways to a cell the diagonal is taken, then up (i−1), left (j−1), a jump, a fresh start.
"""

from __future__ import annotations

import numpy as np
from numba import njit

DIAGONAL, UP, LEFT, JUMP, START = range(5)
_NONE = np.float32(-np.inf)


@njit(cache=True, nogil=True)
def price_factor(n, m, share):
    """`share` of the mean number of cells that a random path has in a row of an n × m matrix."""
    across = n / (n + m)
    return np.float32(share * (1.0 - across * (1.0 - across)))


@njit(cache=True, nogil=True)
def prices(costs, share, rows, columns):
    """Write the prices of rows (n,) and columns (m,), float32: their mean cost times `price_factor`.

    Returns both sums.
    """
    n, m = costs.shape
    factor = price_factor(n, m, share)
    columns[:] = 0.0
    for i in range(n):
        total = np.float32(0.0)
        for j in range(m):
            total += costs[i, j]
        rows[i] = total * factor / np.float32(m)
        for j in range(m):
            columns[j] += costs[i, j]
    row_total = 0.0
    column_total = 0.0
    for i in range(n):
        row_total += rows[i]
    for j in range(m):
        columns[j] = columns[j] * factor / np.float32(n)
        column_total += columns[j]
    return row_total, column_total


@njit(cache=True)
def trace(moves, sources, end, lane, lanes):
    """The path to a cell, and where its pieces begin, as `priced_path` returns them.

    moves, sources (n, m * lanes); a jump to (i, j) comes from the cell in sources, as i * m + j.
    """
    n = len(moves)
    m = moves.shape[1] // lanes
    path = np.empty((n + m, 2), np.int32)
    breaks = np.empty(n + 1, np.int64)
    at = len(path)
    pieces = n
    breaks[pieces] = at
    i = end // m
    j = end % m
    while True:
        at -= 1
        path[at, 0] = i
        path[at, 1] = j
        move = moves[i, j * lanes + lane]
        if move >= JUMP:
            pieces -= 1
            breaks[pieces] = at
            if move == START:
                return path[at:].copy(), breaks[pieces:] - at
            place = sources[i, j * lanes + lane]
            i = place // m
            j = place % m
            continue
        if move != LEFT:
            i -= 1
        if move != UP:
            j -= 1


@njit(cache=True, nogil=True)
def priced_path(costs, rows, columns, jump):
    """The path that gains most through costs (n, m) with prices rows (n,), columns (m,), all float32.

    Returns (gain, path (L, 2) int32, breaks (P + 1,) int64): piece p is path[breaks[p]:breaks[p + 1]].
    """
    n, m = costs.shape
    moves = np.empty((n, m), np.uint8)
    sources = np.empty((n, m), np.int32)
    gains = np.full(m + 1, _NONE)  # of the row above; its first entry is the border left of the matrix
    peaks = np.full(m + 1, _NONE)  # the greatest gain in all rows above, up to each column
    places = np.zeros(m + 1, np.int32)  # where that is, as i * m + j
    best = _NONE
    end = 0
    for i in range(n):
        corner = gains[0]
        left = _NONE
        peak_corner = peaks[0]
        place_corner = places[0]
        peak_left = _NONE
        place_left = np.int32(0)
        for j in range(m):
            both = rows[i] + columns[j]
            above = gains[j + 1]
            value = corner + both
            move = DIAGONAL
            if above + rows[i] > value:
                value = above + rows[i]
                move = UP
            if left + columns[j] > value:
                value = left + columns[j]
                move = LEFT
            if peak_corner - jump + both > value:
                value = peak_corner - jump + both
                move = JUMP
                sources[i, j] = place_corner
            if both > value:
                value = both
                move = START
            moves[i, j] = move
            value -= costs[i, j]
            corner = above
            left = value
            gains[j + 1] = value
            peak_corner = peaks[j + 1]
            place_corner = places[j + 1]
            if value > peak_left:
                peak_left = value
                place_left = np.int32(i * m + j)
            if peak_left > peak_corner:
                peaks[j + 1] = peak_left
                places[j + 1] = place_left
            if value > best:
                best = value
                end = i * m + j
    return best, *trace(moves, sources, end, 0, 1)


@njit(cache=True)
def measure(costs, rows, columns, lane, lanes, path):
    """What a piece (L, 2) costs, and the prices of the rows and of the columns it enters.

    costs (n, m * lanes), rows (n * lanes,), columns (m * lanes,): the lane is innermost.
    """
    cost = 0.0
    entered = 0.0
    passed = 0.0
    for at in range(len(path)):
        i = path[at, 0]
        j = path[at, 1]
        cost += costs[i, j * lanes + lane]
        if at == 0 or i > path[at - 1, 0]:
            entered += rows[i * lanes + lane]
        if at == 0 or j > path[at - 1, 1]:
            passed += columns[j * lanes + lane]
    return cost, entered, passed
