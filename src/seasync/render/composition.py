"""What a film is made of, and what is written and drawn on it. No caption lies over another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Place
from seasync.group.carry import frame_clock
from seasync.marks.files import read_marks_of
from seasync.marks.mark import Mark
from seasync.options import Gaps
from seasync.render.canvas import BLACK, GRAY, WHITE, Canvas, Plane, plate_height, plate_width
from seasync.render.canvas import clock as clock_text
from seasync.render.frames import Clock, FrameSelection

LONGEST_SIDE = 16384  # pixels: what H.264 can hold
SMALLEST_LETTERS = 7  # pixels; smaller ones cannot be read
MARK_SECONDS = 0.8  # how long the name of a key moment stays


def read_marks(file: Place, video: Place) -> list[Mark]:
    """Read key moments or phases to show in a film.

    Parameters
    ----------
    file
        A file of marks, in any format that `seasync.marks.read_marks` knows. If it has marks of several
        clips, it must have some of the video's.
    video
        The video they belong to: it gives frame numbers their times.

    Returns
    -------
    list of Mark

    Raises
    ------
    DataError
        If the file cannot be read, or has no marks of this video.

    Examples
    --------
    >>> [mark.name for mark in seasync.render.read_marks("keys.csv", "query.mp4")]
    ['up', 'down']
    """
    return list(read_marks_of(Clip(str(video)), file, frame_clock(video)))


def is_shown(mark: Mark, seconds: float) -> bool:
    """Whether a film shows the name of a mark at this moment."""
    return mark.seconds <= seconds < (mark.seconds + MARK_SECONDS if mark.end is None else mark.end)


@dataclass(frozen=True)
class Cell:
    """A source at its place in the film; all even numbers.

    `bar` is drawn along its lower edge, YUV of shape (height, width, 3). `framed` says for each frame of the
    film whether the cell has a frame around it.
    """

    source: FrameSelection
    left: int
    top: int
    width: int
    height: int
    title: str = ""
    bar: Plane | None = None
    framed: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Film:
    """What a film is made of. The first cell is the kept clip's in films that show it."""

    clock: Clock
    cells: list[Cell]
    size: tuple[int, int]
    gaps: Gaps
    overlay: bool = False
    labels: bool = False
    corner: str = ""
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        if max(self.size) > LONGEST_SIDE:
            width, height = self.size
            raise RenderError(f"a film of {width}×{height} is too large: ask for {LONGEST_SIDE} at most")

    @property
    def letters(self) -> int:
        """Size of the letters in pixels: in proportion to the picture, and small enough for a time code."""
        size = max(11, round(min(cell.height for cell in self.cells) / 26))
        narrow = min(cell.width for cell in self.cells)
        while size > SMALLEST_LETTERS and plate_width("0:00.00", size) > narrow - 2 * (size // 2):
            size -= 1
        return size


@dataclass(frozen=True)
class Caption:
    """A line of letters on a plate: the plate's upper left corner and the letters' size, in pixels."""

    text: str
    left: int
    top: int
    size: int

    @property
    def box(self) -> tuple[int, int, int, int]:
        """(left, top, right, bottom) of the plate."""
        right, bottom = self.left + plate_width(self.text, self.size), self.top + plate_height(self.size)
        return self.left, self.top, right, bottom


def captions(film: Film, number: int) -> Iterator[Caption]:
    """What is written on frame `number`: names and time codes at the top of their cells, marks at the bottom.

    The score gives way to titles, and titles to time codes, first their first word; what still has no room
    is left out.
    """
    size, margin = film.letters, film.letters // 2
    width, height = film.size
    row = plate_height(size)
    lowest = 0  # where the captions of the bottom cells end
    for order, cell in enumerate(film.cells):
        is_known = bool(cell.source.known[number])
        top = (
            cell.top + margin + (order * (row + 2) if film.overlay else 0)
        )  # in an overlay cells lie on each other
        time = clock_text(float(cell.source.seconds[number])) if is_known else "no counterpart"
        room = cell.width - 2 * margin
        short = cell.title.rpartition("  ")[2]  # without "query" or a number
        texts = (f"{cell.title}   {time}", f"{short}   {time}", time, "" if is_known else "–")
        if film.corner and top == margin and cell.left + cell.width == width:
            beside = room - plate_width(film.corner, size) - margin
            if plate_width(texts[1], size) <= beside and margin + row <= height:
                yield Caption(film.corner, width - margin - plate_width(film.corner, size), margin, size)
                room = beside
        text = _fitting(texts, size, room)
        if text and top + row <= cell.top + cell.height:
            yield Caption(text, cell.left + margin, top, size)
            lowest = max(lowest, top + row)
    yield from _mark_captions(film, number, lowest)


def _mark_captions(film: Film, number: int, lowest: int) -> Iterator[Caption]:
    size, margin = round(film.letters * 1.3), film.letters // 2
    seconds = float(film.clock.seconds[number])
    names = "  ".join(mark.name for mark in film.marks if is_shown(mark, seconds))
    shortened = (f"{names[:letters]}…" for letters in range(len(names) - 1, 0, -1))
    text = _fitting((names, *shortened), size, film.size[0] - 2 * margin)
    top = film.size[1] - margin - plate_height(size)
    if text and top >= lowest:
        yield Caption(text, (film.size[0] - plate_width(text, size)) // 2, top, size)


def _fitting(texts: Iterable[str], size: int, room: int) -> str:
    """The first of `texts` whose plate is at most `room` pixels wide; empty if none is."""
    return next((text for text in texts if text and plate_width(text, size) <= room), "")


SLOWER, SAME, FASTER = (47, 143, 208), (225, 229, 232), (242, 138, 48)  # RGB
FULL_TEMPO = 1.6  # this much faster, or slower, has the full color
NOTHING = (40, 46, 52)


@dataclass(frozen=True, eq=False)
class TempoBar:
    """How fast a take moves beside the reference: 2 is twice as fast.

    Attributes
    ----------
    seconds : ndarray [shape=(N,)]
        Moments of the reference.
    factors : ndarray [shape=(N,)], optional
        NaN where the take shows nothing of that moment. Without them there is no bar.
    unusual : ndarray of bool [shape=(N,)], optional
        Where the take gets a frame.
    """

    seconds: Seconds
    factors: Seconds | None = None
    unusual: NDArray[np.bool_] | None = None

    def framed(self, seconds: Seconds) -> NDArray[np.bool_] | None:
        """Whether there is a frame, at each of these moments of the reference."""
        return None if self.unusual is None else self.unusual[_nearest(self.seconds, seconds)]

    def bar(self, width: int, height: int, clock: Seconds) -> Plane | None:
        """The bar of a film with this clock, in YUV. [shape=(height, width, 3)]"""
        if self.factors is None:
            return None
        at = clock[np.linspace(0, len(clock) - 1, width).round().astype(int)]
        known, nearest = np.isfinite(self.factors), _nearest(self.seconds, at)
        row = np.full((width, 3), NOTHING, np.float64)
        if known.any():
            logs = np.interp(at, self.seconds[known], np.log(self.factors[known]))
            share = np.clip(logs / np.log(FULL_TEMPO), -1, 1)[:, None]
            to = np.where(share > 0, FASTER, SLOWER)
            row = np.where(known[nearest][:, None], SAME + np.abs(share) * (to - np.asarray(SAME)), row)
        return np.broadcast_to(_yuv(row), (height, width, 3))


def _nearest(moments: Seconds, asked: Seconds) -> NDArray[np.int64]:
    """The numbers of the moments that are nearest."""
    middles = (moments[1:] + moments[:-1]) / 2
    return np.searchsorted(middles, asked)


def draw_bar(canvas: Canvas, bar: Plane, left: int, top: int, share: float) -> None:
    """Put a bar on the picture, with a white line at the share 0–1 that has passed."""
    height, width = bar.shape[:2]
    canvas.fill(bar, left, top)
    place = left + round(share * (width - 4)) // 2 * 2
    canvas.fill(np.broadcast_to(np.array([WHITE, GRAY, GRAY], np.uint8), (height, 4, 3)), place, top)


def draw_frame(canvas: Canvas, left: int, top: int, width: int, height: int, thick: int) -> None:
    """Draw a frame inside this place: the take is unlike the others here."""
    color = _yuv(np.asarray(FASTER, np.float64))
    for x, y, w, h in (
        (left, top, width, thick),
        (left, top + height - thick, width, thick),
        (left, top, thick, height),
        (left + width - thick, top, thick, height),
    ):
        canvas.fill(np.broadcast_to(color, (h, w, 3)), x, y)


def _yuv(rgb: NDArray[np.float64]) -> Plane:
    """BT.709 in limited range, as films are coded."""
    red, green, blue = np.moveaxis(rgb / 255, -1, 0)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    parts = BLACK + 219 * luma, GRAY + 224 * (blue - luma) / 1.8556, GRAY + 224 * (red - luma) / 1.5748
    return np.asarray(np.rint(np.stack(parts, axis=-1)), np.uint8)
