"""What an answer says without paths is what its alignments say."""
# ruff: noqa: F811  fixtures are imported

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER
from seasync.alignment.judge import shipped_calibrations
from seasync.encoders import encode_clip
from seasync.encoding import Encoding, Stream
from seasync.errors import SeaError
from seasync.sea.sea import Sea
from seasync.sea.search import Matches
from tests.sea.conftest import encoder  # noqa: F401
from tests.sea.footage import encoding, facts, row, video
from tests.sea.test_surroundings import sea as film_in_parts  # noqa: F401


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All plain values of a JSON document, by their places."""
    if isinstance(value, dict | list | tuple):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in items:
            yield from leaves(each, f"{place}/{key}")
    else:
        yield place, value


def assert_same(sea: Sea, query: Any, **options: Any) -> dict[str, Any]:
    """Search, compare what the answer says with its alignments, and return what it says."""
    found = sea.search(query, **options)
    answer = found.to_json()
    for match, plain in zip(found, answer["matches"], strict=True):
        aligned = match.align(consensus=False)
        wanted = dict(leaves(asdict(aligned.scores())))
        assert aligned.product == (match.fit.product and pytest.approx(match.fit.product, rel=1e-5))
        said = {place: value for place, value in leaves(plain) if place in wanted}
        numbers = {place for place, value in wanted.items() if isinstance(value, float)}
        assert {place: said.get(place) for place in numbers} == pytest.approx(
            {place: wanted[place] for place in numbers}, rel=1e-5, abs=1e-6
        )
        assert said.keys() == wanted.keys()
        assert {k: v for k, v in said.items() if k not in numbers} == {
            k: v for k, v in wanted.items() if k not in numbers
        }
    return answer


def changed_in_part(seed: int, *, kind: int = 0, frames: int = 40, streams: int = 1) -> Encoding:
    """An encoding of one kind whose middle shows something else."""
    made, other = (encoding(n, kind=k, frames=frames, streams=streams) for n, k in ((seed, kind), (seed, 99)))
    shown = []
    for own, foreign in zip(made.streams, other.streams, strict=True):
        features = own.features.copy()
        features[frames // 3 : frames // 2] = foreign.features[frames // 3 : frames // 2]
        shown.append(replace(own, features=features, shots=np.zeros(1, np.int64)))
    return replace(made, streams=tuple(shown))


def as_pose(made: Encoding) -> Encoding:
    """The same course as joints of a body, which have a left and a right."""
    lead = made.streams[0]
    pose = Stream("pose", lead.seconds, lead.frames, np.tile(lead.features, 2)[:, :26], lead.shots)
    return replace(made, streams=(lead, pose))


def sea_of(
    folder: Path, change: Callable[[Encoding], Encoding] = lambda made: made, *, parts: int = 1, **how: Any
) -> tuple[Sea, Encoding]:
    """A sea of 16 clips of two kinds, some of which fit in part, each one of `parts`; and a query."""
    made = [changed_in_part(n, kind=n % 2, frames=40 + n % 3) for n in range(17)]
    made = [replace(change(each), **how) for each in made]
    rows = [
        replace(each, encoding=own, entry=replace(each.entry, duration=len(own.seconds) / 7.5, parts=parts))
        for each, own in zip((row(n, kind=n % 2) for n in range(len(made))), made, strict=True)
    ]
    streams = tuple((stream.name, stream.features.shape[1]) for stream in made[0].streams)
    sea = Sea(folder / "s.sea")
    sea.record.append(rows[1:], replace(facts(), streams=streams, fingerprint=made[0].encoder))
    return sea, made[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 2},
        {"recipe": PAPER},
        {"recipe": PAPER, "partial": "always"},
        {"recipe": replace(MOTION, name="stiff", penalty=0.1)},
        {"partial": "always"},
        {"partial": "never"},
        {"rerank": "none"},
        {"max_draq": 0.5},
        {"max_draq": 0.0},
        {"where": "duration > 99"},
    ],
)
def test_the_form_says_what_the_matches_say(tmp_path: Path, options: dict[str, Any]) -> None:
    sea, query = sea_of(tmp_path)
    answer = assert_same(sea, query, **options)
    if options == {"partial": "always"}:
        assert any(len(match["pieces"]) > 1 for match in answer["matches"])
    assert_same(sea, str(sea.clips()[0].id), **options)


def test_the_better_side_of_a_body_is_named(tmp_path: Path) -> None:
    sea, query = sea_of(tmp_path, as_pose)
    assert_same(sea, query)
    assert_same(sea, query, partial="always")


def test_long_clips_are_described_as_well(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    lengths = [(40, 300), (1, 280), (2, 30), (3, 299)]
    sea.record.append([row(n, frames=frames) for n, frames in lengths], facts())
    assert_same(sea, encoding(9, frames=300))


def test_likelihoods_are_those_of_the_alignments(tmp_path: Path) -> None:
    known = next(key[1] for key in shipped_calibrations() if key[::2] == ("search", MOTION.fingerprint))
    sea, query = sea_of(tmp_path, encoder=known)
    answer = assert_same(sea, query)
    assert all(match["likelihood"] is not None for match in answer["matches"])
    bare = replace(query, mean=np.zeros_like(query.mean), trajectory=np.zeros_like(query.trajectory))
    assert_same(sea, bare)


def test_likelihoods_are_those_of_the_seas_own_calibration(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    sea.calibrate()
    answer = assert_same(sea, encoding(100, kind=1, frames=20))
    assert all(match["better_than"] is None for match in answer["matches"])


def test_stretches_of_a_film_are_described_as_they_are_cut(film_in_parts: Sea, tmp_path: Path) -> None:
    query = video(tmp_path / "query.mp4", "dive", look=50, frames=36)
    answer = assert_same(film_in_parts, query)
    assert answer["matches"][0]["match_start"] is not None
    assert_same(film_in_parts, query, partial="never")


def test_parts_of_a_film_are_described_if_no_stretch_around_them_fits_better(tmp_path: Path) -> None:
    sea, query = sea_of(tmp_path, parts=2)
    assert_same(sea, query)
    two = f"id IN ('{sea.clips()[3].id}', '{sea.clips()[4].id}')"
    answer = assert_same(sea, query, partial="always", rerank="draq", where=two)
    assert any(len(match["pieces"]) > 1 for match in answer["matches"])
    assert all(match["match_start"] is None for match in answer["matches"])


def test_clips_without_frame_features_are_described(tmp_path: Path, encoder: str) -> None:
    for n, action in enumerate(("dive", "circle", "dive")):
        video(tmp_path / "clips" / f"{n}.mp4", action, look=n)
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(tmp_path / "clips", frame_features=False)
    assert_same(sea, tmp_path / "clips" / "0.mp4")


def test_matches_of_another_process_can_be_aligned_once_they_are_reopened(
    film_in_parts: Sea, tmp_path: Path, encoder: str
) -> None:
    query = video(tmp_path / "query.mp4", "dive", look=50, frames=36)
    bare = Sea(tmp_path / "bare.sea", encoder)
    bare.add(video(tmp_path / "other.mp4", "dive", look=3), frame_features=False)
    for sea in (film_in_parts, bare):
        found = sea.search(query)
        again: Matches = pickle.loads(pickle.dumps(found))
        assert again.to_json() == found.to_json()
        assert not again.can_align
        with pytest.raises(SeaError, match="found by another process"):
            _ = again[0].alignment
        again.reopen(
            sea.record.snapshot(), sea.query(query), lambda clip, **_: (encode_clip(clip, encoder), 0)
        )
        for one, other in zip(again, found, strict=True):
            np.testing.assert_array_equal(one.alignment.path, other.alignment.path)
            assert one.alignment.match == other.alignment.match
    sea.add(video(tmp_path / "new.mp4", "circle"))
    with pytest.raises(SeaError, match="has changed since the search"):
        again.reopen(
            sea.record.snapshot(), sea.query(query), lambda clip, **_: (encode_clip(clip, encoder), 0)
        )


def test_an_alignment_is_solved_once_and_only_when_it_is_asked_for(tmp_path: Path) -> None:
    sea, query = sea_of(tmp_path)
    found = sea.search(query, k=3)
    assert all("alignment" not in vars(match) for match in found)
    assert found[1].alignment is found[1].alignment
    assert found[2].align(consensus=False).draq == pytest.approx(found[2].draq, rel=1e-5)


def test_every_list_is_sorted_by_what_is_shown_and_the_headline_quotes_the_first(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 20, label=f"kind {n % 20}", frames=20) for n in range(200)], facts())
    grades = ["fits best", "fits", "doubtful"]
    for found in sea.search_many([str(clip.id) for clip in sea.clips()], k=12):
        plain = found.to_json()
        ratings = [match["rating"] for match in plain["matches"]]
        assert all(better > worse for better, worse in pairwise(ratings))
        places = [grades.index(match["grade"]) for match in plain["matches"]]
        assert places == sorted(places)
        assert places.count(0) == (places[0] == 0)
        first = plain["matches"][0]
        aligns = any(match["alignable"] for match in plain["matches"])
        assert not aligns or f"better than {first['better_than']:.0%}" in plain["verdict"]
        assert not aligns or first["grade"] in plain["verdict"]
