"""Mutations of files that know their structure: boxes, elements, chunks, packets, fields of text.

Each takes the content of a good file and a generator of random numbers, and gives bad content.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

Rng = np.random.Generator
Mutation = Callable[[bytearray, Rng], bytearray]

NUMBERS = (
    0,
    1,
    2,
    3,
    7,
    8,
    16,
    127,
    128,
    255,
    256,
    32767,
    65535,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
)
LARGEST = 200_000  # bytes of a mutated file


@dataclass(frozen=True)
class Part:
    """A part of a file: where its size is written, and where its content lies."""

    start: int
    content: int
    end: int
    size_at: int
    size_bytes: int


def flip_bits(data: bytearray, rng: Rng) -> bytearray:
    for at in rng.integers(0, len(data), rng.integers(1, 9)):
        data[at] ^= 1 << int(rng.integers(8))
    return data


def overwrite_number(data: bytearray, rng: Rng) -> bytearray:
    width = int(rng.choice([1, 2, 4, 8]))
    at = int(rng.integers(0, max(1, len(data) - width)))
    number = int(rng.choice(NUMBERS)) & ((1 << 8 * width) - 1)
    data[at : at + width] = number.to_bytes(width, "big" if rng.uniform() < 0.5 else "little")
    return data


def cut_off(data: bytearray, rng: Rng) -> bytearray:
    return data[: int(rng.integers(0, len(data)))]


def repeat_block(data: bytearray, rng: Rng) -> bytearray:
    start, end = sorted(int(at) for at in rng.integers(0, len(data), 2))
    return data[:end] + data[start:end] + data[end:]


def delete_block(data: bytearray, rng: Rng) -> bytearray:
    start = int(rng.integers(0, len(data)))
    del data[start : start + int(rng.integers(1, 200))]
    return data


def insert_noise(data: bytearray, rng: Rng) -> bytearray:
    at = int(rng.integers(0, len(data)))
    return data[:at] + rng.bytes(int(rng.integers(1, 200))) + data[at:]


PLAIN: tuple[Mutation, ...] = (flip_bits, overwrite_number, cut_off, repeat_block, delete_block, insert_noise)


def boxes(data: bytes, start: int = 0, end: int | None = None, depth: int = 0) -> Iterator[Part]:
    """The boxes of MP4 and MOV, those inside others too."""
    end = len(data) if end is None else end
    while start + 8 <= end and depth < 10:
        size, name = struct.unpack_from(">I4s", data, start)
        size = size or end - start
        if size < 8 or start + size > end:
            return
        yield Part(start, start + 8, start + size, start, 4)
        if name in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"dinf", b"edts", b"udta", b"moof", b"traf"):
            yield from boxes(data, start + 8, start + size, depth + 1)
        elif name == b"stsd":
            yield from boxes(data, start + 16, start + size, depth + 1)
        elif name in (b"avc1", b"mp4v", b"hev1"):
            yield from boxes(data, start + 86, start + size, depth + 1)
        start += size


MASTERS = (
    0x18538067,
    0x1549A966,
    0x1654AE6B,
    0xAE,
    0xE0,
    0x1F43B675,
    0xA0,
    0x114D9B74,
    0x4DBB,
    0x1C53BB6B,
    0xBB,
)
MASTERS += (0x1A45DFA3, 0xB7)


def elements(data: bytes, start: int = 0, end: int | None = None, depth: int = 0) -> Iterator[Part]:
    """The elements of Matroska and WebM, those inside others too."""
    end = len(data) if end is None else end
    while start + 2 <= end and depth < 8:
        name, after = _number(data, start, keep=True)
        size, content = _number(data, after, keep=False)
        if name is None or size is None:
            return
        stop = end if size == (1 << 7 * (content - after)) - 1 else content + size  # an unknown size
        if stop > end:
            return
        yield Part(start, content, stop, after, content - after)
        if name in MASTERS:
            yield from elements(data, content, stop, depth + 1)
        start = stop


def _number(data: bytes, at: int, *, keep: bool) -> tuple[int | None, int]:
    """A number of variable length, with or without the bit that tells the length."""
    if at >= len(data) or not data[at]:
        return None, at
    length = 9 - data[at].bit_length()
    number = int.from_bytes(data[at : at + length], "big")
    return (number if keep else number & ((1 << 7 * length) - 1)), at + length


def chunks(data: bytes, start: int = 0, end: int | None = None, depth: int = 0) -> Iterator[Part]:
    """The chunks of AVI, those inside lists too."""
    end = len(data) if end is None else end
    while start + 8 <= end and depth < 6:
        name, size = struct.unpack_from("<4sI", data, start)
        stop = start + 8 + size
        if stop > end:
            return
        yield Part(start, start + 8, stop, start + 4, 4)
        if name in (b"RIFF", b"LIST"):
            yield from chunks(data, start + 12, stop, depth + 1)
        start = stop + size % 2


def packets(data: bytes) -> Iterator[Part]:
    """The packets of a transport stream; their sizes are those of the adaptation field."""
    for start in range(0, len(data) - 187, 188):
        yield Part(start, start + 4, start + 188, start + 4, 1)


def blocks(data: bytes) -> Iterator[Part]:
    """The screen and the pictures of a GIF, and its extensions."""
    yield Part(0, 6, 13, 10, 1)
    for found in re.finditer(rb"\x2c|\x21[\xf9\xff\xfe]", data):
        yield Part(found.start(), found.end(), min(len(data), found.end() + 10), found.end(), 1)


def structured(parts: Callable[[bytes], Iterator[Part]], byteorder: str) -> tuple[Mutation, ...]:
    """Mutations of a file that is made of such parts."""

    def one(data: bytearray, rng: Rng) -> Part | None:
        found = list(parts(bytes(data)))
        return found[int(rng.integers(len(found)))] if found else None

    def change_size(data: bytearray, rng: Rng) -> bytearray:
        if part := one(data, rng):
            limit = (1 << 8 * part.size_bytes) - 1
            now = int.from_bytes(data[part.size_at : part.size_at + part.size_bytes], byteorder)  # type: ignore[arg-type]
            near = now + int(rng.integers(-9, 10))
            size = max(0, min(limit, near if rng.uniform() < 0.5 else int(rng.choice(NUMBERS))))
            data[part.size_at : part.size_at + part.size_bytes] = size.to_bytes(part.size_bytes, byteorder)  # type: ignore[arg-type]
        return data

    def change_field(data: bytearray, rng: Rng) -> bytearray:
        part = one(data, rng)
        if part and part.end - part.content >= 1:
            width = int(rng.choice([1, 2, 4, 8]))
            at = part.content + int(rng.integers(0, max(1, min(part.end - part.content, 120))))
            number = int(rng.choice(NUMBERS)) & ((1 << 8 * width) - 1)
            data[at : at + width] = number.to_bytes(width, byteorder)  # type: ignore[arg-type]
        return data

    def change_name(data: bytearray, rng: Rng) -> bytearray:
        part, other = one(data, rng), one(data, rng)
        if part and other:
            data[part.start + 4 : part.start + 8] = data[other.start + 4 : other.start + 8]
        return data

    def repeat(data: bytearray, rng: Rng) -> bytearray:
        part = one(data, rng)
        times = int(rng.integers(1, 20))
        return data[: part.end] + data[part.start : part.end] * times + data[part.end :] if part else data

    def delete(data: bytearray, rng: Rng) -> bytearray:
        if part := one(data, rng):
            del data[part.start : part.end]
        return data

    def swap(data: bytearray, rng: Rng) -> bytearray:
        first, second = one(data, rng), one(data, rng)
        if first and second and first.end <= second.start:
            middle = data[first.end : second.start]
            one_, two = data[first.start : first.end], data[second.start : second.end]
            return data[: first.start] + two + middle + one_ + data[second.end :]
        return data

    return (change_size, change_field, change_field, change_field, change_name, repeat, delete, swap)


def mutated(content: bytes, mutations: tuple[Mutation, ...], rng: Rng) -> bytes:
    """One to three mutations, most of them of the format's own kind."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        chosen = mutations if rng.uniform() < 0.75 else PLAIN
        if data:
            data = chosen[int(rng.integers(len(chosen)))](data, rng)
    return bytes(data[:LARGEST])
