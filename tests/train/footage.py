"""Clips to train on, made up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seasync.clip import Clip
from seasync.encoders.encoder import encoding_of
from seasync.encoding import Encoding, Stream
from tests.videos import write


class Swings:
    """Clips of one movement, each at its own pace and with its own appearance: a curve in 8 dimensions."""

    name = fingerprint = "swings"
    lead = name, fingerprint
    dimension, fps = 8, 15.0

    def __init__(self, count: int, *, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        waves = np.random.default_rng(99).normal(size=(4, self.dimension))
        self.phases, self._encodings, self.clips = [], [], []
        for n in range(count):
            pace = np.cumsum(rng.uniform(0.5, 1.5, int(rng.integers(36, 60))))
            phase = pace / pace[-1]
            course = np.sin(np.outer(phase, [3, 6, 9, 12]) + np.arange(4)) @ waves
            features = course + rng.normal(size=self.dimension) + rng.normal(0, 0.05, course.shape)
            seconds = np.arange(len(phase)) / self.fps
            stream = Stream(self.name, seconds, np.arange(len(phase)), features.astype(np.float32))
            self.phases.append(phase)
            self._encodings.append(encoding_of(self, stream))
            self.clips.append(Clip(f"{seed}-{n}.mp4"))

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        return [self._encodings[n] for n in chosen]


def sliding_squares(folder: Path, count: int = 6) -> Path:
    """Videos in which a bright square moves, each at its own pace."""
    folder.mkdir()
    for n in range(count):
        at = np.cumsum(np.random.default_rng(n).integers(1, 3, 40))
        pictures = np.full((40, 48, 96, 3), 40 + 5 * n, np.uint8)
        for picture, left in zip(pictures, at, strict=True):
            picture[16:32, left : left + 16] = 220
        write(folder / f"{n}.mp4", pictures, fps=15)
    return folder
