"""When each frame of a file is shown: the table by which frames are chosen, numbered and sought.

Packets carry the times, so a pass without decoding gives the table. Files whose packets cannot be trusted
(times missing, doubled or running back) are decoded once and their frames counted instead.
"""

import math
import warnings
from array import array
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, ParamSpec, TypeVar

import av
import numpy as np
from numpy.typing import NDArray

from seasync.errors import PartlyDecoded, VideoError
from seasync.files import fetch
from seasync.video import source
from seasync.video.source import File

TRIED = 3  # frames that are decoded to see whether they come at the packets' times
SLACK = 0.001  # seconds; containers round times, some to milliseconds


@dataclass(frozen=True, eq=False)
class FrameTable:
    """The frames of a file, in the order shown.

    Attributes
    ----------
    seconds : array [shape=(N,)]
        float64, increasing from 0.
    end : float
        When the last frame ends, in seconds.
    slack : float
        Times that differ by less are the same moment.
    pts : array [shape=(N,)] or None
        int64 in the stream's time base. None if only counting numbers the frames.
    keys : array [shape=(K,)]
        int64, numbers of the frames from which decoding can start.
    promised : int
        How many frames the file says it has, if that is more than N; else N.
    sar : Fraction
        Width over height of a stored pixel.
    offset : float
        The container's time of the first frame, in seconds.
    """

    file: str
    seconds: NDArray[np.float64]
    end: float
    slack: float
    pts: NDArray[np.int64] | None
    keys: NDArray[np.int64]
    promised: int
    sar: Fraction
    offset: float

    def __len__(self) -> int:
        return len(self.seconds)

    def __repr__(self) -> str:
        return f"FrameTable({self.file!r}, {len(self)} frames, {self.end:.2f} s, {len(self.keys)} keyframes)"

    def number_at(self, pts: int | None) -> int:
        """The number of the frame with that timestamp; -1 if there is none."""
        if pts is None or self.pts is None:
            return -1
        number = int(np.searchsorted(self.pts, pts))
        return number if number < len(self) and self.pts[number] == pts else -1

    def shown(self, start: float = 0.0, end: float | None = None) -> range:
        """Numbers of the frames shown in a span: all that begin in it (start ≤ time < end), and before them
        the one on screen at `start` if none begins right there."""
        if not (math.isfinite(start) and start >= 0):
            raise VideoError(f"{self.file}: start must be 0 or more seconds, got {start}")
        if end is not None and not end > start:
            raise VideoError(f"{self.file}: the span {start}–{end} s is empty; end must be later than start")
        if start >= self.end - self.slack:
            raise VideoError(
                f"{self.file}: nothing is shown at {start:g} s; the video ends at {self.end:.3f} s"
            )
        first = max(int(np.searchsorted(self.seconds, start + self.slack, "right")) - 1, 0)
        stop = len(self) if end is None else int(np.searchsorted(self.seconds, end - self.slack))
        return range(first, max(stop, first + 1))

    def short(self, end: float | None = None) -> int:
        """How many frames a span that goes to `end` is short of because the file breaks off."""
        return self.promised - len(self) if end is None or end > self.end else 0

    def sampled(self, fps: float, start: float = 0.0, end: float | None = None) -> NDArray[np.int64]:
        """(n,) numbers of the frames shown at start, start + 1/fps, … before end, each once."""
        if not (math.isfinite(fps) and fps > 0):
            raise VideoError(f"{self.file}: fps must be more than 0, got {fps}")
        span = self.shown(start, end)
        until = self.end if end is None else min(end, self.end)
        edges = np.append(self.seconds[span.start : span.stop], until)
        # The first sample at or after each edge; a frame is taken if its own and the next one's differ.
        samples = np.ceil((edges - self.slack - start) * fps).clip(0)
        # However short the span, the frame on screen at its start is in it.
        samples[0], samples[-1] = 0, max(samples[-1], 1)
        return span.start + np.flatnonzero(np.diff(samples) > 0)


