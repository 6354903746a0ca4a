"""DTW and the exact random cost of many cost matrices at once: the matrix index innermost, so that the CPU's
vector units work on LANES matrices abreast. Each lane rounds exactly as `kernels.single` does.

Rows are flat (cell × LANES + lane): the compiler then sees loops whose dependence reaches LANES elements back
and vectorises them. No fastmath: it would let the two kernels round differently.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 32
_INFINITY = np.float32(np.inf)


@njit(cache=True, nogil=True)
def _zip(a, b, c, d, out):
    for j in range(len(a)):
        out[4 * j] = a[j]
        out[4 * j + 1] = b[j]
        out[4 * j + 2] = c[j]
        out[4 * j + 3] = d[j]


@njit(cache=True, nogil=True)
def _place(values, out, first, step):
    for j in range(len(values)):
        out[first + j * step] = values[j]


@njit(cache=True, nogil=True)
def interleave(planes, i, four, fours, places):
    """Row i of planes (LANES, n, m) into places, costs (m * LANES,) seen as complex128.

    In two steps, each of which compiles to wide loads and stores: four lanes become neighbours in `four`
    (4 * m,), then they go to their place together, as the 16 bytes of one complex number in its view `fours`.
    """
    for group in range(LANES // 4):
        lane = 4 * group
        _zip(planes[lane, i], planes[lane + 1, i], planes[lane + 2, i], planes[lane + 3, i], four)
        _place(fours, places, group, LANES // 4)


@njit(cache=True, nogil=True)
def interleave_all(planes, cells):
    """Planes (LANES, n, m) into cells (n, m * LANES), once for all kernels that read them."""
    _, n, m = planes.shape
    four = np.empty(m * 4, np.float32)
    fours = four.view(np.complex128)
    for i in range(n):
        interleave(planes, i, four, fours, cells[i].view(np.complex128))


@njit(cache=True, nogil=True)
def matrix_of(cells, lane, out):
    """The matrix (n, m) of one lane out of cells."""
    for i in range(out.shape[0]):
        row = cells[i]
        for j in range(out.shape[1]):
            out[i, j] = row[j * LANES + lane]


@njit(cache=True, nogil=True)
def _score_row(costs, above, row, mean_above, mean_row, diagonal_share, up_share, left_share):
    """One row of DTW totals and of mean random costs; the shares (m,) are the same in all lanes.

    Rows begin with the LANES border values left of the matrix.
    """
    for j in range(len(diagonal_share)):
        diagonal = diagonal_share[j]
        up = up_share[j]
        left = left_share[j]
        for k in range(j * LANES, (j + 1) * LANES):
            cost = costs[k]
            near = cost + diagonal * mean_above[k] + up * mean_above[k + LANES]
            mean_row[k + LANES] = near + left * mean_row[k]
            best = above[k + LANES] if above[k + LANES] < above[k] else above[k]
            row[k + LANES] = (row[k] if row[k] < best else best) + cost


@njit(cache=True, nogil=True)
def path_row(costs, above, row, moves):
    """One row of DTW totals, and the move that leads to each cell: 0 diagonal, 1 up, 2 left."""
    for j in range(len(costs) // LANES):
        for k in range(j * LANES, (j + 1) * LANES):
            diagonal = above[k]
            up = above[k + LANES]
            left = row[k]
            best = up if up < diagonal else diagonal
            moves[k] = np.uint8(2) if left < best else np.uint8(1) if up < diagonal else np.uint8(0)
            row[k + LANES] = (left if left < best else best) + costs[k]


@njit(cache=True, nogil=True)
def _random_row(costs, above, row, diagonal_share, up_share, left_share):
    """One row of mean random costs."""
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
def solve(cells, rows, columns, totals, moves):
    """DTW totals and exact random costs of LANES matrices.

    cells   (n, m * LANES) float32; lane l is valid in its first rows[l] × columns[l] cells, finite elsewhere
    totals  (2, LANES) float32, written: DTW total and the mean cost of random paths
    moves   (n, m * LANES) uint8, written, for `trace`; of shape (0, 0) to keep none
    """
    n = len(cells)
    m = cells.shape[1] // LANES
    above = np.full((m + 1) * LANES, _INFINITY)
    row = np.full((m + 1) * LANES, _INFINITY)
    mean_above = np.zeros((m + 1) * LANES, np.float32)
    mean_row = np.zeros((m + 1) * LANES, np.float32)
    diagonal = np.empty(m, np.float32)
    up = np.empty(m, np.float32)
    left = np.empty(m, np.float32)
    above[:LANES] = 0.0
    for i in range(n):
        random_shares(i, diagonal, up, left)
        if len(moves):
            path_row(cells[i], above, row, moves[i])
            _random_row(cells[i], mean_above, mean_row, diagonal, up, left)
        else:
            _score_row(cells[i], above, row, mean_above, mean_row, diagonal, up, left)
        for lane in range(LANES):
            if rows[lane] == i + 1:
                totals[0, lane] = row[columns[lane] * LANES + lane]
                totals[1, lane] = mean_row[columns[lane] * LANES + lane]
        above[:LANES] = _INFINITY
        above, row = row, above
        mean_above, mean_row = mean_row, mean_above


@njit(cache=True, nogil=True)
def _total_row(costs, above, row):
    """One row of DTW totals."""
    for j in range(len(costs) // LANES):
        for k in range(j * LANES, (j + 1) * LANES):
            best = above[k + LANES] if above[k + LANES] < above[k] else above[k]
            row[k + LANES] = (row[k] if row[k] < best else best) + costs[k]


@njit(cache=True, nogil=True)
def _half_way_row(cells, columns, out):
    """A row of cells (m * LANES,) with each lane's match begun half-way, into out."""
    m = len(cells) // LANES
    alike = True
    for lane in range(LANES):
        alike &= columns[lane] == m or columns[lane] == 0
    if alike:
        middle = (m - m // 2) * LANES
        out[: len(cells) - middle] = cells[middle:]
        out[len(cells) - middle :] = cells[:middle]
        return
    for lane in range(LANES):
        width = columns[lane]
        middle = width - width // 2
        for j in range(width):
            from_ = j + middle if j + middle < width else j + middle - width
            out[j * LANES + lane] = cells[from_ * LANES + lane]


@njit(cache=True, nogil=True)
def disordered(cells, columns, totals):
    """DTW totals of LANES matrices of n rows each with the match backwards, and begun half-way.

    cells (n, m * LANES), columns (LANES,); totals (2, LANES) float32, written. A path through the match
    backwards is one through the query backwards, seen from its other end: so all lanes begin at column 0.
    """
    n = len(cells)
    m = cells.shape[1] // LANES
    turned = np.zeros(m * LANES, np.float32)
    for kind in range(2):
        above = np.full((m + 1) * LANES, _INFINITY)
        row = np.full((m + 1) * LANES, _INFINITY)
        above[:LANES] = 0.0
        for i in range(n):
            if kind == 0:
                _total_row(cells[n - 1 - i], above, row)
            else:
                _half_way_row(cells[i], columns, turned)
                _total_row(turned, above, row)
            above[:LANES] = _INFINITY
            above, row = row, above
        for lane in range(LANES):
            totals[kind, lane] = above[columns[lane] * LANES + lane]


@njit(cache=True, nogil=True)
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
