"""The warp as a curve: where the other clip is, and how fast it plays, over the kept clip's time."""

from __future__ import annotations

import numpy as np

from seasync.align import Alignment
from seasync.encoding import Seconds
from seasync.files import Place
from seasync.options import Side
from seasync.render.lettering import clock, ticks
from seasync.render.page import FAINT, LINE, MATCH, PATH, QUERY, TEXT, Page, fitting_size, page
from seasync.render.schedule import clips_of

WIDTH, LEFT, RIGHT = 1200, 110, 48
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
    sheet = page(WIDTH, SPEED[1] + 74, file)
    sheet.text((LEFT, 30), f"{other.name} on the clock of {kept.name}", size=24, bold=True)
    room = WIDTH - LEFT - RIGHT
    for top, text, size in ((66, alignment.verdict, 16), (88, alignment.decision.reason, 13)):
        sheet.text((LEFT, top), text, size=fitting_size(text, size=size, width=room), fill=FAINT)
    first, last = warp.spans[0][0], max(warp.spans[-1][1], warp.spans[0][0] + 1e-3)
    ends = [edge for piece in warp.stretches for edge in (float(piece.values[0]), piece.value_end)]
    low, high = min(ends), max(*ends, min(ends) + 1e-3)

    def x(seconds: Seconds) -> Seconds:
        return LEFT + (seconds - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    for second in ticks(first, last, 12):
        across = float(x(np.asarray(second)))
        for top, bottom in (PLACE, SPEED):
            sheet.line([(across, top), (across, bottom)])
        sheet.text((across, SPEED[1] + 8), clock(second, places=1), size=14, fill=colors[0], anchor="ma")
    sheet.text(((LEFT + WIDTH - RIGHT) / 2, SPEED[1] + 38), kept.name, size=15, fill=colors[0], anchor="ma")
    for second in ticks(low, high, 6):
        y = PLACE[1] - (second - low) / (high - low) * (PLACE[1] - PLACE[0])
        _level(sheet, y, clock(second, places=1), colors[1])
    for speed, beyond in ((SLOWEST, "≤ "), (0.5, ""), (1.0, ""), (2.0, ""), (FASTEST, "≥ ")):
        text = f"{beyond}{speed:.0%}"
        _level(sheet, _speed_y(np.asarray(speed)).item(), text, TEXT if speed == 1 else FAINT)
    for piece in warp.stretches:
        if piece.end <= piece.start:
            continue
        times = np.linspace(piece.start, piece.end, max(3, round((piece.end - piece.start) * 30)))
        places = piece.at(times)
        speeds = np.gradient(places, times)
        up = PLACE[1] - (places - low) / (high - low) * (PLACE[1] - PLACE[0])
        for points, color in ((up, colors[1]), (_speed_y(speeds), PATH)):
            sheet.line(list(zip(x(times).tolist(), points.tolist(), strict=True)), fill=color, width=3)
    sheet.save(file)


def _level(sheet: Page, y: float, text: str, fill: tuple[int, int, int]) -> None:
    sheet.line([(LEFT, y), (WIDTH - RIGHT, y)], fill=FAINT if fill == TEXT else LINE)
    sheet.text((LEFT - 10, y), text, size=14, fill=fill, anchor="rm")


def _speed_y(speeds: Seconds) -> Seconds:
    """Half and double speed are equally far from 1."""
    octaves = np.log2(np.clip(speeds, SLOWEST, FASTEST)) / np.log2(FASTEST)
    return np.asarray((SPEED[0] + SPEED[1]) / 2 - octaves * (SPEED[1] - SPEED[0]) / 2)
