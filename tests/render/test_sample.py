"""Sample clips, whose truth is known: key moments seen and heard in a film of one on the other's clock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import Alignment
from seasync.render import retime
from seasync.sample import SampleClip, make
from tests.render.aligned import click_times, heard, pictures, pitch, whole
from tests.render.test_sound import exact


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[SampleClip, SampleClip]:
    """Two clips of one action."""
    sample = make(tmp_path_factory.mktemp("sample"), clips=5, seconds=(3, 4), size=(160, 120))
    first = sample.clips[0]
    return first, next(clip for clip in sample.clips[1:] if clip.action == first.action)


@pytest.fixture
def truth(clips: tuple[SampleClip, SampleClip]) -> Alignment:
    query, match = clips

    def where(seconds: np.ndarray) -> np.ndarray:
        """Through the keys; where the action stands still, its time is no map."""
        ends = [query.seconds[-1], match.seconds[-1]]
        return np.interp(seconds, [0, *query.key_seconds, ends[0]], [0, *match.key_seconds, ends[1]])

    return whole(query.file, match.file, where)


def test_key_moments_are_seen_within_a_frame(
    clips: tuple[SampleClip, SampleClip], truth: Alignment, tmp_path: Path
) -> None:
    query, match = clips
    retime(truth, tmp_path / "film.mp4", crf=4)
    film = np.stack([image.astype(np.float32) for image in pictures(tmp_path / "film.mp4")])
    source = pictures(match.file)
    assert len(film) == len(query.action_time)
    for key, match_key in zip(query.key_seconds, match.key_seconds, strict=True):
        moment = source[round(match_key * match.fps)]
        off = np.abs(film - moment).mean((1, 2, 3))
        alike = np.flatnonzero(off < off.min() + 0.1)
        assert np.abs(alike - key * float(query.fps)).min() <= 1


@exact
def test_clicks_are_heard_within_a_frame_and_the_tone_keeps_its_pitch(
    clips: tuple[SampleClip, SampleClip], truth: Alignment, tmp_path: Path
) -> None:
    query, match = clips
    own, rate = heard(match.file)
    level = 0.5 * float(np.abs(own).max())
    assert len(click_times(own, rate, level=level)) == len(match.key_seconds)
    retime(truth, tmp_path / "film.mp4")
    sound, rate = heard(tmp_path / "film.mp4")
    found = click_times(sound, rate, level=0.5 * level)
    assert len(found) == len(query.key_seconds)
    assert np.abs(np.array(found) - query.key_seconds).max() < 1 / float(query.fps)
    assert pitch(sound[0], rate) == pytest.approx(match.tone, rel=0.01)
