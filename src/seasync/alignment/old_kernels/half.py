"""Half precision to single, at the speed of memory: numpy converts value by value."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_UINT = np.uint32
_REBIAS = np.float32(2.0**112)  # between the exponents of the two formats


def single(halves: NDArray[Any]) -> NDArray[np.float32]:
    """The same float16 values as float32, (…) contiguous."""
    out = np.empty(halves.shape, np.float32)
    widen(np.ascontiguousarray(halves).view(np.uint16).reshape(-1), out.reshape(-1))
    return out


@intrinsic
def _as_float(_: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), build


@intrinsic
def _as_bits(_: Any, value: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.uint32(types.float32), build


@njit(cache=True, nogil=True)
def widen(halves: NDArray[np.uint16], out: NDArray[np.float32]) -> None:
    """The float16 values of these bits, (N,), into out."""
    for i in range(halves.size):
        half = _UINT(halves[i])
        whole = _as_bits(_as_float((half & _UINT(0x7FFF)) << _UINT(13)) * _REBIAS)
        special = _UINT(0x7F800000) if (half & _UINT(0x7C00)) == _UINT(0x7C00) else _UINT(0)
        out[i] = _as_float(whole | special | ((half & _UINT(0x8000)) << _UINT(16)))
