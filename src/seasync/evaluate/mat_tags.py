"""A check of MATLAB 5 files before scipy reads them: a tag of an unknown type crashes scipy's reader."""

from __future__ import annotations

import struct
import zlib

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
KNOWN = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13, MATRIX, 16, 17, 18}
LARGEST = 1 << 28  # bytes of one element, unpacked
DEEPEST = 16


def expect_known_tags(content: bytes) -> None:
    """Walk through the elements of a file.

    Raises
    ------
    ValueError
        If one has an unknown type, does not fit into what holds it, or is unreasonably large or deep.
    """
    order = ">" if content[126:128] == b"MI" else "<"
    at = HEADER
    while at < len(content):
        kind, size, data = _tag(content, at, order)
        body = content[data : data + size]
        if kind == COMPRESSED:
            unpack = zlib.decompressobj()
            body = unpack.decompress(body, LARGEST)
            if unpack.unconsumed_tail:
                raise ValueError(f"an element of more than {LARGEST >> 20} MB")
            _expect_known_parts(body, order, 0)
        elif kind == MATRIX:
            _expect_known_parts(body, order, 0)
        else:
            raise ValueError(f"an element of type {kind} where an array is expected")
        at = data + size


def _expect_known_parts(content: bytes, order: str, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"nested more than {DEEPEST} deep")
    at = 0
    while at < len(content):
        kind, size, data = _tag(content, at, order)
        if kind not in KNOWN:
            raise ValueError(f"an element of the unknown type {kind}")
        if kind == MATRIX:
            _expect_known_parts(content[data : data + size], order, depth + 1)
        at = data + size + -size % 8 if data - at == 8 else at + 8


def _tag(content: bytes, at: int, order: str) -> tuple[int, int, int]:
    """Type, size and place of the data of the element at `at`; small ones have type and size in one word."""
    if at + 8 > len(content):
        raise ValueError("it ends in the middle of an element")
    kind, size = struct.unpack_from(f"{order}II", content, at)
    data = at + 8
    if kind >> 16:
        kind, size, data = kind & 0xFFFF, kind >> 16, at + 4
    if size > (4 if data == at + 4 else len(content) - data):
        raise ValueError("an element that is larger than what holds it")
    return kind, size, data
