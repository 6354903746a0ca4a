"""What a film is made of: clips at their places, on one clock, with labels and marks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.errors import RenderError
from seasync.options import Gaps
from seasync.render.canvas import Plane, plate_width
from seasync.render.frames import Clock, FrameSelection

LONGEST_SIDE = 16384  # pixels: what H.264 can hold
SMALLEST_LETTERS = 7  # pixels; smaller ones cannot be read
MARK_SECONDS = 0.8  # how long the name of a key moment stays


@dataclass(frozen=True)
class Mark:
    """A named phase of the kept clip, or a key moment.

    Parameters
    ----------
    start
        Seconds.
    text
        Its name.
    end
        Seconds; None for a key moment.

    Examples
    --------
    >>> seasync.render.Mark(1.2, "impact").text
    'impact'
    """

    start: float
    text: str
    end: float | None = None

    def is_shown(self, seconds: float) -> bool:
        return self.start <= seconds < (self.start + MARK_SECONDS if self.end is None else self.end)


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
