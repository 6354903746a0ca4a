"""Small footage and rows with known truth for the sea's tests.

A video shows a bright block on a dark ground. Its action is the block's course ("circle", "dive", …), its
look the block's colour and place, so that clips of one action move alike and need not look alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encoder import clip_vector_parts, trajectory_dimension
from seasync.encoding import Encoding, Stream
from seasync.sea.rows import FORMAT, ClipEntry, Row, SeaFacts, clip_id
from tests.videos import write

SIZE, BLOCK = 64, 14
COURSES = {
    "circle": lambda t: (np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)),
    "dive": lambda t: (np.zeros_like(t), 2 * t**2 - 1),
    "bounce": lambda t: (1 - 2 * t, np.abs(np.sin(3 * np.pi * t)) * 2 - 1),
}


def pictures(action: str, look: int, frames: int = 32) -> Iterator[np.ndarray]:
    """The frames of a video of `action`; `look` draws its colours, place, size and pace."""
    rng = np.random.default_rng(look)
    colour, ground = rng.integers(140, 256, 3), rng.integers(0, 60, 3)
    centre, reach = rng.uniform(22, 28, 2), rng.uniform(12, 18)
    pace = np.linspace(0, 1, frames) ** rng.uniform(0.8, 1.25)
    x, y = COURSES[action](pace)
    for column, row in zip(centre[0] + reach * x, centre[1] + reach * y, strict=True):
        image = np.broadcast_to(ground, (SIZE, SIZE, 3)).astype(np.uint8)
        top, left = int(np.clip(row, 0, SIZE - BLOCK)), int(np.clip(column, 0, SIZE - BLOCK))
        image[top : top + BLOCK, left : left + BLOCK] = colour
        yield image


def video(file: Path, action: str = "circle", look: int = 0, frames: int = 32) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return write(file, pictures(action, look, frames), fps=15)


def videos(folder: Path, count: int, *, frames: int = 32) -> Path:
    """`count` videos `ACTION/NN.mp4`, the actions in turn."""
    for n in range(count):
        action = list(COURSES)[n % len(COURSES)]
        video(folder / action / f"{n:03d}.mp4", action, n, frames)
    return folder


WIDTH = 16


def facts(*, streams: int = 1) -> SeaFacts:
    names = tuple((f"stream {n}", WIDTH + 4 * n) for n in range(streams))
    return SeaFacts(FORMAT, "made", "made/1", 7.5, names, trajectory_dimension(WIDTH))


def encoding(
    seed: int, *, kind: int = 0, frames: int = 12, streams: int = 1, still: bool = False
) -> Encoding:
    """Features that walk at random, much alike for all of one kind."""
    common, own = np.random.default_rng(kind + 1000), np.random.default_rng(seed)
    made = []
    for n in range(streams):
        shape = (frames, WIDTH + 4 * n)
        features = common.normal(size=shape).cumsum(0) + 0.3 * own.normal(size=shape)
        features = features[:1].repeat(frames, 0) if still else features
        half = features.astype(np.float16).astype(np.float32)
        numbers = np.arange(frames) * 2
        shots = np.array([0, frames // 2])
        made.append(Stream(f"stream {n}", numbers / 15, numbers, half, shots, 1 - 0.1 * n))
    return Encoding("made/1", tuple(made), *clip_vector_parts(made[0].features, made[0].seconds))


def row(seed: int, *, kind: int = 0, label: str | None = None, file: str | None = None, **how: int) -> Row:
    content = f"{seed:032x}"
    clip = Clip(file or f"/footage/{seed}.mp4", 0.0, None, label, clip_id(content, 0.0, None))
    entry = ClipEntry(clip, content, 1.6, fps=30.0, tags=("made",))
    return Row(entry, encoding(seed, kind=kind, **how))
