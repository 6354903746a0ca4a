"""Weights out of a torch checkpoint, as numpy arrays: without torch, and without running anything in it."""

from __future__ import annotations

import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from seasync.errors import EncoderError

Array = NDArray[Any]
_KINDS = {
    "Double": np.float64, "Float": np.float32, "Half": np.float16, "BFloat16": np.uint16,
    "Long": np.int64, "Int": np.int32, "Short": np.int16, "Char": np.int8, "Byte": np.uint8, "Bool": np.bool_,
}  # fmt: skip
# Where the classes come from that are saved beside weights; their objects are read as empty ones.
_BESIDE = {
    "torch",
    "numpy",
    "collections",
    "argparse",
    "easydict",
    "omegaconf",
    "lightning",
    "pytorch_lightning",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


def read_checkpoint(file: Path) -> Any:
    """What torch.save wrote: containers, numbers, and tensors as arrays; all other objects come out empty.

    Raises
    ------
    EncoderError
        If it is no checkpoint, or asks for anything that weights do not need, such as code to run.
    """
    try:
        with file.open("rb") as opened:
            zipped = zipfile.is_zipfile(opened)
            opened.seek(0)
            return _read_zip(opened) if zipped else _read_legacy(opened)
    except pickle.UnpicklingError as error:
        raise EncoderError(f"{file}: refused as a checkpoint: {error}") from error
    except Exception as error:  # a damaged file leads pickle and zipfile to errors of any kind
        raise EncoderError(f"{file}: not a torch checkpoint ({type(error).__name__}: {error})") from error


def tensors(checkpoint: Any, prefix: str = "") -> Iterator[tuple[str, Array]]:
    """All arrays in nested mappings, with their dotted names."""
    for name, value in checkpoint.items() if isinstance(checkpoint, Mapping) else ():
        if isinstance(value, np.ndarray):
            yield f"{prefix}{name}", value
        elif isinstance(value, Mapping):
            yield from tensors(value, f"{prefix}{name}.")


def tensor_array(numbers: Array, offset: int, size: Sequence[int], stride: Sequence[int]) -> Array:
    """A tensor as an array of its own; a view that leaves its numbers is refused (UnpicklingError)."""
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min((offset, *size, *stride)) < 0 or (0 not in size and last >= len(numbers)):
        raise pickle.UnpicklingError("a tensor larger than its storage")
    if 0 in size:
        return np.zeros(size, numbers.dtype)
    strides = [step * numbers.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(numbers[offset:], size, strides).copy()


def expect_modest_pickle(opened: BinaryIO) -> None:
    """Refuse (UnpicklingError) a pickle that makes Python's reader take memory out of all proportion.

    The reader makes a table as long as the highest number of an object, and room for a whole frame before it
    reads it: twenty bytes can take 32 GB of memory.
    """
    start = opened.tell()
    size = opened.seek(0, SEEK_END)
    opened.seek(start)
    for count, (operation, number, _) in enumerate(pickletools.genops(opened)):
        if operation.name in ("PUT", "LONG_BINPUT") and (number or 0) > count:
            raise pickle.UnpicklingError(f"it names object number {number}, but has at most {count}")
        if operation.name == "FRAME" and (number or 0) > size:
            raise pickle.UnpicklingError(f"it announces {number} bytes, but has {size}")
    opened.seek(start)


def read_storage(data: bytes) -> Array:
    """The numbers of a storage that torch wrote inside a pickled tensor, in the form of before torch 1.6."""
    found = _read_legacy(BytesIO(data))
    if not isinstance(found, np.ndarray):
        raise pickle.UnpicklingError("a tensor with an unusual storage")
    return found


class _Empty(dict[Any, Any]):
    """Takes whatever is done to it while a pickle is read, and keeps none of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def __setitem__(self, *_: Any) -> None: ...

    def __setstate__(self, _: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> _Empty:
        return _Empty()

    def append(self, _: Any) -> None: ...

    def extend(self, _: Any) -> None: ...


class _Settings(dict[Any, Any]):
    """An EasyDict, which keeps its values twice, as the plain mapping it is."""

    def __setstate__(self, _: Any) -> None: ...


class _Reader(pickle.Unpickler):
    """Knows tensors; of what else may lie beside weights it makes empty objects; the rest it refuses."""

    def __init__(self, file: BinaryIO, storage: Callable[[str, Any, int], Array]) -> None:
        expect_modest_pickle(file)
        super().__init__(file)
        self._storage = storage
        self.kinds: dict[str, Any] = {}  # of the storages that were asked for

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _KNOWN:
            return _KNOWN[module, name]
        if module.partition(".")[0] not in _BESIDE:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no weights need")
        if module == "torch" and name.endswith("Storage"):
            return name.removesuffix("Storage")
        return _Empty

    def persistent_load(self, key: Any) -> Any:
        _, kind, name, _, count, *_ = key
        if kind not in _KINDS:
            raise pickle.UnpicklingError(f"numbers of an unknown type {kind}")
        self.kinds[str(name)] = _KINDS[kind]
        return _Stored(kind, lambda: self._storage(str(name), _KINDS[kind], int(count)))


class _Stored:
    """Numbers that are read when a tensor wants them."""

    def __init__(self, kind: str, read: Callable[[], Array]) -> None:
        self.kind, self.read = kind, read

    def numbers(self) -> Array:
        numbers = self.read()
        if self.kind == "BFloat16":
            numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
        return numbers


class _Later:
    """A tensor of a legacy file, whose numbers come after it."""

    def __init__(self, *view: Any) -> None:
        self.view = view

    def now(self) -> Array:
        stored, offset, size, stride = self.view
        return tensor_array(stored.numbers(), offset, size, stride)


def _tensor(stored: _Stored, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> _Later:
    return _Later(stored, offset, size, stride)


_KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("easydict", "EasyDict"): _Settings,
    ("torch._utils", "_rebuild_tensor"): _tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
}


def _read_zip(opened: BinaryIO) -> Any:
    with zipfile.ZipFile(opened) as archive:
        (top,) = (name for name in archive.namelist() if name.endswith("/data.pkl"))
        folder = top.removesuffix("data.pkl")

        def storage(name: str, kind: Any, count: int) -> Array:
            return np.frombuffer(archive.read(f"{folder}data/{name}"), kind, count)

        return _settled(_Reader(BytesIO(archive.read(top)), storage).load())


def _read_legacy(opened: BinaryIO) -> Any:
    """torch before 1.6: pickles (magic number, version, machine, object, storage names), then the numbers."""
    numbers: dict[str, Array] = {}

    def reader() -> _Reader:
        return _Reader(opened, lambda name, kind, count: numbers[name])

    if reader().load() != _LEGACY_MAGIC:
        raise ValueError("another magic number")
    reader().load(), reader().load()
    main = reader()
    content = main.load()
    for name in reader().load():
        count, kind = int.from_bytes(opened.read(8), "little"), np.dtype(main.kinds[str(name)])
        numbers[str(name)] = np.frombuffer(opened.read(count * kind.itemsize), kind, count)
    return _settled(content)


def _settled(value: Any) -> Any:
    """Containers with every tensor's numbers in place."""
    if isinstance(value, _Later):
        return value.now()
    if isinstance(value, _Stored):
        return value.numbers()
    if isinstance(value, dict):
        return {name: _settled(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_settled(part) for part in value]
    return value
