"""Reading files from others in formats that could carry code; nothing in them is ever executed."""

import io
import pickle
import pickletools
import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from seasync.errors import DataError


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
            return _SafeUnpickler(opened, _ALLOWED).load()
    except pickle.UnpicklingError as error:
        raise DataError(f"{file}: refused ({_one_line(error)})") from None
    except Exception as error:  # noqa: BLE001 - numpy's objects are told to restore states of any kind
        raise DataError(f"{file}: not a readable pickle ({_one_line(error)})") from None


class _SafeUnpickler(pickle.Unpickler):
    """Resolves only the few names that arrays need, so that no code can be reached."""

    def __init__(self, opened: IO[bytes], allowed: Mapping[tuple[str, str], Any]) -> None:
        expect_modest_pickle(opened)
        super().__init__(opened)
        self._allowed = allowed

    def find_class(self, module: str, name: str) -> Any:
        found = self._allowed.get((module.replace("numpy._core", "numpy.core"), name))
        if found is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}; only plain data and arrays are read")
        return found

    def persistent_load(self, key: Any) -> Any:
        """The type of a tensor's numbers, in the place of its storage."""
        return key[1]


def expect_modest_pickle(opened: IO[bytes]) -> None:
    """Refuse (UnpicklingError) a pickle that makes Python's reader take memory out of all proportion.

    The reader makes a table as long as the highest number of an object, and room for a whole frame before it
    reads it: twenty bytes can take 32 GB of memory.
    """
    start = opened.tell()
    size = opened.seek(0, io.SEEK_END)
    opened.seek(start)
    for count, (operation, number, _) in enumerate(pickletools.genops(opened)):
        if operation.name in ("PUT", "LONG_BINPUT") and (number or 0) > count:
            raise pickle.UnpicklingError(f"it names object number {number}, but has at most {count}")
        if operation.name == "FRAME" and (number or 0) > size:
            raise pickle.UnpicklingError(f"it announces {number} bytes, but has {size}")
    opened.seek(start)


def tensor_array(
    numbers: NDArray[Any], offset: int, size: Sequence[int], stride: Sequence[int]
) -> NDArray[Any]:
    """A torch tensor as an array; a view that leaves its numbers is refused (UnpicklingError)."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min((offset, *size, *stride)) < 0 or (0 not in size and last >= len(numbers)):
        raise pickle.UnpicklingError("a tensor larger than its storage")
    if 0 in size:
        return np.zeros(size, numbers.dtype)
    strides = [step * numbers.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, strides).copy()


_KINDS = {"Double": "f8", "Float": "f4", "Half": "f2", "Long": "i8", "Int": "i4", "Short": "i2", "Byte": "u1"}
_STORAGES = {("torch", f"{name}Storage"): kind for name, kind in _KINDS.items()}


def read_storage(data: bytes) -> NDArray[Any]:
    """The numbers of a torch tensor, as torch puts them into a pickle of another program.

    Five pickles (magic number, version, machine, what is stored, names), a count, and the numbers.
    """
    opened = io.BytesIO(data)
    kinds = [_SafeUnpickler(opened, _STORAGES).load() for _ in range(5)]
    count, kind = int.from_bytes(opened.read(8), "little"), np.dtype(kinds[3])
    return np.frombuffer(opened.read(count * kind.itemsize), kind, count)


# Arrays in pickles are restored by checks of our own: numpy believes the states it is given, and one that
# does not fit, such as a time without its unit, crashes the process.


class _PickledType:
    """A numpy type as a pickle names it: first its text, then its byte order as a state."""

    def __init__(self, text: Any, *_: Any) -> None:
        kind = np.dtype(str(text)) if isinstance(text, str) else None
        if kind is None or kind.kind not in "biufUS":
            raise pickle.UnpicklingError(
                f"it holds values of the type {text!r}; only numbers and text are read"
            )
        self.dtype: np.dtype[Any] = kind

    def __setstate__(self, state: Sequence[Any]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _PickledArray(np.ndarray):
    """An array that checks the state it is given."""

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, by_columns, data = state
        found = _array_of(data, kind, shape)
        super().__setstate__((1, found.shape, found.dtype, bool(by_columns), data))  # type: ignore[arg-type]


def _array_of(data: Any, kind: Any, shape: Any, order: Any = "C") -> NDArray[Any]:
    """What `numpy.core.numeric._frombuffer` gives."""
    try:
        if min(shape, default=0) >= 0:
            return np.frombuffer(data, kind.dtype).reshape(shape, order="F" if order == "F" else "C")
        raise ValueError
    except (AttributeError, TypeError, ValueError):
        raise pickle.UnpicklingError(f"an array of shape {shape} does not fit its bytes") from None


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the codec {encoding}; only latin1 is read")
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _PickledType,
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: _PickledArray(0, np.uint8),
    ("numpy.core.multiarray", "scalar"): lambda kind, data: _array_of(data, kind, (1,))[0],
    ("numpy.core.numeric", "_frombuffer"): _array_of,
    ("_codecs", "encode"): _latin1,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): lambda *view: tensor_array(*view[:4]),
    ("torch.storage", "_load_from_bytes"): read_storage,
}


# Arrays of numbers and text in MATLAB 5 files, and nothing else.


HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXT = {2: "latin1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}  # types of characters, and their encodings
TEXT_CLASS, NUMBER_CLASSES = 4, range(6, 16)
IS_COMPLEX = 0x0800
LARGEST = 1 << 28  # bytes of one element, unpacked
Element = tuple[int, memoryview]  # its type and its data


def read_mat(file: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Read numeric and text arrays of a MATLAB 5 file; objects, structs and functions are refused.

    Arrays have at least two dimensions, but each row of text is one string. `scipy.io.loadmat` would do, but
    a tag of an unknown type ends the process in it (scipy 1.17).
    """
    try:
        content = dict(_variables(file.read_bytes(), names))
    except (ValueError, LookupError, StopIteration, struct.error, zlib.error, OverflowError) as error:
        raise DataError(f"{file}: not a readable MATLAB 5 file ({_one_line(error)})") from None
    if missing := [name for name in names if name not in content]:
        raise DataError(f"{file}: no variable {', '.join(missing)}; is it a Penn Action label file?")
    arrays = {name: array for name, array in content.items() if array is not None}
    if refused := [name for name in names if name not in arrays]:
        raise DataError(f"{file}: {refused[0]} is not an array of numbers or text; such files are not read")
    return arrays


