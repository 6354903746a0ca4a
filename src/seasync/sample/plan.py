"""What each clip of a sample will show and when, drawn from the seed before any picture is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.sample.actions import ACTIONS, Action, Array, smooth_through
from seasync.sample.figure import STYLES, Build, Outfit
from seasync.sample.scenery import WHITE, Color, Random, colors, scenery

if TYPE_CHECKING:
    from PIL.Image import Image


# Who is filmed, and where: a performer's body and clothes, and the place behind.


_SKINS = colors("fad6ba eebe98 d6a078 b07a56 8a5c40 624030")
_HAIRS = colors("2c201e 543626 8c5a36 d6a85c b04a2c 969292 3a344a")
_TOPS = colors("e2544c f09a3e f8ce54 54aa78 348496 3a68b0 7a5ca8 d66896 f6f0e4 3a3e4a 96ccd6 a83c48")
_BOTTOMS = colors("282e42 425878 604a42 365c58 787c84 d0be9e 68303e")
_SHOES = colors("f4f4f0 e65448 2e3038 54b4be fac446 785aaa")
_SHADOW, _CHALK = colors("1e1422 eef0e8")


@dataclass(frozen=True)
class Appearance:
    """All that two clips share when they share their look, and its number in the sample of that seed."""

    seed: int
    number: int
    place: str
    body: Build
    outfit: Outfit

    def picture(self, width: int, height: int) -> Image:
        """The place, RGB."""
        return _picture(self.place, self.seed, self.number, width, height)


def drawn(seed: int, number: int, place: str) -> Appearance:
    """Some performer in that place, dressed so as to stand out."""
    rng = np.random.default_rng([seed, number])
    behind = np.asarray(_picture(place, seed, number, 56, 42))[14:, 18:38].mean((0, 1))
    body = Build.drawn(rng)
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
    return Appearance(seed, number, place, body, outfit)


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


FRAME_RATES = (Fraction(24), Fraction(25), Fraction(30), Fraction(30000, 1001))
TONES = (220.0, 247.5, 275.0, 330.0, 371.25)  # hertz; they sound well together
# The kind of distractor that each round of all actions is.
ROUNDS = ("", "", "look", "motion", "", "", "", "")


@dataclass(frozen=True, eq=False)
class Plan:
    """One clip to be.

    seconds      (N,) when each frame is shown        action_time  (N,) from 0 to 1, never falling
    key_seconds  (K,) when the key moments happen     distractor   "" | "look" | "motion"
    """

    index: int
    action: Action
    look: Appearance
    distractor: str
    fps: Fraction
    seconds: Array
    action_time: Array
    key_seconds: Array
    tone: float
    seed: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.action.name}/{self.action.name}-{self.index:03d}.mp4"


def plan(index: int, *, seed: int, seconds: tuple[float, float]) -> Plan:
    """Clip `index` of the sample; it does not depend on how many clips there are."""
    turn, kind = divmod(index, len(ACTIONS))
    action, distractor = ACTIONS[kind], ROUNDS[turn % len(ROUNDS)]
    if distractor == "look":
        borrowed = _elsewhere(turn, kind)
        look = drawn(seed, borrowed, ACTIONS[borrowed % len(ACTIONS)].place)
    else:
        look = drawn(seed, index, action.far_place if distractor == "motion" else action.place)
    rng = np.random.default_rng([seed, index, 1])
    fps = FRAME_RATES[int(rng.integers(len(FRAME_RATES)))]
    count = round(rng.uniform(*seconds) * fps)
    times, progress, keys = _speed_curve(action.key_times, float(count / fps), rng)
    shown = np.arange(count) / float(fps)
    return Plan(
        index=index,
        action=action,
        look=look,
        distractor=distractor,
        fps=fps,
        seconds=shown,
        action_time=smooth_through(times, progress, shown),
        key_seconds=keys,
        tone=float(rng.choice(TONES)),
        seed=(seed, index, 2),
    )


def _elsewhere(turn: int, kind: int) -> int:
    """The clip of another action, two rounds before, whose look is borrowed."""
    return (turn - 2) * len(ACTIONS) + (kind + len(ACTIONS) // 2) % len(ACTIONS)


def _speed_curve(
    key_times: tuple[float, ...], seconds: float, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Knots of action time over seconds, and the seconds at which the key times are first reached.

    It stands still at both ends and, here and there, at a key moment; between, each stretch has a pace of its
    own and changes it on the way.
    """
    lead, tail = rng.uniform(0.07, 0.15, 2) * seconds
    holds = np.where(rng.random(len(key_times)) < 0.35, rng.uniform(0.04, 0.1, len(key_times)), 0) * seconds
    stops = np.array([0.0, *key_times, 1.0])
    share = np.diff(stops) * rng.uniform(0.65, 1.5, len(stops) - 1)
    spent = share / share.sum() * (seconds - lead - tail - holds.sum())
    times, progress, keys = [0.0, lead], [0.0, 0.0], []
    for k, stretch in enumerate(spent):
        start = times[-1]
        for at, gone in zip((0.5, 1.0), (rng.uniform(0.36, 0.64), 1.0), strict=True):
            times.append(start + at * stretch)
            progress.append(stops[k] + gone * (stops[k + 1] - stops[k]))
        if k < len(key_times):
            keys.append(times[-1])
            if holds[k]:
                times.append(times[-1] + holds[k])
                progress.append(progress[-1])
    return np.array([*times, seconds]), np.array([*progress, 1.0]), np.array(keys)


