"""From a decoded frame to upright RGB of a given size, in one scaling step, colours as they were meant."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Colorspace, Interpolation, VideoReformatter
from numpy.typing import NDArray

from seasync.video.source import Orientation, shown_size

Fit = Literal["squash", "crop"]
GOOD = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
# FFmpeg's numbers for a frame's matrix to swscale's.
MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}


def matrix(frame: VideoFrame) -> Colorspace:
    """The matrix a frame's colours are coded with; untagged ones are guessed by size as players do."""
    guess = Colorspace.ITU709 if frame.height >= 720 or frame.width >= 1280 else Colorspace.ITU601
    return MATRICES.get(int(frame.colorspace), guess)


class ToRGB:
    """Frame to (height, width, 3) uint8. `size` is (height, width), None for as shown by the first frame.

    fit="squash" scales each side by itself; "crop" keeps the shape of things and cuts what is too much.
    """

    def __init__(self, sar: Fraction, size: tuple[int, int] | None = None, fit: Fit = "squash") -> None:
        self._sar, self._size, self._fit = sar, size, fit
        self._scale = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> NDArray[np.uint8]:
        turn = Orientation.of(frame)
        shown_width, shown_height = shown_size(frame, self._sar, turn)
        self._size = self._size or (shown_height, shown_width)
        height, width = self._size
        if self._fit == "crop":
            factor = max(height / shown_height, width / shown_width)
            height, width = max(height, round(shown_height * factor)), max(width, round(shown_width * factor))
        image = self._rgb(frame, *((height, width) if turn.transpose else (width, height)))
        if turn.transpose:
            image = image.swapaxes(0, 1)
        image = image[:: -1 if turn.flip else 1, :: -1 if turn.mirror else 1]
        top, left = (height - self._size[0]) // 2, (width - self._size[1]) // 2
        return image[top : top + self._size[0], left : left + self._size[1]]

    def _rgb(self, frame: VideoFrame, width: int, height: int) -> NDArray[np.uint8]:
        scaled = self._scale.reformat(
            frame, width, height, "rgb24", src_colorspace=matrix(frame), interpolation=GOOD, threads=1
        )
        return np.asarray(scaled.to_ndarray(), np.uint8)
