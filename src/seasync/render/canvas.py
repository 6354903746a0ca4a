"""Pictures put together in YUV, as frames come and go: the way through RGB costs a third more."""

import math
import unicodedata
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write
from seasync.video.color import film_frame, matrix
from seasync.video.source import Orientation

Plane = NDArray[np.uint8]
BLACK, WHITE, GRAY = 16, 235, 128
DIM = 0.35  # how bright a frame without a partner stays


def planes(frame: VideoFrame) -> list[Plane]:
    """Y (H, W), U and V (H/2, W/2) of a yuv420p frame: views, not copies."""
    return [
        np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)[: plane.height, : plane.width]
        for plane in frame.planes
    ]


class Panel:
    """Makes stored frames fit one place in a film: upright, `width`×`height` (even), as films are coded."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._scale = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> VideoFrame:
        turn = Orientation.of(frame)
        size = (self.height, self.width) if turn.transpose else (self.width, self.height)
        flat = film_frame(frame, self._scale, size=size, coded=matrix(frame))
        return flat if turn == Orientation() else self._turned(flat, turn)

    def _turned(self, frame: VideoFrame, turn: Orientation) -> VideoFrame:
        upright = VideoFrame(self.width, self.height, "yuv420p")
        for source, target in zip(planes(frame), planes(upright), strict=True):
            turned = source.T if turn.transpose else source
            target[:] = turned[:: -1 if turn.flip else 1, :: -1 if turn.mirror else 1]
        return upright


class Canvas:
    """A black picture of `width`×`height` (even) to put others on, at even places."""

    def __init__(self, width: int, height: int) -> None:
        self.frame = VideoFrame(width, height, "yuv420p")
        self.frame.colorspace, self.frame.color_range = Colorspace.ITU709, ColorRange.MPEG
        self._planes = planes(self.frame)
        for plane, value in zip(self._planes, (BLACK, GRAY, GRAY), strict=True):
            plane[:] = value

    def put(
        self, frame: VideoFrame, left: int, top: int, *, opacity: float = 1.0, light: float = 1.0
    ) -> None:
        """Copy `frame` (yuv420p) to a place, mixed with what is there, or darkened."""
        for number, source in enumerate(planes(frame)):
            x, y = (left, top) if number == 0 else (left // 2, top // 2)
            target = self._planes[number][y : y + source.shape[0], x : x + source.shape[1]]
            if light < 1:
                source = _faded(light, BLACK if number == 0 else GRAY)[source]
            target[:] = source if opacity == 1 else mixed(target, source, opacity)

    def fill(self, patch: Plane, left: int, top: int) -> None:
        """Put colors, YUV of shape (h, w, 3), at an even place."""
        height, width = patch.shape[:2]
        self._planes[0][top : top + height, left : left + width] = patch[..., 0]
        for number, plane in enumerate(self._planes[1:], 1):
            half = patch[::2, ::2, number]
            plane[top // 2 : top // 2 + half.shape[0], left // 2 : left // 2 + half.shape[1]] = half

    def text(self, text: str, at: tuple[int, int], *, size: int) -> None:
        """White letters on a dark plate whose upper left corner is `at`."""
        luma, cover = _plate(text, size)
        height, width = luma.shape
        left, top = max(0, at[0]) // 2 * 2, max(0, at[1]) // 2 * 2
        target = self._planes[0][top : top + height, left : left + width]
        height, width = target.shape
        target[:] = mixed(target, luma[:height, :width], cover[:height, :width])
        for plane in self._planes[1:]:
            target = plane[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
            share = cover[:height:2, :width:2][: target.shape[0], : target.shape[1]]
            target[:] = mixed(target, np.uint8(GRAY), share)


def mixed(below: Plane, above: Plane | np.uint8, share: float | NDArray[np.uint16]) -> Plane:
    """`share` of `above` (0–1, or 0–256 as whole numbers) over `below`."""
    weight = np.uint16(round(share * 256)) if isinstance(share, float) else share
    total = below.astype(np.uint16) * (256 - weight) + np.asarray(above, np.uint16) * weight
    return np.asarray((total + 128) >> 8, np.uint8)


@lru_cache(maxsize=8)
def _faded(light: float, towards: int) -> Plane:
    """A table of all 256 values moved towards black or gray."""
    return np.asarray(np.rint(towards + (np.arange(256) - towards) * light), np.uint8)


@lru_cache(maxsize=512)
def plate_width(text: str, size: int) -> int:
    """How wide the plate of a line of letters is; even."""
    width = int(font(size).getlength(drawable(text))) + round(size * 1.1)
    return width + width % 2


def plate_height(size: int) -> int:
    """How high the plate of a line of letters is; even."""
    return round(size * 0.8) * 2


@lru_cache(maxsize=512)
def _plate(text: str, size: int) -> tuple[Plane, NDArray[np.uint16]]:
    """Luma (h, w) and cover (h, w, 0–256) of a line of letters on a plate with round corners; even sides."""
    shape = plate_width(text, size), plate_height(size)
    letters, cover = Image.new("L", shape, BLACK), Image.new("L", shape, 0)
    ImageDraw.Draw(cover).rounded_rectangle((0, 0, shape[0] - 1, shape[1] - 1), size * 0.4, 150)
    ImageDraw.Draw(letters).text((shape[0] / 2, shape[1] / 2), drawable(text), WHITE, font(size), "mm")
    luma = np.asarray(letters)
    # Letters hide what is below them, the plate only darkens it.
    ink = (luma.astype(np.uint16) - BLACK) * 256 // (WHITE - BLACK)
    return luma, np.maximum(np.asarray(cover, np.uint16), ink)


# Letters on pictures and films.


REGULAR = (
    "Helvetica.ttc",
    "Arial.ttf",
    "arial.ttf",
    "LiberationSans-Regular.ttf",
    "DejaVuSans.ttf",
    "NotoSans-Regular.ttf",
)
BOLD = (
    "HelveticaNeue.ttc",
    "Arial Bold.ttf",
    "arialbd.ttf",
    "LiberationSans-Bold.ttf",
    "DejaVuSans-Bold.ttf",
    "NotoSans-Bold.ttf",
)
PLAIN = str.maketrans({"–": "-", "—": "-", "×": "x", "→": "->", "’": "'", "≤": "<=", "≥": ">=", "½": "1/2"})


@lru_cache(maxsize=32)
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A sans-serif font of the system, or the one that comes with Pillow."""
    file = _system_font(bold)
    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


