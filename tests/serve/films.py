"""Small films for the server's tests: a disc performs an action, and every frame says its own number.

A strip at the bottom shows the frame's number in binary, so that a test can read off any picture of it (a
decoded frame, a canvas in a browser) which frame of the file it is. What the disc does at progress p (0 to 1)
is the same in all films of an action; when it does it is the film's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tests.videos import write

BITS = 8
STRIP = 12  # pixels
DARK, LIGHT = 60, 200
SIZE = (160, 120)


def pace(frames: int, *, bend: float = 0.0, wait: int = 0) -> list[float]:
    """Progress of each frame: `wait` still frames at both ends, slower first (bend > 0) or last between."""
    moving = frames - 2 * wait
    steps = [i / (moving - 1) for i in range(moving)]
    return [0.0] * wait + [p + bend * math.sin(2 * math.pi * p) / (2 * math.pi) for p in steps] + [1.0] * wait


def frame(number: int, progress: float, *, action: str, tint: int = 0) -> np.ndarray:
    """(H, W, 3) uint8 RGB."""
    width, height = SIZE
    y, x = np.mgrid[:height, :width]
    image = np.empty((height, width, 3), np.uint8)
    image[:] = (70 + tint, 90, 110 - tint)
    across = {"left": 1 - progress, "right": progress, "arc": 0.5 + 0.4 * math.sin(4 * progress)}[action]
    down = {"left": 0.5, "right": 0.5, "arc": 0.2 + 0.5 * progress}[action]
    centre = 20 + across * (width - 40), 20 + down * (height - 60)
    image[(x - centre[0]) ** 2 + (y - centre[1]) ** 2 < 20**2] = (230, 200 - int(150 * progress), 60)
    cells = np.array([LIGHT if number >> bit & 1 else DARK for bit in range(BITS)], np.uint8)
    image[height - STRIP :] = cells[np.arange(width) * BITS // width][None, :, None]
    return image


def film(file: Path, progress: Sequence[float], *, action: str, tint: int = 0, **how: Any) -> Path:
    """A film of an action; further options as `tests.videos.write` takes them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    return write(file, (frame(i, p, action=action, tint=tint) for i, p in enumerate(progress)), **how)


def number_of(image: np.ndarray) -> int:
    """The number of the frame that a picture (H, W, 3) of any size shows."""
    height, width = image.shape[:2]
    row = image[int(height * (1 - STRIP / SIZE[1] / 2))].mean(-1)
    centres = ((np.arange(BITS) + 0.5) * width / BITS).astype(int)
    return sum(1 << bit for bit, x in enumerate(centres) if row[x] > (DARK + LIGHT) / 2)


def footage(folder: Path) -> Path:
    """Three films of each of two actions, with sound in one of them, in folders named by action."""
    tone = 0.2 * np.sin(np.arange(2 * 48000) * 2 * np.pi * 440 / 48000).astype(np.float32)[None]
    for action, tint in (("right", 0), ("arc", 30)):
        film(folder / action / "a.mp4", pace(60), action=action, tint=tint, sound=tone)
        film(folder / action / "b.mp4", pace(72, bend=0.7), action=action, tint=tint + 10)
        film(folder / action / "c.mp4", pace(50, bend=-0.6), action=action, tint=tint + 20, fps=Fraction(25))
    return folder
