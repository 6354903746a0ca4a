"""Single frames of a file as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Place
from seasync.video import frame_table
from seasync.video.color import ToRGB
from seasync.video.decode import chosen

if TYPE_CHECKING:
    from PIL.Image import Image


def stills(file: Place, seconds: Sequence[float], *, size: tuple[int, int]) -> list[Image]:
    """The frames of `file` nearest to `seconds`, each as large as fits into `size` (width, height)."""
    from PIL import Image

    if not seconds:
        return []
    table = frame_table(file)
    numbers = nearest(table.seconds, np.asarray(seconds))
    to_rgb = ToRGB(table.sar, None, "squash")
    found = {number: Image.fromarray(to_rgb(frame)) for frame, number in chosen(table, np.unique(numbers))}
    if not found:
        raise RenderError(f"{file}: none of the frames asked for can be decoded; the file is damaged")
    shown = {number: fitted(picture, size) for number, picture in found.items()}
    # A damaged frame is replaced by the nearest one that is whole.
    return [shown[min(shown, key=lambda whole: abs(whole - number))] for number in numbers.tolist()]


def nearest(sorted_seconds: Seconds, seconds: Seconds) -> NDArray[np.int64]:
    """For each of `seconds` the index of the nearest of `sorted_seconds`."""
    middles = (sorted_seconds[1:] + sorted_seconds[:-1]) / 2
    return np.searchsorted(middles, seconds, side="right").astype(np.int64)


def fitted(picture: Image, size: tuple[int, int]) -> Image:
    """`picture` as large as fits into `size` (width, height), shape kept."""
    scale = min(size[0] / picture.width, size[1] / picture.height)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))
