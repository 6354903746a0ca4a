"""Opening a video file or a folder of images, and what it says of itself."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer
from av.sidedata.sidedata import SideDataContainer
from av.stream import Discard, Disposition, Stream

from seasync.errors import VideoError
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
