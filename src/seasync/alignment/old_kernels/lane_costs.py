"""Cost matrices of many pairs at once, from the products of their sampled frames, laid out for `lanes`.

The grid is finer than the frames, so most of the work is between them: interpolation, norms and the weight of
motion. The lane is innermost, and each cell is written once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.cosines import base_row, plain_reach
from seasync.alignment.old_kernels.lanes import interleave
from seasync.alignment.old_kernels.products import products
from seasync.alignment.old_kernels.vectors import LANES, address, fill, load, store, where_less

_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)


@njit(cache=True, nogil=True)
def base_products(gram, extra, query, match, context, out):
    """⟨x_i, x_j⟩ of all frames of a pair into out (≥ n, ≥ m + 1); arguments as of `cosines.add_cosines`."""
    links1, scales1, _, _ = query
    links2, scales2, _, _ = match
    n = links1.shape[1]
    m = links2.shape[1]
    sums = np.zeros(m + 2 if context else 0, np.float64)
    moved = np.empty(m, np.float32)
    reach = plain_reach(links2)
    for i in range(n):
        base_row(
            i, gram, 0, extra, 0, links1, scales1, links2, scales2, reach, context, sums, moved,
            out[i, : m + 1],
        )  # fmt: skip
    if n < len(out):  # what lies beyond is multiplied by zero, so it must be finite
        for j in range(m + 1):
            out[n, j] = out[n - 1, j]


@njit(cache=True, nogil=True)
def put_side(grid, lane, keep, half, out):
    """One clip's grid (3, n) into a lane of out (3, N, LANES): weight, 1 / norm, keep + half · motion."""
    for a in range(grid.shape[1]):
        out[0, a, lane] = grid[0, a]
        out[1, a, lane] = grid[1, a]
        out[2, a, lane] = keep + half * grid[2, a]
    for a in range(grid.shape[1], out.shape[1]):
        out[0, a, lane] = _ZERO
        out[1, a, lane] = _ZERO
        out[2, a, lane] = _ZERO


@njit(cache=True, nogil=True)
def fill_pairs(queries, matches, moving, stillness, context, planes, query_side, match_side):
    """What `lane_costs` needs of up to LANES pairs, from their rows to the products of their frames.

    queries, matches: of LANES pairs, rows, links, scales, lower and grid of a stream, see `PreparedStream`;
    moving (B,) bool: whether something moves in each of the B pairs. Of others, all costs are one.
    """
    half = np.float32((1.0 - stillness) / 2.0)
    for lane in range(len(moving)):
        rows1, links1, scales1, lower1, grid1 = queries[lane]
        rows2, links2, scales2, lower2, grid2 = matches[lane]
        if not moving[lane]:
            planes[lane] = _ZERO
            put_side(np.zeros_like(grid1), lane, _ONE, _ZERO, query_side)
            put_side(np.zeros_like(grid2), lane, _ZERO, _ZERO, match_side)
            continue
        gram = np.empty((len(rows1), len(rows2)), np.float32)
        products(rows1, rows2, gram)
        frames = links1.shape[1]
        one = links1, scales1, lower1, grid1
        other = links2, scales2, lower2, grid2
        base_products(gram[:frames], gram[frames:], one, other, context, planes[lane])
        put_side(grid1, lane, np.float32(stillness), half, query_side)
        put_side(grid2, lane, _ZERO, half, match_side)


@njit(cache=True, nogil=True)
def _mix(lower, upper, weight, scale, out):
    """Products of a grid row, in between two rows of frames (m * LANES,), times the row's 1 / norm."""
    part = load(weight, 0)
    factor = load(scale, 0)
    for k in range(0, len(out), LANES):
        value = load(lower, k)
        store(out, k, factor * (value + part * (load(upper, k) - value)))


@njit(cache=True, nogil=True)
def _square_row(mixed, factor, weight, scale, moving, motion, out):
    """Costs of power 2 of a grid row (columns * LANES,) out of its products with the match's frames."""
    zero = fill(_ZERO)
    one = fill(_ONE)
    moves = load(moving, 0)
    for b in range(len(weight) // LANES):
        k = b * LANES
        frame = b // factor * LANES
        value = load(mixed, frame)
        value = (value + load(weight, k) * (load(mixed, frame + LANES) - value)) * load(scale, k)
        far = one - value
        far = where_less(far, zero, zero, far)
        store(out, k, far * far * (moves + load(motion, k)))


@njit(cache=True, nogil=True)
def _power_row(mixed, factor, weight, scale, moving, motion, power, out):
    """The same for any power."""
    for b in range(len(weight) // LANES):
        shift = (b // factor - b) * LANES
        for k in range(b * LANES, (b + 1) * LANES):
            value = mixed[k + shift]
            value = (value + weight[k] * (mixed[k + shift + LANES] - value)) * scale[k]
            far = max(_ONE - value, _ZERO)
            out[k] = (far if power == _ONE else far**power) * (moving[k - b * LANES] + motion[k])


@njit(cache=True, nogil=True)
def lane_costs(planes, factors, rows, columns, query, match, power, cells):
    """Costs of LANES pairs into cells (n, m * LANES); zero beyond rows and columns (LANES,) of each lane.

    planes   (LANES, frames of the query, frames of the match + 1) products, as `base_products` writes them
    factors  grid points from one frame to the next, of the queries and of the matches
    query    (3, n, LANES), match (3, m, LANES): as `put_side` writes them
    """
    n = len(cells)
    m = cells.shape[1] // LANES
    frames = planes.shape[1]
    width = planes.shape[2]
    starts = np.empty(LANES, np.int64)
    widths = np.full(LANES, width)
    ring = np.empty((2, width * LANES), np.float32)
    mixed = np.empty(width * LANES, np.float32)
    flat = match.reshape(3, m * LANES)
    done = -1
    for a in range(n):
        low = a // factors[0]
        high = min(low + 1, frames - 1)
        while done < high:
            done += 1
            for lane in range(LANES):
                starts[lane] = address(planes) + 4 * width * (lane * frames + done)
            interleave(starts, widths, width, ring[done % 2])
        _mix(ring[low % 2], ring[high % 2], query[0, a], query[1, a], mixed)
        if power == _ONE + _ONE:
            _square_row(mixed, factors[1], flat[0], flat[1], query[2, a], flat[2], cells[a])
        else:
            _power_row(mixed, factors[1], flat[0], flat[1], query[2, a], flat[2], power, cells[a])
        for lane in range(LANES):
            first = columns[lane] if a < rows[lane] else 0
            for b in range(first, m):
                cells[a, b * LANES + lane] = _ZERO
