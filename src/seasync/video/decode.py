"""Decoding chosen frames of a file, at the cost of little more than those."""

from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby

import av
import numpy as np
from av.container import InputContainer
from av.filter import Graph
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.files import fetch
from seasync.video.source import decode, decode_all, images, open_picture, packets
from seasync.video.timetable import FrameTable

LEAP = 24  # frames not wanted before a keyframe that are worth a seek
# Decoders that leave out a frame that no other refers to when told so packet by packet.
SKIPS = {"h264", "hevc", "mpeg2video", "mpeg4", "vp8"}

Numbered = tuple[av.VideoFrame, int]


def chosen(table: FrameTable, wanted: NDArray[np.int64], *, frame_threads: bool = True) -> Iterator[Numbered]:
    """The frames with the numbers `wanted` (increasing) that decode, as stored but deinterlaced.

    Threads that decode several frames at the same time take an eighth more CPU time. Raises VideoError if
    none of the frames decodes.
    """
    came = False
    for frame, number in _whole(table, wanted, frame_threads):
        came = True
        yield frame, number
    if not came:
        raise VideoError(
            f"{table.file}: none of the {len(wanted)} frames asked for can be decoded; it is damaged"
        )


def _whole(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    for frame, number in _stored(table, wanted, frame_threads):
        if frame.interlaced_frame:
            rest = wanted[wanted >= number]
            # Deinterlacing looks at the frames around, so it needs them all, and one more at each end.
            around = np.arange(max(int(rest[0]) - 1, 0), min(int(rest[-1]) + 2, len(table)))
            yield from _among(_deinterlaced(_stored(table, around, frame_threads)), rest)
            return
        yield frame, number


def _among(frames: Iterator[Numbered], wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    numbers = set(wanted.tolist())
    return ((frame, number) for frame, number in frames if number in numbers)


def _stored(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    if fetch(table.file).is_dir():
        return _pictures(table, wanted)
    if table.pts is None:
        return _among(_counted(table), wanted)
    return _sought(table, wanted, frame_threads)


def _pictures(table: FrameTable, wanted: NDArray[np.int64]) -> Iterator[Numbered]:
    files = images(fetch(table.file))
    for number in wanted.tolist():
        with open_picture(files[number]) as (container, stream):
            for frame in decode_all(container, stream):
                yield frame, number
                break


def _counted(table: FrameTable) -> Iterator[Numbered]:
    with open_picture(table.file) as (container, stream):
        for number, frame in enumerate(decode_all(container, stream)):
            yield frame, number


def _sought(table: FrameTable, wanted: NDArray[np.int64], frame_threads: bool) -> Iterator[Numbered]:
    """Frames found by their times, jumping over stretches of which nothing is wanted."""
    at = np.searchsorted(table.keys, wanted, "right") - 1  # the keyframe before each; -1 without any
    starts = table.keys[at] if len(table.keys) else at
    leaps = np.flatnonzero(starts[1:] - wanted[:-1] > LEAP) + 1
    with open_picture(table.file, frame_threads=frame_threads) as (container, stream):
        for run, key in zip(np.split(wanted, leaps), at[[0, *leaps]].tolist(), strict=True):
            if key > 0:
                yield from _after_seeking(container, stream, table, run, key)
            else:  # the first run of all: the container stands at its beginning
                yield from _forward(container, stream, table, run)


def _after_seeking(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64], key: int
) -> Iterator[Numbered]:
    """The frames of a run from its keyframe (the key-th) on."""
    assert table.pts is not None
    back = 1
    while key > 0:
        container.seek(int(table.pts[table.keys[key]]), stream=stream)
        frames = _forward(container, stream, table, run)
        first = next(frames, None)
        if first is not None and first[1] == run[0]:
            yield first
            yield from frames
            return
        # It landed too late, or the picture only builds up after this keyframe: from one further back.
        key, back = key - back, 2 * back
    with open_picture(table.file) as (container, stream):
        yield from _forward(container, stream, table, run)


def _forward(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64]
) -> Iterator[Numbered]:
    """The frames of a run, from the next keyframe on."""
    done = -1
    for frame in _decoded(container, stream, table, run):
        number = table.number_at(frame.pts)
        if number > done and _holds(run, number):
            yield frame, number
            done = number
        if number >= run[-1]:
            return


def _decoded(
    container: InputContainer, stream: av.VideoStream, table: FrameTable, run: NDArray[np.int64]
) -> Iterator[av.VideoFrame]:
    """Decode what leads to the frames of a run, and little else: where the decoder can leave out frames that
    no other refers to, or all stand alone, only the wanted ones of those."""
    codec, begun = stream.codec_context, False
    alone = len(table.keys) == len(table)
    for packet in packets(container, stream):
        begun = begun or packet.is_keyframe or not len(table.keys)
        wanted = _holds(run, table.number_at(packet.pts))
        if not begun or (alone and not wanted):
            continue
        if codec.name in SKIPS:
            codec.skip_frame = "DEFAULT" if wanted else "NONREF"
        yield from decode(stream, packet)
    yield from decode(stream, None)


def _holds(run: NDArray[np.int64], number: int) -> bool:
    at = int(np.searchsorted(run, number))
    return at < len(run) and int(run[at]) == number


def _deinterlaced(frames: Iterator[Numbered]) -> Iterator[Numbered]:
    """The same frames, each interlaced one made whole from itself and its neighbors (bwdif)."""
    waiting = deque[int]()
    for _, alike in groupby(frames, key=lambda item: (item[0].width, item[0].height, item[0].format.name)):
        graph = None
        for frame, number in alike:
            graph = graph or filter_graph(frame, [("bwdif", "mode=send_frame:deint=interlaced")])
            waiting.append(number)
            yield from _pulled(graph, frame, waiting)
        if graph is not None:
            yield from _pulled(graph, None, waiting)


def filter_graph(frame: av.VideoFrame, filters: Iterable[tuple[str, str | None]]) -> Graph:
    """FFmpeg's filters, each with its options, one after the other, for frames such as this one."""
    graph = Graph()
    tick = frame.time_base or Fraction(1, 1000)
    source = graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=tick)
    graph.link_nodes(source, *(graph.add(*each) for each in filters), graph.add("buffersink"))
    graph.configure()
    return graph


def _pulled(graph: Graph, frame: av.VideoFrame | None, waiting: deque[int]) -> Iterator[Numbered]:
    graph.vpush(frame)
    while waiting:
        try:
            done = graph.vpull()
        except (av.BlockingIOError, av.EOFError):
            return
        yield done, waiting.popleft()
