"""Video files as a server handles them: inspected and copied in a worker process, then sent to browsers."""

import io
import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
import av.video.reformatter
import numpy as np
from numpy.typing import NDArray
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from seasync import video
from seasync.errors import ServeError, VideoError
from seasync.files import atomic_write, local, location
from seasync.serve.security import Limits
from seasync.serve.worker import Recent, WorkerProcess
from seasync.video.source import LENIENT, frame_table, images

# Containers that hold pictures themselves. FFmpeg also knows formats that name other files to open
# (playlists, edit lists, manifests) or that draw any text file as a picture: an upload must not be one.
CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,flv,ogg,asf,mxf,gif,dv,"
    "webp,apng,ivf,nut,wtv,rm,nsv,av1,obu"
)
STILLS = "image2,bmp_pipe,jpeg_pipe,jpegxl_pipe,png_pipe,tiff_pipe,webp_pipe"
# Codecs that every current browser plays, by container.
DIRECT = {"mov": ("h264", "av1", "vp9"), "webm": ("vp8", "vp9", "av1")}
DIRECT_PIXELS = ("yuv420p", "yuvj420p")


@dataclass(frozen=True, eq=False)
class VideoFacts:
    """What an inspection finds out about a video file.

    Attributes
    ----------
    direct
        Whether browsers play the file as it is.
    length
        When the last frame ends, in seconds.
    seconds : [shape=(N,)]
        When each frame is shown.
    """

    width: int
    height: int
    fps: float | None
    codec: str
    audio: bool
    direct: bool
    length: float
    seconds: NDArray[np.float64]


def check_container(path: Path, pixels: int) -> set[str]:
    """Check that `path` opens as a video or as a folder of pictures. Decodes nothing, opens no other file.

    Parameters
    ----------
    path
        A video file, or a folder of pictures.
    pixels
        Largest picture that is accepted.

    Returns
    -------
    set of str
        FFmpeg's names of the container format.

    Raises
    ------
    VideoError
        If it is not a video, or its picture is too large.
    """
    names: set[str] = set()
    allowed = {"format_whitelist": STILLS if path.is_dir() else CONTAINERS, "protocol_whitelist": "file"}
    for part in images(path) if path.is_dir() else [path]:
        location.expect_ordinary(part)
        try:
            with av.open(str(part), options=allowed, **LENIENT) as container:
                names |= set(container.format.name.split(","))
                known = [s for s in container.streams.video if s.codec_context is not None]
                size = max((s.width * s.height for s in known), default=0)
        except (av.FFmpegError, OSError, ValueError) as error:
            raise VideoError(
                f"{path.name}: cannot be read as a video; expected mp4, mov, mkv, webm or the like"
            ) from error
        if size > pixels:
            raise VideoError(
                f"{path.name}: the picture has {size / 1e6:.0f} megapixels; this server accepts at most "
                f"{pixels / 1e6:.0f}"
            )
    return names


def inspect_video(file: str, pixels: int, longest: float) -> VideoFacts:
    """Inspect a video or a folder of pictures, and decode a few of its frames.

    Raises
    ------
    VideoError
        If it is not a video, its picture is larger than `pixels`, or it is longer than `longest` seconds.
    """
    from seasync.render.frames import stills

    path = Path(file)
    names = check_container(path, pixels)
    info, table = video.probe(file), frame_table(file)
    if table.end > longest:
        raise VideoError(
            f"{path.name}: the video is {table.end / 3600:.1f} hours long; this server accepts at most "
            f"{longest / 3600:.1f} hours"
        )
    stills(file, [table.end * share for share in (0.0, 0.5, 1.0)], size=(16, 16))
    kind = "webm" if path.suffix.lower() == ".webm" else "mov"
    direct = kind in names and info.codec in DIRECT[kind] and info.pixel_format in DIRECT_PIXELS
    return VideoFacts(
        width=info.width,
        height=info.height,
        fps=None if info.fps is None else float(info.fps),
        codec=info.codec,
        audio=info.audio is not None,
        direct=direct,
        length=table.end,
        seconds=table.seconds,
    )


def write_picture_strip(file: str, seconds: Sequence[float], size: tuple[int, int], out: str) -> None:
    """Write the frames of `file` at `seconds` side by side as a JPEG, each within `size` (width, height)."""
    from PIL import Image

    from seasync.render.frames import stills

    pictures = stills(file, seconds, size=size)
    width, height = pictures[0].size
    strip = Image.new("RGB", (width * len(pictures), height))
    for number, picture in enumerate(pictures):
        strip.paste(picture, (number * width, 0))
    data = io.BytesIO()
    strip.save(data, "JPEG", quality=84, progressive=True)
    with atomic_write(out, make_folder=True) as part:
        part.write_bytes(data.getvalue())


# The facts about video files, each inspected once.


REMEMBERED = 1024  # files whose facts stay in memory


