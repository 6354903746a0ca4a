"""Writing films that browsers and editors play, whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import numpy as np
from av.container.output import OutputContainer
from av.video.reformatter import Colorspace, VideoReformatter
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.files import Location, local
from seasync.video.audio import LAYOUTS
from seasync.video.decode import MATRICES, film_frame
from seasync.video.source import File

# The file that FFmpeg writes a film to, opened by Python.


@contextmanager
def open_output(path: Path, *, options: Mapping[str, str]) -> Iterator[OutputContainer]:
    """A container to write to; what went wrong first is what is raised."""
    with closing(Sink(path)) as sink:
        container = av.open(sink, "w", options=dict(options))
        try:
            yield container
        except BaseException:
            with suppress(av.FFmpegError, OSError):
                container.close()
            raise
        container.close()


class Sink:
    """A file for `av.open(sink, "w")`, closed whatever happens.

    A container that FFmpeg opens by its path stays open if its end cannot be written, as on a full disk: the
    space is not given back while the process lives, and Windows cannot delete the file.

    Use `open_output`, unless the film is not written in one block.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        # Unbuffered: for `faststart` FFmpeg reads the file again by its name.
        self._file = path.open("w+b", buffering=0)
        self.seek, self.tell, self.close = self._file.seek, self._file.tell, self._file.close

    def write(self, data: bytes) -> int:
        """All of it, or an error: FFmpeg takes a short write for a whole one."""
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
        return len(data)


BT709 = {"color_primaries": 1, "color_trc": 1, "colorspace": 1, "color_range": 1}


def expect_codec(codec: str, file: File) -> None:
    """Raise VideoError, about the film to be, if FFmpeg has no video encoder of this name."""
    try:
        av.codec.Codec(codec, "w")
    except av.codec.codec.UnknownCodecError:
        raise VideoError(
            f"{file}: FFmpeg has no encoder named {codec!r}; expected one such as libx264 or libx265"
        ) from None


