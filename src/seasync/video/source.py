"""Opening a video file or a folder of images, what it says of itself, and when each frame is shown.

Packets carry the times of the frames, so a pass without decoding gives the table by which frames are chosen,
numbered and sought. Files whose packets cannot be trusted (times missing, doubled or running back) are
decoded once and their frames counted instead.
"""

import math
import re
import warnings
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import av
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import SideDataContainer
from av.stream import Discard, Disposition, Stream
from numpy.typing import NDArray

from seasync.errors import PartlyDecoded, VideoError
from seasync.files import fetch, location

File = str | PathLike[str]

IMAGES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
IMAGE_FPS = Fraction(30)  # a folder of images has no clock of its own
LARGEST_PICTURE = 2**27  # pixels, 16K video; damaged headers ask for more
# Tags that are not UTF-8 must not keep a file from opening: PyAV 18 has an option for it, 19 needs none.
LENIENT: dict[str, Any] = {"metadata_errors": "ignore"} if int(av.__version__.split(".")[0]) < 19 else {}
FAILED_READS = 16  # a demuxer that fails so often in a row will not recover


@dataclass(frozen=True)
class AudioInfo:
    """The sound of a file: samples a second, channels, and FFmpeg's name of the codec."""

    rate: int
    channels: int
    codec: str


@dataclass(frozen=True)
class VideoInfo:
    """What a file says of itself.

    Attributes
    ----------
    width, height : int
        As shown: upright, with square pixels.
    fps : Fraction or None
        The average frame rate, which single frames need not keep. None if unknown.
    seconds : float or None
        How long the picture lasts. None if the file does not say.
    rotation : int
        Degrees, counter-clockwise, by which the stored picture is turned to stand upright.
    sar : Fraction
        Width of a stored pixel over its height.
    start_offset : float
        The container's time of the first frame. That frame is at 0 seconds everywhere else.
    """

    file: str
    width: int
    height: int
    fps: Fraction | None
    seconds: float | None
    codec: str
    pixel_format: str
    rotation: int
    sar: Fraction
    audio: AudioInfo | None
    start_offset: float


@dataclass(frozen=True)
class Orientation:
    """How a stored picture becomes upright: first transposed, then mirrored left-right, then flipped."""

    transpose: bool = False
    mirror: bool = False
    flip: bool = False

    @classmethod
    def of(cls, frame: av.VideoFrame) -> "Orientation":
        """Read off the display matrix (x' = ax + cy, y' = bx + dy), to the nearest quarter turn."""
        # `frame.side_data` would tie the frame into a cycle and keep it in memory until garbage collection.
        side_data: Any = SideDataContainer
        matrix = side_data(frame).get("DISPLAYMATRIX")
        if matrix is None:
            return cls()
        a, b, _, c, d = memoryview(bytes(matrix)).cast("i").tolist()[:5]
        if abs(a) + abs(d) >= abs(b) + abs(c):
            return cls(False, a < 0, d < 0)
        return cls(True, c < 0, b < 0)

    @property
    def rotation(self) -> int:
        """Counter-clockwise degrees; a mirrored picture is mirrored after it was turned."""
        if self.transpose:
            return 270 if self.mirror else 90
        return 180 if self.flip else 0


def images(folder: Path) -> list[Path]:
    """The pictures of a folder, in the order of the numbers in their names."""
    found = [f for f in folder.iterdir() if f.suffix.lower() in IMAGES and not f.name.startswith(".")]
    if not found:
        raise VideoError(f"{folder}: a folder without pictures; expected {' '.join(IMAGES)} or a video file")
    return sorted(
        found, key=lambda f: [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d+)", f.stem)]
    )


@contextmanager
def open_file(file: File) -> Iterator[InputContainer]:
    """The container, or a VideoError that says why it does not open."""
    path = fetch(file)
    if not path.exists():
        raise VideoError(f"{file}: no such file")
    location.expect_ordinary(path)
    if path.is_file() and not path.stat().st_size:
        raise VideoError(f"{file}: the file is empty; expected a video")
    try:
        container = av.open(str(path), **LENIENT)
    except (av.FFmpegError, OSError) as error:
        raise VideoError(
            f"{file}: cannot be read as a video ({error.strerror}); is it one, and complete?"
        ) from error
    with container:
        yield container


@contextmanager
def open_picture(
    file: File, *, frame_threads: bool = True
) -> Iterator[tuple[InputContainer, av.VideoStream]]:
    """The container and its picture: the first video stream that is not a cover, ready to decode.

    With `frame_threads`, several frames may be decoded at the same time.
    """
    with open_file(file) as container:
        for stream in container.streams.video:
            if not stream.disposition & Disposition.attached_pic and stream.codec_context is not None:
                stream.thread_type = "AUTO" if frame_threads else "SLICE"
                stream.codec_context.options = {"max_pixels": str(LARGEST_PICTURE)}
                only(container, stream)
                yield container, stream
                return
        what = "sound but no picture" if container.streams.audio else "no picture"
        raise VideoError(f"{file}: {what}; expected a file with a video stream")


def only(container: InputContainer, wanted: Stream) -> None:
    """Spare the demuxer the other streams."""
    for stream in container.streams:
        if stream.index != wanted.index:
            stream.discard = Discard.all


