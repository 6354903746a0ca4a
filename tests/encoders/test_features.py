"""Features made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.errors import EncoderError, FeatureError
from tests.videos import numbered


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """A video of 48 frames at 30 fps, and a folder for its features."""
    folder = tmp_path / "features"
    folder.mkdir()
    return numbered(tmp_path / "swing.mp4"), folder


def rows(count: int) -> np.ndarray:
    return np.arange(4 * count, dtype=np.float32).reshape(count, 4)


def test_one_feature_per_frame_takes_the_frames_own_times(made: tuple[Path, Path]) -> None:
    video, folder = made
    np.save(folder / "swing.npy", rows(48))
    encoding = encode_clip(video, f"features:{folder}")
    np.testing.assert_allclose(encoding.seconds, np.arange(48) / 30, atol=1e-3)
    np.testing.assert_array_equal(encoding.frames, np.arange(48))
    np.testing.assert_array_equal(encoding.features, rows(48))


def test_fewer_features_are_spread_over_the_video(made: tuple[Path, Path]) -> None:
    video, folder = made
    np.save(folder / "swing.npy", rows(16))
    encoding = encode_clip(video, f"features:{folder}")
    np.testing.assert_allclose(encoding.seconds, np.arange(16) / 10, atol=1e-3)
    np.testing.assert_array_equal(encoding.frames, np.arange(16) * 3)


def test_stated_rate_and_name_are_used(made: tuple[Path, Path]) -> None:
    video, folder = made
    np.save(folder / "swing.npy", rows(8))
    (folder / "features.json").write_text(json.dumps({"name": "ours-2", "fps": 6}))
    encoding = encode_clip(video, f"features:{folder}")
    np.testing.assert_allclose(encoding.seconds, np.arange(8) / 6, atol=1e-3)
    assert encoding.encoder == "features/ours-2"


def test_a_span_and_a_lower_rate_take_their_share(made: tuple[Path, Path]) -> None:
    video, folder = made
    np.save(folder / "swing.npy", rows(48))
    encoding = encode_clip(Clip(str(video), 0.5, 1.0), f"features:{folder}", fps=10)
    np.testing.assert_array_equal(encoding.frames, [15, 18, 21, 24, 27])


def test_videos_in_folders_have_features_in_folders(tmp_path: Path) -> None:
    for action in ("jump", "run"):
        (tmp_path / action).mkdir()
        (tmp_path / "f" / action).mkdir(parents=True)
        numbered(tmp_path / action / "a.mp4", 12)
        np.save(tmp_path / "f" / action / "a.npy", rows(12) + (action == "run"))
    first, second = (
        encode_clip(tmp_path / a / "a.mp4", f"features:{tmp_path / 'f'}") for a in ("jump", "run")
    )
    np.testing.assert_array_equal(second.features, first.features + 1)


def test_what_is_wrong_is_said(made: tuple[Path, Path]) -> None:
    video, folder = made
    with pytest.raises(EncoderError, match=r"no \.npy files"):
        get_encoder(f"features:{folder}")
    with pytest.raises(EncoderError, match="no such folder"):
        get_encoder(f"features:{folder}/none")
    np.save(folder / "other.npy", rows(4))
    with pytest.raises(FeatureError, match=r"swing\.mp4: no features; expected .*swing\.npy"):
        encode_clip(video, f"features:{folder}")


def test_pickled_arrays_are_refused(made: tuple[Path, Path]) -> None:
    _, folder = made
    np.save(folder / "swing.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(FeatureError, match=r"swing\.npy: not a \.npy array"):
        get_encoder(f"features:{folder}")


def test_features_of_another_width_are_refused(made: tuple[Path, Path]) -> None:
    video, folder = made
    np.save(folder / "swing.npy", rows(48))
    encoder = get_encoder(f"features:{folder}")
    np.save(folder / "swing.npy", np.zeros((48, 7), np.float32))
    with pytest.raises(FeatureError, match="7 numbers per frame, the others have 4"):
        encode_clip(video, encoder)
