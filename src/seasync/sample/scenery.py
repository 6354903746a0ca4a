"""Places for the figure to be in, drawn once per clip: where each action is at home."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image


# A canvas to draw scenery on, and its colors.


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


# Places where nobody expects the figure; each serves one action alone, so a look here is like no other.


def _sunset(on: Canvas, rng: Random) -> None:
    high, low, ground = palette(rng, "5c2c62 fc9248 28162e", "96283c ffbe54 341222")
    on.fade(0, 0.74, high, low)
    on.glow(0.5, 0.5, 0.8, (255, 226, 150))
    on.disc(0.5, 0.5, 0.3, (255, 220, 140))
    on.hills(0.75, 0.07, mixed(ground, low, 0.3), rng, waves=2.3)
    on.fade(0.735, 1, mixed(ground, low, 0.08), ground)


def _blackboard(on: Canvas, rng: Random) -> None:
    (board,) = palette(rng, "2c5246", "283e5c", "383a42")
    on.fade(0, 1, mixed(board, WHITE, 0.08), board)
    for k in range(1, 14):
        on.box(k / 14, 0, 0.0015, 1, (*WHITE, 26))
        on.box(0, k / 10, 1, 0.002, (*WHITE, 26))


def _moon(on: Canvas, rng: Random) -> None:
    on.fade(0, HORIZON, (12, 14, 34), (34, 36, 70))
    for x, y, size in rng.uniform([0, 0, 0.0015], [1, HORIZON, 0.004], (120, 3)):
        on.disc(x, y, size, WHITE)
    earth = rng.uniform(0.2, 0.8)
    on.glow(earth, 0.24, 0.3, (120, 180, 250))
    on.disc(earth, 0.24, 0.1, (70, 130, 210))
    on.disc(earth - 0.02, 0.21, 0.045, (110, 180, 130), flat=0.7)
    on.disc(earth + 0.025, 0.28, 0.035, (110, 180, 130), flat=0.6)
    on.hills(HORIZON, 0.08, (120, 120, 132), rng, waves=2.6)
    on.fade(HORIZON, 1, (146, 146, 156), (196, 196, 204))
    for x, y, size in rng.uniform([0, 0.72, 0.02], [1, 1, 0.06], (9, 3)):
        on.disc(x, y, size, (132, 132, 144), flat=0.3)
        on.disc(x, y + 0.004, size * 0.9, (166, 166, 176), flat=0.28)


def _desert(on: Canvas, rng: Random) -> None:
    sky, sand = palette(rng, "f6b25e d88a4c", "f4c8a0 e0a868")
    on.fade(0, HORIZON, sky, mixed(sky, WHITE, 0.5))
    on.disc(rng.uniform(0.25, 0.75), 0.3, 0.09, (255, 240, 200))
    on.hills(HORIZON + 0.02, 0.2, mixed(sand, sky, 0.4), rng, waves=1.1)
    on.hills(HORIZON + 0.02, 0.1, mixed(sand, NIGHT, 0.12), rng, waves=1.6)
    on.fade(HORIZON, 1, sand, mixed(sand, WHITE, 0.35))
    for x, size in zip((0.22, 0.8), rng.uniform(0.7, 1.1, 2), strict=True):
        for aside, foot, tall in ((0, 0.72, 0.3), (-0.045, 0.6, 0.12), (0.045, 0.56, 0.11)):
            top = 0.72 + (foot - 0.72 - tall) * size
            on.box(x + aside * size - 0.012, top, 0.024, tall * size, (74, 124, 84), round_by=0.016)
        on.box(x - 0.05 * size, 0.72 - 0.14 * size, 0.1 * size, 0.03, (74, 124, 84), round_by=0.015)


def _underwater(on: Canvas, rng: Random) -> None:
    on.fade(0, 1, (92, 196, 214), (14, 62, 110))
    for x in rng.uniform(0.1, 0.9, 4):
        on.shape((*WHITE, 26), (x, 0), (x + 0.05, 0), (x + 0.16, 0.8), (x - 0.04, 0.8))
    on.hills(0.74, 0.1, (28, 92, 130), rng, waves=2)
    on.fade(0.72, 1, (196, 184, 140), (150, 146, 124))
    for x in rng.uniform(0, 1, 14):
        bend = rng.uniform(-0.03, 0.03)
        on.shape((40, 130, 104), (x, 0.76), (x + 0.018, 0.76), (x + bend, rng.uniform(0.42, 0.66)))
    for x, y, size in rng.uniform([0, 0.1, 0.015], [1, 0.6, 0.03], (7, 3)):
        on.disc(x, y, size, (250, 170, 80), flat=0.6)
        on.shape(
            (250, 170, 80),
            (x + 0.6 * size, y),
            (x + 1.3 * size, y - 0.6 * size),
            (x + 1.3 * size, y + 0.6 * size),
        )
    for x, y, size in rng.uniform([0, 0, 0.004], [1, 0.7, 0.012], (26, 3)):
        on.disc(x, y, size, (*WHITE, 90))


def _library(on: Canvas, rng: Random) -> None:
    on.box(0, 0, 1, HORIZON, (86, 56, 40))
    for shelf in np.arange(0.02, HORIZON - 0.1, 0.155):
        x = 0.01
        while x < 0.99:
            wide, tall = rng.uniform(0.012, 0.03), rng.uniform(0.09, 0.13)
            (book,) = palette(rng, "b04a3c", "3c6a7a", "d2a84e", "56744a", "e6dcc4", "6a4a70")
            on.box(x, shelf + 0.135 - tall, wide, tall, book)
            x += wide + 0.002
        on.box(0, shelf + 0.135, 1, 0.012, (120, 82, 56))
    on.fade(HORIZON, 1, (104, 70, 50), (150, 108, 78))
    on.box(0.1, 0.76, 0.8, 0.2, (128, 46, 50), round_by=0.02)
    on.box(0.12, 0.775, 0.76, 0.17, (160, 66, 62), round_by=0.015)


def _arctic(on: Canvas, rng: Random) -> None:
    on.fade(0, HORIZON, (10, 24, 52), (36, 90, 110))
    x = np.linspace(0, 1, 60)
    for k, light in enumerate(((90, 240, 170, 60), (120, 200, 250, 50), (190, 140, 250, 45))):
        low = 0.34 - 0.06 * k + 0.05 * np.sin(2 * np.pi * (1.3 * x + rng.random()))
        on.shape(light, *zip(x, low, strict=True), *zip(x[::-1], low[::-1] - 0.22, strict=True))
    for across, y in rng.uniform(0, [1, HORIZON], (80, 2)):
        on.disc(across, y, 0.002, WHITE)
    on.mountains(HORIZON, 0.2, (60, 104, 130), rng, peaks=5)
    on.fade(HORIZON, 1, (120, 170, 190), (176, 212, 222))
    for cx, y, size in rng.uniform([0, 0.72, 0.03], [1, 0.98, 0.08], (8, 3)):
        on.disc(cx, y, size, (206, 232, 238), flat=0.15)


def _rooftop(on: Canvas, rng: Random) -> None:
    on.fade(0, HORIZON, (250, 176, 160), (255, 228, 196))
    for base, tint in ((0.5, 0.6), (0.4, 0.3)):
        for x in np.arange(0, 1, 0.08):
            tall = base * rng.uniform(0.4, 1)
            on.box(
                x,
                HORIZON - tall,
                0.08,
                tall,
                mixed((150, 96, 116), (255, 228, 196), tint + 0.1 * rng.random()),
            )
    on.fade(HORIZON, 1, (186, 108, 84), (214, 140, 108))
    for y in HORIZON + np.array([0.03, 0.08, 0.15, 0.25]):
        on.box(0, y, 1, 0.003, (160, 88, 70))
    on.box(0, HORIZON - 0.06, 1, 0.06, (150, 84, 70))
    on.box(0.18, HORIZON - 0.26, 0.09, 0.2, (120, 70, 66))
    on.box(0.17, HORIZON - 0.28, 0.11, 0.03, (98, 58, 58))


FAR_PLACES = {"sunset": _sunset, "blackboard": _blackboard, "moon": _moon, "desert": _desert}
FAR_PLACES |= {"underwater": _underwater, "library": _library, "arctic": _arctic, "rooftop": _rooftop}


def _gym(on: Canvas, rng: Random) -> None:
    wall, accent, wood = palette(rng, "d6dee4 567894 d6b082", "e2dace be684e c49e74", "c8d8d2 46746c debe96")
    on.fade(0, HORIZON, mixed(wall, WHITE, 0.3), wall)
    on.box(0, HORIZON - 0.16, 1, 0.16, mixed(wall, accent, 0.5))
    frame, shift = mixed(wall, NIGHT, 0.3), rng.uniform(-0.05, 0.07)
    for left in shift + 0.27 * np.arange(4):
        on.box(left - 0.008, 0.09, 0.186, 0.331, frame, round_by=0.008)
        on.box(left, 0.1, 0.17, 0.31, (176, 214, 236))
        corners = ((left + 0.02, 0.41), (left + 0.08, 0.1), (left + 0.12, 0.1), (left + 0.06, 0.41))
        on.shape((*WHITE, 76), *corners)
        on.box(left + 0.082, 0.1, 0.006, 0.31, frame)
    on.fade(HORIZON, 1, mixed(wood, NIGHT, 0.14), wood)
    for y in (0.7, 0.75, 0.815, 0.895):
        on.box(0, y, 1, 0.003, mixed(wood, NIGHT, 0.2))
    on.box(0, HORIZON - 0.014, 1, 0.014, mixed(accent, NIGHT, 0.2))
    for x in (0.2, 0.25, 0.8):
        on.disc(x, HORIZON + 0.002, 0.035, (52, 56, 66))
        on.box(x - 0.013, HORIZON - 0.062, 0.026, 0.042, (52, 56, 66), round_by=0.02)
        on.disc(x, HORIZON + 0.002, 0.013, accent)


def _park(on: Canvas, rng: Random) -> None:
    palettes = ("7ebee8 96beaa 5c9a5c 96c468", "f4c8a0 c49682 ce7c3c baa65c", "a0d0e2 8cb2c4 3a8068 7ab476")
    sky, far, leaf, grass = palette(rng, *palettes)
    on.fade(0, HORIZON, sky, mixed(sky, WHITE, 0.7))
    on.glow(rng.uniform(0.1, 0.9), 0.16, 0.4, (255, 250, 220))
    for x, y, size in rng.uniform([0.05, 0.06, 0.04], [0.95, 0.26, 0.08], (3, 3)):
        on.box(x - 1.1 * size, y - 0.3 * size, 2.2 * size, 0.6 * size, WHITE, round_by=0.3 * size)
        on.disc(x - 0.25 * size, y - 0.3 * size, 0.5 * size, WHITE)
        on.disc(x + 0.4 * size, y - 0.25 * size, 0.36 * size, WHITE)
    on.hills(HORIZON, 0.2, mixed(far, sky, 0.4), rng, waves=1.7)
    on.hills(HORIZON, 0.11, far, rng, waves=2.3)
    on.fade(HORIZON, 1, mixed(grass, leaf, 0.3), grass)
    for x, sunk, size in rng.uniform([0, 0, 0.6], [1, 0.02, 1.05], (7, 3)):
        foot = HORIZON + sunk
        on.box(x - 0.013 * size, foot - 0.2 * size, 0.026 * size, 0.2 * size, (112, 84, 66), round_by=0.006)
        for aside, up, radius in ((-0.05, 0.24, 0.1), (0.05, 0.25, 0.1), (0, 0.34, 0.12)):
            on.disc(
                x + aside * size, foot - up * size, radius * size, mixed(leaf, WHITE, 0.12 * rng.random())
            )
    on.shape(mixed(grass, (236, 220, 186), 0.75), (0, 0.79), (1, 0.735), (1, 0.775), (0, 0.86))
    for x, y in rng.uniform([0, 0.88], 1, (40, 2)):
        on.disc(x, y, 0.004, palette(rng, "ffffff", "fad65a", "ec8296")[0])


def _beach(on: Canvas, rng: Random) -> None:
    sky, sea, sand = palette(rng, "78c8ec 2e92b8 f4deb0", "fabe96 5e8ab0 ecc8a0", "a8d8e6 40aaae faeac8")
    on.fade(0, 0.5, sky, mixed(sky, WHITE, 0.65))
    sun, boat, palm = rng.uniform(0.15, 0.85), rng.uniform(0.2, 0.8), rng.choice([0.2, 0.76])
    on.glow(sun, 0.2, 0.4, (255, 246, 210))
    on.disc(sun, 0.2, 0.055, (255, 246, 214))
    on.fade(0.5, 0.64, mixed(sea, (20, 60, 110), 0.25), mixed(sea, WHITE, 0.25))
    for x, y in rng.uniform([0, 0.515], [1, 0.6], (26, 2)):
        on.box(x, y, 0.03, 0.003, (*WHITE, 115))
    on.shape(WHITE, (boat, 0.44), (boat, 0.505), (boat + 0.03, 0.505))
    on.box(boat - 0.015, 0.508, 0.045, 0.014, (200, 90, 70), round_by=0.007)
    on.fade(0.62, 1, mixed(sand, NIGHT, 0.12), sand)
    x = np.linspace(0, 1, 60)
    foam = 0.632 + 0.008 * np.sin(2 * np.pi * (3 * x + rng.random()))
    on.shape((*WHITE, 204), (1, 0.612), (0, 0.612), *zip(x, foam, strict=True))
    on.shape(
        (132, 100, 74), (palm - 0.012, 0.8), (palm + 0.012, 0.8), (palm + 0.05, 0.3), (palm + 0.036, 0.3)
    )
    for angle in np.radians([-160, -125, -90, -50, -15, 20]):
        leaf = [(0, 0, 0), (0.07, angle - 0.35, -0.02), (0.13, angle, 0.03), (0.05, angle, 0.01)]
        points = [(palm + 0.043 + r * np.cos(a), 0.3 + drop + 1.2 * r * np.sin(a)) for r, a, drop in leaf]
        on.shape((66, 138, 96), *points)


def _studio(on: Canvas, rng: Random) -> None:
    palettes = (
        "f8d6be e2a48c f0826e",
        "c4dee8 82acc4 fac878",
        "d6cce8 a090c4 fab2aa",
        "f6e2a0 e2ba64 60a4a0",
    )
    paper, shade, accent = palette(rng, *palettes, "cee6ce 8cba96 faa078")
    on.fade(0, HORIZON + 0.06, mixed(paper, shade, 0.8), paper)
    on.disc(rng.uniform(0.35, 0.65), 0.42, 0.33, mixed(accent, paper, 0.45))
    on.disc(rng.uniform(0.1, 0.25), rng.uniform(0.2, 0.4), rng.uniform(0.06, 0.12), mixed(shade, paper, 0.4))
    on.disc(rng.uniform(0.75, 0.9), rng.uniform(0.2, 0.5), rng.uniform(0.06, 0.14), mixed(accent, paper, 0.6))
    on.fade(HORIZON + 0.04, 1, mixed(paper, WHITE, 0.25), mixed(paper, shade, 0.35))


def _street(on: Canvas, rng: Random) -> None:
    palettes = ("3a366e f6a078 2c2a4e 545270", "243e68 e6b0a6 22304e 4a566e", "543c78 fabe82 3e2e58 685a78")
    high, low, near, road = palette(rng, *palettes)
    on.fade(0, HORIZON, high, low)
    for wall, rise, lamp in ((mixed(low, near, 0.45), 0.42, 90), (near, 0.3, 215)):
        x = -0.02
        while x < 1:
            wide, tall = rng.uniform(0.07, 0.15), rise * rng.uniform(0.55, 1.15)
            on.box(x, HORIZON - tall, wide, tall, mixed(wall, NIGHT, 0.15 * rng.random()))
            for row in np.arange(HORIZON - tall + 0.025, HORIZON - 0.04, 0.045):
                for column in np.arange(x + 0.012, x + wide - 0.018, 0.024):
                    if rng.random() < 0.4:
                        on.box(column, row, 0.011, 0.021, (255, 214, 140, lamp))
            x += wide
    on.fade(HORIZON, 1, mixed(road, near, 0.4), mixed(road, WHITE, 0.16))
    on.box(0, HORIZON, 1, 0.03, mixed(road, WHITE, 0.22))
    lamp = rng.choice([0.2, 0.8])
    on.box(lamp - 0.005, 0.2, 0.01, 0.52, (30, 30, 48))
    on.box(lamp - 0.03, 0.19, 0.06, 0.01, (30, 30, 48), round_by=0.004)
    on.glow(lamp, 0.22, 0.34, (255, 226, 160))
    on.disc(lamp, 0.215, 0.022, (255, 240, 200))


def _room(on: Canvas, rng: Random) -> None:
    palettes = ("ece0ce 5c8088 dc9678 bc9672", "ced8d4 ce785c f0e2c4 aa8668", "e0d4e2 746496 f0ce82 c4a484")
    wall, sofa, rug, floor = palette(rng, *palettes)
    on.fade(0, HORIZON, mixed(wall, WHITE, 0.25), wall)
    window, left = rng.uniform(0.12, 0.2), rng.uniform(0.5, 0.58)
    on.box(window - 0.012, 0.08, 0.234, 0.406, WHITE)
    on.box(window, 0.095, 0.21, 0.375, (170, 212, 232))
    on.disc(window + 0.14, 0.2, 0.04, (255, 240, 190))
    on.box(window + 0.1, 0.095, 0.008, 0.375, WHITE)
    for x, y in ((0.58, 0.13), (0.72, 0.18)):
        on.box(x, y, 0.11, 0.2, WHITE, round_by=0.004)
        on.box(x + 0.012, y + 0.016, 0.086, 0.168, mixed(rug, sofa, rng.random()))
    on.fade(HORIZON, 1, mixed(floor, NIGHT, 0.15), floor)
    on.box(0, HORIZON - 0.02, 1, 0.02, WHITE)
    for x, y, wide, high in ((0, 0.5, 0.05, 0.19), (0.27, 0.5, 0.05, 0.19), (0.03, 0.44, 0.26, 0.16)):
        on.box(left + x, y, wide, high, mixed(sofa, NIGHT, 0.1), round_by=0.03)
    on.box(left + 0.03, 0.56, 0.26, 0.12, sofa, round_by=0.02)
    on.box(0.155, 0.6, 0.05, 0.1, (200, 116, 84), round_by=0.01)
    for angle in np.radians([-140, -115, -90, -65, -40]):
        tip = (0.18 + 0.09 * np.cos(angle), 0.58 + 0.22 * np.sin(angle))
        on.shape((76, 140, 104), (0.172, 0.6), (0.18 + 0.03 * np.cos(angle - 0.3), 0.5), tip, (0.188, 0.6))
    on.disc(0.5, 0.86, 0.5, mixed(rug, floor, 0.25), flat=0.19)
    on.disc(0.5, 0.86, 0.43, mixed(rug, WHITE, 0.2), flat=0.18)


def _snow(on: Canvas, rng: Random) -> None:
    sky, rock, pine = palette(rng, "82b4e2 788cac 3a6668", "f0bebe 8c80a8 465474", "b0d6e2 688896 305c54")
    snow = (226, 236, 246)
    on.fade(0, HORIZON, sky, mixed(sky, WHITE, 0.7))
    on.mountains(HORIZON, 0.5, mixed(rock, sky, 0.55), rng, peaks=4)
    on.mountains(HORIZON, 0.34, mixed(rock, WHITE, 0.25), rng, peaks=6)
    on.hills(HORIZON, 0.07, snow, rng, waves=1.7)
    on.fade(HORIZON, 1, snow, (250, 252, 255))
    for x, sunk, size in rng.uniform([0, 0, 0.5], [1, 0.03, 1], (11, 3)):
        for tier in range(3):
            wide, top = (0.042 - 0.009 * tier) * size, HORIZON + sunk - (0.12 + 0.06 * tier) * size
            base = top + 0.105 * size
            on.shape(mixed(pine, WHITE, 0.08 * tier), (x - wide, base), (x + wide, base), (x, top))
    for x, y in rng.random((70, 2)):
        on.disc(x, y, 0.0035, WHITE)


def _stage(on: Canvas, rng: Random) -> None:
    palettes = (
        "a8323c 6e1c2a c89a62",
        "2e5a78 1c3650 b88a5a",
        "5a3c80 36224e c09468",
        "2e6e56 184236 caa070",
    )
    cloth, fold, boards = palette(rng, *palettes)
    on.fade(0, HORIZON, mixed(cloth, NIGHT, 0.25), cloth)
    for x in np.arange(0, 1, 0.05):
        on.shape(mixed(cloth, fold, 0.5), (x, 0), (x + 0.02, 0), (x + 0.028, HORIZON), (x - 0.004, HORIZON))
        on.shape(
            mixed(cloth, WHITE, 0.08),
            (x + 0.034, 0),
            (x + 0.041, 0),
            (x + 0.041, HORIZON),
            (x + 0.034, HORIZON),
        )
    for x in np.arange(0.05, 1, 0.1):
        on.disc(x, 0.1, 0.075, fold, flat=0.7)
    on.box(0, 0, 1, 0.1, fold)
    on.box(0, 0.1, 1, 0.008, (222, 184, 96))
    on.fade(HORIZON, 1, mixed(boards, NIGHT, 0.4), boards)
    for x in np.linspace(-0.4, 1.4, 19):
        on.shape(mixed(boards, NIGHT, 0.3), (x, 1), (x + 0.005, 1), (0.503 + 0.6 * (x - 0.5), HORIZON))
    for x in (0.3, 0.7):
        on.shape((255, 244, 206, 34), (x - 0.02, 0), (x + 0.02, 0), (0.8, 0.86), (0.2, 0.86))
    on.disc(0.5, 0.86, 0.42, mixed(boards, (255, 244, 206), 0.35), flat=0.2)


Place = Callable[[Canvas, Random], None]
PLACES: dict[str, Place] = {"gym": _gym, "studio": _studio, "beach": _beach, "snow": _snow, "street": _street}
PLACES |= {"stage": _stage, "room": _room, "park": _park, **FAR_PLACES}


def scenery(place: str, width: int, height: int, rng: Random) -> Image:
    """A picture of `place`, RGB."""
    canvas = Canvas(width, height)
    PLACES[place](canvas, rng)
    return canvas.image
