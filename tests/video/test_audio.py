"""sound(): on the picture's clock, in every container."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from seasync.errors import VideoError
from seasync.video import sound
from tests.videos import numbered

RATE = 48000
CLICKS = [0.5, 1.0, 1.7333, 2.5, 3.2]
CONTAINERS = {"mp4": "aac", "mkv": "aac", "mov": "pcm_s16le", "ts": "aac", "webm": "libopus"}


def clicking(file: Path, *, late: float = 0.0, channels: int = 2) -> Path:
    """110 frames from `late` seconds on, and clicks at CLICKS, all in the container's time."""
    samples = np.zeros((channels, 4 * RATE), np.float32)
    for click in CLICKS:
        samples[:, int(click * RATE) : int(click * RATE) + 41] = 0.8 * np.hanning(41)
    return numbered(
        file,
        110,
        width=64,
        height=48,
        pts=range(round(30 * late), round(30 * late) + 110),
        codec="libvpx" if file.suffix == ".webm" else "libx264",
        sound=samples,
        sound_codec=CONTAINERS[file.suffix[1:]],
    )


def heard(samples: np.ndarray, rate: int, start: float = 0.0) -> list[float]:
    """When clicks are heard."""
    level = np.abs(samples).max(0)
    return [
        start + (i - 20 * rate / RATE) / rate
        for i in range(1, len(level) - 1)
        if level[i] > 0.4 and level[i] == level[max(i - rate // 20, 0) : i + rate // 20].max()
    ]


@pytest.mark.parametrize("suffix", CONTAINERS)
def test_clicks_are_heard_when_they_were_made(tmp_path: Path, suffix: str) -> None:
    file = clicking(tmp_path / f"a.{suffix}")
    np.testing.assert_allclose(heard(sound(file), RATE), CLICKS, atol=0.001)


@pytest.mark.parametrize("suffix", CONTAINERS)
@pytest.mark.parametrize("rate", [48000, 44100, 16000])
def test_a_span_is_heard_as_in_the_whole(tmp_path: Path, suffix: str, rate: int) -> None:
    file = clicking(tmp_path / f"a.{suffix}")
    part = sound(file, start=1.5, end=2.75, rate=rate)
    assert part.shape == (2, round(1.25 * rate))
    np.testing.assert_allclose(heard(part, rate, 1.5), [1.7333, 2.5], atol=0.0015)


def test_spans_of_one_file_fit_together_without_a_seam(tmp_path: Path) -> None:
    tone = np.sin(2 * np.pi * 440 * np.arange(4 * RATE) / RATE).astype(np.float32)[None] * 0.5
    file = numbered(tmp_path / "a.mp4", 110, width=64, height=48, sound=tone)
    edges = [0.0, 0.7, 1.3337, 2.9, 3.5]
    parts = [sound(file, start=a, end=b) for a, b in itertools.pairwise(edges)]
    joined, whole = np.concatenate(parts, axis=1), sound(file, end=3.5)
    assert abs(joined.shape[1] - whole.shape[1]) <= 2
    assert np.abs(joined[:, :160000] - whole[:, :160000]).max() < 0.05


def test_seconds_count_from_the_first_picture_not_from_the_first_sample(tmp_path: Path) -> None:
    file = clicking(tmp_path / "a.mkv", late=0.6)
    np.testing.assert_allclose(heard(sound(file), RATE), [c - 0.6 for c in CLICKS[1:]], atol=0.001)


def test_where_there_is_no_sound_there_is_silence(tmp_path: Path) -> None:
    file = clicking(tmp_path / "a.mp4")
    after = sound(file, start=3.5, end=10)
    assert after.shape == (2, 6.5 * RATE)
    assert not after[:, RATE:].any()


@pytest.mark.parametrize("stored", [1, 2])
@pytest.mark.parametrize("asked", [None, 1, 2])
def test_channels(tmp_path: Path, stored: int, asked: int | None) -> None:
    got = sound(clicking(tmp_path / "a.mov", channels=stored), channels=asked)
    assert len(got) == asked or stored
    assert np.abs(got).max(1) == pytest.approx([0.8] * len(got), abs=0.01)


def test_what_cannot_be_heard_is_said(tmp_path: Path) -> None:
    file = clicking(tmp_path / "a.mp4")
    with pytest.raises(VideoError, match="0 ≤ start < end"):
        sound(file, start=2, end=1)
    with pytest.raises(VideoError, match="shorter spans"):
        sound(file, start=0, end=1e7)
    with pytest.raises(VideoError, match="channels must be 1 or 2"):
        sound(file, channels=3)
    with pytest.raises(VideoError, match="no sound"):
        sound(numbered(tmp_path / "b.mp4", 3))
