"""Reading files from others in formats that could carry code; nothing in them is ever executed."""

from __future__ import annotations

import pickle
import struct
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.checkpoint import expect_modest_pickle, read_storage, tensor_array
from seasync.errors import DataError
from seasync.evaluate.mat_file import read_arrays
from seasync.evaluate.pickled_arrays import PickledType, array_of, empty_array, scalar


def read_mat(file: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Read numeric and text arrays of a MATLAB 5 file; objects, structs and functions are refused."""
    try:
        content = read_arrays(file.read_bytes(), names)
    except (ValueError, LookupError, StopIteration, struct.error, zlib.error, OverflowError) as error:
        raise DataError(f"{file}: not a readable MATLAB 5 file ({_one_line(error)})") from None
    missing = [name for name in names if name not in content]
    if missing:
        raise DataError(f"{file}: no variable {', '.join(missing)}; is it a Penn Action label file?")
    arrays = {name: array for name, array in content.items() if array is not None}
    for name in names:
        if name not in arrays:
            raise DataError(f"{file}: {name} is not an array of numbers or text; such files are not read")
    return arrays


def read_npy(file: Path) -> NDArray[Any]:
    """Read a numeric array; pickled objects are refused."""
    try:
        array = np.load(file, allow_pickle=False)
    except Exception as error:  # noqa: BLE001 - numpy reads the header as Python source
        raise DataError(f"{file}: not a readable .npy array ({_one_line(error)})") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise DataError(f"{file}: expected an array of numbers; save it with numpy.save")
    return array


def read_pickle(file: Path) -> Any:
    """Read plain containers, numbers, text, arrays and torch tensors (as arrays); all else is refused."""
    try:
        with file.open("rb") as opened:
            expect_modest_pickle(opened)
            return _SafeUnpickler(opened).load()
    except pickle.UnpicklingError as error:
        raise DataError(f"{file}: refused ({_one_line(error)})") from None
    except Exception as error:  # noqa: BLE001 - numpy's objects are told to restore states of any kind
        raise DataError(f"{file}: not a readable pickle ({_one_line(error)})") from None


class _SafeUnpickler(pickle.Unpickler):
    """Resolves only the few names that arrays need, so that no code can be reached."""

    def find_class(self, module: str, name: str) -> Any:
        found = _ALLOWED.get((module.replace("numpy._core", "numpy.core"), name))
        if found is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}; only plain data and arrays are read")
        return found


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the codec {encoding}; only latin1 is read")
    return text.encode("latin1")


def _rebuild_tensor(
    storage: NDArray[Any], offset: int, size: Sequence[int], stride: Sequence[int], *_: Any
) -> NDArray[Any]:
    return tensor_array(storage, offset, size, stride)


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): PickledType,
    ("numpy.core.multiarray", "_reconstruct"): empty_array,
    ("numpy.core.multiarray", "scalar"): scalar,
    ("numpy.core.numeric", "_frombuffer"): array_of,
    ("_codecs", "encode"): _latin1,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch.storage", "_load_from_bytes"): read_storage,
}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
