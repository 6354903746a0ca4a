"""DTW of cost matrices in which the order of the match's events is broken, LANES matrices abreast."""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.vectors import LANES, fill, load, store, where_less

_INFINITY = np.float32(np.inf)
_ZERO = np.float32(0.0)


@njit(cache=True, nogil=True)
def _total_row(costs, borders, totals):
    """One row of DTW totals in place; borders (LANES,) are those left of the row above."""
    corner = load(borders, 0)
    left = fill(_INFINITY)
    for k in range(0, len(totals), LANES):
        above = load(totals, k)
        best = where_less(above, corner, above, corner)
        left = where_less(left, best, left, best) + load(costs, k)
        corner = above
        store(totals, k, left)


@njit(cache=True, nogil=True)
def _half_way_row(cells, columns, out):
    """A row of cells (m * LANES,) with each lane's match begun half-way, into out."""
    m = len(cells) // LANES
    alike = True
    for lane in range(LANES):
        alike &= columns[lane] == m or columns[lane] == 0
    if alike:
        middle = (m - m // 2) * LANES
        for k in range(middle, len(cells), LANES):
            store(out, k - middle, load(cells, k))
        for k in range(0, middle, LANES):
            store(out, len(cells) - middle + k, load(cells, k))
        return
    for lane in range(LANES):
        width = columns[lane]
        middle = width - width // 2
        for j in range(width - middle):
            out[j * LANES + lane] = cells[(j + middle) * LANES + lane]
        for j in range(width - middle, width):
            out[j * LANES + lane] = cells[(j + middle - width) * LANES + lane]


@njit(cache=True, nogil=True)
def disordered(cells, rows, columns, out):
    """DTW totals of LANES matrices with the match backwards, and begun half-way.

    cells (n, m * LANES), rows and columns (LANES,); out (2, LANES) float32, written. A path through the match
    backwards is one through the query backwards, seen from its other end: so all lanes begin at column 0.
    """
    n = len(cells)
    turned = np.zeros(cells.shape[1], np.float32)
    borders = np.empty(LANES, np.float32)
    totals = np.full(cells.shape[1], _INFINITY)
    for i in range(n - 1, -1, -1):
        for lane in range(LANES):
            borders[lane] = _ZERO if rows[lane] == i + 1 else _INFINITY
        _total_row(cells[i], borders, totals)
    for lane in range(LANES):
        if rows[lane] > 0:
            out[0, lane] = totals[(columns[lane] - 1) * LANES + lane]
    totals[:] = _INFINITY
    borders[:] = _ZERO
    for i in range(n):
        _half_way_row(cells[i], columns, turned)
        _total_row(turned, borders, totals)
        borders[:] = _INFINITY
        for lane in range(LANES):
            if rows[lane] == i + 1:
                out[1, lane] = totals[(columns[lane] - 1) * LANES + lane]