def _variables(content: bytes, names: Sequence[str]) -> Iterator[tuple[str, NDArray[Any] | None]]:
    """Those of the variables that are there; None for what is neither numbers nor text."""
    if content[126:128] not in (b"IM", b"MI"):
        raise ValueError("no header of MATLAB 5")
    order = "<" if content[126:128] == b"IM" else ">"
    for kind, body in _elements(memoryview(content)[HEADER:], order):
        if kind == COMPRESSED:
            ((kind, body),) = _elements(_unpacked(body), order)
        if kind != MATRIX:
            raise ValueError(f"an element of type {kind} where an array is expected")
        (_, flags), (_, sizes), (_, name), *values = islice(_elements(body, order), 4)
        if (known := bytes(name).decode("latin1")) in names:
            shape = tuple(np.frombuffer(sizes, f"{order}i4").tolist())
            (properties,) = struct.unpack_from(f"{order}I", flags)
            readable = not properties & IS_COMPLEX and properties & 0xFF in (TEXT_CLASS, *NUMBER_CLASSES)
            is_text = properties & 0xFF == TEXT_CLASS
            yield known, _array(values, shape, order, is_text=is_text) if readable else None


def _array(values: Sequence[Element], shape: tuple[int, ...], order: str, *, is_text: bool) -> NDArray[Any]:
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"an array of the shape {shape}")
    ((kind, data),) = values
    if is_text:
        encoding = TEXT[kind] if kind not in (4, 17) else f"utf-16-{'le' if order == '<' else 'be'}"
        letters = np.array(list(bytes(data).decode(encoding)), "U1").reshape(shape, order="F")
        if not letters.size:
            return letters.reshape(-1)
        return np.array(["".join(row) for row in letters.reshape(len(letters), -1)])
    return np.frombuffer(data, order + NUMBERS[kind]).reshape(shape, order="F")


def _elements(content: memoryview, order: str) -> Iterator[Element]:
    """Type and data of each element; small ones have both in one word."""
    at = 0
    while at < len(content):
        if at + 8 > len(content):
            raise ValueError("it ends in the middle of an element")
        kind, size = struct.unpack_from(f"{order}II", content, at)
        small = kind >> 16
        first = at + 4 if small else at + 8
        kind, size = (kind & 0xFFFF, small) if small else (kind, size)
        if size > (4 if small else len(content) - first):
            raise ValueError("an element that is larger than what holds it")
        yield kind, content[first : first + size]
        at = at + 8 if small else first + size + (0 if kind == COMPRESSED else -size % 8)


def _unpacked(body: memoryview) -> memoryview:
    unpack = zlib.decompressobj()
    content = unpack.decompress(body, LARGEST)
    if unpack.unconsumed_tail:
        raise ValueError(f"an element of more than {LARGEST >> 20} MB")
    return memoryview(content)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
