"""Frames of a video with their true times and numbers: as arrays, or as a film shows them.

Long videos are split into clips, at cuts between frames or into windows.
"""

import math
from collections.abc import Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from fractions import Fraction
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, TypeVar

import av
import numpy as np
from av.filter import Graph
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.decode import Fit, Numbered, ToRGB, chosen, film_frame, filter_graph, matrix
from seasync.video.source import File, FrameTable, Orientation, frame_table, probe, report_damage

T = TypeVar("T")
Span = tuple[float, float]
MOST_WINDOWS = 100_000  # of one file
WIDTH = 256  # pixels; what PySceneDetect itself scales pictures down to
# PySceneDetect's AdaptiveDetector, with its defaults (scenedetect.com/docs). Its package brings OpenCV:
# 190 MB of 1,150 that nothing else needs.
_REACH = 2  # frames on each side that a change is compared with
_RATIO = 3.0  # how far a cut stands out from the changes around it
_LEAST = 15.0  # the smallest change that is a cut
_HUE_SATURATION_VALUE = np.array([180 / 255, 1, 1]) / 3  # OpenCV counts hue to 180, Pillow to 255


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


@dataclass(frozen=True, eq=False)
class ShownFrame:
    """One frame, when it is shown (seconds from the file's first frame), and its number in the file."""

    frame: av.VideoFrame
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
    return _shown(table, np.arange(span.start, span.stop), table.short(end))


def _shown(table: FrameTable, wanted: NDArray[np.int64], short: int) -> Iterator[ShownFrame]:
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

    def __call__(self, frame: av.VideoFrame, turn: Orientation) -> av.VideoFrame:
        if turn == Orientation():
            return frame
        kind = (frame.width, frame.height, turn)
        frame.time_base = frame.time_base or Fraction(1, 1000)
        if self._graph is None or self._made_for != kind:
            flips = [(name, None) for name, on in (("hflip", turn.mirror), ("vflip", turn.flip)) if on]
            transposed = [("transpose", f"dir={turn.mirror + 2 * turn.flip}")]
            self._graph = filter_graph(frame, transposed if turn.transpose else flips)
            self._made_for = kind
        self._graph.vpush(frame)
        return self._graph.vpull()


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Make the items of an iterable in a background thread, ahead of their consumer: decoding overlaps with
    what is done with the frames.

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


def shots(file: File, *, shortest: float = 0.5) -> list[Span]:
    """Find the shots of a video, one after the other from the first frame to the end.

    A cut is a change of content that stands out from the changes around it, as in PySceneDetect's
    AdaptiveDetector. Every frame is decoded.

    Parameters
    ----------
    file
        A video; a path or URI.
    shortest
        A cut less than this many seconds after another is passed over.

    Returns
    -------
    list of (float, float)
        Start and end of each shot, in seconds.
    """
    table, info = frame_table(file), probe(file)
    usual = float(np.median(np.diff(table.seconds))) if len(table) > 1 else 1.0
    height = max(1, round(WIDTH * info.height / info.width))
    numbers: list[int] = []
    changes: list[float] = []
    before = None
    for batch in read(file, size=(height, WIDTH)):
        for picture, number in zip(batch.data, batch.numbers.tolist(), strict=True):
            now = _hue_saturation_value(picture)
            numbers.append(number)
            changes.append(0.0 if before is None else _change(before, now))
            before = now
    found = cuts(np.array(changes), max(1, round(shortest / usual)))
    starts = [float(table.seconds[numbers[cut]]) for cut in found]
    return list(zip([0.0, *starts], [*starts, table.end], strict=True))


def cuts(changes: NDArray[np.float64], shortest: int) -> list[int]:
    """The frames at which new shots begin, `shortest` frames apart at least; changes[n]: from n − 1 to n."""
    found, last = [], 0
    for n in range(_REACH, len(changes) - _REACH):
        around = (changes[n - _REACH : n + _REACH + 1].sum() - changes[n]) / (2 * _REACH)
        if changes[n] >= max(_LEAST, _RATIO * around) and n - last >= shortest:
            found.append(n)
            last = n
    return found


def _hue_saturation_value(picture: NDArray[np.uint8]) -> NDArray[np.int16]:
    from PIL import Image

    return np.asarray(Image.fromarray(picture).convert("HSV"), np.int16)


def _change(before: NDArray[np.int16], now: NDArray[np.int16]) -> float:
    """The mean difference of two pictures in hue, saturation and value."""
    return float(np.abs(now - before).mean((0, 1)) @ _HUE_SATURATION_VALUE)


def windows(file: File, seconds: float) -> list[Span]:
    """Split a video into windows of equal length; a rest shorter than half a window joins the last one.

    Parameters
    ----------
    file
        A video; a path or URI.
    seconds
        Length of a window.

    Returns
    -------
    list of (float, float)
        Start and end of each window, in seconds.

    Raises
    ------
    VideoError
        If `seconds` is not positive, or the video has far too many windows.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise VideoError(f"{file}: windows must last more than 0 seconds, got {seconds}")
    end = frame_table(file).end
    count = max(1, math.floor(end / seconds + 0.5))
    if count > MOST_WINDOWS:
        raise VideoError(
            f"{file}: {count} windows of {seconds:g} s in {end:.0f} s are too many, at most {MOST_WINDOWS}: "
            "give longer ones, and check the timestamps of the file"
        )
    starts = [float(i * seconds) for i in range(count)]
    return list(zip(starts, [*starts[1:], end], strict=True))
