"""Weights: found, fetched, checked, refused."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.encoders import get_encoder
from seasync.encoders.weights import DINOV2_SMALL, Source, Weights, fetch, locate
from seasync.errors import WeightsError
from seasync.video import Frames


def small(content: bytes = b"weights") -> Weights:
    digest = hashlib.sha256(content).hexdigest()
    nowhere = Source("seasync-no-such-package", "0", "0" * 64, "nothing")
    return Weights("small.onnx", len(content), digest, "none", ("small",), (nowhere,))


def test_folder_named_for_offline_use_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEASYNC_MODELS", str(tmp_path))
    assert locate(small()) is None
    (tmp_path / "small.onnx").write_bytes(b"weights")
    assert fetch(small()) == tmp_path / "small.onnx"


def test_other_hash_is_refused_and_says_what_to_do(own_cache: Path) -> None:
    (own_cache / "models").mkdir()
    (own_cache / "models" / "small.onnx").write_bytes(b"tampered")
    with pytest.raises(WeightsError, match=r"small\.onnx: not the expected weights.*models pull"):
        fetch(small())


def test_weights_that_cannot_be_fetched_say_how_to_get_them(own_cache: Path) -> None:
    with pytest.raises(WeightsError, match=r"could not be fetched.*SEASYNC_MODELS") as caught:
        fetch(small())
    assert "\n" not in str(caught.value)
    assert not list(own_cache.rglob("*.part"))


@pytest.mark.weights
def test_second_source_is_tried_and_a_wrong_file_leaves_nothing(
    real_weights: None, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(own_cache))
    wrong = replace(DINOV2_SMALL, sources=(small().sources[0], *DINOV2_SMALL.sources), sha256="0" * 64)
    with pytest.raises(WeightsError, match=r"another sha256"):
        fetch(wrong)
    assert not [file for file in own_cache.rglob("*") if file.is_file()]


@pytest.mark.weights
@pytest.mark.parametrize(
    ("name", "size"), [("dinov2-small", 224), ("dinov2-small-cls", 224), ("dinov2-small@112", 112)]
)
def test_built_in_encoder_tells_pictures_apart(real_weights: None, name: str, size: int) -> None:
    encoder = get_encoder(name)
    assert encoder.input_size == (size, size)
    ramp = np.linspace(0, 255, size, dtype=np.uint8)
    across = np.broadcast_to(ramp[None, :, None], (size, size, 3))
    rings = np.broadcast_to(
        (128 + 127 * np.sin(np.hypot(*np.mgrid[-9 : 9 : size * 1j, -9 : 9 : size * 1j]) * 2))[..., None],
        (size, size, 3),
    )
    data = np.stack([across, np.flip(across, 1), rings, across]).astype(np.uint8)
    encoding = encoder.encode([Frames(data, np.arange(4) / 7.5, np.arange(4))])
    features = encoding.features / np.linalg.norm(encoding.features, axis=1, keepdims=True)
    alike = features @ features.T
    assert encoding.features.shape == (4, 384)
    assert alike[0, 3] > 0.97  # the same picture, perhaps in shots of their own
    assert alike[0, 2] < 0.8
