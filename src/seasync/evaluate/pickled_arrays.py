"""Arrays in pickles of others, restored by checks of our own: numpy believes the states it is given.

A state that does not fit, such as a time without its unit, crashes the process inside numpy.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = "biufUS"


class PickledType:
    """A numpy type as a pickle names it: first its text, then its byte order as a state."""

    def __init__(self, text: Any, *_: Any) -> None:
        kind = np.dtype(str(text)) if isinstance(text, str) else None
        if kind is None or kind.kind not in KINDS:
            raise pickle.UnpicklingError(
                f"it holds values of the type {text!r}; only numbers and text are read"
            )
        self.dtype: np.dtype[Any] = kind

    def __setstate__(self, state: Sequence[Any]) -> None:
        if len(state) < 2 or state[1] not in ("<", ">", "|", "="):
            raise ValueError("it holds a type of unknown byte order")
        self.dtype = self.dtype.newbyteorder(state[1])


class PickledArray(np.ndarray):
    """An array that checks the state it is given."""

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_columns, data = state
        expected = math.prod(_sizes(shape)) * _type(kind).itemsize
        if not isinstance(data, bytes) or len(data) != expected:
            raise pickle.UnpicklingError(f"an array of shape {shape} needs {expected} bytes")
        super().__setstate__((1, shape, _type(kind), bool(by_columns), data))  # type: ignore[arg-type]


def empty_array(*_: Any) -> PickledArray:
    """What `numpy.core.multiarray._reconstruct` gives: an array that waits for its state."""
    return PickledArray(0, np.uint8)


def scalar(kind: Any, data: Any) -> Any:
    """What `numpy.core.multiarray.scalar` gives."""
    return array_of(data, kind, (1,), "C")[0]


def array_of(data: Any, kind: Any, shape: Any, order: Any) -> NDArray[Any]:
    """What `numpy.core.numeric._frombuffer` gives."""
    flat = np.frombuffer(data, _type(kind))
    return flat.reshape(_sizes(shape), order="F" if order == "F" else "C")


def _type(kind: Any) -> np.dtype[Any]:
    if not isinstance(kind, PickledType):
        raise pickle.UnpicklingError("it holds an array without a type")
    return kind.dtype


def _sizes(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple) or any(not isinstance(size, int) or size < 0 for size in shape):
        raise pickle.UnpicklingError(f"it holds an array of the shape {shape!r}")
    return shape
