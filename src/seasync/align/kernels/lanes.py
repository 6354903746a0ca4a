"""DTW and the exact random cost of many cost matrices at once: the matrix index innermost, so that the CPU's
vector units work on LANES matrices abreast. Each lane rounds exactly as `kernels.single` does.

The row loops run over one flat index (cell × LANES + lane): the compiler then sees one long loop whose
dependence reaches LANES elements back, and vectorises it. No fastmath: results would differ between the two.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 32
_INFINITY = np.float32(np.inf)


@njit(cache=True, nogil=True)
def interleave(planes, out):
    """Write planes (LANES, cells) as out (cells, LANES), in tiles that stay in the cache."""
    lanes, cells = planes.shape
    for start in range(0, cells, 16):
        stop = min(start + 16, cells)
        for lane in range(lanes):
            for cell in range(start, stop):
                out[cell, lane] = planes[lane, cell]


@njit(cache=True, nogil=True)
def _dtw_row(costs, above, row, nearest):
    """One row of totals; `above` and `row` begin with the LANES border values left of the matrix."""
    cells = len(costs)
    for k in range(cells):
        diagonal = above[k]
        up = above[k + LANES]
        nearest[k] = up if up < diagonal else diagonal
    for k in range(cells):
        left = row[k]
        best = nearest[k]
        row[k + LANES] = (left if left < best else best) + costs[k]


@njit(cache=True, nogil=True)
def _random_row(costs, above, row, diagonal_share, up_share, left_share):
    """One row of mean random costs; the shares (m,) are the same in all lanes."""
    for j in range(len(diagonal_share)):
        diagonal = diagonal_share[j]
        up = up_share[j]
        left = left_share[j]
        for k in range(j * LANES, (j + 1) * LANES):
            near = costs[k] + diagonal * above[k] + up * above[k + LANES]
            row[k + LANES] = near + left * row[k]


@njit(cache=True, nogil=True)
def random_shares(i, diagonal, up, left):
    """How often a random path at row i leaves column j diagonally, up, left: (m,) float32 each, written."""
    a = float(i + 1)
    for j in range(len(diagonal)):
        b = float(j + 1)
        scale = 1.0 / (a * a + a * b + b * b)
        diagonal[j] = a * b * scale
        up[j] = a * a * scale
        left[j] = b * b * scale
    if i == 0:
        diagonal[:] = 0.0
        up[:] = 0.0
        left[:] = 1.0
    else:
        diagonal[0] = 0.0
        up[0] = 1.0
    left[0] = 0.0


@njit(cache=True, nogil=True)
def solve(costs, rows, columns, totals, table, with_random):
    """DTW totals and exact random costs.

    costs   (n, m * LANES) float32, interleaved; lane l is valid in its first rows[l] × columns[l] cells and
            finite elsewhere
    totals  (2, LANES) float32, written: DTW total and, `with_random`, the mean cost of random paths
    table   (n + 1, (m + 1) * LANES) float32 keeps every row of totals for `trace`; (2, …) keeps none
    """
    n, width = costs.shape
    m = width // LANES
    keep = len(table) > 2
    nearest = np.empty(width, np.float32)
    mean_above = np.zeros(width + LANES, np.float32)
    mean_row = np.zeros(width + LANES, np.float32)
    diagonal = np.empty(m, np.float32)
    up = np.empty(m, np.float32)
    left = np.empty(m, np.float32)
    table[0] = _INFINITY
    table[0, :LANES] = 0.0
    for i in range(n):
        above = table[i if keep else i % 2]
        row = table[i + 1 if keep else (i + 1) % 2]
        row[:LANES] = _INFINITY
        _dtw_row(costs[i], above, row, nearest)
        if with_random:
            random_shares(i, diagonal, up, left)
            _random_row(costs[i], mean_above, mean_row, diagonal, up, left)
        for lane in range(LANES):
            if rows[lane] == i + 1:
                totals[0, lane] = row[columns[lane] * LANES + lane]
                totals[1, lane] = mean_row[columns[lane] * LANES + lane]
        mean_above, mean_row = mean_row, mean_above


@njit(cache=True, nogil=True)
def trace(table, lane, rows, columns):
    """The path of one lane, (L, 2) int32 from the first cells to the last, out of `solve`'s kept table."""
    path = np.empty((rows + columns - 1, 2), np.int32)
    i = rows
    j = columns
    at = len(path)
    while True:
        at -= 1
        path[at, 0] = i - 1
        path[at, 1] = j - 1
        if i == 1 and j == 1:
            return path[at:].copy()
        diagonal = table[i - 1, (j - 1) * LANES + lane]
        up = table[i - 1, j * LANES + lane]
        left = table[i, (j - 1) * LANES + lane]
        if diagonal <= up and diagonal <= left:
            i -= 1
            j -= 1
        elif up <= left:
            i -= 1
        else:
            j -= 1
