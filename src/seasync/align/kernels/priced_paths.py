"""The priced local path: which stretches of two clips correspond, and what is better left out.

A path pays its cells and earns the price of every row and column it enters; a frame left out earns nothing.
It may start and end anywhere, and jump ahead in both clips for a fixed price.
Of equal ways to a cell the diagonal is taken, then up (i−1), left (j−1), a jump, a fresh start.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.align.kernels.lanes import LANES

DIAGONAL, UP, LEFT, JUMP, START = range(5)
_NONE = np.float32(-np.inf)
_CLOSED = np.float32(-1e9)  # the price of rows and columns that are none


@njit(cache=True, nogil=True)
def _factor(n, m, share):
    """`share` of the mean number of cells that a random path has in a row of an n × m matrix."""
    across = n / (n + m)
    return np.float32(share * (1.0 - across * (1.0 - across)))


@njit(cache=True, nogil=True)
def prices(costs, share, rows, columns):
    """Write the prices of rows (n,) and columns (m,), float32: their mean cost times `_factor`.

    Returns both sums.
    """
    n, m = costs.shape
    factor = _factor(n, m, share)
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


@njit(cache=True, nogil=True)
def _trace(moves, sources, end):
    """The path to a cell, and where its pieces begin, as `priced_path` returns them.

    moves (n, m); a jump to (i, j) comes from the cell sources[i, j], as i * m + j.
    """
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
def measure(costs, rows, columns, path):
    """What a piece (L, 2) costs, and the prices of the rows and of the columns it enters."""
    cost = 0.0
    entered = 0.0
    passed = 0.0
    for at in range(len(path)):
        i = path[at, 0]
        j = path[at, 1]
        cost += costs[i, j]
        if at == 0 or i > path[at - 1, 0]:
            entered += rows[i]
        if at == 0 or j > path[at - 1, 1]:
            passed += columns[j]
    return cost, entered, passed


@njit(cache=True, nogil=True)
def _add_row(costs, totals, columns):
    """Add a row of costs (m * LANES,) to totals (LANES,) and columns (m * LANES,)."""
    for j in range(len(costs) // LANES):
        for k in range(j * LANES, (j + 1) * LANES):
            totals[k - j * LANES] += costs[k]
    for k in range(len(costs)):
        columns[k] += costs[k]


@njit(cache=True, nogil=True)
def lane_prices(cells, rows, columns, share, row_prices, column_prices, totals):
    """`prices` of LANES matrices into row_prices (n, LANES), column_prices (m * LANES,), totals (LANES, 2).

    cells (n, m * LANES), zero beyond rows and columns (LANES,) of each lane: there, prices forbid entry.
    """
    n = len(cells)
    m = cells.shape[1] // LANES
    row_prices[:] = 0.0
    column_prices[:] = 0.0
    for i in range(n):
        _add_row(cells[i], row_prices[i], column_prices)
    for lane in range(LANES):
        height = rows[lane]
        width = columns[lane]
        factor = _factor(height, width, share) if height > 0 else np.float32(0.0)
        totals[lane] = 0.0
        for i in range(n):
            inside = i < height
            row_prices[i, lane] = row_prices[i, lane] * factor / np.float32(width) if inside else _CLOSED
            totals[lane, 0] += row_prices[i, lane] if inside else 0.0
        for j in range(m):
            k = j * LANES + lane
            inside = j < width
            column_prices[k] = column_prices[k] * factor / np.float32(height) if inside else _CLOSED
            totals[lane, 1] += column_prices[k] if inside else 0.0


@njit(cache=True, nogil=True)
def _gain_row(costs, above, row, peaks_above, peaks, entered, columns, jump):
    """One row of gains and the greatest gains so far, LANES pairs at once.

    entered (LANES,) the row's prices, columns (m * LANES,) those of the columns, jump (LANES,).
    """
    for j in range(len(costs) // LANES):
        for k in range(j * LANES, (j + 1) * LANES):
            lane = k - j * LANES
            both = entered[lane] + columns[k]
            diagonal = above[k] + both
            up = above[k + LANES] + entered[lane]
            left = row[k] + columns[k]
            jumped = (peaks_above[k] - jump[lane]) + both
            value = up if up > diagonal else diagonal
            value = left if left > value else value
            value = jumped if jumped > value else value
            value = (both if both > value else value) - costs[k]
            row[k + LANES] = value
            peak = peaks_above[k + LANES]
            peak = peaks[k] if peaks[k] > peak else peak
            peaks[k + LANES] = value if value > peak else peak


@njit(cache=True, nogil=True)
def lane_gains(cells, rows, columns, row_prices, column_prices, jump, best):
    """What `priced_path` gains in each of LANES matrices into best (LANES,); prices as by `lane_prices`.

    The path itself is not kept: few pairs are better in part, and those are solved again, one by one.
    """
    n = len(cells)
    m = cells.shape[1] // LANES
    above = np.full((m + 1) * LANES, _NONE)
    row = np.full((m + 1) * LANES, _NONE)
    peaks_above = np.full((m + 1) * LANES, _NONE)
    peaks = np.full((m + 1) * LANES, _NONE)
    for i in range(n):
        _gain_row(cells[i], above, row, peaks_above, peaks, row_prices[i], column_prices, jump)
        for lane in range(LANES):
            if rows[lane] == i + 1:
                best[lane] = peaks[columns[lane] * LANES + lane]
        above, row = row, above
        peaks_above, peaks = peaks, peaks_above
