"""Places where nobody expects the figure; each serves one action alone, so a look here is like no other."""

from __future__ import annotations

import numpy as np

from seasync.sample.canvas import HORIZON, NIGHT, WHITE, Canvas, Random, mixed, palette


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
