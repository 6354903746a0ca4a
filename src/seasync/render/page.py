"""The colors that all pictures share, and the two kinds of page they are drawn on: pixels and SVG."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from xml.etree import ElementTree as xml

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Floats
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write, write_text
from seasync.render.canvas import drawable, font
from seasync.svg import Svg

if TYPE_CHECKING:
    from PIL.Image import Image

Color = tuple[int, int, int]
Point = tuple[float, float]

PAPER: Color = (255, 255, 255)
TEXT: Color = (17, 34, 51)
FAINT: Color = (120, 134, 148)
LINE: Color = (214, 221, 227)
LEFT_OUT: Color = (236, 239, 241)
PATH: Color = (255, 90, 54)
QUERY: Color = (14, 108, 140)
MATCH: Color = (190, 92, 24)
VEIL = 0.72  # how much of what is left out is hidden

# Cheap to align is deep water, dear is foam.
_DEPTHS = ((0.0, (5, 32, 56)), (0.3, (11, 86, 122)), (0.62, (92, 178, 190)), (1.0, (240, 247, 245)))


def sea_colors(values: Floats) -> NDArray[np.uint8]:
    """Values within 0–1, of any shape (…,), as RGB (…, 3)."""
    stops = [stop for stop, _ in _DEPTHS]
    channels = [np.interp(values, stops, [color[channel] for _, color in _DEPTHS]) for channel in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


class Page(Protocol):
    """What pictures are drawn with, in final pixels; a pasted picture has `SCALE` pixels for each of them."""

    SCALE: int

    def text(
        self, at: Point, text: str, *, size: int, fill: Color = TEXT, anchor: str = "la", bold: bool = False
    ) -> None: ...

    def line(self, points: Sequence[Point], *, fill: Color = LINE, width: float = 1) -> None: ...

    def box(
        self, left: float, top: float, right: float, bottom: float, *, fill: Color, radius: float = 0
    ) -> None: ...

    def veil(self, left: float, top: float, right: float, bottom: float) -> None:
        """Make what is below look far away."""

    def dot(self, at: Point, *, radius: float, fill: Color) -> None: ...

    def paste(self, picture: Image, left: float, top: float) -> None: ...

    def save(self, file: Place) -> None: ...


def page(width: int, height: int, file: Place) -> Page:
    """An empty page of the kind that `file` asks for."""
    return SvgPage(width, height) if Location(file).suffix.lower() == ".svg" else PixelPage(width, height)


def text_width(text: str, *, size: int, bold: bool = False) -> float:
    return float(font(size, bold=bold).getlength(drawable(text)))


def fitting_size(text: str, *, size: int, width: float, bold: bool = False) -> int:
    """The largest size up to `size`, but at least 9, at which `text` is at most `width` wide."""
    return next((each for each in range(size, 9, -1) if text_width(text, size=each, bold=bold) <= width), 9)


class PixelPage:
    """Drawn at twice its size, so that lines and letters are smooth."""

    SCALE = 2

    def __init__(self, width: int, height: int) -> None:
        from PIL import Image, ImageDraw

        self.image = Image.new("RGB", (width * self.SCALE, height * self.SCALE), PAPER)
        self._draw = ImageDraw.Draw(self.image)

    def text(
        self, at: Point, text: str, *, size: int, fill: Color = TEXT, anchor: str = "la", bold: bool = False
    ) -> None:
        face = font(size * self.SCALE, bold=bold)
        self._draw.text(self._scaled([at])[0], drawable(text), font=face, fill=fill, anchor=anchor)

    def line(self, points: Sequence[Point], *, fill: Color = LINE, width: float = 1) -> None:
        self._draw.line(self._scaled(points), fill=fill, width=round(width * self.SCALE), joint="curve")

    def box(
        self, left: float, top: float, right: float, bottom: float, *, fill: Color, radius: float = 0
    ) -> None:
        self._draw.rounded_rectangle(self._scaled([(left, top), (right, bottom)]), radius * self.SCALE, fill)

    def veil(self, left: float, top: float, right: float, bottom: float) -> None:
        from PIL import Image

        corners = self._scaled([(left, top), (right, bottom)])
        below = self.image.crop((*corners[0], *corners[1]))
        self.image.paste(Image.blend(below, Image.new("RGB", below.size, LEFT_OUT), VEIL), corners[0])

    def dot(self, at: Point, *, radius: float, fill: Color) -> None:
        (x, y), r = self._scaled([at])[0], radius * self.SCALE
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=PAPER, width=self.SCALE)

    def paste(self, picture: Image, left: float, top: float) -> None:
        self.image.paste(picture, self._scaled([(left, top)])[0])

    def save(self, file: Place) -> None:
        save(self.image.reduce(self.SCALE), file)

    def _scaled(self, points: Sequence[Point]) -> list[tuple[int, int]]:
        return [(round(x * self.SCALE), round(y * self.SCALE)) for x, y in points]


class SvgPage:
    """The same as vectors; pasted pictures are embedded."""

    SCALE = 2
    ANCHORS: ClassVar = {"l": "start", "m": "middle", "r": "end"}
    BASELINES: ClassVar = {"a": "hanging", "m": "central", "s": "alphabetic"}

    def __init__(self, width: int, height: int) -> None:
        letters = "Helvetica, Arial, sans-serif"
        self._svg = Svg(width, height, label="", xmlns="http://www.w3.org/2000/svg", font_family=letters)
        self.box(0, 0, width, height, fill=PAPER)

    def text(
        self, at: Point, text: str, *, size: int, fill: Color = TEXT, anchor: str = "la", bold: bool = False
    ) -> None:
        place = {"text_anchor": self.ANCHORS[anchor[0]], "dominant_baseline": self.BASELINES[anchor[1]]}
        weight = {"font_weight": "bold"} if bold else {}
        style = place | weight | {"style": "white-space: pre"}
        self._svg.add("text", text, x=at[0], y=at[1], fill=_hex(fill), font_size=size, **style)

    def line(self, points: Sequence[Point], *, fill: Color = LINE, width: float = 1) -> None:
        x, y = zip(*points, strict=True)
        stroke = {"stroke": _hex(fill), "stroke_linejoin": "round"}
        self._svg.line(x, y, fill="none", stroke_width=width, **stroke)

    def box(
        self, left: float, top: float, right: float, bottom: float, *, fill: Color, radius: float = 0
    ) -> None:
        self._box(left, top, right, bottom, fill=_hex(fill), rx=radius)

    def veil(self, left: float, top: float, right: float, bottom: float) -> None:
        self._box(left, top, right, bottom, fill=_hex(LEFT_OUT), fill_opacity=VEIL)

    def _box(self, left: float, top: float, right: float, bottom: float, **style: float | str) -> None:
        self._svg.add("rect", x=left, y=top, width=right - left, height=bottom - top, **style)

    def dot(self, at: Point, *, radius: float, fill: Color) -> None:
        self._svg.add("circle", cx=at[0], cy=at[1], r=radius, fill=_hex(fill), stroke=_hex(PAPER))

    def paste(self, picture: Image, left: float, top: float) -> None:
        data = io.BytesIO()
        picture.save(data, "JPEG", quality=90)
        link = "data:image/jpeg;base64," + base64.b64encode(data.getvalue()).decode()
        width, height = picture.width / self.SCALE, picture.height / self.SCALE
        self._svg.add("image", x=left, y=top, width=width, height=height, href=link)

    def save(self, file: Place) -> None:
        xml.indent(self._svg.root)
        write_text(file, f"{self._svg}\n", error=RenderError)


def _hex(color: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)


def save(picture: Image, file: Place, **options: Any) -> None:
    """Write a picture in the format its name asks for."""
    from PIL import Image

    kinds = Image.registered_extensions()
    if kinds.get(Location(file).suffix.lower()) not in Image.SAVE:
        raise RenderError(f"{file}: cannot be written as a picture; use .png, .svg, .jpg or .webp")
    with atomic_write(file, error=RenderError) as part:
        picture.save(part, **options)
