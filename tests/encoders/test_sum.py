"""Encoders side by side."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import align_encodings
from seasync.clip import Clip
from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.encode import SumEncoder
from seasync.encoders.encoder import encoding_of
from seasync.encoding import Encoding, Stream
from seasync.errors import EncoderError, SubjectNotFound
from tests.encoders.models import colour_grid, token_grid
from tests.videos import numbered


@pytest.fixture
def parts(tmp_path: Path) -> tuple[str, str]:
    return f"onnx:{colour_grid(tmp_path / 'a.onnx')}", f"onnx:{token_grid(tmp_path / 'b.onnx')}"


class Seeker:
    """An encoder of clips that finds its subject in a given share of them."""

    name = fingerprint = "seeker"
    dimension, fps = 2, 15.0

    def __init__(self, found: float) -> None:
        self.found = found

    def encode_clip(self, clip: Clip, *, fps: float | None, cache: bool) -> Encoding:
        seconds = np.arange(20) / (fps or self.fps)
        features = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
        return encoding_of(self, Stream(self.name, seconds, np.arange(20), features, found=self.found))


def test_a_sum_has_the_streams_of_its_parts_each_at_its_own_rate(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    video = numbered(tmp_path / "v.mp4")
    first = encode_clip(video, parts[0], fps=5)
    both = encode_clip(video, SumEncoder([get_encoder(parts[0]), Seeker(1.0)]), fps=5)
    np.testing.assert_array_equal(both.features, first.features)
    np.testing.assert_array_equal(both.mean, first.mean)
    assert [stream.name for stream in both.streams] == [parts[0], "seeker"]
    assert np.diff(both.streams[1].seconds)[0] == pytest.approx(1 / 15)


def test_names_are_split_at_encoders_not_at_every_plus(tmp_path: Path, parts: tuple[str, str]) -> None:
    encoder = get_encoder("+".join(parts))
    assert encoder.name == "+".join(parts)
    assert encoder.fingerprint == "+".join(get_encoder(part).fingerprint for part in parts)
    odd = colour_grid(tmp_path / "a+b.onnx")
    assert get_encoder(f"onnx:{odd}").dimension == 48


def test_the_same_part_twice_is_refused(parts: tuple[str, str]) -> None:
    with pytest.raises(EncoderError, match="twice"):
        get_encoder(f"{parts[0]}+{parts[0]}")


def test_a_part_that_found_nobody_is_left_out_and_that_is_said(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    video = numbered(tmp_path / "v.mp4")
    lost = SumEncoder([get_encoder(parts[0]), Seeker(0.5)])
    with pytest.warns(SubjectNotFound, match=r"v\.mp4: seeker: no person detected in 50% of the frames"):
        one = encode_clip(video, lost)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = encode_clip(video, SumEncoder([get_encoder(parts[0]), Seeker(0.9)]))
    plain = encode_clip(video, parts[0])
    expected = align_encodings(plain, plain).cost
    np.testing.assert_array_equal(align_encodings(one, one).cost, expected)
    assert np.abs(align_encodings(whole, whole).cost - expected).max() > 0.01


def test_who_finds_nobody_says_so_alone_too(tmp_path: Path) -> None:
    video = numbered(tmp_path / "v.mp4")
    with pytest.warns(
        SubjectNotFound, match=r"v\.mp4: seeker: no person detected in 100% of the frames"
    ) as told:
        encode_clip(video, Seeker(0.0))
    assert len(told) == 1


def test_cuts_seen_by_the_leading_part_hold_for_all(tmp_path: Path) -> None:
    class Cutter(Seeker):
        name = fingerprint = "cutter"

        def encode_clip(self, clip: Clip, *, fps: float | None, cache: bool) -> Encoding:
            seconds, features = np.arange(10) / 7.5, np.eye(10, 2, dtype=np.float32)
            return encoding_of(self, Stream(self.name, seconds, np.arange(10), features, np.array([0, 6])))

    both = encode_clip(numbered(tmp_path / "v.mp4"), SumEncoder([Cutter(1.0), Seeker(1.0)]))
    assert both.streams[1].shots.tolist() == [0, 12]


def test_what_one_part_has_seen_is_not_encoded_again(tmp_path: Path, parts: tuple[str, str]) -> None:
    """With the first part's model gone, the sum is still answered from the cache of its parts."""
    video = numbered(tmp_path / "v.mp4")
    one, other = (encode_clip(video, part) for part in parts)

    class Gone:
        def __init__(self, name: str, fingerprint: str) -> None:
            self.name, self.fingerprint = name, fingerprint
            self.dimension, self.fps, self.input_size, self.fit = 48, 7.5, (32, 32), "squash"

        def encode(self, batches: object) -> Encoding:
            raise AssertionError("encoded again")

    both = encode_clip(video, SumEncoder([Gone("a", one.encoder), Gone("b", other.encoder)]))
    np.testing.assert_array_equal(both.streams[1].features, other.features)
