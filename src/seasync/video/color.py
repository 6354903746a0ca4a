"""From a decoded frame to upright RGB of a given size, in one scaling step, colors as they were meant."""

from fractions import Fraction
from functools import lru_cache
from typing import Literal

import av
import numpy as np
from av.video.reformatter import (
    ColorPrimaries,
    ColorRange,
    Colorspace,
    ColorTrc,
    Interpolation,
    VideoReformatter,
)
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.source import Orientation, shown_size

# HDR pictures as SDR ones: highlights rolled off, the rest as bright as it was meant, BT.2020 to BT.709.


Floats = NDArray[np.float32]

WHITE, PEAK = 203.0, 1000.0  # cd/m²: diffuse white (BT.2408) and the brightest highlight told apart
KNEE = 0.3  # of diffuse white; what is darker stays exactly as it is
TO_709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)
LUMA_2020 = np.array([0.2627, 0.6780, 0.0593], np.float32)


def is_hdr(frame: av.VideoFrame) -> bool:
    return frame.color_trc in (ColorTrc.SMPTE2084, ColorTrc.ARIB_STD_B67)


def to_sdr(coded: NDArray[np.uint16], frame: av.VideoFrame) -> NDArray[np.uint8]:
    """(H, W, 3) uint16 RGB in the frame's transfer curve (PQ or HLG) to (H, W, 3) uint8 sRGB."""
    light = _curve(int(frame.color_trc))[coded]
    if frame.color_trc == ColorTrc.ARIB_STD_B67:  # HLG codes the scene; a 1000 cd/m² display adds this gamma
        light *= (PEAK / WHITE) * (light @ LUMA_2020)[..., None] ** 0.2
    brightest = light.max(-1, keepdims=True)
    light *= _rolled_off(brightest) / np.maximum(brightest, 1e-6)
    if frame.color_primaries != ColorPrimaries.BT709:
        light = light @ TO_709.T
    return _display()[(light.clip(0, 1) * 4095 + 0.5).astype(np.uint16)]


def _rolled_off(light: Floats) -> Floats:
    """Brightness in units of diffuse white to 0–1: the Möbius curve, linear up to the knee, 1 at the peak."""
    peak = PEAK / WHITE
    a = -(KNEE**2) * (peak - 1) / (KNEE**2 - 2 * KNEE + peak)
    b = (KNEE**2 - 2 * KNEE * peak + peak) / (peak - 1)
    rolled = (b + KNEE) ** 2 / (b - a) * (light + a) / (light + b)
    return np.where(light > KNEE, rolled, light)


@lru_cache(maxsize=2)
def _curve(transfer: int) -> Floats:
    """(65536,) code value to light: PQ in units of diffuse white, HLG as scene light from 0 to 1."""
    code = np.linspace(0, 1, 65536)
    if transfer == ColorTrc.SMPTE2084:
        root = code ** (32 / 2523)
        light = (
            10000 / WHITE * (np.maximum(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)) ** (8192 / 1305)
        )
    else:
        bright = (np.exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
        light = np.where(code <= 0.5, code**2 / 3, bright)
    return light.astype(np.float32)


@lru_cache(maxsize=1)
def _display() -> NDArray[np.uint8]:
    """(4096,) linear light to sRGB."""
    light = np.linspace(0, 1, 4096)
    coded = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255 * coded).astype(np.uint8)


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


def matrix(frame: av.VideoFrame) -> Colorspace:
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

    def __call__(self, frame: av.VideoFrame) -> NDArray[np.uint8]:
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


def rgb(frame: av.VideoFrame, scale: VideoReformatter, *, size: tuple[int, int]) -> NDArray[np.uint8]:
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
    frame: av.VideoFrame, scale: VideoReformatter, *, size: tuple[int, int], coded: Colorspace
) -> av.VideoFrame:
    """`frame`, whose matrix is `coded`, as yuv420p in BT.709 limited range at `size` (width, height), in SDR;
    the frame itself where it is that already."""
    if is_hdr(frame):
        frame, coded = av.VideoFrame.from_ndarray(rgb(frame, scale, size=size), "rgb24"), Colorspace.ITU709
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
