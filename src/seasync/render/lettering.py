"""Letters on pictures and films."""

from __future__ import annotations

import math
import unicodedata
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont, ImageFont

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
def font(size: int, *, bold: bool = False) -> FreeTypeFont | ImageFont:
    """A sans-serif font of the system, or the one that comes with Pillow."""
    from PIL import ImageFont

    file = _system_font(bold)
    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


def drawable(text: str) -> str:
    """`text`, in plain ASCII where only Pillow's own font is there: it has no other letters."""
    if _system_font(False):
        return text
    return unicodedata.normalize("NFKD", text.translate(PLAIN)).encode("ascii", "ignore").decode()


@lru_cache
def _system_font(bold: bool) -> str | None:
    from PIL import ImageFont

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
