"""A planned clip made: its pictures, its sound, its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.sample.actions import Array
from seasync.sample.camera import MARGIN, Camera, wander
from seasync.sample.canvas import Color
from seasync.sample.clip_plan import Plan
from seasync.sample.figure import perform
from seasync.sample.paint import layers, seen, shadow

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
    figure = layers(seen(places, view=camera.view, tilt=TILT), look.body, look.outfit, plan.action)
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
