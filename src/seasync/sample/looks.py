"""Who is filmed, and where: a performer's body and clothes, and the place behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.sample.canvas import WHITE, Color, Random, colors
from seasync.sample.figure import Body
from seasync.sample.paint import STYLES, Outfit
from seasync.sample.scenery import scenery

if TYPE_CHECKING:
    from PIL.Image import Image

_SKINS = colors("fad6ba eebe98 d6a078 b07a56 8a5c40 624030")
_HAIRS = colors("2c201e 543626 8c5a36 d6a85c b04a2c 969292 3a344a")
_TOPS = colors("e2544c f09a3e f8ce54 54aa78 348496 3a68b0 7a5ca8 d66896 f6f0e4 3a3e4a 96ccd6 a83c48")
_BOTTOMS = colors("282e42 425878 604a42 365c58 787c84 d0be9e 68303e")
_SHOES = colors("f4f4f0 e65448 2e3038 54b4be fac446 785aaa")
_SHADOW, _CHALK = colors("1e1422 eef0e8")


@dataclass(frozen=True)
class Look:
    """All that two clips share when they share their look, and its number in the sample of that seed."""

    seed: int
    number: int
    place: str
    body: Body
    outfit: Outfit

    def picture(self, width: int, height: int) -> Image:
        """The place, RGB."""
        return _picture(self.place, self.seed, self.number, width, height)


def drawn(seed: int, number: int, place: str) -> Look:
    """Some performer in that place, dressed so as to stand out."""
    rng = np.random.default_rng([seed, number])
    behind = np.asarray(_picture(place, seed, number, 56, 42))[14:, 18:38].mean((0, 1))
    body = Body.drawn(rng)
    outfit = Outfit(
        skin=_pick(rng, _SKINS),
        hair=_pick(rng, _HAIRS),
        top=_pick(rng, _unlike(behind, _TOPS)),
        trim=_pick(rng, (WHITE, *_TOPS)),
        bottom=_pick(rng, _unlike(behind, _BOTTOMS)),
        shoe=_pick(rng, _SHOES),
        sole=WHITE,
        style=str(rng.choice(STYLES)),
        sleeve=float(rng.choice([0.12, 0.36, 0.42, 0.96])),
        trouser=float(rng.choice([0.3, 0.4, 0.46, 0.95, 0.95])),
    )
    if place == "blackboard":
        body, outfit = replace(body, girth=0.55), _all_in(_CHALK, outfit)
    elif place == "sunset":
        outfit = _all_in(_SHADOW, outfit)
    return Look(seed, number, place, body, outfit)


def _picture(place: str, seed: int, number: int, width: int, height: int) -> Image:
    return scenery(place, width, height, np.random.default_rng([seed, number, 3]))


def _all_in(ink: Color, outfit: Outfit) -> Outfit:
    return replace(outfit, skin=ink, hair=ink, top=ink, trim=ink, bottom=ink, shoe=ink, sole=ink)


def _pick(rng: Random, choices: tuple[Color, ...]) -> Color:
    return choices[int(rng.integers(len(choices)))]


def _unlike(behind: NDArray[np.float64], choices: tuple[Color, ...]) -> tuple[Color, ...]:
    """The half of the colors that stands out most."""
    ranked = sorted(choices, key=lambda color: -float(np.abs(behind - color).sum()))
    return tuple(ranked[: len(ranked) // 2 + 1])
