"""Arrays of numbers and text in MATLAB 5 files, and nothing else.

scipy reads more, but a damaged tag can end the whole process there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.generic]

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
TEXT = {2: "latin1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}  # types of characters, and their encodings
TEXT_CLASS, NUMBER_CLASSES = 4, range(6, 16)
IS_COMPLEX = 0x0800
LARGEST = 1 << 28  # bytes of one element, unpacked


def read_arrays(content: bytes, names: Collection[str]) -> dict[str, Values | None]:
    """Read variables of a file by name.

    Parameters
    ----------
    content : bytes
        The whole file.
    names : collection of str
        The variables to read; others are passed over.

    Returns
    -------
    dict of str to numpy.ndarray or None
        Those that are there, with at least two dimensions; rows of text as one string each. None for what is
        neither numbers nor text: objects, structs, cells, functions.

    Raises
    ------
    ValueError
        If the file is no MATLAB 5 file, or damaged.
    """
    if content[126:128] not in (b"IM", b"MI"):
        raise ValueError("no header of MATLAB 5")
    order = "<" if content[126:128] == b"IM" else ">"
    out: dict[str, Values | None] = {}
    for kind, body in _elements(memoryview(content)[HEADER:], order):
        if kind == COMPRESSED:
            ((kind, body),) = _elements(_unpacked(body), order)
        if kind != MATRIX:
            raise ValueError(f"an element of type {kind} where an array is expected")
        parts = _elements(body, order)
        (_, flags), (_, sizes), (_, name) = next(parts), next(parts), next(parts)
        if (known := bytes(name).decode("latin1")) in names:
            shape = tuple(np.frombuffer(sizes, f"{order}i4").tolist())
            out[known] = _array(struct.unpack_from(f"{order}I", flags)[0], shape, parts, order)
    return out


def _array(
    flags: int, shape: tuple[int, ...], parts: Iterator[tuple[int, memoryview]], order: str
) -> Values | None:
    if flags & IS_COMPLEX or flags & 0xFF not in (TEXT_CLASS, *NUMBER_CLASSES):
        return None
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"an array of the shape {shape}")
    kind, data = next(parts)
    if flags & 0xFF == TEXT_CLASS:
        encoding = TEXT[kind] if kind not in (4, 17) else f"utf-16-{'le' if order == '<' else 'be'}"
        letters = np.array(list(bytes(data).decode(encoding)), "U1").reshape(shape, order="F")
        if not letters.size:
            return letters.reshape(-1)
        return np.array(["".join(row) for row in letters.reshape(len(letters), -1)])
    return np.frombuffer(data, order + NUMBERS[kind]).reshape(shape, order="F")


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
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
