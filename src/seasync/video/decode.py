"""Decoding chosen frames of a file, at the cost of little more than those."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.filter import Graph
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from seasync.video.source import decode, decode_all, images, open_picture, packets
from seasync.video.table import FrameTable

REORDER = 16  # frames; no codec shows a frame later than so many after it was sent

Numbered = tuple[VideoFrame, int]


def chosen(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    """The frames with the numbers `wanted` (increasing) that decode, as stored but deinterlaced."""
    for frame, number in _stored(table, wanted):
        if frame.interlaced_frame:
            rest = wanted[wanted >= number]
            # Deinterlacing looks at the frames around, so it needs them all, and one more at each end.
            around = np.arange(max(int(rest[0]) - 1, 0), min(int(rest[-1]) + 2, len(table)))
            yield from _among(_deinterlaced(_stored(table, around)), rest)
            return
        yield frame, number


def _among(frames: Iterator[Numbered], wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    numbers = set(wanted.tolist())
    return ((frame, number) for frame, number in frames if number in numbers)


def _stored(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    if Path(table.file).is_dir():
        return _pictures(table, wanted)
    if table.pts is None:
        return _among(_counted(table), wanted)
    return _sought(table, wanted)


def _pictures(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    files = images(Path(table.file))
    for number in wanted.tolist():
        with open_picture(files[number]) as (container, stream):
            for frame in decode_all(container, stream):
                yield frame, number
                break


def _counted(table: FrameTable) -> Iterator[Numbered]:
    with open_picture(table.file) as (container, stream):
        for number, frame in enumerate(decode_all(container, stream)):
            yield frame, number


def _sought(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    """Decode from the keyframe before the first frame wanted, or from an earlier one where that does not work
    (some seek past it, and after some the picture only builds up)."""
    before = int(np.searchsorted(table.keys, wanted[0], "right")) - 1
    back, begun = 1, False
    while not begun:
        key = int(table.keys[before]) if before > 0 else None
        for frame, number in _from_key(table, wanted, key):
            if not begun and key is not None and number > wanted[0]:
                break
            begun = True
            yield frame, number
        if key is None:
            return
        before, back = before - back, 2 * back


def _from_key(table: FrameTable, wanted: NDArray[np.int64], key: int | None) -> Iterator[Numbered]:
    assert table.pts is not None
    with open_picture(table.file) as (container, stream):
        found = packets(container, stream)
        if key is not None:
            container.seek(int(table.pts[key]), stream=stream)
            landed = next((p for p in found if p.is_keyframe and p.pts is not None), None)
            if landed is None or landed.pts > table.pts[wanted[0]]:
                return
            found = chain([landed], found)
        is_wanted, done = _mask(table, wanted), -1
        for frame in _needed(table, wanted, stream, found):
            number = _number(table, frame.pts)
            if number > done and is_wanted[number]:
                yield frame, number
                done = number
            if number >= wanted[-1]:
                return


def _needed(
    table: FrameTable, wanted: NDArray[np.int64], stream: VideoStream, found: Iterator[Packet[Any]]
) -> Iterator[VideoFrame]:
    """Decode only what leads to a wanted frame.

    Frames that no other refers to are skipped unless wanted; between the last one wanted before a keyframe
    and that keyframe nothing is decoded at all.
    """
    is_wanted, next_key, idle = _mask(table, wanted), len(table), False
    for packet in found:
        number = _number(table, packet.pts)
        if number >= 0 and packet.is_keyframe:
            if idle:
                yield from decode(stream, None)
                stream.codec_context.flush_buffers()
            idle = False
            after = int(np.searchsorted(table.keys, number, "right"))
            next_key = int(table.keys[after]) if after < len(table.keys) else len(table)
        if number >= 0:
            ahead = int(np.searchsorted(wanted, number - REORDER))
            idle = idle or ahead == len(wanted) or int(wanted[ahead]) >= next_key
            stream.codec_context.skip_frame = "DEFAULT" if is_wanted[number] else "NONREF"
        if not idle:
            yield from decode(stream, packet)
    yield from decode(stream, None)


def _mask(table: FrameTable, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    mask = np.zeros(len(table), bool)
    mask[wanted] = True
    return mask


def _number(table: FrameTable, pts: int | None) -> int:
    """The number of the frame shown at `pts`; -1 if there is none."""
    assert table.pts is not None
    if pts is None:
        return -1
    number = int(np.searchsorted(table.pts, pts))
    return number if number < len(table) and table.pts[number] == pts else -1


def _deinterlaced(frames: Iterator[Numbered]) -> Iterator[Numbered]:
    """The same frames, each interlaced one made whole from itself and its neighbours (bwdif)."""
    waiting = deque[int]()
    for _, alike in groupby(frames, key=lambda item: (item[0].width, item[0].height, item[0].format.name)):
        graph = None
        for frame, number in alike:
            graph = graph or _bwdif(frame)
            waiting.append(number)
            yield from _pulled(graph, frame, waiting)
        if graph is not None:
            yield from _pulled(graph, None, waiting)


def _bwdif(frame: VideoFrame) -> Graph:
    graph = Graph()
    tick = frame.time_base or Fraction(1, 1000)
    source = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=tick)
    graph.link_nodes(source, graph.add("bwdif", "mode=send_frame:deint=interlaced"), graph.add("buffersink"))
    graph.configure()
    return graph


def _pulled(graph: Graph, frame: VideoFrame | None, waiting: deque[int]) -> Iterator[Numbered]:
    graph.vpush(frame)
    while waiting:
        try:
            done = graph.vpull()
        except (av.BlockingIOError, av.EOFError):
            return
        yield done, waiting.popleft()
