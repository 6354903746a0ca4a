"""A row of frames with their times, for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seasync.align import Warp
from seasync.encoding import Seconds
from seasync.render.lettering import clock
from seasync.render.page import FAINT, LEFT_OUT, Color, Page, PixelPage
from seasync.render.stills import stills

if TYPE_CHECKING:
    from PIL.Image import Image

TALLEST = 220
TIMES = 34  # pixels below the frames


@dataclass(frozen=True)
class Strip:
    """Frames of a file at some seconds, `width` pixels wide at most; None where there is no frame to show."""

    seconds: Sequence[float | None]
    pictures: Sequence[Image | None]
    width: int

    @classmethod
    def of(cls, file: str, seconds: Sequence[float | None], width: int) -> Strip:
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
        """Each frame centerd below its place, its time below it."""
        for at, second, picture in zip(centers, self.seconds, self.pictures, strict=True):
            if picture is None or second is None:
                page.box(
                    at - self.width / 2, top, at + self.width / 2, top + self.tall, fill=LEFT_OUT, radius=4
                )
                page.text((at, top + self.tall / 2), "left out", size=15, fill=FAINT, anchor="mm")
            else:
                page.paste(picture, at - picture.width / PixelPage.SCALE / 2, top)
                page.text((at, top + self.tall + 6), clock(second), size=15, fill=color, anchor="ma")


def partners(warp: Warp, times: Seconds) -> list[float | None]:
    """Where the warp puts each of `times`; None where it is not defined."""
    places, known = warp.at(times).tolist(), warp.covers(times).tolist()
    return [place if is_known else None for place, is_known in zip(places, known, strict=True)]
