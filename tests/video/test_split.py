"""Shots and windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.errors import VideoError
from seasync.video import read, shots, windows
from tests.videos import numbered, write


def scenes(lengths: list[int]) -> list[np.ndarray]:
    """A slow pan over another colored texture in each scene."""
    pictures = []
    for i, length in enumerate(lengths):
        chance = np.random.default_rng(i)
        coarse = chance.integers(0, 255, (12, 40, 3)) // 2 + chance.integers(0, 128, 3)
        wide = np.kron(coarse, np.ones((10, 10, 1))).astype(np.uint8)
        pictures += [wide[:, j % 200 : j % 200 + 160] for j in range(length)]
    return pictures


def test_shots_begin_at_the_cuts_and_cover_the_file(tmp_path: Path) -> None:
    lengths = [30, 45, 25, 60, 40]
    file = write(tmp_path / "a.mp4", map(np.ascontiguousarray, scenes(lengths)))
    cuts = np.cumsum(lengths) / 30
    found = shots(file)
    np.testing.assert_allclose([start for start, _ in found], [0, *cuts[:-1]], atol=1e-3)
    np.testing.assert_allclose([end for _, end in found], cuts, atol=1e-3)


def test_cuts_of_variable_rate_video_are_at_their_true_times(tmp_path: Path) -> None:
    pts = np.cumsum([0, *([20, 50, 33] * 40)])[:100]
    file = write(tmp_path / "a.mkv", map(np.ascontiguousarray, scenes([40, 60])), pts=pts.tolist(), fps=1000)
    assert [start for start, _ in shots(file)] == pytest.approx([0, pts[40] / 1000])


def test_cuts_are_those_of_pyscenedetect(tmp_path: Path) -> None:
    """Textures of similar colors, some flashes, noise: where cuts are near the threshold, both agree."""
    from scenedetect.common import FrameTimecode
    from scenedetect.detectors import AdaptiveDetector

    chance = np.random.default_rng(5)
    pictures = []
    for picture in scenes([20, 4, 40, 25, 3, 30, 50]):
        noise = chance.integers(-6, 7, picture.shape)
        flash = 60 if chance.random() < 0.05 else 0
        pictures.append(np.clip(picture * 0.3 + 60 + noise + flash, 0, 255).astype(np.uint8))
    file = write(tmp_path / "a.mp4", pictures)
    detector = AdaptiveDetector(min_scene_len=15)
    expected = []
    for batch in read(file, size=(192, 256)):
        for picture, number in zip(batch.data, batch.numbers.tolist(), strict=True):
            now = FrameTimecode(number, 30.0)
            expected += detector.process_frame(now, np.ascontiguousarray(picture[..., ::-1]))
    assert len(expected) >= 2
    assert [start for start, _ in shots(file)][1:] == pytest.approx([cut.frame_num / 30 for cut in expected])


def test_no_cut_is_one_shot(tmp_path: Path) -> None:
    assert shots(numbered(tmp_path / "a.mp4", 1)) == [(0.0, pytest.approx(1 / 30))]
    assert len(shots(write(tmp_path / "b.mp4", map(np.ascontiguousarray, scenes([50]))))) == 1


def test_windows_tile_the_file_and_a_short_rest_joins_the_last(tmp_path: Path) -> None:
    file = numbered(tmp_path / "a.mp4", 48)
    assert windows(file, 0.5) == [(0.0, 0.5), (0.5, 1.0), (1.0, pytest.approx(1.6))]
    assert windows(file, 0.6) == [(0.0, 0.6), (0.6, 1.2), (1.2, pytest.approx(1.6))]
    assert windows(file, 10) == [(0.0, pytest.approx(1.6))]
    with pytest.raises(VideoError, match="more than 0"):
        windows(file, 0)