# How a clip is filmed: where the camera points, frame by frame.


MARGIN = 0.2  # of the picture, by which the scenery extends beyond it on each side


@dataclass(frozen=True, eq=False)
class Camera:
    """What is in view. Lengths are pixels of the picture at zoom 1.

    corner  (N, 2)  of the part of the scenery that is in view      scale      pixels to a metre
    zoom    (N,)    how much that part is enlarged                  origin     (2,) where the figure stands
    view    degrees that the figure is turned towards the camera
    """

    corner: Array
    zoom: Array
    scale: float
    origin: Array
    view: float

    @classmethod
    def held(cls, action: Action, seconds: Array, size: tuple[int, int], rng: np.random.Generator) -> Camera:
        """A camera that pans and zooms a little, in hands that are not quite still."""
        frame, course = np.array(size, np.float64), seconds / seconds[-1] - 0.5
        zoom = rng.uniform(0.96, 1.06) * (1 + rng.uniform(-0.04, 0.04) * course)
        pan = course[:, None] * rng.uniform([-0.03, -0.01], [0.03, 0.01])
        shake = rng.uniform(0.001, 0.005) * np.stack([wander(seconds, rng), wander(seconds, rng)], -1)
        view, scale = action.view + rng.uniform(-9, 9), size[1] / action.high
        ahead, up = action.center
        subject = scale * np.array([ahead * np.cos(np.radians(view)), -up])
        middle = frame * (0.5 + MARGIN)
        aside = frame * [rng.uniform(-0.03, 0.03), 0]
        corner = middle + frame * (pan + shake) - frame / 2 / zoom[:, None]
        return cls(corner, zoom, scale, middle - subject + aside, view)

    def pixels(self, points: Array) -> Array:
        """Where points (N, P, 2) in metres, across and up, are in the picture: right and down."""
        in_scenery = points * [self.scale, -self.scale] + self.origin
        return np.asarray((in_scenery - self.corner[:, None]) * self.zoom[:, None, None])


def wander(seconds: Array, rng: np.random.Generator) -> Array:
    """A slow irregular movement about 0, (N,)."""
    rates, phases = rng.uniform(0.2, 1.1, 3), rng.uniform(0, 2 * np.pi, 3)
    return np.asarray(np.sin(2 * np.pi * rates * seconds[:, None] + phases).mean(1))
