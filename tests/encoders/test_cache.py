"""Encodings kept: the same to the bit, per content and span, within a bound, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from seasync.clip import Clip
from seasync.encoders import encode as cache, encode_clip, get_encoder
from seasync.encoding import Encoding
from seasync.errors import VideoError
from seasync.sample import make
from tests.encoders.models import colour_grid


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("sample"), clips=1, seconds=(2, 2), size=(96, 64)).clips[0].file


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return f"onnx:{colour_grid(tmp_path / 'grid.onnx')}"


def same(one: Encoding, other: Encoding) -> bool:
    return one.encoder == other.encoder and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("features", "seconds", "frames", "shots", "mean", "trajectory")
    )


def kept(folder: Path) -> list[Path]:
    return list((folder / "encodings").rglob("*.npz"))


def test_kept_encoding_is_the_same_to_the_bit(film: Path, encoder: str, own_cache: Path) -> None:
    fresh = encode_clip(film, encoder, cache=False)
    assert not kept(own_cache)
    first, second = encode_clip(film, encoder), encode_clip(film, encoder)
    assert len(kept(own_cache)) == 1
    assert same(fresh, first)
    assert same(fresh, second)


def test_what_is_encoded_is_logged_and_what_is_kept_is_not(
    film: Path, encoder: str, own_cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="seasync"):
        encode_clip(film, encoder)
        encode_clip(film, encoder)
    assert caplog.messages == [f"encoding {film.name}"]


def test_spans_rates_and_contents_are_kept_apart(
    film: Path, encoder: str, own_cache: Path, tmp_path: Path
) -> None:
    encode_clip(film, encoder)
    encode_clip(Clip(str(film), 0.5, 1.5), encoder)
    encode_clip(film, encoder, fps=5)
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(film.read_bytes())
    encode_clip(copy, encoder)
    assert len(kept(own_cache)) == 3


def test_damaged_cache_file_is_made_anew(film: Path, encoder: str, own_cache: Path) -> None:
    first = encode_clip(film, encoder)
    for content in (b"", b"PK\x03\x04 cut off", kept(own_cache)[0].read_bytes()[:-200]):
        kept(own_cache)[0].write_bytes(content)
        assert same(encode_clip(film, encoder), first)


def test_least_recently_used_go_first(
    film: Path, encoder: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode_clip(film, encoder)
    old = kept(own_cache)[0]
    os.utime(old, (1, 1))
    monkeypatch.setattr(cache, "LIMIT_BYTES", old.stat().st_size + 100)
    encode_clip(Clip(str(film), 0.0, 1.9), encoder)
    assert len(kept(own_cache)) == 1
    assert not old.exists()


def test_cache_that_cannot_be_written_is_no_error(
    film: Path, encoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = get_encoder(encoder)
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEASYNC_CACHE", str(tmp_path / "file" / "below"))
    assert len(encode_clip(film, model).seconds) > 5


def test_span_is_what_is_encoded(film: Path, encoder: str) -> None:
    whole, part = encode_clip(film, encoder, fps=10), encode_clip(Clip(str(film), 0.5, 1.5), encoder, fps=10)
    assert part.seconds[0] == pytest.approx(0.5, abs=0.05)
    assert 9 <= len(part.seconds) <= 11
    assert part.frames[0] > whole.frames[0]


def test_empty_span_is_refused_by_name(film: Path, encoder: str) -> None:
    with pytest.raises(VideoError, match="span"):
        Clip(str(film), 1.0, 1.0)
    with pytest.raises(VideoError, match=film.name):
        encode_clip(Clip(str(film), 60.0), encoder)


def test_keys_never_change(tmp_path: Path) -> None:
    """Else whatever users have encoded would be encoded again."""
    key = cache.encoding_key("0123456789abcdef", 0, None, "dinov2-small/08a9661b/224/flow", 7.5)
    assert key == "0ea13b5c231f0d913d4bbf3dde16fc81c6c56aeb"
    part = cache.encoding_key("0123456789abcdef", 1, 2.5, "joints/9ba9dd3d/e9a5c5cb/1", 30)
    assert part == "378d516d68bc3d6f66427ebf66afa0df73e59312"
    (tmp_path / "file").write_bytes(b"seasync")
    assert cache.content_hash(tmp_path / "file") == "7c2ad431f012e4de0f4bc16c3e0328dd"


def test_fingerprint_of_joints_never_changes() -> None:
    from seasync.encoders.pose import JointsEncoder

    assert JointsEncoder.fingerprint == "joints/9ba9dd3d/e9a5c5cb/2"


@pytest.mark.weights
@pytest.mark.parametrize(
    ("name", "fingerprint"),
    [
        ("dinov2-small", "dinov2-small/08a9661b/224/flow"),
        ("dinov2-small@112", "dinov2-small/08a9661b/112/flow"),
        ("dinov2-small-whole", "dinov2-small/0cd026c8/224"),
        ("dinov2-small-cls", "dinov2-small-cls/0cd026c8/224"),
    ],
)
def test_fingerprints_never_change(
    real_weights: None, user_cache: Path, name: str, fingerprint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else seas made with these encoders would not open with them."""
    monkeypatch.setenv("SEASYNC_PRECISION", "int8")
    assert get_encoder(name).fingerprint == fingerprint
    size = name.partition("@")[2] or "224"
    assert (user_cache / "models" / "prepared" / f"dinov2_vits14-08a9661b-{size}-int8-3.onnx").is_file()
