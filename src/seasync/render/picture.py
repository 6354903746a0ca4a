"""Pictures of alignments: cost matrix, path and frames in step; rows of frames; the warp and its speed.

They are drawn on a page of pixels or of vectors (SVG).
"""

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar
from xml.etree import ElementTree as xml

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from seasync.alignment import Alignment, Warp, judge
from seasync.encoding import Floats, Seconds
from seasync.errors import RenderError
from seasync.files import Location, Place, write_text
from seasync.group.clock import clips_of
from seasync.options import Side
from seasync.render.films import query_of
from seasync.render.frames import clock, clock_of, drawable, font, save, stills, ticks
from seasync.svg import Svg

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


def text_width(text: str, *, size: int, bold: bool = False) -> float:
    return float(font(size, bold=bold).getlength(drawable(text)))


def fitting_size(text: str, *, size: int, width: float, bold: bool = False) -> int:
    """The largest size up to `size`, but at least 9, at which `text` is at most `width` wide."""
    return next((each for each in range(size, 9, -1) if text_width(text, size=each, bold=bold) <= width), 9)


class PixelPage:
    """Drawn at twice its size, so that lines and letters are smooth."""

    SCALE = 2

    def __init__(self, width: int, height: int) -> None:
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
        corners = self._scaled([(left, top), (right, bottom)])
        below = self.image.crop((*corners[0], *corners[1]))
        self.image.paste(Image.blend(below, Image.new("RGB", below.size, LEFT_OUT), VEIL), corners[0])

    def dot(self, at: Point, *, radius: float, fill: Color) -> None:
        (x, y), r = self._scaled([at])[0], radius * self.SCALE
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=PAPER, width=self.SCALE)

    def paste(self, picture: Image.Image, left: float, top: float) -> None:
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

    def paste(self, picture: Image.Image, left: float, top: float) -> None:
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


Page = PixelPage | SvgPage
"""What pictures are drawn on, in final pixels; a pasted picture has `SCALE` pixels for each of them."""


def page(width: int, height: int, file: Place) -> Page:
    """An empty page of the kind that `file` asks for."""
    return SvgPage(width, height) if Location(file).suffix.lower() == ".svg" else PixelPage(width, height)


# What is drawn on them.


TALLEST = 220
TIMES = 34  # pixels below the frames


