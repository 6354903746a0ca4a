"""A whole sample made, and the truth about it: what each frame shows, so which frames belong together.

Each clip is planned from the seed, then drawn, heard and filmed.
"""

import csv
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.errors import DataError
from seasync.sample import figure
from seasync.sample.scenery import WHITE, Color, Random, colors, scenery

Array = NDArray[np.float64]
TRUTH, PHASES = "truth.json", "phases.csv"


@dataclass(frozen=True, eq=False)
class SampleClip:
    """One generated clip and all that is known of it.

    Attributes
    ----------
    look : int
        Number of performer and place: clips with the same number share their look.
    distractor : str
        "look": has the look of a clip of another action; "motion": has a look like no other; else empty.
    action_time : array [shape=(N,)]
        How far the action is in each frame, 0 to 1, never falling.
    phases : array [shape=(N,)]
        Number of the phase in each frame; its name is phase_names[number].
    key_seconds : array [shape=(K,)]
        When each phase but the last ends: a click is heard there.
    tone : float
        Hertz of the tone heard all along.
    """

    file: Path
    action: str
    look: int
    distractor: str
    fps: Fraction
    action_time: Array
    phases: NDArray[np.int64]
    phase_names: tuple[str, ...]
    key_seconds: Array
    tone: float

    def __repr__(self) -> str:
        return (
            f"SampleClip({self.action!r}, {self.file.name}, {len(self.action_time)} frames at {self.fps} fps)"
        )

    @property
    def seconds(self) -> Array:
        """(N,) when each frame is shown."""
        return np.arange(len(self.action_time)) / float(self.fps)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(N,) whether the action is under way: false in the still lead-in and tail, and where it is held."""
        step = np.diff(self.action_time)
        goes = step > 0.1 * step.mean()
        return np.concatenate([[False], goes[:-1] & goes[1:], [False]])

    def to_json(self, folder: Path) -> dict[str, Any]:
        plain = {
            name: getattr(self, name) for name in ("action", "look", "distractor", "tone", "phase_names")
        }
        return plain | {
            "file": self.file.relative_to(folder).as_posix(),
            "fps": str(self.fps),
            "key_seconds": self.key_seconds.round(6).tolist(),
            "phases": self.phases.tolist(),
            "action_time": self.action_time.round(7).tolist(),
        }

    @classmethod
    def from_json(cls, truth: dict[str, Any], folder: Path) -> "SampleClip":
        known = truth | {name: np.array(truth[name], np.float64) for name in ("action_time", "key_seconds")}
        known |= {"file": folder / truth["file"], "fps": Fraction(truth["fps"])}
        known |= {"phases": np.array(truth["phases"], np.int64), "phase_names": tuple(truth["phase_names"])}
        return cls(**known)


@dataclass(frozen=True, eq=False)
class Sample:
    """A folder of generated clips, `<action>/<clip>.mp4`, with their truth.

    Attributes
    ----------
    folder : Path
        The folder.
    clips : tuple of SampleClip
        Its clips, in the order they were made.
    """

    folder: Path
    clips: tuple[SampleClip, ...]

    def __repr__(self) -> str:
        return f"Sample({str(self.folder)!r}, {len(self.clips)} clips of {len(self.actions)} actions)"

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that the clips show."""
        return tuple(dict.fromkeys(clip.action for clip in self.clips))

    @classmethod
    def load(cls, folder: str | Path) -> "Sample":
        """The sample that `make` put into `folder`."""
        folder = Path(folder)
        try:
            known = json.loads((folder / TRUTH).read_text(encoding="utf-8"))
            return cls(folder, tuple(SampleClip.from_json(clip, folder) for clip in known["clips"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{folder}: no sample with a readable {TRUTH} here; make one there first"
            ) from error

    def save(self) -> None:
        """Write truth.json and, `phases.csv` with the labels only: the frame each phase begins with."""
        with (self.folder / PHASES).open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["clip", "frame", "phase", "name"])
            for clip in self.clips:
                name = clip.file.relative_to(self.folder).as_posix()
                phases, begins = np.unique(clip.phases, return_index=True)
                for phase, frame in zip(phases.tolist(), begins.tolist(), strict=True):
                    rows.writerow([name, frame, phase, clip.phase_names[phase]])
        truth = {"clips": [clip.to_json(self.folder) for clip in self.clips]}
        (self.folder / TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def true_warp(query: SampleClip, match: SampleClip) -> Array:
    """When the match is as far in the action as the query is.

    Parameters
    ----------
    query, match
        Clips of one action.

    Returns
    -------
    array [shape=(N,)]
        For each frame of the query, seconds of the match. NaN where the query's action stands still: any
        frame of the match's own stillness would be right there.

    Raises
    ------
    DataError
        If the clips are of different actions.
    """
    if query.action != match.action:
        raise DataError(
            f"true_warp: clips of one action are needed, got {query.action!r} and {match.action!r}"
        )
    seconds = np.interp(query.action_time, match.action_time, match.seconds)
    return np.where(query.moving, seconds, np.nan)


def alignment_error(
    query: SampleClip,
    match: SampleClip,
    warp: Callable[[Array], Array],
    *,
    fps: float | Fraction | None = None,
) -> Array:
    """How far a warp is from the truth, in frames.

    Parameters
    ----------
    query, match
        Clips of one action.
    warp
        From seconds of the query to seconds of the match.
    fps
        Frames per second to count in. Default: the match's own.

    Returns
    -------
    array [shape=(M,)]
        One value for each moving frame of the query. NaN from the warp, at a moment that it does not cover,
        stays NaN.
    """
    moving = query.moving
    away = np.abs(np.asarray(warp(query.seconds[moving])) - true_warp(query, match)[moving])
    return np.asarray(away * float(fps or match.fps))


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
    action: figure.Action
    look: "Appearance"
    seed: tuple[int, ...]


def plan(index: int, *, seed: int, seconds: tuple[float, float]) -> Plan:
    """Clip `index` of the sample; it does not depend on how many clips there are."""
    turn, kind = divmod(index, len(figure.ACTIONS))
    action, distractor = figure.ACTIONS[kind], ROUNDS[turn % len(ROUNDS)]
    shown, place = index, action.far_place if distractor == "motion" else action.place
    if distractor == "look":  # that of a clip of another action, two rounds before
        other = (kind + len(figure.ACTIONS) // 2) % len(figure.ACTIONS)
        shown, place = (turn - 2) * len(figure.ACTIONS) + other, figure.ACTIONS[other].place
    look = dress(seed, shown, place)
    rng = np.random.default_rng([seed, index, 1])
    fps = FRAME_RATES[int(rng.integers(len(FRAME_RATES)))]
    count = round(rng.uniform(*seconds) * fps)
    times, progress, keys = _speed_curve(action.key_times, float(count / fps), rng)
    action_time = figure.smooth_through(times, progress, np.arange(count) / float(fps))
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
    body: figure.Build
    outfit: figure.Outfit


def dress(seed: int, number: int, place: str) -> Appearance:
    """Some performer in that place, dressed so as to stand out."""
    rng = np.random.default_rng([seed, number])
    behind = np.asarray(scenery(place, (56, 42), seed, number))[14:, 18:38].mean((0, 1))
    body = figure.Build.drawn(rng)
    outfit = figure.Outfit(
        skin=_pick(rng, _SKINS),
        hair=_pick(rng, _HAIRS),
        top=_pick(rng, _unlike(behind, _TOPS)),
        trim=_pick(rng, (WHITE, *_TOPS)),
        bottom=_pick(rng, _unlike(behind, _BOTTOMS)),
        shoe=_pick(rng, _SHOES),
        sole=WHITE,
        style=str(rng.choice(figure.STYLES)),
        sleeve=float(rng.choice([0.12, 0.36, 0.42, 0.96])),
        trouser=float(rng.choice([0.3, 0.4, 0.46, 0.95, 0.95])),
    )
    if place == "blackboard":
        body, outfit = replace(body, girth=0.55), _all_in(_CHALK, outfit)
    elif place == "sunset":
        outfit = _all_in(_SHADOW, outfit)
    return Appearance(seed, number, place, body, outfit)


def _all_in(ink: Color, outfit: figure.Outfit) -> figure.Outfit:
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
        cls, action: figure.Action, seconds: Array, size: tuple[int, int], rng: np.random.Generator
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
    places = figure.perform(look.body, plan.action, plan.clip.action_time, vigour=vigour, sway=sway)
    body = figure.layers(figure.seen(places, view=camera.view, tilt=TILT), look.body, look.outfit)
    drawn = [figure.shadow(places, view=camera.view, tilt=TILT), *body]
    order = np.argsort(np.stack([layer.near for layer in drawn], -1), kind="stable").tolist()

    def finish(layer: figure.FigureLayer) -> list[tuple[list[tuple[int, ...]], list[list[int]]]]:
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
