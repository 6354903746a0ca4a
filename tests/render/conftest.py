"""A pair of numbered videos, and the tools that check what comes out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import Alignment
from tests.render.aligned import bent, clicks, whole
from tests.videos import numbered

KEYS = (0.5, 1.0, 1.6, 2.5)  # key moments of the query, in seconds
MATCH_KEYS = (0.9, 1.5, 1.9, 3.0)  # the same moments of the match
KNOTS = ((0.0, *KEYS, 3.0), (0.2, *MATCH_KEYS, 3.7))
true_map = bent(*KNOTS)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A query of 90 frames and a match of 120, at 30 fps, with a tone, and a click at each key moment."""
    folder = tmp_path_factory.mktemp("pair")
    query = numbered(folder / "query.mp4", 90, sound=clicks(KEYS, 3.0, tone=330.0))
    sound = np.repeat(clicks(MATCH_KEYS, 4.0, tone=440.0, rate=44100), 2, axis=0)
    match = numbered(folder / "match.mp4", 120, sound=sound, sound_rate=44100)
    return query, match


@pytest.fixture
def aligned(pair: tuple[Path, Path]) -> Alignment:
    return whole(*pair, true_map)


@pytest.fixture
def tool() -> Callable[[str], str]:
    """Where a program is: a visible skip where it is missing, a failure in CI, where it can be installed."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            message = f"{name} is not installed (apt-get install {name.replace('ffprobe', 'ffmpeg')})"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find
