"""A whole sample made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.errors import DataError
from seasync.sample.actions import Array
from seasync.sample.figure import layers, perform, seen, shadow
from seasync.sample.plan import MARGIN, Camera, Plan, plan, wander
from seasync.sample.scenery import Color
from seasync.sample.truth import TRUTH, Sample, SampleClip

# A planned clip made: its pictures, its sound, its file.


RATE = 48_000
FINE = 2  # pictures are drawn this much larger and then reduced, so that edges are smooth
TILT = 7  # degrees that the camera looks down


def write(plan: Plan, file: Path, size: tuple[int, int]) -> None:
    """Make the clip's file; `size` is (width, height)."""
    from seasync.video import Writer

    with Writer(file, fps=plan.fps, size=size, audio=(RATE, 1), options={"preset": "veryfast"}) as film:
        film.write_audio(sound(plan))
        for picture in frames(plan, size):
            film.write(picture)


def frames(plan: Plan, size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    """The pictures, (height, width, 3) RGB each."""
    from PIL import Image, ImageDraw

    rng, look = np.random.default_rng(plan.seed), plan.look
    camera = Camera.held(plan.action, plan.seconds, size, rng)
    vigour, sway = rng.uniform(0.94, 1.04), 0.8 * wander(plan.seconds, rng)
    places = perform(look.body, plan.action, plan.action_time, vigour=vigour, sway=sway)
    figure = layers(seen(places, view=camera.view, tilt=TILT), look.body, look.outfit)
    drawn = [shadow(places, view=camera.view, tilt=TILT), *figure]
    order = np.argsort(np.stack([layer.near for layer in drawn], -1), kind="stable").tolist()
    ready = [[(_lit(ink, each.light), _points(camera, line)) for ink, line in each.shapes] for each in drawn]
    fine = (FINE * size[0], FINE * size[1])
    scene = look.picture(*(round(side * (1 + 2 * MARGIN)) for side in fine))
    for k, (zoom, (left, top)) in enumerate(zip(camera.zoom, FINE * camera.corner, strict=True)):
        window = (1 / zoom, 0, left, 0, 1 / zoom, top)
        picture = scene.transform(fine, Image.Transform.AFFINE, window, Image.Resampling.NEAREST)
        for layer in order[k]:
            pen = ImageDraw.Draw(picture, "RGB" if layer else "RGBA")  # only the shadow is translucent
            for inks, outlines in ready[layer]:
                pen.polygon(outlines[k], fill=inks[k])
        yield np.asarray(picture.reduce(FINE))


def _points(camera: Camera, outline: Array) -> list[list[int]]:
    """For each frame x, y, x, y, … in the finely drawn picture."""
    pixels = np.rint(FINE * camera.pixels(outline)).astype(np.int64)
    return [frame.ravel().tolist() for frame in pixels]


def _lit(ink: Color, light: Array) -> list[Color]:
    """For each frame the color in that light."""
    return [tuple(row) for row in np.rint(light[:, None] * ink).astype(np.int64).tolist()]


def sound(plan: Plan) -> NDArray[np.float32]:
    """A soft tone with a click at each key moment, (1, samples)."""
    count = round(len(plan.seconds) / plan.fps * RATE)
    time = np.arange(count) / RATE
    fade = np.clip(np.minimum(time, time[-1] - time) / 0.06, 0, 1)
    tone = np.sin(2 * np.pi * plan.tone * time) + 0.3 * np.sin(np.pi * plan.tone * time)
    heard = np.asarray(0.07 * fade * tone, np.float32)
    since = np.arange(round(0.04 * RATE)) / RATE
    click = 0.6 * np.exp(-since / 0.006) * np.cos(2 * np.pi * 2400 * since)
    for moment in plan.key_seconds:
        start = round(moment * RATE)
        heard[start : start + len(click)] += click[: count - start]
    return heard[None]


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
    folder = Path(folder)
    plans = [plan(index, seed=seed, seconds=seconds) for index in range(clips)]
    for each in plans:
        (folder / each.name).parent.mkdir(parents=True, exist_ok=True)
    (folder / TRUTH).unlink(missing_ok=True)  # the old file describes other clips

    def film(each: Plan) -> SampleClip:
        write(each, folder / each.name, size)
        return _known(each, folder)

    done = []
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for clip in pool.map(film, plans):
            done.append(clip)
            if progress:
                progress(clip)
    sample = Sample(folder, tuple(done))
    sample.save()
    return sample


def _known(plan: Plan, folder: Path) -> SampleClip:
    return SampleClip(
        file=folder / plan.name,
        action=plan.action.name,
        look=plan.look.number,
        distractor=plan.distractor,
        fps=plan.fps,
        action_time=plan.action_time,
        phases=plan.action.phase(plan.action_time),
        phase_names=plan.action.phases,
        key_seconds=plan.key_seconds,
        tone=plan.tone,
    )
