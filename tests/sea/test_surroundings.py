"""Parts of one film: an action across a split is found whole, where it is in the film."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from seasync.encoders.encoder import cut, joined
from seasync.sea.sea import Sea
from tests.sea.footage import encoding, pictures, video
from tests.videos import write

# What a film shows, frame by frame at 15 a second: a circle, a bounce, a dive, a bounce.
FILM = [("circle", 40), ("bounce", 46), ("dive", 40), ("bounce", 46)]
DIVE = (86 / 15, 126 / 15)


@pytest.fixture
def sea(tmp_path: Path, encoder: str) -> Sea:
    shown = (pictures(action, 70, frames) for action, frames in FILM)
    film = write(tmp_path / "film.mp4", itertools.chain.from_iterable(shown), fps=15)
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(film, split=2.4)  # cut in the middle of the dive
    return sea


def test_an_action_across_a_split_is_found_whole(sea: Sea, tmp_path: Path) -> None:
    query = video(tmp_path / "query.mp4", "dive", look=50, frames=36)
    matches = sea.search(query)
    first = matches[0]
    assert (first.clip.start, first.end) == pytest.approx(DIVE, abs=0.35)
    assert first.alignable
    assert first.clip.id is None
    assert first.part in sea.clips()
    assert first.alignment.match == first.clip
    assert first.to_json()["clip"]["id"] == first.part.id
    for one, other in itertools.combinations(matches, 2):
        shared = min(one.end, other.end) - max(one.clip.start, other.clip.start)
        assert shared <= 0.5 * min(one.end - one.clip.start, other.end - other.clip.start) + 1e-9
    alone = sea.search(query, partial="never")[0]
    assert alone.part is None
    assert alone.alignment.score > first.alignment.score


def test_the_query_itself_is_not_part_of_what_is_found(sea: Sea, tmp_path: Path) -> None:
    for match in sea.search(tmp_path / "film.mp4", start=2.4, end=4.8):
        assert match.end <= 2.4 or match.clip.start >= 4.8


def test_without_frame_features_a_part_is_taken_as_it_is(sea: Sea, tmp_path: Path, encoder: str) -> None:
    small = Sea(tmp_path / "small.sea", encoder)
    small.add(tmp_path / "film.mp4", split=2.4, frame_features=False)
    query = video(tmp_path / "query.mp4", "dive", look=50, frames=36)
    assert all(match.part is None for match in small.search(query))


@pytest.mark.parametrize("streams", [1, 2])
def test_split_parts_are_joined_again(streams: int) -> None:
    whole = encoding(3, frames=20, streams=streams)
    middle = float(whole.seconds[7])
    before, after = cut(whole, 0, middle + 0.01), cut(whole, middle, 99)  # a frame is in both
    again = joined([before, after], at_cuts=False)
    for stream, same in zip(whole.streams, again.streams, strict=True):
        np.testing.assert_array_equal(stream.features, same.features)
        np.testing.assert_array_equal(stream.seconds, same.seconds)
        np.testing.assert_array_equal(stream.frames, same.frames)
        np.testing.assert_array_equal(stream.shots, same.shots)
    np.testing.assert_allclose(again.mean, whole.mean, rtol=1e-5)
    assert joined([before, after], at_cuts=True).shots.tolist() == [0, 8, 10]


def test_a_search_for_one_match_says_what_a_search_for_all_says(sea: Sea, tmp_path: Path) -> None:
    query = video(tmp_path / "query.mp4", "dive", look=50, frames=36)
    several = sea.search(query)
    assert sum(match.part is not None for match in several) > 1
    (first,) = sea.search(query, k=1)
    assert (first.clip, first.draq) == (several[0].clip, pytest.approx(several[0].draq))