@dataclass(frozen=True)
class Strip:
    """Frames of a file at some seconds, `width` pixels wide at most; None where there is no frame to show."""

    seconds: Sequence[float | None]
    pictures: Sequence[Image.Image | None]
    width: int

    @classmethod
    def of(cls, file: str, seconds: Sequence[float | None], width: int) -> "Strip":
        size = width * PixelPage.SCALE, TALLEST * PixelPage.SCALE
        found = iter(stills(file, [second for second in seconds if second is not None], size=size))
        return cls(seconds, [None if second is None else next(found) for second in seconds], width)

    @property
    def tall(self) -> int:
        heights = [picture.height // PixelPage.SCALE for picture in self.pictures if picture is not None]
        return max(heights, default=self.width * 9 // 16)

    @property
    def height(self) -> int:
        return self.tall + TIMES

    def draw(self, page: Page, centers: Sequence[float], top: float, color: Color) -> None:
        """Each frame centered below its place, its time below it."""
        for at, second, picture in zip(centers, self.seconds, self.pictures, strict=True):
            if picture is None or second is None:
                half = self.width / 2
                page.box(at - half, top, at + half, top + self.tall, fill=LEFT_OUT, radius=4)
                page.text((at, top + self.tall / 2), "left out", size=15, fill=FAINT, anchor="mm")
            else:
                page.paste(picture, at - picture.width / PixelPage.SCALE / 2, top)
                page.text((at, top + self.tall + 6), clock(second), size=15, fill=color, anchor="ma")


def partners(warp: Warp, times: Seconds) -> list[float | None]:
    """Where the warp puts each of `times`; None where it is not defined."""
    places, known = warp.at(times).tolist(), warp.covers(times).tolist()
    return [place if is_known else None for place, is_known in zip(places, known, strict=True)]


WIDTH, MARGIN, AXIS, HEADER = 1600, 48, 60, 136
MATRIX_HEIGHT = 420
GAP = 10  # between tiles
GAUGE = 300  # width


def alignment_picture(alignment: Alignment, file: Place, *, strips: int = 8) -> None:
    """Draw an alignment: the cost matrix with its path, and below it pairs of frames in step.

    The query's time runs to the right through all of it, so each pair stands below its point of the path.
    The match's time runs upwards. What the alignment leaves out is shaded.

    Parameters
    ----------
    alignment
        An alignment that knows its files. Without its cost matrix only the path is drawn.
    file
        A path or URI: .svg for vectors, else .png, .jpg or .webp.
    strips
        How many pairs of frames.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> seasync.render.alignment_picture(alignment, "both.png")
    """
    query, match = clips_of(alignment, "query")
    warp = alignment.warp(keep="query")
    axes = _Axes(alignment)
    times = axes.first + (np.arange(strips) + 0.5) / strips * (axes.last - axes.first)
    tile = int((axes.right - axes.left) / strips) - GAP
    upper = Strip.of(query.file, times.tolist(), tile)
    lower = Strip.of(match.file, partners(warp, times), tile)
    top = axes.bottom + 56
    sheet = page(WIDTH, top + upper.height + lower.height + MARGIN // 2, file)
    _header(sheet, alignment, query.name, match.name)
    _matrix(sheet, alignment, axes)
    _left_out(sheet, alignment, axes)
    _band(sheet, alignment, axes)
    _path(sheet, warp, axes)
    centers = axes.x(times).tolist()
    for at, partner in zip(centers, lower.seconds, strict=True):
        if partner is not None:
            y = float(axes.y(partner))
            sheet.line([(axes.left, y), (at, y), (at, axes.bottom)], fill=PAPER)
            sheet.dot((at, y), radius=6, fill=PATH)
    upper.draw(sheet, centers, top, QUERY)
    lower.draw(sheet, centers, top + upper.height, MATCH)
    sheet.save(file)


class _Axes:
    """Where seconds of the query (to the right) and of the match (upwards) are on the page."""

    left, right, top, bottom = MARGIN + AXIS, WIDTH - MARGIN, HEADER, HEADER + MATRIX_HEIGHT

    def __init__(self, alignment: Alignment) -> None:
        self.cell, self.first, self.last = _extent(alignment.query_seconds, alignment.query_step)
        self.match_cell, self.match_first, self.match_last = _extent(
            alignment.match_seconds, alignment.match_step
        )

    def x(self, seconds: Seconds | float) -> NDArray[np.float64]:
        share = (np.asarray(seconds) - self.first) / (self.last - self.first)
        return self.left + share * (self.right - self.left)

    def y(self, seconds: Seconds | float) -> NDArray[np.float64]:
        share = (np.asarray(seconds) - self.match_first) / (self.match_last - self.match_first)
        return self.bottom - share * (self.bottom - self.top)


def _extent(seconds: Seconds, step: float) -> tuple[float, float, float]:
    """How long a sample is, and where the axis begins and ends: each cell is centered on its sample."""
    cell = float(np.median(np.diff(seconds))) if len(seconds) > 1 else step
    return cell, float(seconds[0]) - cell / 2, float(seconds[-1]) + cell / 2


def _header(sheet: Page, alignment: Alignment, query: str, match: str) -> None:
    parts = ((query, QUERY), ("  and  ", FAINT), (match, MATCH))
    full = sum(text_width(text, size=30, bold=True) for text, _ in parts)
    room = WIDTH - 2 * MARGIN - GAUGE - 40
    size = round(30 * min(1.0, room / full))
    left = float(MARGIN)
    for text, color in parts:
        sheet.text((left, 50), text, size=size, fill=color, bold=True, anchor="lm")
        left += text_width(text, size=size, bold=True)
    reason = "" if alignment.alignable else f" ({alignment.decision.reason})"
    verdict = f"{alignment.verdict}{reason}"
    sheet.text((MARGIN, 80), verdict, size=fitting_size(verdict, size=20, width=room))
    draq = f"{alignment.draq:.3f}"
    if alignment.likelihood is None:
        value, limit = alignment.draq, alignment.decision.threshold
        words = "DRAQ", draq, f"alignable below {limit:g}"
    else:
        value, limit = alignment.likelihood, judge.LIKELY
        words = f"DRAQ {draq}", judge.per_cent(value), f"alignable from {judge.LIKELY:.0%} on"
    _gauge(sheet, words, value, limit, alignable=alignment.alignable)


def _gauge(sheet: Page, words: tuple[str, str, str], value: float, limit: float, *, alignable: bool) -> None:
    """The number that decides, between 0 and 1, with its limit."""
    left, right, y = WIDTH - MARGIN - GAUGE, WIDTH - MARGIN, 92
    at, tick = (left + min(each, 1.0) * (right - left) for each in (value, limit))
    color = QUERY if alignable else PATH
    sheet.text((left, 34), words[0], size=16, fill=FAINT)
    sheet.text((right, 28), words[1], size=30, bold=True, anchor="ra", fill=color)
    sheet.box(left, y - 4, right, y + 4, fill=LINE, radius=4)
    sheet.box(left, y - 4, max(at, left + 8), y + 4, fill=color, radius=4)
    sheet.line([(tick, y - 9), (tick, y + 9)], fill=TEXT, width=2)
    sheet.text((tick, y + 12), words[2], size=13, fill=FAINT, anchor="ma")


def _matrix(sheet: Page, alignment: Alignment, axes: _Axes) -> None:
    if alignment.cost is not None:
        size = (axes.right - axes.left) * PixelPage.SCALE, (axes.bottom - axes.top) * PixelPage.SCALE
        picture = Image.fromarray(heat(alignment.cost))
        sheet.paste(picture.resize(size, Image.Resampling.BICUBIC), axes.left, axes.top)
    for second in ticks(axes.match_first, axes.match_last, 5):
        y = float(axes.y(second))
        sheet.line([(axes.left - 6, y), (axes.left, y)], fill=FAINT)
        sheet.text((axes.left - 10, y), clock(second, places=1), size=14, fill=MATCH, anchor="rm")
    for second in ticks(axes.first, axes.last, 12):
        x = float(axes.x(second))
        sheet.line([(x, axes.bottom), (x, axes.bottom + 6)], fill=FAINT)
        sheet.text((x, axes.bottom + 10), clock(second, places=1), size=14, fill=QUERY, anchor="ma")


def heat(cost: Floats) -> NDArray[np.uint8]:
    """Costs (n, m) as RGB (m, n, 3), the query's time to the right and the match's upwards.

    Contrast is spread so that valleys and ridges both show.
    """
    low, high = np.percentile(cost, (1, 97))
    scaled = np.clip((cost - low) / max(float(high - low), 1e-9), 0, 1)
    return sea_colors(np.sqrt(scaled).T[::-1])


def _left_out(sheet: Page, alignment: Alignment, axes: _Axes) -> None:
    """Veil the columns and rows that belong to no piece."""
    cells = [alignment.path[piece.start : piece.stop] for piece in alignment.pieces]
    columns, rows = (
        [(float(seconds[path[0, side]]), float(seconds[path[-1, side]]) + cell) for path in cells]
        for side, (seconds, cell) in enumerate(
            ((alignment.query_seconds, axes.cell), (alignment.match_seconds, axes.match_cell))
        )
    )
    for start, end in _gaps(columns, axes.first, axes.last, axes.cell):
        sheet.veil(float(axes.x(start)), axes.top, float(axes.x(end)), axes.bottom)
    for start, end in _gaps(rows, axes.match_first, axes.match_last, axes.match_cell):
        sheet.veil(axes.left, float(axes.y(end)), axes.right, float(axes.y(start)))


def _gaps(
    spans: Sequence[tuple[float, float]], first: float, last: float, cell: float
) -> Iterator[tuple[float, float]]:
    """What `spans` leave of `first`–`last`; a span's cells reach half a cell before their times."""
    now = first
    for start, end in (*sorted(spans), (last + cell / 2, last)):
        if start - cell / 2 - now > cell / 2:
            yield now, min(start - cell / 2, last)
        now = max(now, end - cell / 2)


def _band(sheet: Page, alignment: Alignment, axes: _Axes) -> None:
    """The bounds of the partners that the path could have."""
    bounds = alignment.uncertainty
    if bounds is None:
        return
    for piece in alignment.pieces:
        rows = np.unique(alignment.path[piece.start : piece.stop, 0])
        across = axes.x(alignment.query_seconds[rows]).tolist()
        for bound in bounds[rows].T:
            sheet.line(list(zip(across, axes.y(bound).tolist(), strict=True)), fill=PAPER, width=1)


def _path(sheet: Page, warp: Warp, axes: _Axes) -> None:
    for piece in warp.stretches:
        samples = max(2, round((piece.end - piece.start) * 60))
        times = np.linspace(piece.start, min(piece.end, axes.last), samples)
        values = np.clip(piece.at(times), axes.match_first, axes.match_last)
        points = list(zip(axes.x(times).tolist(), axes.y(values).tolist(), strict=True))
        sheet.line(points, fill=PAPER, width=6)
        sheet.line(points, fill=PATH, width=3)


SHEET_WIDTH, SHEET_MARGIN, NAMES, SHEET_GAP = 1600, 40, 190, 8


def contact_sheet(alignments: Sequence[Alignment], file: Place, *, strips: int = 8) -> None:
    """Draw the query and its matches as rows of frames; a column is one moment.

    Parameters
    ----------
    alignments
        Alignments of one query, in the order to show them. Where a match has no partner, its place is
        empty.
    file
        A path or URI: .svg for vectors, else .png, .jpg or .webp.
    strips
        How many frames in a row.

    Examples
    --------
    >>> alignments = [seasync.align("query.mp4", other) for other in ("a.mp4", "b.mp4")]
    >>> seasync.render.contact_sheet(alignments, "sheet.png")
    """
    query = query_of(alignments)
    moments = clock_of(query).seconds
    times = moments[((np.arange(strips) + 0.5) / strips * len(moments)).astype(int)]
    step = (SHEET_WIDTH - 2 * SHEET_MARGIN - NAMES) / strips
    width = int(step) - SHEET_GAP
    rows = [("query", query.name, QUERY, Strip.of(query.file, times.tolist(), width))]
    for number, alignment in enumerate(alignments, 1):
        match = clips_of(alignment, "query")[1]
        strip = Strip.of(match.file, partners(alignment.warp(keep="query"), times), width)
        rows.append((f"{number}   DRAQ {alignment.draq:.3f}", match.name, MATCH, strip))
    sheet = page(SHEET_WIDTH, 2 * SHEET_MARGIN + sum(strip.height for *_, strip in rows), file)
    top = SHEET_MARGIN
    for title, name, color, strip in rows:
        middle = top + strip.tall / 2
        sheet.text((SHEET_MARGIN, middle - 14), title, size=20, fill=color, anchor="lm", bold=True)
        sheet.text((SHEET_MARGIN, middle + 14), _short(name), size=14, fill=FAINT, anchor="lm")
        strip.draw(sheet, [SHEET_MARGIN + NAMES + (at + 0.5) * step for at in range(strips)], top, color)
        top += strip.height
    sheet.save(file)


def _short(name: str, letters: int = 24) -> str:
    return name if len(name) <= letters else f"{name[: letters // 2 - 1]}…{name[-letters // 2 :]}"


CURVE_WIDTH, LEFT, RIGHT = 1200, 110, 48
PLACE, SPEED = (110, 430), (500, 680)  # top and bottom of the two plots
SLOWEST, FASTEST = 0.25, 4.0  # speeds beyond these are drawn at the edge


def warp_picture(alignment: Alignment, file: Place, *, keep: Side = "query") -> None:
    """Draw the smoothed warp: above, the other clip's seconds over the kept clip's; below, its speed.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI: .svg for vectors, else .png, .jpg or .webp.
    keep
        The clip whose time runs to the right.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> seasync.render.warp_picture(alignment, "warp.svg")
    """
    kept, other = clips_of(alignment, keep)
    warp = alignment.warp(keep=keep).smooth()
    colors = (QUERY, MATCH) if keep == "query" else (MATCH, QUERY)
    sheet = page(CURVE_WIDTH, SPEED[1] + 74, file)
    sheet.text((LEFT, 30), f"{other.name} on the clock of {kept.name}", size=24, bold=True)
    room = CURVE_WIDTH - LEFT - RIGHT
    for top, text, size in ((66, alignment.verdict, 16), (88, alignment.decision.reason, 13)):
        sheet.text((LEFT, top), text, size=fitting_size(text, size=size, width=room), fill=FAINT)
    first, last = warp.spans[0][0], max(warp.spans[-1][1], warp.spans[0][0] + 1e-3)
    ends = [edge for piece in warp.stretches for edge in (float(piece.values[0]), piece.value_end)]
    low, high = min(ends), max(*ends, min(ends) + 1e-3)

    def x(seconds: Seconds) -> Seconds:
        return LEFT + (seconds - first) / (last - first) * room

    def up(seconds: Seconds) -> Seconds:
        return PLACE[1] - (seconds - low) / (high - low) * (PLACE[1] - PLACE[0])

    for second in ticks(first, last, 12):
        across = float(x(np.asarray(second)))
        for top, bottom in (PLACE, SPEED):
            sheet.line([(across, top), (across, bottom)])
        sheet.text((across, SPEED[1] + 8), clock(second, places=1), size=14, fill=colors[0], anchor="ma")
    sheet.text((LEFT + room / 2, SPEED[1] + 38), kept.name, size=15, fill=colors[0], anchor="ma")
    for second in ticks(low, high, 6):
        _level(sheet, up(np.asarray(second)).item(), clock(second, places=1), colors[1])
    for speed, beyond in ((SLOWEST, "≤ "), (0.5, ""), (1.0, ""), (2.0, ""), (FASTEST, "≥ ")):
        text = f"{beyond}{speed:.0%}"
        _level(sheet, _speed_y(np.asarray(speed)).item(), text, TEXT if speed == 1 else FAINT)
    for piece in warp.stretches:
        if piece.end <= piece.start:
            continue
        times = np.linspace(piece.start, piece.end, max(3, round((piece.end - piece.start) * 30)))
        places = piece.at(times)
        speeds = np.gradient(places, times)
        for points, color in ((up(places), colors[1]), (_speed_y(speeds), PATH)):
            sheet.line(list(zip(x(times).tolist(), points.tolist(), strict=True)), fill=color, width=3)
    sheet.save(file)


def _level(sheet: Page, y: float, text: str, fill: Color) -> None:
    sheet.line([(LEFT, y), (CURVE_WIDTH - RIGHT, y)], fill=FAINT if fill == TEXT else LINE)
    sheet.text((LEFT - 10, y), text, size=14, fill=fill, anchor="rm")


def _speed_y(speeds: Seconds) -> Seconds:
    """Half and double speed are equally far from 1."""
    octaves = np.log2(np.clip(speeds, SLOWEST, FASTEST)) / np.log2(FASTEST)
    return np.asarray((SPEED[0] + SPEED[1]) / 2 - octaves * (SPEED[1] - SPEED[0]) / 2)