class Writer:
    """A film being written: H.264, yuv420p, BT.709, with AAC sound if asked for.

    Pictures are shown 1/fps apart, samples without gaps; both start at 0. An odd width or height gets one
    more column or row, a copy of the last. The file appears under its name when the `with` block ends well;
    until then, and after an error or Ctrl-C, an older one stays untouched.

    Parameters
    ----------
    file
        A path or URI.
    fps
        Pictures per second.
    size
        (width, height) of the pictures. The attribute `size` is what is written: even.
    codec, crf, options
        FFmpeg's name of the video encoder, its quality (lower is better), and further options for it.
    audio
        (rate, channels) of the sound; None for a silent film.

    Raises
    ------
    VideoError
        If an argument is out of range, or the film cannot be written.

    Examples
    --------
    >>> with Writer("film.mp4", fps=30, size=(640, 360), audio=(48000, 2)) as film:    # doctest: +SKIP
    ...     film.write(picture)            # (H, W, 3) uint8 RGB, or an av.VideoFrame (YUV stays YUV)
    ...     film.write_audio(samples)      # float32 (channels, N); little by little, beside the pictures
    """

    def __init__(
        self,
        file: File,
        *,
        fps: Fraction | int,
        size: tuple[int, int],
        codec: str = "libx264",
        crf: int = 18,
        options: Mapping[str, str] | None = None,
        audio: tuple[int, int] | None = None,
        comment: str = "",
    ) -> None:
        self.file, self.fps = Location(file), Fraction(fps)
        self._given = size
        self.size = (size[0] + size[0] % 2, size[1] + size[1] % 2)
        self.pictures = self.samples = 0
        self._channels = audio[1] if audio else 0
        self._scale = VideoReformatter()
        self._is_mp4 = self.file.suffix.lower() in (".mp4", ".m4v", ".mov")
        if min(size) < 1 or self.fps <= 0:
            raise VideoError(f"{file}: fps and size must be more than 0, got {fps = }, {size = }")
        if self._channels and self._channels not in LAYOUTS:
            raise VideoError(f"{file}: sound must have 1 or 2 channels, got {self._channels}")
        with self._plainly():
            self._pending = local.PendingFile(self.file)
        try:
            with self._plainly():
                self._sink = Sink(self._pending.path)
                container = {"movflags": "+faststart"} if self._is_mp4 else {}
                self._container = av.open(self._sink, "w", options=container)
                if comment:
                    self._container.metadata["comment"] = comment
                self._video = self._video_stream(codec, {"crf": str(crf), **(options or {})})
                self._audio = self._audio_stream(*audio) if audio else None
        except BaseException:
            self._abandon()
            raise

    def _video_stream(self, codec: str, options: dict[str, str]) -> Any:
        expect_codec(codec, self.file)
        stream: Any = self._container.add_stream(codec, rate=self.fps, options=_quiet(codec, options))
        stream.width, stream.height = self.size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = 1 / self.fps
        # PyAV asks for slices. Frames side by side take 5 % less CPU time, and films are 2 % smaller.
        stream.codec_context.thread_type = "AUTO"
        if stream.codec_context.codec.canonical_name == "hevc" and self._is_mp4:
            stream.codec_context.codec_tag = "hvc1"  # QuickTime and Safari do not play FFmpeg's `hev1`
        for name, value in BT709.items():
            setattr(stream.codec_context, name, value)
        return stream

    def _audio_stream(self, rate: int, channels: int) -> Any:
        webm = self.file.suffix.lower() == ".webm"
        return self._container.add_stream("libopus" if webm else "aac", rate=rate, layout=LAYOUTS[channels])

    def write(self, picture: av.VideoFrame | NDArray[np.uint8]) -> None:
        """Add one picture of the film's size: an RGB array, or a frame, whose pts is then overwritten."""
        frame = (
            picture if isinstance(picture, av.VideoFrame) else av.VideoFrame.from_ndarray(picture, "rgb24")
        )
        if (frame.width, frame.height) not in (self._given, self.size):
            width, height = self._given
            raise VideoError(
                f"{self.file}: a film of {width}×{height} was given {frame.width}×{frame.height}"
            )
        with self._plainly():
            coded = MATRICES.get(int(frame.colorspace), Colorspace.ITU709)
            frame = film_frame(frame, self._scale, size=(frame.width, frame.height), coded=coded)
            if (frame.width, frame.height) != self.size:
                frame = _padded(frame, self.size)
            frame.pts, frame.time_base, frame.pict_type = self.pictures, 1 / self.fps, 0
            self._container.mux(self._video.encode(frame))
        self.pictures += 1

    def write_audio(self, samples: NDArray[np.float32]) -> None:
        """Add samples (channels, N), right after those before."""
        if self._audio is None or samples.ndim != 2 or len(samples) != self._channels:
            raise VideoError(
                f"{self.file}: expected samples ({self._channels or 'no sound'}, N), got {samples.shape}"
            )
        if not samples.shape[1]:
            return
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(samples, np.float32), "fltp", LAYOUTS[self._channels]
        )
        frame.rate, frame.pts = self._audio.rate, self.samples
        frame.time_base = Fraction(1, self._audio.rate)
        with self._plainly():
            self._container.mux(self._audio.encode(frame))
        self.samples += samples.shape[1]

    def close(self) -> None:
        """Finish the film and give it its name."""
        if not self.pictures:
            self._abandon()
            raise VideoError(f"{self.file}: no picture was written, so there is no film")
        with self._plainly():
            for stream in filter(None, (self._video, self._audio)):
                self._container.mux(stream.encode(None))
            self._container.close()
            self._sink.close()
            self._pending.commit()
        self._pending.discard()

    def _abandon(self) -> None:
        if hasattr(self, "_container"):
            with suppress(av.FFmpegError, OSError):
                self._container.close()
        if hasattr(self, "_sink"):
            self._sink.close()
        self._pending.discard()

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """FFmpeg's and the disk's errors in one line that names the film."""
        try:
            yield
        except (av.FFmpegError, OSError, ValueError) as error:
            reason = local.why_not_written(error, self.file) if isinstance(error, OSError) else error
            raise VideoError(f"{self.file}: the film cannot be written ({reason})") from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            if self._pending.path.exists():
                self._abandon()


def _quiet(codec: str, options: dict[str, str]) -> dict[str, str]:
    """`options` with which the encoder prints errors only: some write a report to stderr by themselves."""
    if codec == "libsvtav1":
        os.environ.setdefault("SVT_LOG", "1")
    if codec != "libx265":
        return options
    own = options.get("x265-params")
    return {**options, "x265-params": "log-level=error" + (f":{own}" if own else "")}


def _padded(frame: av.VideoFrame, size: tuple[int, int]) -> av.VideoFrame:
    """A yuv420p frame with its last column and row doubled where `size` is even and it is not."""
    larger = av.VideoFrame(*size, "yuv420p")
    plane: Any
    target: Any
    for plane, target in zip(frame.planes, larger.planes, strict=True):
        rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
        wide = np.frombuffer(target, np.uint8).reshape(target.height, target.line_size)
        grown = ((0, target.height - plane.height), (0, target.width - plane.width))
        wide[:, : target.width] = np.pad(rows, grown, "edge")
    return larger
