"""A whole sample made: each clip is planned from the seed, then drawn, heard and filmed."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.errors import DataError
from seasync.sample.actions import ACTIONS, Action, Array, smooth_through
from seasync.sample.figure import STYLES, Build, FigureLayer, Outfit, layers, perform, seen, shadow
from seasync.sample.scenery import WHITE, Color, Random, colors, scenery
from seasync.sample.truth import TRUTH, Sample, SampleClip

RATE = 48_000
FINE = 2  # pictures are drawn this much larger and then reduced, so that edges are smooth
TILT = 7  # degrees that the camera looks down


def make(
    folder: str | Path,
    *,
    clips: int = 60,
    seed: int = 0,
    seconds: tuple[float, float] = (3.0, 6.0),
    size: tuple[int, int] = (480, 360),
    jobs: int | None = None,
    progress: Callable[[SampleClip], None] | None = None,
) -> Sample:
    """Film a sample: clips in `<action>/<clip>.mp4`, their truth in truth.json and phases.csv.

    The four actions take turns. From 9 clips on there are distractors by look, from 13 on by motion too.
    A larger sample begins with the clips of a smaller one of the same seed.

    Parameters
    ----------
    folder
        Where to put it.
    clips
        How many.
    seed
        One seed always makes the same sample.
    seconds
        The shortest and the longest clip.
    size
        (width, height) in pixels.
    jobs
        Clips made at once. Default: one for each core.
    progress
        Called with each clip that is done.

    Returns
    -------
    Sample

    Raises
    ------
    DataError
        If an argument is out of range.

    Examples
    --------
    >>> sample = seasync.sample.make("sample", clips=2, seconds=(2, 3), size=(160, 120))
    >>> [clip.action for clip in sample.clips]
    ['squat', 'jumping-jack']
    """
    if clips < 1 or not 1 <= seconds[0] <= seconds[1] or min(size) < 32:
        wanted = "clips ≥ 1, seconds (shortest ≥ 1, longest) and a size ≥ 32 × 32"
        raise DataError(f"sample: expected {wanted}, got {clips = }, {seconds = }, {size = }")
    from seasync.video import Writer

    folder = Path(folder)
    plans = [plan(index, seed=seed, seconds=seconds) for index in range(clips)]
    for each in plans:
        (folder / each.clip.file).parent.mkdir(parents=True, exist_ok=True)
    (folder / TRUTH).unlink(missing_ok=True)  # the old file describes other clips

    def film(each: Plan) -> SampleClip:
        clip = replace(each.clip, file=folder / each.clip.file)
        sampled = (RATE, 1)
        with Writer(clip.file, fps=clip.fps, size=size, audio=sampled, options={"preset": "veryfast"}) as out:
            out.write_audio(sound(clip))
            for picture in frames(each, size):
                out.write(picture)
        return clip

    done = []
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for clip in pool.map(film, plans):
            done.append(clip)
            if progress:
                progress(clip)
    sample = Sample(folder, tuple(done))
    sample.save()
    return sample


# What each clip will show and when, drawn from the seed before any picture is.

FRAME_RATES = (Fraction(24), Fraction(25), Fraction(30), Fraction(30000, 1001))
TONES = (220.0, 247.5, 275.0, 330.0, 371.25)  # hertz; they sound well together
# The kind of distractor that each round of all actions is.
ROUNDS = ("", "", "look", "motion", "", "", "", "")


@dataclass(frozen=True, eq=False)
class Plan:
    """One clip to be: what will be known of it, with the file's place in the sample, and what is drawn."""

    clip: SampleClip
    action: Action
    look: "Appearance"
    seed: tuple[int, ...]


