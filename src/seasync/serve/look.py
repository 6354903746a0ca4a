"""Looking into files: what they are, and pictures of them. These functions run in a lane."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.files import atomic_write

# Containers that hold pictures themselves. FFmpeg knows others that name further files to open (playlists,
# edit lists, manifests) or that draw any text file as a picture: a file from outside must not be one.
CONTAINERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,flv,ogg,asf,mxf,gif,dv,"
    "webp,apng,ivf,nut,wtv,rm,nsv,av1,obu"
)
STILLS = "image2,bmp_pipe,jpeg_pipe,jpegxl_pipe,png_pipe,tiff_pipe,webp_pipe"
# What every current browser plays as it is, by container.
DIRECT = {"mov": ("h264", "av1", "vp9"), "webm": ("vp8", "vp9", "av1")}
DIRECT_PIXELS = ("yuv420p", "yuvj420p")


@dataclass(frozen=True, eq=False)
class Facts:
    """What a look into a file tells.

    direct   whether browsers play the file as it is
    seconds  (N,) when each frame is shown; length: when the last one ends
    """

    width: int
    height: int
    fps: float | None
    codec: str
    audio: bool
    direct: bool
    length: float
    seconds: NDArray[np.float64]


def check(path: Path, pixels: int) -> set[str]:
    """That `path` opens as a video (or a folder of pictures) of at most so many pixels; gives its containers.

    Nothing is decoded, and no other file is opened.

    Raises
    ------
    VideoError
        If it does not.
    """
    import av

    from seasync.video.source import images

    names: set[str] = set()
    allowed = {"format_whitelist": STILLS if path.is_dir() else CONTAINERS, "protocol_whitelist": "file"}
    for part in images(path) if path.is_dir() else [path]:
        try:
            with av.open(str(part), options=allowed, metadata_errors="ignore") as container:
                names |= set(container.format.name.split(","))
                known = [s for s in container.streams.video if s.codec_context is not None]
                size = max((s.width * s.height for s in known), default=0)
        except (av.FFmpegError, OSError, ValueError) as error:
            raise VideoError(
                f"{path.name}: cannot be read as a video; expected mp4, mov, mkv, webm or the like"
            ) from error
        if size > pixels:
            raise VideoError(
                f"{path.name}: a picture of {size / 1e6:.0f} megapixels; {pixels / 1e6:.0f} are the most here"
            )
    return names


def look(file: str, pixels: int, longest: float) -> Facts:
    """Look into a video (or a folder of pictures), decoding it here and there.

    Raises
    ------
    VideoError
        If it is none, or larger than `pixels` or longer than `longest` seconds.
    """
    from seasync.render.stills import stills
    from seasync.video import probe
    from seasync.video.table import frame_table

    path = Path(file)
    names = check(path, pixels)
    info, table = probe(file), frame_table(file)
    if table.end > longest:
        raise VideoError(
            f"{path.name}: {table.end / 3600:.1f} hours long; {longest / 3600:.1f} are the most here"
        )
    stills(file, [table.end * share for share in (0.0, 0.5, 1.0)], size=(16, 16))
    kind = "webm" if path.suffix.lower() == ".webm" else "mov"
    direct = kind in names and info.codec in DIRECT[kind] and info.pixel_format in DIRECT_PIXELS
    return Facts(
        width=info.width,
        height=info.height,
        fps=None if info.fps is None else float(info.fps),
        codec=info.codec,
        audio=info.audio is not None,
        direct=direct,
        length=table.end,
        seconds=table.seconds,
    )


def picture_strip(file: str, seconds: Sequence[float], size: tuple[int, int], out: str) -> None:
    """Write the frames of `file` at `seconds` side by side as a JPEG, each within `size` (width, height)."""
    from PIL import Image

    from seasync.render.stills import stills

    pictures = stills(file, seconds, size=size)
    width, height = pictures[0].size
    strip = Image.new("RGB", (width * len(pictures), height))
    for number, picture in enumerate(pictures):
        strip.paste(picture, (number * width, 0))
    data = io.BytesIO()
    strip.save(data, "JPEG", quality=84, progressive=True)
    with atomic_write(out, make_folder=True) as part:
        part.write_bytes(data.getvalue())
