"""A query found again in long films: by features with known truth, and from the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import MOTION
from seasync.alignment.spans import Span
from seasync.clip import Clip
from seasync.encoders.encoder import cut
from seasync.errors import VideoError
from seasync.film import _fit_around, find, find_in
from seasync.sample import Sample, make
from seasync.video import Writer, read
from tests.alignment.test_spans import encoding, movement
from tests.cli.run import seasync
from tests.encoders.models import colour_grid


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return make(tmp_path_factory.mktemp("sample"), clips=6, seconds=(2, 3), size=(128, 96))


@pytest.fixture(scope="module")
def film(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[float, float]]]:
    """All clips of the sample one after the other, at 25 frames a second; and where each is."""
    file, spans, count = tmp_path_factory.mktemp("film") / "film.mp4", [], 0
    with Writer(file, fps=Fraction(25), size=(128, 96)) as writer:
        for clip in sample.clips:
            first = count
            for batch in read(clip.file, fps=25):
                for frame in batch.data:
                    writer.write(frame)
                    count += 1
            spans.append((first / 25, count / 25))
    return file, spans


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return f"onnx:{colour_grid(tmp_path / 'grid.onnx', size=64, cells=8)}"


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    return max(0.0, shared) / (max(one[1], other[1]) - min(one[0], other[0]))


def test_footage_of_the_query_itself_is_found_in_the_film(
    sample: Sample, film: tuple[Path, list[tuple[float, float]]], encoder: str
) -> None:
    file, spans = film
    for clip, truth in list(zip(sample.clips, spans, strict=True))[:3]:
        best, *others = find(clip.file, file, encoder=encoder)
        assert overlap((best.clip.start, best.clip.end or 0), truth) > 0.6
        assert best.draq < 0.5
        assert best.alignment.match == best.clip
        assert [best.score, *(other.score for other in others)] == sorted(o.score for o in [best, *others])


def test_no_stretch_ends_later_than_the_film(
    sample: Sample, film: tuple[Path, list[tuple[float, float]]], encoder: str
) -> None:
    file, spans = film
    found = find(sample.clips[-1].file, file, encoder=encoder)
    assert max(each.clip.end or 0 for each in found) == spans[-1][1]
    assert max(each.alignment.pieces[-1].match[1] for each in found) == spans[-1][1]


def test_cut_encoding_keeps_times_frames_and_shots() -> None:
    whole = encoding(movement(60, 0), shots=(0, 20, 40))
    part = cut(whole, 15 / 7.5, 45 / 7.5)
    np.testing.assert_array_equal(part.frames, whole.frames[15:45])
    assert part.shots.tolist() == [0, 5, 25]
    assert len(cut(whole, 1e6, 2e6).seconds) == 1


@pytest.mark.parametrize("part", [(0.0, 0.2), (0.4, 0.6), (0.8, 1.0)])
def test_a_stretch_grows_to_all_that_the_query_shows(part: tuple[float, float]) -> None:
    query = movement(60, 1)
    film = encoding(np.concatenate([movement(60, 2), query, movement(60, 3)]), (0, 60, 120))
    start, end = 60 / 7.5, 120 / 7.5
    begun = Span(*(start + share * (end - start) for share in part))
    (found,) = _fit_around(begun, encoding(query), film, MOTION)
    assert overlap((found.start, found.end), (start, end)) > 0.9


def test_no_stretch_overlaps_a_better_one() -> None:
    found = find_in(encoding(movement(30, 1)), encoding(movement(400, 2)), Clip("film.mp4"))
    spans = sorted((each.clip.start, each.clip.end or 0) for each in found)
    assert len(spans) > 1
    assert all(before[1] <= after[0] + 1e-9 for before, after in pairwise(spans))


@pytest.mark.parametrize(
    "film", [np.ones((40, 12)), movement(1, 0), movement(8, 3)], ids=["still", "frame", "short"]
)
def test_films_in_which_little_or_nothing_happens(film: np.ndarray) -> None:
    for found in find_in(encoding(movement(30, 1)), encoding(film), Clip("film.mp4")):
        assert np.isfinite(found.score)
        assert (found.clip.end or 0) <= len(film) / 7.5 + 1e-6 or len(film) == 1


def test_a_film_of_one_frame_shots_has_nothing_in_step() -> None:
    film = encoding(movement(60, 4), tuple(range(60)))
    for found in find_in(encoding(movement(20, 1)), film, Clip("film.mp4")):
        assert np.isfinite(found.score)
        assert not found.alignment.alignable


def test_bad_films_are_reported_and_the_good_ones_searched(
    sample: Sample, film: tuple[Path, list[tuple[float, float]]], encoder: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.mp4"
    bad.write_text("not a film")
    query = sample.clips[0].file
    with pytest.raises(VideoError, match=r"bad\.mp4"):
        find(query, [bad], encoder=encoder)
    done = seasync("find", query, bad, film[0], "--encoder", encoder, "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert len(said["failed"]) == 1
    assert overlap((said["found"][0]["clip"]["start"], said["found"][0]["clip"]["end"]), film[1][0]) > 0.6
    assert done.stderr.startswith("failed: ")
    words = seasync("find", query, film[0], "--encoder", encoder, "-k", 2)
    assert words.returncode == 0
    assert "aligns" in words.stdout