def plan(index: int, *, seed: int, seconds: tuple[float, float]) -> Plan:
    """Clip `index` of the sample; it does not depend on how many clips there are."""
    turn, kind = divmod(index, len(ACTIONS))
    action, distractor = ACTIONS[kind], ROUNDS[turn % len(ROUNDS)]
    shown, place = index, action.far_place if distractor == "motion" else action.place
    if distractor == "look":  # that of a clip of another action, two rounds before
        other = (kind + len(ACTIONS) // 2) % len(ACTIONS)
        shown, place = (turn - 2) * len(ACTIONS) + other, ACTIONS[other].place
    look = dress(seed, shown, place)
    rng = np.random.default_rng([seed, index, 1])
    fps = FRAME_RATES[int(rng.integers(len(FRAME_RATES)))]
    count = round(rng.uniform(*seconds) * fps)
    times, progress, keys = _speed_curve(action.key_times, float(count / fps), rng)
    action_time = smooth_through(times, progress, np.arange(count) / float(fps))
    clip = SampleClip(
        file=Path(action.name, f"{action.name}-{index:03d}.mp4"),
        action=action.name,
        look=look.number,
        distractor=distractor,
        fps=fps,
        action_time=action_time,
        phases=action.phase(action_time),
        phase_names=action.phases,
        key_seconds=keys,
        tone=float(rng.choice(TONES)),
    )
    return Plan(clip, action, look, (seed, index, 2))


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


def dress(seed: int, number: int, place: str) -> Appearance:
    """Some performer in that place, dressed so as to stand out."""
    rng = np.random.default_rng([seed, number])
    behind = np.asarray(scenery(place, (56, 42), seed, number))[14:, 18:38].mean((0, 1))
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


def _all_in(ink: Color, outfit: Outfit) -> Outfit:
    return replace(outfit, skin=ink, hair=ink, top=ink, trim=ink, bottom=ink, shoe=ink, sole=ink)


def _pick(rng: Random, choices: tuple[Color, ...]) -> Color:
    return choices[int(rng.integers(len(choices)))]


def _unlike(behind: NDArray[np.float64], choices: tuple[Color, ...]) -> tuple[Color, ...]:
    """The half of the colors that stands out most."""
    ranked = sorted(choices, key=lambda color: -float(np.abs(behind - color).sum()))
    return tuple(ranked[: len(ranked) // 2 + 1])


# How a clip is filmed: where the camera points, frame by frame, its pictures and its sound.

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
    def held(
        cls, action: Action, seconds: Array, size: tuple[int, int], rng: np.random.Generator
    ) -> "Camera":
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


def frames(plan: Plan, size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    """The pictures, (height, width, 3) RGB each."""
    from PIL import Image, ImageDraw

    rng, look = np.random.default_rng(plan.seed), plan.look
    camera = Camera.held(plan.action, plan.clip.seconds, size, rng)
    vigour, sway = rng.uniform(0.94, 1.04), 0.8 * wander(plan.clip.seconds, rng)
    places = perform(look.body, plan.action, plan.clip.action_time, vigour=vigour, sway=sway)
    figure = layers(seen(places, view=camera.view, tilt=TILT), look.body, look.outfit)
    drawn = [shadow(places, view=camera.view, tilt=TILT), *figure]
    order = np.argsort(np.stack([layer.near for layer in drawn], -1), kind="stable").tolist()

    def finish(layer: FigureLayer) -> list[tuple[list[tuple[int, ...]], list[list[int]]]]:
        """Each shape's color in its light and its outline x, y, x, y, … in the fine picture, by frame."""
        lit = [np.rint(layer.light[:, None] * ink).astype(np.int64) for ink, _ in layer.shapes]
        lines = [np.rint(FINE * camera.pixels(line)).astype(np.int64) for _, line in layer.shapes]
        return [
            ([tuple(color) for color in inks.tolist()], line.reshape(len(line), -1).tolist())
            for inks, line in zip(lit, lines, strict=True)
        ]

    ready = [finish(layer) for layer in drawn]
    fine = (FINE * size[0], FINE * size[1])
    beyond = (round(fine[0] * (1 + 2 * MARGIN)), round(fine[1] * (1 + 2 * MARGIN)))
    scene = scenery(look.place, beyond, look.seed, look.number)
    for k, (zoom, (left, top)) in enumerate(zip(camera.zoom, FINE * camera.corner, strict=True)):
        window = (1 / zoom, 0, left, 0, 1 / zoom, top)
        picture = scene.transform(fine, Image.Transform.AFFINE, window, Image.Resampling.NEAREST)
        for layer in order[k]:
            pen = ImageDraw.Draw(picture, "RGB" if layer else "RGBA")  # only the shadow is translucent
            for inks, outlines in ready[layer]:
                pen.polygon(outlines[k], fill=inks[k])
        yield np.asarray(picture.reduce(FINE))


def sound(clip: SampleClip) -> NDArray[np.float32]:
    """A soft tone with a click at each key moment, (1, samples)."""
    count = round(len(clip.action_time) / clip.fps * RATE)
    time = np.arange(count) / RATE
    fade = np.clip(np.minimum(time, time[-1] - time) / 0.06, 0, 1)
    tone = np.sin(2 * np.pi * clip.tone * time) + 0.3 * np.sin(np.pi * clip.tone * time)
    heard = np.asarray(0.07 * fade * tone, np.float32)
    since = np.arange(round(0.04 * RATE)) / RATE
    click = 0.6 * np.exp(-since / 0.006) * np.cos(2 * np.pi * 2400 * since)
    for moment in clip.key_seconds:
        start = round(moment * RATE)
        heard[start : start + len(click)] += click[: count - start]
    return heard[None]