def packets(container: InputContainer, stream: Stream) -> Iterator["av.Packet[Any]"]:
    """The stream's packets from where the container stands, past damage where the demuxer recovers."""
    failures = 0
    while failures < FAILED_READS:
        try:
            for packet in container.demux(stream):
                if packet.size:
                    failures = 0
                    yield packet
            return
        except (av.FFmpegError, IndexError):  # PyAV does not find streams that turn up underway
            failures += 1


def decode(stream: av.VideoStream, packet: "av.Packet[Any] | None") -> list[av.VideoFrame]:
    """The frames that this packet completes (None: those still held back); none where it is damaged."""
    try:
        return stream.decode(packet)
    except (av.FFmpegError, MemoryError):
        return []


def decode_all(container: InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
    """Every frame from where the container stands."""
    for packet in packets(container, stream):
        yield from decode(stream, packet)
    yield from decode(stream, None)


def shown_size(frame: av.VideoFrame, sar: Fraction, turn: Orientation) -> tuple[int, int]:
    """(width, height) with square pixels, upright."""
    width = max(1, round(frame.width * sar))
    return (frame.height, width) if turn.transpose else (width, frame.height)


def pixel_shape(stream: av.VideoStream) -> Fraction:
    """Width over height of a pixel; 1 where the file says nothing or nonsense."""
    sar = stream.sample_aspect_ratio
    return sar if sar and Fraction(1, 8) <= sar <= 8 else Fraction(1)


def probe(file: File) -> VideoInfo:
    """What a file says of itself. Its first frame is decoded.

    Parameters
    ----------
    file
        A video, or a folder of images; a path or URI.

    Returns
    -------
    VideoInfo

    Raises
    ------
    VideoError
        If the file cannot be read or none of its frames decodes.
    """
    path = fetch(file)
    pictures = images(path) if path.is_dir() else []
    with open_picture(pictures[0] if pictures else file) as (container, stream):
        frame = next(decode_all(container, stream), None)
        if frame is None:
            raise VideoError(f"{file}: no frame of it can be decoded; the file is damaged or not a video")
        turn, sar = Orientation.of(frame), pixel_shape(stream)
        width, height = shown_size(frame, sar, turn)
        offset = float((frame.pts or 0) * stream.time_base) if stream.time_base else 0.0
        clock = stream.guessed_rate if stream.start_time is None else stream.average_rate
        fps = IMAGE_FPS if pictures else clock or stream.guessed_rate
        return VideoInfo(
            file=str(file),
            width=width,
            height=height,
            fps=Fraction(fps) if fps else None,
            seconds=float(len(pictures) / IMAGE_FPS) if pictures else _seconds(container, stream, offset),
            codec=stream.codec_context.name,
            pixel_format=frame.format.name,
            rotation=turn.rotation,
            sar=sar,
            audio=None if pictures else _audio(container),
            start_offset=0.0 if pictures else offset,
        )


def stream_seconds(stream: av.VideoStream, offset: float) -> float | None:
    """How long the file says its picture lasts from the first frame, which comes at `offset`."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    tag = stream.metadata.get("DURATION", "").split(":")  # Matroska, counted from the container's zero
    try:
        return math.fsum(float(part) * 60**power for power, part in enumerate(reversed(tag))) - offset
    except ValueError:
        return None


def _seconds(container: InputContainer, stream: av.VideoStream, offset: float) -> float | None:
    known = stream_seconds(stream, offset)
    if known is None and container.duration:
        start = 0 if "matroska" in container.format.name else container.start_time
        known = (container.duration + start) / av.time_base - offset
    return None if known is None else max(known, 0.0)


def sound_stream(container: InputContainer) -> av.AudioStream | None:
    """The first sound stream that can be decoded."""
    return next((s for s in container.streams.audio if s.codec_context is not None and s.rate), None)


def _audio(container: InputContainer) -> AudioInfo | None:
    stream = sound_stream(container)
    return AudioInfo(stream.rate, stream.channels, stream.codec_context.name) if stream else None


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
        numbers = np.arange(len(images(path)))
        seconds, end = numbers / float(IMAGE_FPS), float(len(numbers) / IMAGE_FPS)
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
    with open_picture(file) as (container, stream):
        tick, sar = float(stream.time_base or 0), pixel_shape(stream)
        indexed = len(stream.index_entries) if "mp4" in container.format.name else 0
        for packet in packets(container, stream):
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
            promised=None if indexed else stream_seconds(stream, offset),
        )


def _from_frames(file: str) -> FrameTable:
    """The table of a file that has to be decoded to be known."""
    shown, sent, last = [], [], 0.0
    with open_picture(file) as (container, stream):
        tick, sar = float(stream.time_base or 0.001), pixel_shape(stream)
        step = float(1 / (stream.guessed_rate or stream.average_rate or 25))
        for frame in decode_all(container, stream):
            shown.append(math.nan if frame.pts is None else frame.pts * tick)
            sent.append(math.nan if frame.dts is None else frame.dts * tick)
            last = step if frame.pts is None else frame.duration * tick
        promised = stream_seconds(stream, 0.0 if math.isnan(shown[0]) else shown[0]) if shown else None
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
    with open_picture(file) as (container, stream):
        stream.thread_type = "SLICE"  # frame threads would decode further ahead
        frames = islice(decode_all(container, stream), TRIED)
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
