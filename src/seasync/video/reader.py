"""Frames of a video as arrays, with their true times and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.color import Fit, ToRGB
from seasync.video.decode import Numbered, chosen
from seasync.video.source import File
from seasync.video.timetable import FrameTable, frame_table, report_damage


@dataclass(frozen=True, eq=False)
class Frames:
    """Some frames of a video.

    Attributes
    ----------
    data : array [shape=(B, H, W, 3)]
        uint8 RGB, upright.
    seconds : array [shape=(B,)]
        float64, when each frame is shown, from the file's first frame.
    numbers : array [shape=(B,)]
        int64, their numbers in the file, from 0.
    """

    data: NDArray[np.uint8]
    seconds: NDArray[np.float64]
    numbers: NDArray[np.int64]

    def __post_init__(self) -> None:
        count = len(self.data)
        if self.data.ndim != 4 or self.data.shape[3] != 3 or self.data.dtype != np.uint8:
            raise ValueError(f"expected (B, H, W, 3) uint8, got {self.data.shape = }, {self.data.dtype = }")
        if self.seconds.shape != (count,) or self.numbers.shape != (count,):
            raise ValueError(
                f"expected {count} of each, got {self.seconds.shape = }, {self.numbers.shape = }"
            )

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.data.shape))
        span = f", {self.seconds[0]:.2f}–{self.seconds[-1]:.2f} s" if len(self) else ""
        return f"Frames({shape}{span})"


def read(
    file: File,
    *,
    fps: float | None = None,
    start: float = 0.0,
    end: float | None = None,
    size: tuple[int, int] | None = None,
    batch: int = 16,
    fit: Fit = "squash",
    frame_threads: bool = True,
) -> Iterator[Frames]:
    """The frames of a video that are shown from `start` to `end` seconds, in batches.

    All frames with start ≤ time < end are in the span, and so is the one on screen at `start` if none
    begins right there; its own time is then before `start`. Memory holds one batch. Frames that do not
    decode are left out, and a PartlyDecoded warning at the end says how many.

    Parameters
    ----------
    file
        A video, or a folder of images; a path or URI.
    fps
        Sample at start, start + 1/fps, …: each time takes the frame then on screen, no frame twice. None
        takes every frame.
    start, end
        Seconds from the first frame. None is the end of the file.
    size
        (height, width) of the arrays. None keeps the picture as shown.
    batch
        How many frames come together.
    fit
        How the picture's shape meets `size`: "squash" scales each side, "crop" scales evenly and cuts the
        longer side, "within" scales evenly until it is nowhere larger.
    frame_threads
        Whether several frames may be decoded at the same time. That is faster where cores are free, and takes
        more CPU time.

    Yields
    ------
    Frames

    Raises
    ------
    VideoError
        If the file cannot be read, nothing in it decodes, or the span is empty or past its end.
    """
    if batch < 1:
        raise VideoError(f"batch must be at least 1, got {batch}")
    if size is not None and min(size) < 1:
        raise VideoError(f"size must be a (height, width) of at least 1 pixel, got {size}")
    table = frame_table(file)
    if fps is None:
        span = table.shown(start, end)
        wanted = np.arange(span.start, span.stop)
    else:
        wanted = table.sampled(fps, start, end)
    frames = chosen(table, wanted, frame_threads=frame_threads)
    return _batches(table, len(wanted), frames, ToRGB(table.sar, size, fit), batch, table.short(end))


def _batches(
    table: FrameTable, wanted: int, frames: Iterator[Numbered], to_rgb: ToRGB, batch: int, short: int
) -> Iterator[Frames]:
    data: NDArray[np.uint8] | None = None
    numbers: list[int] = []
    good = 0
    for frame, number in frames:
        image = to_rgb(frame)
        good += not frame.is_corrupt
        if data is None:
            data = np.empty((batch, *image.shape), np.uint8)
        data[len(numbers)] = image
        numbers.append(number)
        if len(numbers) == batch:
            yield _frames(table, data, numbers)
            data, numbers = None, []
    if data is not None:
        yield _frames(table, data[: len(numbers)], numbers)
    warn_if_damaged(table, wanted, good, short)


def _frames(table: FrameTable, data: NDArray[np.uint8], numbers: list[int]) -> Frames:
    return Frames(data, table.seconds[numbers], np.array(numbers, np.int64))


def warn_if_damaged(table: FrameTable, wanted: int, good: int, short: int) -> None:
    """Say how many of the frames wanted came whole, and how many the file is `short` of what it promises."""
    if good == wanted and not short:
        return
    lost = f"; it breaks off at {table.end:.2f} s, about {short} frames early" if short else ""
    text = f"{table.file}: the file is damaged, {good} of {wanted} frames could be read whole{lost}"
    report_damage(text, stacklevel=3)


# Run an iterator ahead of its consumer, so that decoding overlaps with what is done with the frames.


T = TypeVar("T")


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Make the items of an iterable in a background thread, ahead of their consumer.

    Closing this iterator early closes the other one and ends its thread.

    Parameters
    ----------
    items
        What to iterate over.
    depth
        How many items may wait.

    Yields
    ------
    object
        The same items in the same order. An exception is raised here where it happened there.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    room, made, stopped = Semaphore(depth), SimpleQueue[tuple[bool, Any]](), False

    def produce() -> None:
        source = iter(items)
        try:
            while room.acquire() and not stopped:
                made.put((True, next(source)))
        except BaseException as error:  # noqa: BLE001  every exception belongs to the consumer, Ctrl-C included
            made.put((False, error))
        finally:
            if hasattr(source, "close"):
                source.close()

    thread = Thread(target=copy_context().run, args=(produce,), name="seasync-ahead", daemon=True)
    thread.start()
    try:
        while True:
            good, item = made.get()
            if good:
                room.release()
                yield item
            elif isinstance(item, StopIteration):
                return
            else:
                raise item
    finally:
        stopped = True
        room.release()
        thread.join()
