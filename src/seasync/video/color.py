"""From a decoded frame to upright RGB of a given size, in one scaling step, colors as they were meant."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import av
import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.hdr import is_hdr, to_sdr
from seasync.video.source import Orientation, shown_size

Fit = Literal["squash", "crop", "within"]
GOOD = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
# The mean of all pixels that become one. Where these are many, it takes half the time of GOOD, and alignments
# hardly differ (docs/results/speed.md).
MEAN = Interpolation.AREA | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
MANY = 4  # on each side
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
    """The matrix a frame's colors are coded with; untagged ones are guessed by size as players do."""
    guess = Colorspace.ITU709 if frame.height >= 720 or frame.width >= 1280 else Colorspace.ITU601
    return MATRICES.get(int(frame.colorspace), guess)


class ToRGB:
    """Frame to (height, width, 3) uint8. `size` is (height, width), None for as shown by the first frame.

    fit="squash" scales each side by itself; "crop" keeps the shape of things and cuts what is too much;
    "within" keeps it too, and `size` is what the picture is made no larger than.
    """

    def __init__(self, sar: Fraction, size: tuple[int, int] | None = None, fit: Fit = "squash") -> None:
        self._sar, self._size, self._fit = sar, size, fit
        self._scale = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> NDArray[np.uint8]:
        turn = Orientation.of(frame)
        shown_width, shown_height = shown_size(frame, self._sar, turn)
        self._size = self._size or (shown_height, shown_width)
        if self._fit == "within":
            factor = min(1.0, self._size[0] / shown_height, self._size[1] / shown_width)
            self._size = max(1, round(shown_height * factor)), max(1, round(shown_width * factor))
            self._fit = "squash"  # every picture to the size of the first
        height, width = self._size
        if self._fit == "crop":
            factor = max(height / shown_height, width / shown_width)
            height, width = max(height, round(shown_height * factor)), max(width, round(shown_width * factor))
        image = rgb(frame, self._scale, size=(height, width) if turn.transpose else (width, height))
        if turn.transpose:
            image = image.swapaxes(0, 1)
        image = image[:: -1 if turn.flip else 1, :: -1 if turn.mirror else 1]
        top, left = (height - self._size[0]) // 2, (width - self._size[1]) // 2
        return image[top : top + self._size[0], left : left + self._size[1]]


def rgb(frame: VideoFrame, scale: VideoReformatter, *, size: tuple[int, int]) -> NDArray[np.uint8]:
    """`frame` as stored, scaled to `size` (width, height): (height, width, 3) uint8, HDR as SDR."""
    kind = "rgb48le" if is_hdr(frame) else "rgb24"
    shrinks = min(frame.width / size[0], frame.height / size[1]) >= MANY
    try:
        picture = scale.reformat(
            frame,
            *size,
            kind,
            src_colorspace=matrix(frame),
            interpolation=MEAN if shrinks else GOOD,
            threads=1,
        )
    except av.FFmpegError as error:
        raise VideoError(f"pictures in {frame.format.name} cannot be shown ({error.strerror})") from error
    coded = picture.to_ndarray()
    return to_sdr(np.asarray(coded, np.uint16), frame) if is_hdr(frame) else np.asarray(coded, np.uint8)


def film_frame(
    frame: VideoFrame, scale: VideoReformatter, *, size: tuple[int, int], coded: Colorspace
) -> VideoFrame:
    """`frame`, whose matrix is `coded`, as yuv420p in BT.709 limited range at `size` (width, height), in SDR;
    the frame itself where it is that already."""
    if is_hdr(frame):
        frame, coded = VideoFrame.from_ndarray(rgb(frame, scale, size=size), "rgb24"), Colorspace.ITU709
    full = frame.color_range == ColorRange.JPEG or frame.format.name.startswith("yuvj")
    same = frame.format.name == "yuv420p" and (frame.width, frame.height) == size
    if not same or full or coded != Colorspace.ITU709:
        frame = scale.reformat(
            frame,
            *size,
            "yuv420p",
            src_colorspace=coded,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation=GOOD,
            threads=1,
        )
    frame.colorspace, frame.color_range = 1, ColorRange.MPEG
    return frame
