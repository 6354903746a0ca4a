"""Encoders on models made here: layouts, fingerprints, cuts, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.encoders import encode_clip, get_encoder, register
from seasync.encoders.encoder import FrameEncoder, ImageModel, class_and_patches
from seasync.encoders.registry import name_for
from seasync.errors import EncoderError, VideoError
from seasync.video import Frames
from tests.encoders.models import colour_grid, token_grid


def frames(count: int, *, size: int = 32, seed: int = 0) -> Frames:
    data = np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), np.uint8)
    return Frames(data, np.arange(count) / 7.5, np.arange(count) * 4)


def test_channels_first_and_last_models_agree(tmp_path: Path) -> None:
    first = get_encoder(f"onnx:{colour_grid(tmp_path / 'a.onnx')}").encode([frames(5)])
    last = get_encoder(f"onnx:{colour_grid(tmp_path / 'b.onnx', channels_last=True)}").encode([frames(5)])
    np.testing.assert_allclose(first.features, last.features, atol=1e-3)
    assert first.encoder != last.encoder


def test_feature_is_the_normalized_mean_colour(tmp_path: Path) -> None:
    batch = frames(3)
    encoding = get_encoder(f"onnx:{colour_grid(tmp_path / 'm.onnx', cells=1)}").encode([batch])
    mean = (batch.data / 255).mean((1, 2))
    expected = (mean - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(encoding.features, expected, atol=2e-3)
    np.testing.assert_array_equal(encoding.frames, [0, 4, 8])


def test_batches_do_not_change_the_encoding(tmp_path: Path) -> None:
    encoder = get_encoder(f"onnx:{token_grid(tmp_path / 'm.onnx')}")
    whole = frames(7)
    parts = [Frames(whole.data[a:b], whole.seconds[a:b], whole.numbers[a:b]) for a, b in ((0, 3), (3, 7))]
    np.testing.assert_allclose(encoder.encode([whole]).features, encoder.encode(parts).features, atol=1e-3)


def test_features_are_what_half_precision_keeps(tmp_path: Path) -> None:
    features = get_encoder(f"onnx:{token_grid(tmp_path / 'm.onnx')}").encode([frames(4)]).features
    np.testing.assert_array_equal(features, features.astype(np.float16))


def test_patches_are_weighed_per_shot(tmp_path: Path) -> None:
    """Two shots of opposite colours: the first token (here a cell) turns around at the cut."""
    model = ImageModel(token_grid(tmp_path / "m.onnx"))
    encoder = FrameEncoder(
        "tokens", model, dimension=8, fingerprint="t", split=class_and_patches, detects_cuts=True
    )
    rng = np.random.default_rng(1)
    data = np.concatenate(
        [rng.integers(200, 256, (6, 32, 32, 3), np.uint8), rng.integers(0, 56, (5, 32, 32, 3), np.uint8)]
    )
    joined = encoder.encode([Frames(data, np.arange(11) / 7.5, np.arange(11))])
    alone = [
        encoder.encode([Frames(data[a:b], np.arange(b - a) / 7.5, np.arange(b - a))])
        for a, b in ((0, 6), (6, 11))
    ]
    assert joined.shots.tolist() == [0, 6]
    np.testing.assert_array_equal(joined.features, np.concatenate([part.features for part in alone]))


def test_unknown_names_list_what_there_is() -> None:
    for name in (
        "resnet",
        "dinov2-small@big",
        "dinov2-small@",
        "pose@",
        "dinov2-small@100",
        "tinyvit-5m@168",
        "nope:file",
    ):
        with pytest.raises(EncoderError, match=r"expected|must be|one input size"):
            get_encoder(name)


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_bad_onnx_file_is_one_clear_line(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "model.onnx"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(EncoderError, match=r"model\.onnx") as caught:
        get_encoder(f"onnx:{file}")
    assert "\n" not in str(caught.value)


def test_no_frames_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no frames"):
        get_encoder(f"onnx:{colour_grid(tmp_path / 'm.onnx')}").encode([])


def test_registered_scheme_is_found(tmp_path: Path) -> None:
    file = colour_grid(tmp_path / "m.onnx")
    register("mine", lambda rest: get_encoder(f"onnx:{file}"))
    assert get_encoder("mine:anything").dimension == 48


def test_missing_file_is_named() -> None:
    with pytest.raises(VideoError, match=r"nowhere\.mp4: no such file"):
        encode_clip("nowhere.mp4", "onnx:whatever.onnx")


def test_what_was_made_with_whole_frames_keeps_its_encoder() -> None:
    before, now = "dinov2-small/0cd026c8/224", "dinov2-small/08a9661b/224/flow"
    assert name_for("dinov2-small", before) == "dinov2-small-whole"
    assert name_for("dinov2-small@168", before) == "dinov2-small-whole@168"
    assert name_for("dinov2-small+pose", f"{before}+pose/x") == "dinov2-small-whole+pose"
    assert name_for("dinov2-small", now) == "dinov2-small"
    assert name_for("dinov2-small-cls", "dinov2-small-cls/0cd026c8/224") == "dinov2-small-cls"
