"""DTW and the exact random cost of LANES cost matrices abreast, one in each lane of the CPU's vectors.

Rows are flat (cell × LANES + lane) and solved in place. Each lane rounds exactly as `kernels.single` does.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.vectors import (
    LANES,
    SIDE,
    address,
    fill,
    load,
    store,
    transpose,
    value_at,
    where_less,
)

_INFINITY = np.float32(np.inf)
_ZERO = np.float32(0.0)


@njit(cache=True)
def find_matrices(matrices, places):
    """Where LANES contiguous matrices begin in memory, and their rows and columns, into places (3, LANES)."""
    for lane, matrix in enumerate(matrices):
        places[0, lane] = address(matrix)
        places[1, lane], places[2, lane] = matrix.shape


@njit(cache=True, nogil=True)
def interleave(starts, widths, m, out):
    """A row of each lane, widths (LANES,) numbers from the addresses starts on, into out (m * LANES,).

    Zeros follow where a lane has fewer than m. A lane of width 0 must start where another one does.
    """
    even = m
    for lane in range(LANES):
        if widths[lane] > 0:
            even = min(even, widths[lane])
    even -= even % SIDE
    for j in range(0, even, SIDE):
        for lane in range(0, LANES, SIDE):
            transpose(starts, lane, j, out, j * LANES + lane)
    for lane in range(LANES):
        for j in range(even if widths[lane] > 0 else 0, m):
            out[j * LANES + lane] = value_at(starts[lane], j) if j < widths[lane] else _ZERO


@njit(cache=True, nogil=True)
def _next_row(i, rows, columns, starts, widths):
    """Move starts to row i of matrices (rows[lane], columns[lane]); width 0 where there is none.

    Lanes without a row start where another one does, so that all can be read alike.
    """
    other = starts[0]
    for lane in range(LANES):
        if i > 0:
            starts[lane] += 4 * widths[lane]
        widths[lane] = columns[lane] if i < rows[lane] else 0
        if widths[lane] > 0:
            other = starts[lane]
    for lane in range(LANES):
        if widths[lane] == 0:
            starts[lane] = other


@njit(cache=True, nogil=True)
def interleave_all(addresses, rows, columns, cells):
    """Matrices of float32 numbers at the addresses (LANES,) into cells (n, m * LANES), zero beyond each."""
    m = cells.shape[1] // LANES
    starts = addresses.copy()
    widths = np.zeros(LANES, np.int64)
    for i in range(len(cells)):
        _next_row(i, rows, columns, starts, widths)
        interleave(starts, widths, m, cells[i])


@njit(cache=True)
def take_boxes(cells, lanes, tops, lefts, rows, columns, out):
    """Parts of the matrices in cells as matrices of their own, into out (n, m * LANES), zero beyond each.

    lanes, tops, lefts, rows, columns (LANES,): where each box is, and how large.
    """
    m = out.shape[1] // LANES
    for i in range(len(out)):
        row = out[i]
        for k in range(LANES):
            width = columns[k] if i < rows[k] else 0
            for j in range(width, m):
                row[j * LANES + k] = _ZERO
            if width > 0:
                source = cells[tops[k] + i]
                first = lefts[k] * LANES + lanes[k]
                for j in range(width):
                    row[j * LANES + k] = source[first + j * LANES]


@njit(cache=True)
def matrix_of(cells, lane, out):
    """The matrix (n, m) of one lane out of cells."""
    for i in range(out.shape[0]):
        row = cells[i]
        for j in range(out.shape[1]):
            out[i, j] = row[j * LANES + lane]


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
def share_table(size):
    """`random_shares` of all rows of a square matrix, (size, 3, size)."""
    out = np.empty((size, 3, size), np.float32)
    for i in range(size):
        random_shares(i, out[i, 0], out[i, 1], out[i, 2])
    return out


@njit(cache=True, nogil=True)
def _score_row(costs, shares, border, totals, means):
    """One row of DTW totals and of mean random costs in place of the row above, (m * LANES,) each.

    border is the total left of the row above: 0 at the first row, infinite below.
    """
    corner = fill(border)
    left = fill(_INFINITY)
    mean_corner = fill(_ZERO)
    mean_left = fill(_ZERO)
    for j in range(len(totals) // LANES):
        k = j * LANES
        cost = load(costs, k)
        above = load(totals, k)
        mean_above = load(means, k)
        best = where_less(above, corner, above, corner)
        left = where_less(left, best, left, best) + cost
        corner = above
        store(totals, k, left)
        near = cost + fill(shares[0, j]) * mean_corner + fill(shares[1, j]) * mean_above
        mean_left = near + fill(shares[2, j]) * mean_left
        mean_corner = mean_above
        store(means, k, mean_left)


@njit(cache=True, nogil=True)
def path_row(costs, border, totals, moves):
    """One row of DTW totals in place, and the move that leads to each cell: 0 diagonal, 1 up, 2 left."""
    corner = fill(border)
    left = fill(_INFINITY)
    diagonally = fill(np.int32(0))
    from_above = fill(np.int32(1))
    from_left = fill(np.int32(2))
    for k in range(0, len(totals), LANES):
        above = load(totals, k)
        best = where_less(above, corner, above, corner)
        move = where_less(above, corner, from_above, diagonally)
        store(moves, k, where_less(left, best, from_left, move))
        left = where_less(left, best, left, best) + load(costs, k)
        corner = above
        store(totals, k, left)


@njit(cache=True, nogil=True)
def _score_path_row(costs, shares, border, totals, means, moves):
    """`_score_row` and `path_row` in one."""
    corner = fill(border)
    left = fill(_INFINITY)
    mean_corner = fill(_ZERO)
    mean_left = fill(_ZERO)
    diagonally = fill(np.int32(0))
    from_above = fill(np.int32(1))
    from_left = fill(np.int32(2))
    for j in range(len(totals) // LANES):
        k = j * LANES
        cost = load(costs, k)
        above = load(totals, k)
        mean_above = load(means, k)
        best = where_less(above, corner, above, corner)
        move = where_less(above, corner, from_above, diagonally)
        store(moves, k, where_less(left, best, from_left, move))
        left = where_less(left, best, left, best) + cost
        corner = above
        store(totals, k, left)
        near = cost + fill(shares[0, j]) * mean_corner + fill(shares[1, j]) * mean_above
        mean_left = near + fill(shares[2, j]) * mean_left
        mean_corner = mean_above
        store(means, k, mean_left)


@njit(cache=True, nogil=True)
def _put_totals(i, rows, columns, totals, means, out):
    """Totals of the lanes that end at row i into out (2, LANES)."""
    for lane in range(LANES):
        if rows[lane] == i + 1:
            out[0, lane] = totals[(columns[lane] - 1) * LANES + lane]
            out[1, lane] = means[(columns[lane] - 1) * LANES + lane]


@njit(cache=True, nogil=True)
def solve(cells, rows, columns, shares, out, moves):
    """DTW totals and exact random costs of LANES matrices.

    cells   (n, m * LANES) float32; lane l is valid in its first rows[l] × columns[l] cells, finite elsewhere
    shares  `share_table` of at least max(n, m)
    out     (2, LANES) float32, written: DTW total and the mean cost of random paths
    moves   (n, m * LANES) uint8, written, for `trace`; of shape (0, 0) to keep none
    """
    totals = np.full(cells.shape[1], _INFINITY)
    means = np.zeros(cells.shape[1], np.float32)
    border = _ZERO
    for i in range(len(cells)):
        if len(moves):
            _score_path_row(cells[i], shares[i], border, totals, means, moves[i])
        else:
            _score_row(cells[i], shares[i], border, totals, means)
        border = _INFINITY
        _put_totals(i, rows, columns, totals, means, out)


@njit(cache=True, nogil=True)
def score_matrices(addresses, rows, columns, shares, out):
    """`solve` of the matrices of float32 numbers at the addresses (LANES,), each read once; no moves."""
    m = columns.max()
    starts = addresses.copy()
    widths = np.zeros(LANES, np.int64)
    costs = np.empty(m * LANES, np.float32)
    totals = np.full(m * LANES, _INFINITY)
    means = np.zeros(m * LANES, np.float32)
    border = _ZERO
    for i in range(rows.max()):
        _next_row(i, rows, columns, starts, widths)
        interleave(starts, widths, m, costs)
        _score_row(costs, shares[i], border, totals, means)
        border = _INFINITY
        _put_totals(i, rows, columns, totals, means, out)


@njit(cache=True)
def trace(moves, rows, columns, paths, lengths):
    """The path of every lane with rows: the last lengths[lane] pairs of paths (LANES, n + m − 1, 2) int32."""
    for lane in range(LANES):
        i = rows[lane] - 1
        j = columns[lane] - 1
        at = paths.shape[1]
        while i >= 0:
            at -= 1
            paths[lane, at, 0] = i
            paths[lane, at, 1] = j
            if i == 0 and j == 0:
                break
            move = moves[i, j * LANES + lane]
            if move != 2:
                i -= 1
            if move != 1:
                j -= 1
        lengths[lane] = paths.shape[1] - at
