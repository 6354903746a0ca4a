"""Products of all rows of two matrices in one thread.

BLAS spreads products of this size over threads, which wait for each other longer than they work. Here every
product is one chain of additions, so it does not depend on which other rows are asked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.align.kernels.vectors import LANES, SIDE, address, fill, load, multiply_add, store, transpose

_HEIGHT = 6  # rows at once: their sums fill the registers


@njit(cache=True, nogil=True)
def _pack(others, first, starts, panel):
    """Rows first … first + LANES − 1 of others (m, d) as columns of panel (d * LANES,)."""
    m, width = others.shape
    count = min(LANES, m - first)
    begin = address(others)
    for r in range(LANES):
        starts[r] = begin + 4 * width * (first + min(r, count - 1))
    whole = width // SIDE * SIDE
    for k in range(0, whole, SIDE):
        for r in range(0, LANES, SIDE):
            transpose(starts, r, k, panel, k * LANES + r)
    for k in range(whole, width):
        for r in range(LANES):
            panel[k * LANES + r] = others[first + min(r, count - 1), k]


@njit(cache=True, nogil=True)
def _tile(rows, i, panel, sums):
    """Products of _HEIGHT rows from i on with the columns of a panel, into sums (_HEIGHT * LANES,)."""
    zero = fill(np.float32(0.0))
    a, b, c, d, e, f = zero, zero, zero, zero, zero, zero
    for k in range(rows.shape[1]):
        column = load(panel, k * LANES)
        a = multiply_add(fill(rows[i, k]), column, a)
        b = multiply_add(fill(rows[i + 1, k]), column, b)
        c = multiply_add(fill(rows[i + 2, k]), column, c)
        d = multiply_add(fill(rows[i + 3, k]), column, d)
        e = multiply_add(fill(rows[i + 4, k]), column, e)
        f = multiply_add(fill(rows[i + 5, k]), column, f)
    store(sums, 0, a)
    store(sums, LANES, b)
    store(sums, 2 * LANES, c)
    store(sums, 3 * LANES, d)
    store(sums, 4 * LANES, e)
    store(sums, 5 * LANES, f)


@njit(cache=True, nogil=True)
def _line(rows, i, panel, sums):
    """The same for one row."""
    total = fill(np.float32(0.0))
    for k in range(rows.shape[1]):
        total = multiply_add(fill(rows[i, k]), load(panel, k * LANES), total)
    store(sums, 0, total)


@njit(cache=True, nogil=True)
def _put(sums, height, count, out, i, first):
    """Sums (height * LANES,) into rows from i on and `count` columns from `first` on of out."""
    for r in range(height):
        for j in range(count):
            out[i + r, first + j] = sums[r * LANES + j]


@njit(cache=True, nogil=True)
def products(rows, others, out):
    """rows (n, d) · othersᵀ (d, m) into out (n, m), all float32 and contiguous."""
    n, width = rows.shape
    m = len(others)
    starts = np.empty(LANES, np.int64)
    panel = np.empty(width * LANES, np.float32)
    sums = np.empty(_HEIGHT * LANES, np.float32)
    for first in range(0, m, LANES):
        _pack(others, first, starts, panel)
        count = min(LANES, m - first)
        for i in range(0, n, _HEIGHT):
            begin = max(min(i, n - _HEIGHT), 0)  # the last rows again rather than one by one
            if begin + _HEIGHT <= n:
                _tile(rows, begin, panel, sums)
                _put(sums, _HEIGHT, count, out, begin, first)
                continue
            for r in range(n):
                _line(rows, r, panel, sums)
                _put(sums, 1, count, out, r, first)


@njit(cache=True, nogil=True, fastmath=True)
def dots(vector, others, out):
    """vector (d,) · othersᵀ (d, m) into out (m,), all float32."""
    for i in range(len(others)):
        total = np.float32(0.0)
        for k in range(len(vector)):
            total += vector[k] * others[i, k]
        out[i] = total
