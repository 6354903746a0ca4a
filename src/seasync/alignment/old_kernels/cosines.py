"""Cosines between grid points of two clips, out of the Gram matrix of their plain frame features.

State, context and change are linear in the features, and so is the interpolation to the grid: their products
are sums of shifted, summed or averaged entries of one matrix. The query's rows may come in blocks.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _context_row(i, n, m, row, extra, sums, out):
    """Add ⟨context_i, context_j⟩ for all frames j of the match; frames i must come in order.

    row (m + 2,) products of query frame i, extra (2, m + 2) of the query's two context rows, both with the
    match's m frames and two context rows; sums (m + 2,) running sum of the rows so far.
    """
    for j in range(m + 2):
        sums[j] += row[j]
    ramp = (i + 1) / n - (n + 1) / (2 * n)
    by_mean = sums[m] / n
    by_offset = sums[m + 1] / n - extra[0, m + 1]
    both = 0.0
    mean_with = 0.0
    offset_with = 0.0
    for j in range(m):
        both += sums[j]
        mean_with += extra[0, j]
        offset_with += extra[1, j]
        ramp_j = (j + 1) / m - (m + 1) / (2 * m)
        summed = both / (n * m) - by_mean - mean_with / m + extra[0, m]
        along = ramp * (offset_with / m - extra[1, m]) + ramp_j * by_offset + ramp * ramp_j * extra[1, m + 1]
        out[j] += np.float32(summed + along)


@njit(cache=True, nogil=True)
def plain_reach(links):
    """How far ahead and behind the change of a clip looks, if it has one shot and one mean; else 0."""
    m = links.shape[1]
    reach = links[0, 0]
    for j in range(m):
        if links[0, j] != min(j + reach, m - 1) or links[1, j] != max(j - reach, 0) or links[2, j] >= m:
            return 0
    return reach if m > 2 * reach else 0


@njit(cache=True, nogil=True)
def _plain_row(row, later, earlier, reach, state, change, scales2, moved, out):
    """`base_row` where neither clip has windows or context, and the match has one shot.

    Frame j is compared with those `reach` ahead and behind, so that most of it is read in order.
    """
    m = len(moved)
    for j in range(m):
        moved[j] = later[j] - earlier[j]
    for j in range(reach):
        out[j] = row[j] * (state * scales2[0, j]) + (moved[j + reach] - moved[0]) * (change * scales2[1, j])
    for j in range(m - reach, m):
        product = moved[m - 1] - moved[j - reach]
        out[j] = row[j] * (state * scales2[0, j]) + product * (change * scales2[1, j])
    ahead = moved[2 * reach :]
    behind = moved[: m - 2 * reach]
    inner = row[reach : m - reach]
    states = scales2[0, reach : m - reach]
    changes = scales2[1, reach : m - reach]
    to = out[reach : m - reach]
    for j in range(len(inner)):
        to[j] = inner[j] * (state * states[j]) + (ahead[j] - behind[j]) * (change * changes[j])
    out[m] = out[m - 1]


@njit(cache=True, nogil=True)
def base_row(
    i, gram, first, extra, first_extra, links1, scales1, links2, scales2, reach, context, sums, moved, out
):
    """⟨x_i, x_j⟩ of query frame i with all frames j of the match, into out (m + 1,).

    reach is that of the match by `plain_reach`; moved (m,) float32 is working memory.
    """
    n = links1.shape[1]
    m = links2.shape[1]
    row = gram[i - first]
    if reach > 0 and links1[2, i] < n and scales1[1, i] > 0.0 and not context:
        later = gram[links1[0, i] - first]
        earlier = gram[links1[1, i] - first]
        _plain_row(row, later, earlier, reach, scales1[0, i], scales1[1, i], scales2, moved, out)
        return
    for j in range(m):
        out[j] = row[j]
    if links1[2, i] >= n:
        own = extra[links1[2, i] - n - first_extra]
        for j in range(m):
            out[j] -= own[j]
    if links2[2, 0] >= m:
        for j in range(m):
            out[j] -= row[links2[2, j]]
        if links1[2, i] >= n:
            own = extra[links1[2, i] - n - first_extra]
            for j in range(m):
                out[j] += own[links2[2, j]]
    if context:
        _context_row(i, n, m, row, extra, sums, out)
    for j in range(m):
        out[j] *= scales1[0, i] * scales2[0, j]
    if scales1[1, i] > 0.0:
        later = gram[links1[0, i] - first]
        earlier = gram[links1[1, i] - first]
        for j in range(m):
            moved[j] = later[j] - earlier[j]
        for j in range(m):
            product = moved[links2[0, j]] - moved[links2[1, j]]
            out[j] += product * (scales1[1, i] * scales2[1, j])
    out[m] = out[m - 1]


@njit(cache=True, nogil=True)
def add_cosines(
    gram, first, extra, first_extra, query, match, context, done, ring, sums, start, out
):  # fmt: skip
    """Add to `out` the cosines of grid rows start, start + 1, … of the query with the match's whole grid.

    gram   (k, m + extra) products of query frames first … first + k − 1 with the match's rows
    extra  (e, m + extra) products of the query's further rows (window means, context) from first_extra on
    query, match: (links (3, T) int32: ahead, behind, own mean; scales (2, T); lower (n,) int32; grid (3, n))
    done   (1,) int64, ring (2, m + 1), sums (m + 2,): what one block of rows hands to the next
    out    (rows, grid columns) float32
    """
    links1, scales1, lower1, grid1 = query
    links2, scales2, lower2, grid2 = match
    m = links2.shape[1]
    columns = len(lower2)
    mixed = np.empty(m + 1, np.float32)
    moved = np.empty(m, np.float32)
    reach = plain_reach(links2)
    for r in range(len(out)):
        a = start + r
        low = lower1[a]
        weight = grid1[0, a]
        while done[0] < (low + 1 if weight > 0.0 else low):
            done[0] += 1
            base_row(
                done[0], gram, first, extra, first_extra, links1, scales1, links2, scales2, reach,
                context, sums, moved, ring[done[0] % 2],
            )  # fmt: skip
        lower_row = ring[low % 2]
        upper_row = ring[(low + 1) % 2] if weight > 0.0 else lower_row
        scale = grid1[1, a]
        for j in range(m + 1):
            mixed[j] = scale * (lower_row[j] + weight * (upper_row[j] - lower_row[j]))
        for b in range(columns):
            value = mixed[lower2[b]]
            out[r, b] += (value + grid2[0, b] * (mixed[lower2[b] + 1] - value)) * grid2[1, b]


@njit(cache=True, nogil=True)
def finish_costs(out, count, power, stillness, motion1, motion2):
    """Turn summed cosines of `count` streams into costs, in place."""
    mean = np.float32(1.0 / count)
    half = np.float32((1.0 - stillness) / 2.0)
    keep = np.float32(stillness)
    exponent = np.float32(power)
    for i in range(len(out)):
        row = out[i]
        moving = keep + half * motion1[i]
        if power == 2.0:
            for j in range(len(row)):
                far = max(np.float32(1.0) - row[j] * mean, np.float32(0.0))
                row[j] = far * far * (moving + half * motion2[j])
        else:
            for j in range(len(row)):
                far = max(np.float32(1.0) - row[j] * mean, np.float32(0.0))
                row[j] = (far if power == 1.0 else far**exponent) * (moving + half * motion2[j])
