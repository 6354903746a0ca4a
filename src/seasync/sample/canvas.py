"""A canvas to draw scenery on, and its colors.

Positions are parts of the canvas: x from 0 (left) to 1, y from 0 (top) to 1; sizes are parts of its height.
"""

from __future__ import annotations

import numpy as np

Random = np.random.Generator
Color = tuple[int, ...]  # red, green, blue and, where less than opaque, alpha
WHITE, NIGHT = (255, 255, 255), (40, 30, 40)
HORIZON = 0.66


def colors(written: str) -> tuple[Color, ...]:
    """Colors written as hexadecimal rrggbb with blanks between."""
    return tuple(tuple(bytes.fromhex(word)) for word in written.split())


def palette(rng: Random, *choices: str) -> tuple[Color, ...]:
    """The colors of one of the choices."""
    return colors(choices[int(rng.integers(len(choices)))])


def mixed(a: Color, b: Color, share: float) -> Color:
    """`a` with a share of `b`."""
    return tuple(round((1 - share) * p + share * q) for p, q in zip(a, b, strict=True))


class Canvas:
    """A picture in the making."""

    def __init__(self, width: int, height: int) -> None:
        from PIL import Image, ImageDraw

        self.width, self.height = width, height
        self.image = Image.new("RGB", (width, height))
        self._draw = ImageDraw.Draw(self.image, "RGBA")

    def fade(self, top: float, bottom: float, above: Color, below: Color) -> None:
        """A band across the canvas that goes from one color to another."""
        first, last = round(top * self.height), round(bottom * self.height)
        for row in range(first, last):
            ink = mixed(above, below, (row - first) / (last - first))
            self._draw.line([0, row, self.width, row], ink)

    def box(
        self, left: float, top: float, wide: float, high: float, ink: Color, *, round_by: float = 0
    ) -> None:
        x, y = left * self.width, top * self.height
        corners = [x, y, x + wide * self.width, y + high * self.height]
        self._draw.rounded_rectangle(corners, round_by * self.height, ink)

    def disc(self, x: float, y: float, radius: float, ink: Color, *, flat: float = 1) -> None:
        cx, cy, wide, high = np.array([x * self.width / self.height, y, radius, radius * flat]) * self.height
        self._draw.ellipse([cx - wide, cy - high, cx + wide, cy + high], ink)

    def shape(self, ink: Color, *points: tuple[float, float]) -> None:
        self._draw.polygon([(x * self.width, y * self.height) for x, y in points], ink)

    def glow(self, x: float, y: float, radius: float, ink: Color) -> None:
        """Light that fades with the distance."""
        from PIL import Image

        size = round(2 * radius * self.height)
        away = np.asarray(Image.radial_gradient("L").resize((size, size)), np.float64) / 255 * np.sqrt(2)
        light = Image.fromarray((230 * np.clip(1 - away, 0, 1) ** 2).astype(np.uint8))
        self.image.paste(ink, (round(x * self.width - size / 2), round(y * self.height - size / 2)), light)

    def hills(self, base: float, rise: float, ink: Color, rng: Random, *, waves: float) -> None:
        x = np.linspace(0, 1, 100)
        slow, fast = (np.sin(2 * np.pi * (x * waves * pace + rng.random())) for pace in (1, 1.8))
        crest = base - rise * (0.5 + 0.3 * slow + 0.2 * fast)
        self.shape(ink, (0, base), *zip(x, crest, strict=True), (1, base))

    def mountains(self, base: float, rise: float, ink: Color, rng: Random, *, peaks: int) -> None:
        x = np.linspace(0, 1, 2 * peaks + 1)
        high = rise * rng.uniform(0.2, 1, len(x)) * np.where(np.arange(len(x)) % 2, 1, 0.45)
        self.shape(ink, (0, base), *zip(x, base - high, strict=True), (1, base))
