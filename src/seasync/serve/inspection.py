"""Inspect video files and take pictures from them. These functions run in a worker process."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.files import atomic_write
from seasync.files.cache import stamp
from seasync.files.location import expect_ordinary
from seasync.serve.security import Limits
from seasync.serve.worker import WorkerProcess

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
    import av

    from seasync.video.source import LENIENT, images

    names: set[str] = set()
    allowed = {"format_whitelist": STILLS if path.is_dir() else CONTAINERS, "protocol_whitelist": "file"}
    for part in images(path) if path.is_dir() else [path]:
        expect_ordinary(part)
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
    from seasync.video import probe
    from seasync.video.timetable import frame_table

    path = Path(file)
    names = check_container(path, pixels)
    info, table = probe(file), frame_table(file)
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
        self._facts: OrderedDict[tuple[str, int, int], VideoFacts] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, file: Path) -> VideoFacts:
        """The facts about a file.

        Raises
        ------
        ServeError
            If it is not a video that this server accepts.
        """
        key = stamp(file)
        with self._lock:
            if key in self._facts:
                self._facts.move_to_end(key)
                return self._facts[key]
        found: VideoFacts = self._worker.run(
            inspect_video,
            str(file),
            self._limits.pixels,
            self._limits.video_seconds,
            seconds=self._limits.inspect_seconds,
        )
        self.remember(file, found)
        return found

    def remember(self, file: Path, facts: VideoFacts) -> None:
        """Note the facts about a file that has been inspected under another name."""
        with self._lock:
            self._facts[stamp(file)] = facts
            if len(self._facts) > REMEMBERED:
                self._facts.popitem(last=False)
