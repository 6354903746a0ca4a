"""The priced local path: which stretches of two clips correspond, and what is better left out.

A path pays its cells and earns the price of every row and column it enters; a frame left out earns nothing.
It may start and end anywhere, and jump ahead in both clips for a fixed price.
Of equal ways to a cell the diagonal is taken, then up (i−1), left (j−1), a jump, a fresh start.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.align.kernels.vectors import LANES, fill, load, store, where_less

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
    total = load(totals, 0)
    for k in range(0, len(costs), LANES):
        cost = load(costs, k)
        total = total + cost
        store(columns, k, load(columns, k) + cost)
    store(totals, 0, total)


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
def lane_measure(cells, row_prices, column_prices, lane, path):
    """`measure` in one lane of cells; prices as by `lane_prices`."""
    cost = 0.0
    entered = 0.0
    passed = 0.0
    for at in range(len(path)):
        i = path[at, 0]
        j = path[at, 1]
        cost += cells[i, j * LANES + lane]
        if at == 0 or i > path[at - 1, 0]:
            entered += row_prices[i, lane]
        if at == 0 or j > path[at - 1, 1]:
            passed += column_prices[j * LANES + lane]
    return cost, entered, passed


@njit(cache=True, nogil=True)
def _gain_row(costs, first, entered, columns, jump, gains, peaks, places, moves, sources, best, ends):
    """One row of `priced_path`, LANES pairs at once, in place of the row above; `first` is its first cell.

    entered (LANES,) the row's prices, columns (m * LANES,) those of the columns, jump, best, ends (LANES,).
    """
    none = fill(_NONE)
    row_price = load(entered, 0)
    price = load(jump, 0)
    corner = none
    left = none
    peak_corner = none
    peak_left = none
    place_corner = fill(np.int32(0))
    place_left = place_corner
    greatest = load(best, 0)
    end = load(ends, 0)
    diagonally = fill(np.int32(DIAGONAL))
    for j in range(len(gains) // LANES):
        k = j * LANES
        here = fill(np.int32(first + j))
        column = load(columns, k)
        both = row_price + column
        above = load(gains, k)
        value = corner + both
        other = above + row_price
        move = where_less(value, other, fill(np.int32(UP)), diagonally)
        value = where_less(value, other, other, value)
        other = left + column
        move = where_less(value, other, fill(np.int32(LEFT)), move)
        value = where_less(value, other, other, value)
        other = peak_corner - price + both
        move = where_less(value, other, fill(np.int32(JUMP)), move)
        value = where_less(value, other, other, value)
        move = where_less(value, both, fill(np.int32(START)), move)
        value = where_less(value, both, both, value) - load(costs, k)
        store(moves, k, move)
        store(sources, k, place_corner)
        corner = above
        left = value
        store(gains, k, value)
        peak_corner = load(peaks, k)
        place_corner = load(places, k)
        place_left = where_less(peak_left, value, here, place_left)
        peak_left = where_less(peak_left, value, value, peak_left)
        store(places, k, where_less(peak_corner, peak_left, place_left, place_corner))
        store(peaks, k, where_less(peak_corner, peak_left, peak_left, peak_corner))
        end = where_less(greatest, value, here, end)
        greatest = where_less(greatest, value, value, greatest)
    store(best, 0, greatest)
    store(ends, 0, end)


@njit(cache=True, nogil=True)
def lane_gains(cells, row_prices, column_prices, jump, moves, sources, best, ends):
    """`priced_path` in LANES matrices at once; prices as by `lane_prices`, jump (LANES,).

    moves (n, m * LANES) uint8, sources (n, m * LANES) int32, written for `trace`; what the path gains and the
    cell at which it ends into best and ends (LANES,).
    """
    m = cells.shape[1] // LANES
    gains = np.full(m * LANES, _NONE)
    peaks = np.full(m * LANES, _NONE)
    places = np.zeros(m * LANES, np.int32)
    best[:] = _NONE
    ends[:] = 0
    for i in range(len(cells)):
        _gain_row(
            cells[i], i * m, row_prices[i], column_prices, jump, gains, peaks, places, moves[i], sources[i],
            best, ends,
        )  # fmt: skip
