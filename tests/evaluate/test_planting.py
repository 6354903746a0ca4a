"""Planted films: the truth they carry is the truth they show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from seasync.encoding import Encoding, Stream
from seasync.errors import DataError, VideoError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.tables.planted import (
    Planted,
    PlantedLook,
    draw_look,
    draw_warp,
    plant,
    planted,
    straight_errors,
)
from seasync.video import probe, read
from tests import videos
from tests.encoders.models import colour_grid
from tests.evaluate import datasets

PLAIN = PlantedLook((1.0, 0.0, 0.0), False, (1.0, 1.0, 1.0), 1.0, 12, Fraction(25))


def pictures(file):
    return np.concatenate([batch.data for batch in read(file)])


@pytest.mark.parametrize("seed", range(3))
def test_every_frame_shows_the_source_at_its_true_time(tmp_path, seed):
    source = videos.numbered(tmp_path / "a.mp4", 60)
    film = plant(source, tmp_path / "b.mp4", seed=seed, look=PLAIN)
    shown = [videos.number_of(picture) for picture in pictures(film.file)]
    np.testing.assert_allclose(np.array(shown) / 30, film.truth, atol=1e-6)
    np.testing.assert_allclose(film.seconds, np.arange(len(shown)) / 25)
    assert (np.diff(film.truth) >= 0).all()


def test_variable_frame_rates_keep_their_true_times(tmp_path):
    steps = np.random.default_rng(0).integers(20, 60, 50)
    pts = np.append(0, np.cumsum(steps)).tolist()
    source = videos.numbered(tmp_path / "a.mp4", 51, pts=pts, time_base=Fraction(1, 1000))
    film = plant(source, tmp_path / "b.mp4", look=PLAIN)
    shown = [videos.number_of(picture) for picture in pictures(film.file)]
    np.testing.assert_allclose(np.array(pts)[shown] / 1000, film.truth, atol=2e-3)


def test_the_look_is_applied(tmp_path):
    source = videos.numbered(tmp_path / "a.mp4", 20)
    mirrored = PlantedLook((1.0, 0.0, 0.0), True, (1.0, 1.0, 1.0), 1.0, 12, Fraction(30))
    film = plant(source, tmp_path / "m.mp4", look=mirrored)
    assert videos.is_upright(pictures(film.file)[0][:, ::-1])
    dark = PlantedLook((0.5, 1.0, 1.0), False, (0.5, 0.5, 0.5), 1.0, 12, Fraction(30))
    film = plant(source, tmp_path / "d.mp4", look=dark)
    assert (probe(film.file).width, probe(film.file).height) == (80, 60)
    assert pictures(film.file).mean() < 0.6 * pictures(source).mean()


def test_the_same_seed_plants_the_same(tmp_path):
    source = videos.numbered(tmp_path / "a.mp4", 40)
    one, two = (plant(source, tmp_path / f"{name}.mp4", seed=5) for name in "bc")
    assert one.look == two.look
    np.testing.assert_array_equal(one.truth, two.truth)
    assert plant(source, tmp_path / "d.mp4", seed=6).look != one.look


def test_planted_warps_are_monotone_stay_inside_the_source_and_pause_once():
    random = np.random.default_rng(0)
    for _ in range(50):
        times, source = draw_warp(random, 8.0)
        assert (np.diff(times) > 0).all()
        assert (np.diff(source) >= 0).all()
        assert (np.diff(source) == 0).sum() == 1
        assert 0 <= source[0] < source[-1] <= 8
        speed = np.diff(source) / np.diff(times)
        assert speed[speed > 0].min() > 0.59
        assert speed.max() < 1.71


def test_a_film_too_short_to_warp_says_so(tmp_path):
    with pytest.raises(VideoError, match="3 frames; planting a warp needs at least 8"):
        plant(videos.numbered(tmp_path / "a.mp4", 3), tmp_path / "b.mp4")
    assert not (tmp_path / "b.mp4").exists()


def test_looks_differ():
    random = np.random.default_rng(0)
    looks = [draw_look(random) for _ in range(30)]
    assert {look.mirrored for look in looks} == {True, False}
    assert len({look.fps for look in looks}) > 2


def moving(file, seed):
    """A light square on its way through the picture, on a course of its own."""
    knots = np.random.default_rng(seed).uniform(10, 80, (4, 2))
    shown = []
    for t in np.linspace(0, 3, 75):
        x, y = (int(np.interp(t, np.arange(4), knots[:, axis])) for axis in range(2))
        picture = np.full((96, 96, 3), 40, np.uint8)
        picture[y : y + 14, x : x + 14] = 230
        shown.append(picture)
    file.parent.mkdir(parents=True, exist_ok=True)
    return videos.write(file, shown)


def test_the_table_reports_error_and_retrieval_for_each_recipe(tmp_path):
    for at in range(3):
        moving(tmp_path / "clips" / "square" / f"{at}.mp4", at)
    encoder = f"onnx:{colour_grid(tmp_path / 'grid.onnx', cells=8)}"
    table = planted(open_dataset(tmp_path / "clips"), tmp_path / "films", encoder=encoder)
    assert [row["recipe"] for row in table.rows] == ["straight line", "paper", "paper", "motion", "motion"]
    for row in table.rows:
        assert row["error ms p95"] >= row["error ms median"] >= 0
        assert row["error ms mean_interval"][0] <= row["error ms mean"] <= row["error ms mean_interval"][1]
    assert table.rows[-1]["R@10"] == 100  # there are three clips
    assert table.rows[-1]["partial"] == "auto"
    assert [row["covered %"] for row in table.rows[:4]] == [100] * 4
    films = {film: film.stat().st_mtime_ns for film in (tmp_path / "films").iterdir()}
    assert len(films) == 3
    again = planted(open_dataset(tmp_path / "clips"), tmp_path / "films", encoder=encoder)
    assert again.rows == table.rows
    assert {film: film.stat().st_mtime_ns for film in (tmp_path / "films").iterdir()} == films


def test_the_straight_line_is_wrong_by_as_much_as_the_warp_bends():
    seconds = np.array([0.0, 0.5, 1.0])
    film = Planted("a", "b", np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.8, 1.0]), PLAIN)
    stream = Stream("x", seconds, np.arange(3), np.zeros((3, 1), np.float32))
    encoding = Encoding("x", (stream,), np.zeros(1, np.float32), np.zeros(1, np.float32))
    np.testing.assert_allclose(straight_errors(film, encoding), [0, 300, 0])


def test_planting_needs_videos(tmp_path):
    with pytest.raises(DataError, match="planting needs real ones"):
        planted(open_dataset(datasets.features(tmp_path)), tmp_path / "films")
