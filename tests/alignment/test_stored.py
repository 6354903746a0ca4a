"""Clips as a sea stores them score exactly as the same clips one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER, score_many
from seasync.alignment.costs import StoredMatches
from seasync.alignment.prepare import prepare
from seasync.encoding import Encoding, EncodingBatch, Stream
from seasync.errors import FeatureError
from tests.alignment.clips import encoding, retimed, walk

FIELDS = ("dtw_cost", "random_cost", "query_coverage", "match_coverage", "contrast", "whole_draq")


def halved(clip: Encoding) -> Encoding:
    """The encoding as a sea keeps it: in half precision."""
    lead = replace(clip.streams[0], features=clip.features.astype(np.float16))
    return replace(clip, streams=(lead, *clip.streams[1:]))


def batch_of(clips: list[Encoding]) -> EncodingBatch:
    streams = [clip.streams[0] for clip in clips]

    def joined(part: str):
        return np.concatenate([getattr(stream, part) for stream in streams])

    def spans(part: str):
        ends = np.cumsum([0, *(len(getattr(stream, part)) for stream in streams)])
        return np.stack([ends[:-1], ends[1:]], axis=1)

    return EncodingBatch(
        encoder=clips[0].encoder,
        name=streams[0].name,
        seconds=joined("seconds"),
        features=joined("features"),
        shots=joined("shots"),
        frames_of=spans("seconds"),
        shots_of=spans("shots"),
        found=np.array([stream.found for stream in streams]),
        read_numbers=lambda: joined("frames"),
    )


def at_25_fps(length: int) -> np.ndarray:
    """Times of frames sampled at 7.5 per second from a video of 25: steps of three and four frames."""
    return np.rint(np.arange(length) / 7.5 * 25) / 25


@pytest.fixture(scope="module")
def clips() -> list[Encoding]:
    """All kinds of clips: alike, of other lengths, uneven, cut, long, motionless, of one frame."""
    course = walk(64, 20, seed=1)
    rng = np.random.default_rng(0)
    alike = [retimed(course, np.sort(rng.uniform(0, 63, length))) for length in (64, 50, 40, 64, 33)]
    found = [encoding(features + 0.3 * rng.normal(size=features.shape)) for features in alike]
    found += [encoding(walk(length, 20, seed=length)) for length in range(5, 64, 3)]
    found += [encoding(walk(n, 20, seed=n), seconds=at_25_fps(n), start=3.0) for n in (30, 47, 64)]
    uneven = np.delete(np.arange(41), (10, 11, 30)) / 7.5
    found += [
        encoding(walk(38, 20), seconds=uneven),
        encoding(walk(64, 20), shots=(0, 20)),
        encoding(walk(90, 20)),
        encoding(walk(64, 20), fps=15.0),
        encoding(np.ones((30, 20))),
        encoding(walk(1, 20)),
        encoding(walk(2, 20)),
    ]
    return [halved(clip) for clip in found]


@pytest.mark.parametrize("partial", ["auto", "never", "always"])
@pytest.mark.parametrize(
    "recipe", [MOTION, PAPER, replace(MOTION, penalty=0.1)], ids=["motion", "paper", "other"]
)
def test_a_batch_scores_as_its_clips_do(clips, recipe, partial):
    for query in (clips[0], clips[10], clips[-7], clips[-6], clips[-5], clips[-3]):
        one_by_one = score_many(query, clips, recipe=recipe, partial=partial)
        together = score_many(query, batch_of(clips), recipe=recipe, partial=partial)
        for field in FIELDS:
            expected = pytest.approx(getattr(one_by_one, field), rel=1e-5, abs=1e-6)
            assert getattr(together, field) == expected, field


def test_most_clips_need_no_python_of_their_own(clips):
    stored = StoredMatches.of(prepare(clips[0], MOTION), batch_of(clips), MOTION)
    blocks, others = stored.blocks()
    of_two_shots, long, uneven = len(clips) - 6, len(clips) - 5, len(clips) - 7
    assert set(others) == {uneven, of_two_shots, long}
    assert sorted(n for block in blocks for n in block) == sorted(set(range(len(clips))) - set(others))


def test_items_are_the_encodings(clips):
    batch = batch_of(clips)
    assert len(batch) == len(clips)
    for given, kept in zip(clips, batch, strict=True):
        for part in ("seconds", "frames", "features", "shots"):
            assert np.array_equal(getattr(kept, part), getattr(given, part))
    assert [len(one.seconds) for one in batch[1:3]] == [len(one.seconds) for one in clips[1:3]]


def test_a_clip_of_another_encoder_is_refused(clips):
    with pytest.raises(FeatureError, match="encode both by one"):
        score_many(replace(clips[0], encoder="other"), batch_of(clips))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_refused(clips, value):
    features = clips[3].features.copy()
    features[2, 5] = value
    good = batch_of(clips)
    bad = good.features.copy()
    bad[slice(*good.frames_of[3])] = features
    with pytest.raises(FeatureError, match=r"1 of 64 frame features hold NaN or infinity"):
        replace(good, features=bad)


def test_times_that_go_back_are_refused(clips):
    good = batch_of(clips)
    seconds = good.seconds.copy()
    seconds[5] = seconds[4]
    with pytest.raises(FeatureError, match="increasing"):
        replace(good, seconds=seconds)


def test_a_clip_without_frames_is_refused():
    stream = Stream("frames", np.arange(3.0), np.arange(3), np.ones((3, 4), np.float16))
    good = batch_of([Encoding("test", (stream,), np.ones(4, np.float32), np.ones(4, np.float32))])
    with pytest.raises(FeatureError, match="no frames"):
        replace(
            good, frames_of=np.array([[0, 3], [3, 3]]), shots_of=np.array([[0, 1], [1, 1]]), found=np.ones(2)
        )
