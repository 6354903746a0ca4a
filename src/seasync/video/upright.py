"""Every frame of a span as a film shows it, without leaving YUV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from seasync.video.color import film_frame, matrix
from seasync.video.decode import chosen
from seasync.video.reader import warn_if_damaged
from seasync.video.source import File, Orientation
from seasync.video.timetable import FrameTable, frame_table


@dataclass(frozen=True, eq=False)
class ShownFrame:
    """One frame, when it is shown (seconds from the file's first frame), and its number in the file."""

    frame: VideoFrame
    seconds: float
    number: int


def frames(file: File, start: float = 0.0, end: float | None = None) -> Iterator[ShownFrame]:
    """The frames shown from `start` to `end` seconds, as a film shows them; the same that `read` gives.

    Each is upright, with square pixels, not interlaced, yuv420p in BT.709 limited range, in SDR. A frame
    that is so already is passed on untouched. Sides may be odd; the Writer makes them even.

    Parameters
    ----------
    file
        A video, or a folder of images; a path or URI.
    start, end
        Seconds from the first frame. None is the end of the file.

    Yields
    ------
    ShownFrame

    Raises
    ------
    VideoError
        As `read` does.
    """
    table = frame_table(file)
    span = table.shown(start, end)
    return _frames(table, np.arange(span.start, span.stop), table.short(end))


def _frames(table: FrameTable, wanted: NDArray[np.int64], short: int) -> Iterator[ShownFrame]:
    scale, turner, good = VideoReformatter(), _Turner(), 0
    size: tuple[int, int] | None = None  # of the first frame; a file may change it underway
    for frame, number in chosen(table, wanted):
        good += not frame.is_corrupt
        turn = Orientation.of(frame)
        size = size or (max(1, round(frame.width * table.sar)), frame.height)
        flat = film_frame(frame, scale, size=size, coded=matrix(frame))
        yield ShownFrame(turner(flat, turn), float(table.seconds[number]), number)
    warn_if_damaged(table, len(wanted), good, short)


class _Turner:
    """Turns and mirrors frames by FFmpeg's filters."""

    def __init__(self) -> None:
        self._graph: Graph | None = None
        self._made_for: tuple[int, int, Orientation] | None = None

    def __call__(self, frame: VideoFrame, turn: Orientation) -> VideoFrame:
        if turn == Orientation():
            return frame
        kind = (frame.width, frame.height, turn)
        if self._graph is None or self._made_for != kind:
            self._graph, self._made_for = self._made(frame, turn), kind
        frame.time_base = frame.time_base or Fraction(1, 1000)
        self._graph.vpush(frame)
        return self._graph.vpull()

    @staticmethod
    def _made(frame: VideoFrame, turn: Orientation) -> Graph:
        graph = Graph()
        steps = [
            graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format, time_base=Fraction(1, 1000)
            )
        ]
        if turn.transpose:
            steps.append(graph.add("transpose", f"dir={turn.mirror + 2 * turn.flip}"))
        else:
            steps += [graph.add(name) for name, on in (("hflip", turn.mirror), ("vflip", turn.flip)) if on]
        graph.link_nodes(*steps, graph.add("buffersink"))
        graph.configure()
        return graph