def drawable(text: str) -> str:
    """`text`, in plain ASCII where only Pillow's own font is there: it has no other letters."""
    if _system_font(False):
        return text
    return unicodedata.normalize("NFKD", text.translate(PLAIN)).encode("ascii", "ignore").decode()


@lru_cache
def _system_font(bold: bool) -> str | None:
    for name in BOLD if bold else REGULAR:
        with suppress(OSError):
            return str(ImageFont.truetype(name, 12).path)
    return None


def clock(seconds: float, *, places: int = 2) -> str:
    """Minutes and seconds.

    >>> clock(75.5), clock(3725.04)
    ('1:15.50', '1:02:05.04')
    """
    total = round(seconds * 10**places)
    whole, part = divmod(total, 10**places)
    hours, rest = divmod(whole, 3600)
    minutes, rest = divmod(rest, 60)
    head = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{head}:{rest:02}" + (f".{part:0{places}}" if places else "")


def ticks(first: float, last: float, about: int) -> list[float]:
    """Round numbers of seconds between `first` and `last`, at most so many.

    >>> ticks(0.3, 2.1, 5)
    [0.5, 1.0, 1.5, 2.0]
    """
    steps = [step * 10.0**power for power in range(-2, 5) for step in (1, 2, 5)]
    step = next((step for step in steps if (last - first) / step <= about), steps[-1])
    return [number * step for number in range(math.ceil(first / step), math.floor(last / step) + 1)]


def save(picture: Image.Image, file: Place, **options: Any) -> None:
    """Write a picture in the format its name asks for."""
    kinds = Image.registered_extensions()
    if kinds.get(Location(file).suffix.lower()) not in Image.SAVE:
        raise RenderError(f"{file}: cannot be written as a picture; use .png, .svg, .jpg or .webp")
    with atomic_write(file, error=RenderError) as part:
        picture.save(part, **options)
