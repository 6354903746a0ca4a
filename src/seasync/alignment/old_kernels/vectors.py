"""Vectors of LANES numbers as values in compiled code, one number for each of the matrices solved abreast.

A loop over columns can then carry its state (the cell to the left, the one above it) in registers. Loops
over LANES elements of arrays, which the compiler would vectorize, store that state and load it again.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16
SIDE = 8  # of the squares that `transpose` turns
_FLOAT, _INT = ir.FloatType(), ir.IntType(32)


class _Lanes(types.Type):
    def __init__(self, dtype):
        super().__init__(f"Lanes({dtype})")
        self.dtype = dtype


FLOATS, INTS = _Lanes(types.float32), _Lanes(types.int32)


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        element = _FLOAT if kind.dtype == types.float32 else _INT
        super().__init__(manager, kind, ir.VectorType(element, LANES))


@infer_global(operator.add)
@infer_global(operator.sub)
@infer_global(operator.mul)
class _Arithmetic(AbstractTemplate):
    def generic(self, args, kws):
        return signature(FLOATS, *args) if args == (FLOATS, FLOATS) else None


def _lower(function, instruction):
    def build(context, builder, signature, args):
        return getattr(builder, instruction)(*args)

    lower_builtin(function, FLOATS, FLOATS)(build)


_lower(operator.add, "fadd")
_lower(operator.sub, "fsub")
_lower(operator.mul, "fmul")


def _place(context, builder, kind, array, at):
    """Pointer to an element of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


@intrinsic
def load(_, array, at):
    """The LANES numbers of an array (float32 or int32, flat) from `at` on."""
    kind = FLOATS if array.dtype == types.float32 else INTS

    def build(context, builder, signature, args):
        place = _place(context, builder, array, *args)
        vector = ir.VectorType(context.get_data_type(array.dtype), LANES)
        return builder.load(builder.bitcast(place, vector.as_pointer()), align=4)

    return kind(array, types.intp), build


@intrinsic
def store(_, array, at, values):
    """Write LANES numbers into a flat array from `at` on; whole numbers may be cut to the array's bytes."""

    def build(context, builder, signature, args):
        place, vector = _place(context, builder, array, *args[:2]), args[2]
        wanted = ir.VectorType(context.get_data_type(array.dtype), LANES)
        if wanted != vector.type:
            vector = builder.trunc(vector, wanted)
        size = array.dtype.bitwidth // 8
        builder.store(vector, builder.bitcast(place, wanted.as_pointer()), align=size)

    return types.void(array, types.intp, values), build


@intrinsic
def fill(_, value):
    """The same number in all lanes."""
    kind = FLOATS if value == types.float32 else INTS
    scalar = types.float32 if kind is FLOATS else types.int32

    def build(context, builder, signature, args):
        vector = ir.VectorType(args[0].type, LANES)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), args[0], ir.Constant(_INT, 0))
        zeros = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
        return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

    return kind(scalar), build


@intrinsic
def multiply_add(_, a, b, c):
    """a · b + c, rounded once where the processor can."""

    def build(context, builder, signature, args):
        product = builder.fmul(args[0], args[1], flags=("contract",))
        return builder.fadd(product, args[2], flags=("contract",))

    return FLOATS(FLOATS, FLOATS, FLOATS), build


@intrinsic
def where_less(_, a, b, chosen, other):
    """`chosen` in the lanes in which a < b, `other` elsewhere."""

    def build(context, builder, signature, args):
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return chosen(FLOATS, FLOATS, chosen, chosen), build


@intrinsic
def address(_, array):
    """Where the elements of an array begin. Only contiguous float32: nothing else can be read by address."""
    if array.layout != "C" or array.dtype != types.float32:
        raise TypingError(f"expected a contiguous array of float32, got {array}")

    def build(context, builder, signature, args):
        return builder.ptrtoint(context.make_array(array)(context, builder, args[0]).data, ir.IntType(64))

    return types.int64(array), build


@intrinsic
def value_at(_, start, index):
    """The float32 number `index` after an address."""

    def build(context, builder, signature, args):
        return builder.load(builder.gep(builder.inttoptr(args[0], _FLOAT.as_pointer()), [args[1]]))

    return types.float32(types.int64, types.intp), build


@intrinsic
def transpose(_, starts, first, offset, out, at):
    """SIDE numbers after each of the addresses starts[first : first + SIDE] + offset, SIDE vectors of one
    number each: number j of start r goes to out[at + j * LANES + r]."""

    def build(context, builder, signature, args):
        square = ir.VectorType(_FLOAT, SIDE)

        def mixed(a, b, *order):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INT, SIDE), order))

        rows = []
        for r in range(SIDE):
            place = _place(
                context, builder, starts, args[0], builder.add(args[1], ir.Constant(args[1].type, r))
            )
            begin = builder.gep(builder.inttoptr(builder.load(place), _FLOAT.as_pointer()), [args[2]])
            rows.append(builder.load(builder.bitcast(begin, square.as_pointer()), align=4))
        # Halves of 128 bits stay apart until the last step: shuffles across them are slow.
        pairs = [
            mixed(rows[r], rows[r + 1], *order)
            for r in (0, 2, 4, 6)
            for order in ((0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15))
        ]
        fours = [
            mixed(pairs[r], pairs[r + 2], *order)
            for r in (0, 1, 4, 5)
            for order in ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
        ]
        columns = [
            mixed(fours[c], fours[c + 4], *order)
            for order in ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
            for c in range(4)
        ]
        for j, column in enumerate(columns):
            to = _place(
                context, builder, out, args[3], builder.add(args[4], ir.Constant(args[4].type, j * LANES))
            )
            builder.store(column, builder.bitcast(to, square.as_pointer()), align=4)

    return types.void(starts, types.intp, types.intp, out, types.intp), build
