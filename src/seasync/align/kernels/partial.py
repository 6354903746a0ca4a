"""The priced local path: which stretches of two clips correspond, and what is better left out.

A path pays its cells and earns the price of every row and column it enters; a frame left out earns nothing.
It may start and end anywhere, and jump ahead in both clips for a fixed price.
Of equal ways to a cell the diagonal is taken, then up (i−1), left (j−1), a jump, a fresh start.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.align.kernels.lanes import LANES, interleave

DIAGONAL, UP, LEFT, JUMP, START = range(5)
_NONE = np.float32(-np.inf)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def mean_costs(costs, rows, columns):
    """Mean of each row into rows (n,), of each column into columns (m,), float32."""
    n, m = costs.shape
    columns[:] = 0.0
    for i in range(n):
        total = np.float32(0.0)
        for j in range(m):
            total += costs[i, j]
            columns[j] += costs[i, j]
        rows[i] = total / np.float32(m)
    for j in range(m):
        columns[j] /= np.float32(n)


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
    return best, *_trace(moves, sources, end)


@njit(cache=True, nogil=True)
def _trace(moves, sources, end):
    n, m = moves.shape
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
        move = moves[i, j]
        if move >= JUMP:
            pieces -= 1
            breaks[pieces] = at
            if move == START:
                return path[at:].copy(), breaks[pieces:] - at
            place = sources[i, j]
            i = place // m
            j = place % m
            continue
        if move != LEFT:
            i -= 1
        if move != UP:
            j -= 1


@njit(cache=True, nogil=True)
def _gain_row(costs, above, row, peaks_above, peaks, entered, columns, jump):
    """One row of gains and of greatest gains so far, LANES pairs at once.

    entered (LANES,) the row's prices, columns (m * LANES,) those of the columns, jump (LANES,).
    """
    for j in range(len(costs) // LANES):
        first = j * LANES
        for k in range(first, first + LANES):
            lane = k - first
            both = entered[lane] + columns[k]
            fresh = peaks_above[k] - jump[lane]
            value = above[k] + both
            up = above[k + LANES] + entered[lane]
            value = up if up > value else value
            left = row[k] + columns[k]
            value = left if left > value else value
            jumped = fresh + both
            value = jumped if jumped > value else value
            value = (both if both > value else value) - costs[k]
            row[k + LANES] = value
            peak = peaks[k] if peaks[k] > value else value
            peaks[k + LANES] = peak if peak > peaks_above[k + LANES] else peaks_above[k + LANES]


@njit(cache=True, nogil=True)
def best_gains(planes, rows, columns, row_prices, column_prices, jump, out):
    """The greatest gain of each lane into out (LANES,): what `priced_path` finds, without the path.

    planes (LANES, n, m), rows and columns (LANES,) as in `lanes.solve`; row_prices (n, LANES),
    column_prices (m * LANES,), jump (LANES,) float32
    """
    _, n, m = planes.shape
    costs = np.empty(m * LANES, np.float32)
    four = np.empty(m * 4, np.float32)
    fours = four.view(np.complex128)
    places = costs.view(np.complex128)
    above = np.full((m + 1) * LANES, _NONE)
    row = np.full((m + 1) * LANES, _NONE)
    peaks_above = np.full((m + 1) * LANES, _NONE)
    peaks = np.full((m + 1) * LANES, _NONE)
    for i in range(n):
        interleave(planes, i, four, fours, places)
        _gain_row(costs, above, row, peaks_above, peaks, row_prices[i], column_prices, jump)
        for lane in range(LANES):
            if rows[lane] == i + 1:
                out[lane] = peaks[columns[lane] * LANES + lane]
        above, row = row, above
        peaks_above, peaks = peaks, peaks_above
