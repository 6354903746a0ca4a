"""How fast a take moves at each moment, as a colored bar below its picture; a frame around unusual takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Seconds
from seasync.render.yuv_canvas import BLACK, GRAY, WHITE, Canvas, Plane

SLOWER, SAME, FASTER = (47, 143, 208), (225, 229, 232), (242, 138, 48)  # RGB
FULL_TEMPO = 1.6  # this much faster, or slower, has the full color
NOTHING = (40, 46, 52)


@dataclass(frozen=True, eq=False)
class Tempo:
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
