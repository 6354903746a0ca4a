"""HDR pictures as SDR ones: highlights rolled off, the rest as bright as it was meant, BT.2020 to BT.709."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorTrc
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WHITE, PEAK = 203.0, 1000.0  # cd/m²: diffuse white (BT.2408) and the brightest highlight told apart
KNEE = 0.3  # of diffuse white; what is darker stays exactly as it is
TO_709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)
LUMA_2020 = np.array([0.2627, 0.6780, 0.0593], np.float32)


def is_hdr(frame: VideoFrame) -> bool:
    return frame.color_trc in (ColorTrc.SMPTE2084, ColorTrc.ARIB_STD_B67)


def to_sdr(coded: NDArray[np.uint16], frame: VideoFrame) -> NDArray[np.uint8]:
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
