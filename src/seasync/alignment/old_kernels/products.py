"""Products of all rows of two matrices in one thread.

BLAS spreads products of this size over threads, which wait for each other longer than they work. Here every
product is one chain of additions, so it does not depend on which other rows are asked for.
"""

from __future__ import annotations

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from seasync.alignment.old_kernels.vectors import LANES, SIDE, address, transpose

# Rows, and panels of LANES columns, whose products fill the registers: 32 of 16 numbers, or 16 of 8.
_HEIGHT, _PANELS = (8, 2) if binding.get_host_cpu_features().get("avx512f") else (6, 1)


@njit(cache=True, nogil=True)
def _pack(others, first, starts, panels):
    """Rows from `first` on of others (m, d), LANES of them as columns of each of the panels (P, d * LANES).

    Where there are fewer, the last one is repeated.
    """
    m, width = others.shape
    begin = address(others)
    whole = width // SIDE * SIDE
    for p in range(len(panels)):
        for r in range(LANES):
            starts[r] = begin + 4 * width * min(first + p * LANES + r, m - 1)
        for k in range(0, whole, SIDE):
            for r in range(0, LANES, SIDE):
                transpose(starts, r, k, panels[p], k * LANES + r)
        for k in range(whole, width):
            for r in range(LANES):
                panels[p, k * LANES + r] = others[min(first + p * LANES + r, m - 1), k]


def _tile_of(height, count):
    """A function that multiplies `height` rows with `count` panels; all sums stay in registers."""

    @intrinsic
    def tile(_, rows, i, panels, out, to, first):
        """Products of rows from i on with the panels into out, from row `to` and column `first` on."""

        def build(context, builder, signature, args):
            data, place, at = args[0], args[3], args[1]
            source, packed, target = (
                context.make_array(kind)(context, builder, array)
                for kind, array in ((rows, data), (panels, args[2]), (out, place))
            )
            vector, index = ir.VectorType(ir.FloatType(), LANES), at.type
            width, stride = builder.extract_value(source.shape, 1), builder.extract_value(target.shape, 1)

            def number(value):
                return ir.Constant(index, value)

            def row_of(start, row, length):
                return builder.gep(start, [builder.mul(row, length)])

            def vector_at(start, offset):
                return builder.bitcast(builder.gep(start, [offset]), vector.as_pointer())

            length = builder.mul(width, number(LANES))
            starts = [row_of(source.data, builder.add(at, number(r)), width) for r in range(height)]
            columns = [row_of(packed.data, number(p), length) for p in range(count)]
            sums = [[cgutils.alloca_once(builder, vector) for _ in columns] for _ in starts]
            for each in (each for row in sums for each in row):
                builder.store(ir.Constant(vector, [0.0] * LANES), each)
            none = ir.Constant(vector, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            with cgutils.for_range(builder, width) as loop:
                offset = builder.mul(loop.index, number(LANES))
                loaded = [builder.load(vector_at(column, offset), align=4) for column in columns]
                for start, row in zip(starts, sums, strict=True):
                    value = builder.load(builder.gep(start, [loop.index]))
                    first_lane = builder.insert_element(none, value, ir.Constant(ir.IntType(32), 0))
                    everywhere = builder.shuffle_vector(first_lane, none, zeros)
                    for total, column in zip(row, loaded, strict=True):
                        product = builder.fmul(everywhere, column, flags=("contract",))
                        builder.store(builder.fadd(product, builder.load(total), flags=("contract",)), total)
            for r, row in enumerate(sums):
                line = row_of(target.data, builder.add(args[4], number(r)), stride)
                for p, total in enumerate(row):
                    column = builder.add(args[5], number(p * LANES))
                    builder.store(builder.load(total), vector_at(line, column), align=4)

        return types.void(rows, types.intp, panels, out, types.intp, types.intp), build

    return tile


_tile = _tile_of(_HEIGHT, _PANELS)
_line = _tile_of(1, _PANELS)


@njit(cache=True, nogil=True)
def _put(sums, height, count, out, i, first):
    """The first `count` columns of sums into rows from i on of out, from column `first` on."""
    for r in range(height):
        for j in range(count):
            out[i + r, first + j] = sums[r, j]


@njit(cache=True, nogil=True)
def products(rows, others, out):
    """rows (n, d) · othersᵀ (d, m) into out (n, m), all float32 and contiguous."""
    n, width = rows.shape
    m = len(others)
    starts = np.empty(LANES, np.int64)
    panels = np.empty((_PANELS, width * LANES), np.float32)
    sums = np.empty((_HEIGHT, _PANELS * LANES), np.float32)
    for first in range(0, m, _PANELS * LANES):
        _pack(others, first, starts, panels)
        count = min(_PANELS * LANES, m - first)
        full = count == _PANELS * LANES
        for i in range(0, n, _HEIGHT):
            begin = max(min(i, n - _HEIGHT), 0)  # the last rows again rather than one by one
            if begin + _HEIGHT > n:
                for r in range(n):
                    _line(rows, r, panels, sums, 0, 0)
                    _put(sums, 1, count, out, r, first)
            elif full:
                _tile(rows, begin, panels, out, begin, first)
            else:
                _tile(rows, begin, panels, sums, 0, 0)
                _put(sums, _HEIGHT, count, out, begin, first)


@njit(cache=True, nogil=True, fastmath=True)
def dots(vector, others, out):
    """vector (d,) · othersᵀ (d, m) into out (m,), all float32."""
    for i in range(len(others)):
        total = np.float32(0.0)
        for k in range(len(vector)):
            total += vector[k] * others[i, k]
        out[i] = total
