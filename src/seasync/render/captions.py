"""What is written on a film: names, time codes, the score, key moments. No caption lies over another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from seasync.render.composition import Film
from seasync.render.lettering import clock as clock_text
from seasync.render.yuv_canvas import plate_height, plate_width


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
    names = "  ".join(mark.text for mark in film.marks if mark.is_shown(seconds))
    shortened = (f"{names[:letters]}…" for letters in range(len(names) - 1, 0, -1))
    text = _fitting((names, *shortened), size, film.size[0] - 2 * margin)
    top = film.size[1] - margin - plate_height(size)
    if text and top >= lowest:
        yield Caption(text, (film.size[0] - plate_width(text, size)) // 2, top, size)


def _fitting(texts: Iterable[str], size: int, room: int) -> str:
    """The first of `texts` whose plate is at most `room` pixels wide; empty if none is."""
    return next((text for text in texts if text and plate_width(text, size) <= room), "")
