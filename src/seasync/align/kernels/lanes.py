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
def _interleave(planes, i, out):
    """Row i of planes (LANES, n, m) into out (m * LANES,), in tiles that stay in the cache."""
    m = planes.shape[2]
    for start in range(0, m, 16):
        stop = min(start + 16, m)
        for lane in range(LANES):
            for j in range(start, stop):
                out[j * LANES + lane] = planes[lane, i, j]


@njit(cache=True, nogil=True)
def _dtw_row(costs, above, row, nearest):
    """One row of totals; `above` and `row` begin with the LANES border values left of the matrix."""
    for k in range(len(costs)):
        diagonal = above[k]
        up = above[k + LANES]
        nearest[k] = up if up < diagonal else diagonal
    for k in range(len(costs)):
        left = row[k]
        best = nearest[k]
        row[k + LANES] = (left if left < best else best) + costs[k]


@njit(cache=True, nogil=True)
def _dtw_row_with_moves(costs, above, row, nearest, moves):
    """The same, and the move that leads to each cell: 0 diagonal, 1 up, 2 left."""
    for k in range(len(costs)):
        diagonal = above[k]
        up = above[k + LANES]
        nearest[k] = up if up < diagonal else diagonal
        moves[k] = up < diagonal
    for k in range(len(costs)):
        left = row[k]
        best = nearest[k]
        row[k + LANES] = (left if left < best else best) + costs[k]
    for k in range(len(costs)):
        moves[k] = 2 if row[k] < nearest[k] else moves[k]


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
def solve(planes, rows, columns, totals, moves, with_random):
    """DTW totals and exact random costs of LANES matrices.

    planes  (LANES, n, m) float32; lane l is valid in its first rows[l] × columns[l] cells, finite elsewhere
    totals  (2, LANES) float32, written: DTW total and, `with_random`, the mean cost of random paths
    moves   (n, m * LANES) uint8, written, for `trace`; of shape (0, 0) to keep none
    """
    _, n, m = planes.shape
    costs = np.empty(m * LANES, np.float32)
    nearest = np.empty(m * LANES, np.float32)
    above = np.full((m + 1) * LANES, _INFINITY)
    row = np.full((m + 1) * LANES, _INFINITY)
    mean_above = np.zeros((m + 1) * LANES, np.float32)
    mean_row = np.zeros((m + 1) * LANES, np.float32)
    diagonal = np.empty(m, np.float32)
    up = np.empty(m, np.float32)
    left = np.empty(m, np.float32)
    above[:LANES] = 0.0
    for i in range(n):
        _interleave(planes, i, costs)
        if len(moves):
            _dtw_row_with_moves(costs, above, row, nearest, moves[i])
        else:
            _dtw_row(costs, above, row, nearest)
        if with_random:
            random_shares(i, diagonal, up, left)
            _random_row(costs, mean_above, mean_row, diagonal, up, left)
        for lane in range(LANES):
            if rows[lane] == i + 1:
                totals[0, lane] = row[columns[lane] * LANES + lane]
                totals[1, lane] = mean_row[columns[lane] * LANES + lane]
        above[:LANES] = _INFINITY
        above, row = row, above
        mean_above, mean_row = mean_row, mean_above


@njit(cache=True, nogil=True)
def trace(moves, lane, rows, columns):
    """The path of one lane, (L, 2) int32 from the first cells to the last."""
    path = np.empty((rows + columns - 1, 2), np.int32)
    i = rows - 1
    j = columns - 1
    at = len(path)
    while True:
        at -= 1
        path[at, 0] = i
        path[at, 1] = j
        if i == 0 and j == 0:
            return path[at:].copy()
        move = moves[i, j * LANES + lane]
        if move != 2:
            i -= 1
        if move != 1:
            j -= 1