def frame_table(file: File) -> FrameTable:
    """The table of a file's frames, remembered until the file changes.

    Parameters
    ----------
    file
        A video, or a folder of images; a path or URI.

    Returns
    -------
    FrameTable

    Raises
    ------
    VideoError
        If the file cannot be read.
    """
    path = fetch(file)
    if path.is_dir():
        numbers = np.arange(len(source.images(path)))
        seconds, end = numbers / float(source.IMAGE_FPS), float(len(numbers) / source.IMAGE_FPS)
        return FrameTable(str(file), seconds, end, SLACK, numbers, numbers, len(numbers), Fraction(1), 0.0)
    if not path.exists():
        raise VideoError(f"{file}: no such file")
    return _table(str(file), path.stat().st_size, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _table(file: str, size: int, changed: int) -> FrameTable:
    return _from_packets(file) or _from_frames(file)


def _from_packets(file: str) -> FrameTable | None:
    """The table of the packets' times; None where they are not those of the frames."""
    pts, lasts, keys, previous, read = array("q"), array("q"), array("b"), -math.inf, 0
    with source.open_picture(file) as (container, stream):
        tick, sar = float(stream.time_base or 0), source.pixel_shape(stream)
        indexed = len(stream.index_entries) if "mp4" in container.format.name else 0
        for packet in source.packets(container, stream):
            read += 1
            if packet.is_discard or _is_hidden(packet, stream):
                continue
            sent = previous if packet.dts is None else packet.dts
            if packet.pts is None or sent < previous:
                return None
            previous = sent
            pts.append(packet.pts)
            lasts.append(packet.duration or 0)
            keys.append(packet.is_keyframe)
        if not pts or not tick:
            return None
        order = np.argsort(pts)
        times = np.frombuffer(pts, np.int64)[order]
        by_sample = container.format.name.startswith(("mov,", "matroska,"))  # a packet is a frame there
        first_times = times[:1].tolist() if by_sample and order[0] == 0 and keys[0] else _first_times(file)
        if not first_times:
            return None
        # Pictures that lead a first keyframe refer to frames that are not in the file: they are never shown.
        first = int(np.searchsorted(times, first_times[0]))
        times, order = times[first:], order[first:]
        if times[: len(first_times)].tolist() != first_times or (np.diff(times) == 0).any():
            return None
        offset = float(times[0] * tick)
        return _finish(
            file,
            (times - times[0]) * tick,
            tick,
            sar,
            offset=offset,
            last=lasts[order[-1]] * tick,
            pts=times,
            keys=np.flatnonzero(np.frombuffer(keys, np.int8)[order]),
            missing=max(0, indexed - read),
            promised=None if indexed else source.stream_seconds(stream, offset),
        )


def _from_frames(file: str) -> FrameTable:
    """The table of a file that has to be decoded to be known."""
    shown, sent, last = [], [], 0.0
    with source.open_picture(file) as (container, stream):
        tick, sar = float(stream.time_base or 0.001), source.pixel_shape(stream)
        step = float(1 / (stream.guessed_rate or stream.average_rate or 25))
        for frame in source.decode_all(container, stream):
            shown.append(math.nan if frame.pts is None else frame.pts * tick)
            sent.append(math.nan if frame.dts is None else frame.dts * tick)
            last = step if frame.pts is None else frame.duration * tick
        promised = source.stream_seconds(stream, 0.0 if math.isnan(shown[0]) else shown[0]) if shown else None
    if not shown:
        raise VideoError(f"{file}: no frame of it can be decoded; the file is damaged or not a video")
    # Where frames come out in another order than their times say (H.264 in AVI), the packets' order is right.
    times = min(shown, sent, key=lambda t: int((~(np.diff(t) > 0)).sum()))
    offset = 0.0 if math.isnan(times[0]) else times[0]
    return _finish(file, _in_order(times, step), tick, sar, offset=offset, last=last, promised=promised)


def _in_order(times: list[float], step: float) -> NDArray[np.float64]:
    """Times made increasing: a missing or doubled one follows the one before it, and where the clock runs
    back (joined recordings), all that comes after is put behind what was before."""
    shift, fixed = 0.0, [0.0 if math.isnan(times[0]) else times[0]]
    for time in times[1:]:
        if math.isnan(time):
            fixed.append(fixed[-1] + step)
        elif time + shift > fixed[-1]:
            fixed.append(time + shift)
        elif time + shift > fixed[-1] - step:
            fixed.append(fixed[-1] + step / 100)
        else:
            shift = fixed[-1] + step - time
            fixed.append(time + shift)
    return np.array(fixed) - fixed[0]


def _finish(
    file: str,
    seconds: NDArray[np.float64],
    tick: float,
    sar: Fraction,
    *,
    offset: float,
    last: float,
    pts: NDArray[np.int64] | None = None,
    keys: NDArray[np.int64] | None = None,
    missing: int = 0,
    promised: float | None = None,
) -> FrameTable:
    steps = np.diff(seconds)
    usual = float(np.median(steps)) if len(steps) else 1 / 25
    end = float(seconds[-1]) + (last if last > 0 else usual)
    if promised is not None and promised > end + max(0.5, 2 * usual):
        missing = max(missing, round((promised - end) / usual))
    keys = np.empty(0, np.int64) if keys is None else keys
    slack = min(SLACK, tick / 2) + 1e-9
    return FrameTable(file, seconds, end, slack, pts, keys, len(seconds) + missing, sar, offset)


def _first_times(file: str) -> list[int]:
    """The times of the first frames that really decode."""
    with source.open_picture(file) as (container, stream):
        stream.thread_type = "SLICE"  # frame threads would decode further ahead
        frames = islice(source.decode_all(container, stream), TRIED)
        return [-1 if frame.pts is None else frame.pts for frame in frames]


def _is_hidden(packet: "av.Packet[Any]", stream: av.VideoStream) -> bool:
    """VP8 sends frames that are only referred to as packets of their own, with a clear show bit."""
    return stream.codec_context.name == "vp8" and not memoryview(packet)[0] & 0x10


# Reports of damaged files: a warning, or an entry in a log where one collects them.


P = ParamSpec("P")
T = TypeVar("T")
_reports: ContextVar[list[str] | None] = ContextVar("seasync_damage", default=None)


class DamageLog:
    """Collects what functions called through `run` report, also from threads they start with `ahead`."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self._context = copy_context()
        self._context.run(_reports.set, self.reports)

    def run(self, function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Call a function."""
        return self._context.run(function, *args, **options)


def report_damage(text: str, *, stacklevel: int) -> None:
    """Put a report into the log, or warn `PartlyDecoded` where there is none."""
    log = _reports.get()
    if log is None:
        warnings.warn(text, PartlyDecoded, stacklevel=stacklevel + 1)
    else:
        log.append(text)
