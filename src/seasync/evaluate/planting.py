"""Planted truth: make a second video from a real one, with another look and a known warp of its time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seasync.encoders import content_hash
from seasync.errors import VideoError

Array = NDArray[np.float64]
VERSION = 1  # changes when films are made differently
RATES = (Fraction(20), Fraction(24), Fraction(25), Fraction(30000, 1001), Fraction(30))


@dataclass(frozen=True)
class Look:
    """How the planted picture differs: crop, mirror, colors and coding."""

    crop: tuple[float, float, float]  # size and position, as shares of the picture
    mirrored: bool
    gain: tuple[float, float, float]
    gamma: float
    crf: int
    fps: Fraction


@dataclass(frozen=True, eq=False)
class Planted:
    """A film made from `source`: its frame k, shown at seconds[k], is what the source shows at truth[k]."""

    source: str
    file: str
    seconds: Array
    truth: Array
    look: Look


def plant(source: str | Path, file: Path, *, seed: int = 0, look: Look | None = None) -> Planted:
    """Write a film that shows `source` at another pace and with another look, both drawn from `seed`.

    Both ends are cut, speed ramps between 0.6× and 1.7×, and there is one pause of up to 0.8 s. A film that
    already exists is kept, so its name must identify source and seed (see `film_name`).

    Raises
    ------
    VideoError
        If the source has fewer than 8 frames.
    """
    from seasync.video.timetable import frame_table

    random = np.random.default_rng(seed)
    table = frame_table(source)
    if len(table) < 8:
        raise VideoError(f"{source}: {len(table)} frames; planting a warp needs at least 8")
    look = look or draw_look(random)
    times, wanted = draw_warp(random, table.end)
    seconds = np.arange(int(times[-1] * look.fps)) / float(look.fps)
    shown = np.searchsorted(table.seconds, np.interp(seconds, times, wanted) + table.slack, side="right") - 1
    if not file.exists():
        _write(source, file, shown, look)
    return Planted(str(source), str(file), seconds, table.seconds[shown], look)


def film_name(source: str | Path, seed: int) -> str:
    """A file name that depends on the source's content, the seed, and how films are made."""
    made = hashlib.sha256(f"{VERSION} {content_hash(source)} {seed}".encode())
    return f"{Path(source).stem}-{made.hexdigest()[:12]}.mp4"


def draw_warp(random: np.random.Generator, length: float) -> tuple[Array, Array]:
    """Draw knots of a monotone map from the film's seconds to the source's, shape (K,) each, from 0."""
    start, end = random.uniform(0, 0.12, 2) * length
    source = np.linspace(start, length - end, 7)
    speed = np.exp(random.uniform(np.log(0.6), np.log(1.7), 6))
    times = np.append(0, np.cumsum(np.diff(source) / speed))
    at = int(random.integers(1, 6))
    pause = random.uniform(0.2, 0.8)
    return np.append(times[: at + 1], times[at:] + pause), np.append(source[: at + 1], source[at:])


def draw_look(random: np.random.Generator) -> Look:
    """Draw crop, mirror, colors, compression and frame rate."""
    size, x, y = random.uniform(0.8, 0.97), *random.uniform(0, 1, 2)
    red, green, blue = random.uniform(0.75, 1.25, 3)
    return Look(
        (float(size), float(x), float(y)),
        bool(random.integers(2)),
        (float(red), float(green), float(blue)),
        float(np.exp(random.uniform(-0.35, 0.35))),
        int(random.integers(26, 37)),
        RATES[random.integers(len(RATES))],
    )


def _write(source: str | Path, file: Path, shown: NDArray[np.int64], look: Look) -> None:
    from seasync.video import Writer, probe

    info = probe(source)
    place = _crop(look, info.height, info.width)
    curve = np.linspace(0, 1, 256) ** look.gamma
    colors = np.clip(255 * curve[:, None] * np.array(look.gain), 0, 255).round().astype(np.uint8)
    size = (place[1].stop - place[1].start, place[0].stop - place[0].start)
    with Writer(file, fps=look.fps, size=size, crf=look.crf) as film:
        for picture in _pictures(source, shown):
            part = picture[place][:, ::-1] if look.mirrored else picture[place]
            film.write(np.stack([colors[part[..., c], c] for c in range(3)], axis=2))


def _crop(look: Look, height: int, width: int) -> tuple[slice, slice]:
    share, x, y = look.crop
    tall, wide = max(2, 2 * int(share * height / 2)), max(2, 2 * int(share * width / 2))
    top, left = int(y * (height - tall)), int(x * (width - wide))
    return slice(top, top + tall), slice(left, left + wide)


def _pictures(source: str | Path, shown: NDArray[np.int64]) -> Iterator[NDArray[np.uint8]]:
    """The source's frames with these numbers (never decreasing), repeats included."""
    from seasync.video import read

    wanted = iter(shown.tolist())
    number = next(wanted, None)
    for batch in read(source):
        for picture, at in zip(batch.data, batch.numbers.tolist(), strict=True):
            while number is not None and number <= at:
                yield picture
                number = next(wanted, None)
        if number is None:
            return
