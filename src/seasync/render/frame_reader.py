"""A file's frames in the order a film needs them, read once, forward."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from seasync.errors import RenderError
from seasync.render.schedule import FrameSelection
from seasync.render.yuv_canvas import Canvas, Panel
from seasync.video import FrameTable, frame_table
from seasync.video.decode import chosen
from seasync.video.reader import warn_if_damaged


def scheduled_pictures(source: FrameSelection, panel: Panel) -> Generator[VideoFrame]:
    """One picture for each frame of the film, made to fit `panel`; at most two are held at a time."""
    table, blend = frame_table(source.file), source.blend
    after = source.numbers if blend is None else np.minimum(source.numbers + (blend > 0), len(table) - 1)
    # Each film frame needs one frame of the file, or two to mix.
    needed = np.stack([source.numbers, after], axis=1)
    for start, end in _forward(needed):
        wanted = np.unique(needed[start:end])
        reader = _Reader(table, wanted, panel)
        for at in range(start, end):
            below, above = (reader.at(number) for number in needed[at].tolist())
            yield below if blend is None or below is above else _blended(below, above, float(blend[at]))
        warn_if_damaged(table, len(wanted), reader.whole, 0)


def _forward(needed: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Stretches of film frames in which the file runs forward: one, unless pieces changed their order."""
    back = np.flatnonzero(np.diff(needed[:, 0]) < 0) + 1
    edges = [0, *back.tolist(), len(needed)]
    return pairwise(edges)


class _Reader:
    """Numbered frames of a file, asked for in increasing order; remembers the last two."""

    def __init__(self, table: FrameTable, numbers: NDArray[np.int64], panel: Panel) -> None:
        self.file, self.panel = table.file, panel
        self.whole = 0  # frames that came undamaged
        self._frames = chosen(table, numbers)
        self._held: list[tuple[int, VideoFrame]] = []

    def at(self, number: int) -> VideoFrame:
        """The frame; where it is damaged, the one before it (the next one at the beginning)."""
        while not self._held or self._held[-1][0] < number:
            found = next(self._frames, None)
            if found is None:
                break
            frame, found_number = found
            self.whole += not frame.is_corrupt
            self._held = [*self._held[-1:], (found_number, self.panel(frame))]
        if not self._held:
            raise RenderError(
                f"{self.file}: none of the frames asked for can be decoded; the file is damaged"
            )
        return next((frame for held, frame in reversed(self._held) if held <= number), self._held[0][1])


def _blended(below: VideoFrame, above: VideoFrame, share: float) -> VideoFrame:
    canvas = Canvas(below.width, below.height)
    canvas.put(below, 0, 0)
    canvas.put(above, 0, 0, opacity=share)
    return canvas.frame
