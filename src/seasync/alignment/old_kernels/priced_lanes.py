"""The priced local paths of LANES cost matrices abreast; see `priced_paths`."""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.priced_paths import (
    DIAGONAL,
    JUMP,
    LEFT,
    START,
    UP,
    measure,
    price_factor,
    trace,
)
from seasync.alignment.old_kernels.vectors import LANES, fill, load, store, where_less

_NONE = np.float32(-np.inf)
_CLOSED = np.float32(-1e9)  # the price of rows and columns that are none


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
        factor = price_factor(height, width, share) if height > 0 else np.float32(0.0)
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


@njit(cache=True)
def lane_pieces(cells, row_prices, column_prices, moves, sources, ends, chosen):
    """The boxes around the pieces of the best paths in the lanes `chosen`, and what `measure` says of them.

    row_prices (n * LANES,); the rest as of `lane_gains`. Returns boxes (P, 5) int64: lane, first row, first
    column, rows, columns; and measures (P, 3).
    """
    boxes = np.empty((len(chosen) * len(cells), 5), np.int64)
    measures = np.empty((len(boxes), 3), np.float64)
    count = 0
    for lane in chosen:
        path, breaks = trace(moves, sources, ends[lane], lane, LANES)
        for p in range(len(breaks) - 1):
            piece = path[breaks[p] : breaks[p + 1]]
            first = piece[0]
            last = piece[len(piece) - 1]
            boxes[count, 0] = lane
            boxes[count, 1] = first[0]
            boxes[count, 2] = first[1]
            boxes[count, 3] = last[0] + 1 - first[0]
            boxes[count, 4] = last[1] + 1 - first[1]
            found = measure(cells, row_prices, column_prices, lane, LANES, piece)
            for part in range(3):
                measures[count, part] = found[part]
            count += 1
    return boxes[:count].copy(), measures[:count].copy()