class KnownFacts:
    """Inspects files in a worker process, and remembers what it found as long as a file does not change."""

    def __init__(self, worker: WorkerProcess, limits: Limits) -> None:
        self._worker, self._limits = worker, limits
        self._facts = Recent[VideoFacts](REMEMBERED)

    def of(self, file: Path) -> VideoFacts:
        """The facts about a file.

        Raises
        ------
        ServeError
            If it is not a video that this server accepts.
        """
        known = self._facts.get(local.stamp(file))
        if known is not None:
            return known
        limits = self._limits
        asked = inspect_video, str(file), limits.pixels, limits.video_seconds
        found: VideoFacts = self._worker.run(*asked, seconds=limits.inspect_seconds)
        self.remember(file, found)
        return found

    def remember(self, file: Path, facts: VideoFacts) -> None:
        """Note the facts about a file that has been inspected under another name."""
        self._facts.put(local.stamp(file), facts)


# Proxies: copies that every browser plays, with every frame at its time. Made in a worker process.


HEIGHT = 720  # at most
CLOCK = Fraction(1, 90_000)
SOUND_RATE = 48_000
SOUND_SECONDS = 10.0  # read at a time
GOP = 12  # frames from one key frame to the next: few, so that scrubbing is fast


def make_proxy(file: str, out: str, report: Callable[[tuple[float, str]], None]) -> dict[str, Any]:
    """Write the proxy of `file` to `out`: H.264 and AAC, upright, at most 720 lines, frame for frame."""
    from seasync.video.writer import open_output

    info, table = video.probe(file), frame_table(file)
    scale = min(1.0, HEIGHT / min(info.width, info.height))
    size = tuple(max(2, round(side * scale / 2) * 2) for side in (info.width, info.height))
    with (
        atomic_write(out, make_folder=True) as part,
        open_output(part, options={"movflags": "+faststart"}) as container,
    ):
        picture: Any = container.add_stream(
            "libx264", rate=info.fps or 30, options={"crf": "21", "preset": "veryfast"}
        )
        picture.width, picture.height = size
        picture.pix_fmt = "yuv420p"
        picture.codec_context.time_base = CLOCK
        picture.codec_context.gop_size, picture.codec_context.max_b_frames = GOP, 0
        sound = _Sound(container, file, table.end) if info.audio else None
        resize = av.video.reformatter.VideoReformatter()
        for shown in video.frames(file):
            frame = resize.reformat(shown.frame, width=size[0], height=size[1], format="yuv420p")
            frame.pts, frame.time_base, frame.pict_type = round(shown.seconds / CLOCK), CLOCK, 0
            container.mux(picture.encode(frame))
            if sound:
                sound.until(shown.seconds)
            if shown.number % 15 == 0:
                report((shown.seconds / max(table.end, 1e-6), "preparing the video for the browser"))
        container.mux(picture.encode(None))
        if sound:
            sound.until(table.end, last=True)
    return {}


class _Sound:
    """Writes the sound of the file beside its pictures."""

    def __init__(self, container: Any, file: str, end: float) -> None:
        audio = video.probe(file).audio
        assert audio is not None
        self._container, self._file, self._end = container, file, end
        self._layout = "mono" if audio.channels == 1 else "stereo"
        self._stream = container.add_stream("aac", rate=SOUND_RATE, layout=self._layout)
        self._done = 0.0

    def until(self, seconds: float, *, last: bool = False) -> None:
        """Write up to `seconds`, in steps."""
        while self._done < self._end and (last or seconds > self._done):
            stop = min(self._done + SOUND_SECONDS, self._end)
            samples = video.sound(self._file, start=self._done, end=stop, rate=SOUND_RATE)
            frame = av.AudioFrame.from_ndarray(samples, "fltp", self._layout)
            frame.rate, frame.time_base = SOUND_RATE, Fraction(1, SOUND_RATE)
            frame.pts = round(self._done * SOUND_RATE)
            self._container.mux(self._stream.encode(frame))
            self._done = stop
        if last:
            self._container.mux(self._stream.encode(None))


# Files that users can reach, sent as they were checked.


def open_held(path: Path) -> BinaryIO:
    """Open a file by its real path, and make sure that it is the file opened.

    Somebody who can write to a served folder could put a link in place of a file, or of a folder on its
    path, after the path was resolved and found to lie inside. On Linux an open file shows where it really
    lies; elsewhere only a link in place of the file itself is noticed.

    Parameters
    ----------
    path
        A path without links, as `Roots.resolve` returns it.

    Raises
    ------
    ServeError
        If the path leads somewhere else now, or to something that is not a file.
    """
    # Without waiting: it may have become a FIFO.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise _changed(path) from error
    held = os.fdopen(number, "rb")
    leads_here = sys.platform != "linux" or os.readlink(f"/proc/self/fd/{number}") == str(path)
    if not leads_here or not stat.S_ISREG(os.fstat(number).st_mode):
        held.close()
        raise _changed(path)
    return held


def _changed(path: Path) -> ServeError:
    return ServeError(f"{path.name}: this file has been moved or replaced; try again", status=404)


class HeldFileResponse(FileResponse):
    """`FileResponse` for a file that users can reach: sends what `open_held` has opened."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._held = open_held(path)
        again = f"/proc/self/fd/{self._held.fileno()}" if sys.platform == "linux" else path
        super().__init__(again, stat_result=os.fstat(self._held.fileno()), **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)
