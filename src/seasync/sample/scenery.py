"""Places for the figure to be in, drawn once per clip: where each action is at home."""

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


class Drawing:
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


def _sunset(on: Drawing, rng: Random) -> None:
    high, low, ground = palette(rng, "5c2c62 fc9248 28162e", "96283c ffbe54 341222")
    on.fade(0, 0.74, high, low)
    on.glow(0.5, 0.5, 0.8, (255, 226, 150))
    on.disc(0.5, 0.5, 0.3, (255, 220, 140))
    on.hills(0.75, 0.07, mixed(ground, low, 0.3), rng, waves=2.3)
    on.fade(0.735, 1, mixed(ground, low, 0.08), ground)


def _blackboard(on: Drawing, rng: Random) -> None:
    (board,) = palette(rng, "2c5246", "283e5c", "383a42")
    on.fade(0, 1, mixed(board, WHITE, 0.08), board)
    for k in range(1, 14):
        on.box(k / 14, 0, 0.0015, 1, (*WHITE, 26))
        on.box(0, k / 10, 1, 0.002, (*WHITE, 26))


def _desert(on: Drawing, rng: Random) -> None:
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


def _library(on: Drawing, rng: Random) -> None:
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


def _gym(on: Drawing, rng: Random) -> None:
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


def _studio(on: Drawing, rng: Random) -> None:
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


def _snow(on: Drawing, rng: Random) -> None:
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


def _stage(on: Drawing, rng: Random) -> None:
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
        on.box(x + 0.034, 0, 0.007, HORIZON, mixed(cloth, WHITE, 0.08))
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


Place = Callable[[Drawing, Random], None]
PLACES: dict[str, Place] = {"gym": _gym, "studio": _studio, "snow": _snow, "stage": _stage}
PLACES |= {"sunset": _sunset, "blackboard": _blackboard, "desert": _desert, "library": _library}


def scenery(place: str, size: tuple[int, int], seed: int, number: int) -> "Image":
    """A picture of `place`, RGB, as look `number` of the sample of that seed has it."""
    canvas = Drawing(*size)
    PLACES[place](canvas, np.random.default_rng([seed, number, 3]))
    return canvas.image
