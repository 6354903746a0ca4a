"""Tables of takes on one clock."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.errors import DataError
from seasync.group.clock import group_of
from tests.group.takes import FPS, places, take

BENDS = {"model": 0.0, "a": 0.3, "b": -0.3}
FRAMES = 119  # at 30 a second, of 60 samples at 15


@pytest.fixture(scope="module")
def group():
    takes = [take(name, bend=bend) for name, bend in BENDS.items()]
    return group_of(takes[0], takes[1:])


def signal(bend):
    """The place in the movement at every frame of the file: after resampling it is the same in all takes."""
    return np.interp(np.arange(FRAMES) / 30, np.arange(60) / FPS, places(60, bend))


def test_signals_of_all_takes_agree_on_the_common_clock(group, tmp_path):
    for name, bend in BENDS.items():
        np.save(tmp_path / f"{name}.npy", np.stack([signal(bend), 1 - signal(bend)], axis=1))
    found = group.resample(tmp_path)
    assert found.values.shape == (3, 101, 2)
    inside = slice(5, 96)
    assert np.nanmax(found.spread[inside]) < 0.03
    assert found.mean[50, 0] == pytest.approx(0.5, abs=0.04)


def test_a_column_of_seconds_or_frames_places_the_rows(group, tmp_path):
    for name, bend in BENDS.items():
        times = np.arange(FRAMES)[::3]
        lines = [f"{frame},{value:.6f}" for frame, value in zip(times, signal(bend)[::3], strict=True)]
        (tmp_path / f"{name}.csv").write_text("frame,angle\n" + "\n".join(lines))
    found = group.resample(tmp_path)
    assert found.channels == ("angle",)
    assert np.nanmax(found.spread[5:96]) < 0.03


def test_saved_as_arrays_and_as_a_long_table(group, tmp_path):
    found = group.resample({"model": _saved(tmp_path, signal(0))}, points=11)
    found.save(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as kept:
        assert kept["values"].shape == (1, 11, 1)
    found.save(tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + 11


def test_a_table_of_another_length_is_one_clear_line(group, tmp_path):
    with pytest.raises(DataError, match="its table has 500 rows, its clip about"):
        group.resample({"model": _saved(tmp_path, np.zeros(500))})


def test_no_table_for_any_take_is_one_clear_line(group, tmp_path):
    with pytest.raises(DataError, match="no table belongs to a take"):
        group.resample({"somebody": _saved(tmp_path, signal(0))})


def test_tables_with_other_channels_are_one_clear_line(group, tmp_path):
    (tmp_path / "model.csv").write_text("seconds,knee\n0,1\n4,2")
    (tmp_path / "a.csv").write_text("seconds,hip\n0,1\n4,2")
    with pytest.raises(DataError, match="all tables need the same"):
        group.resample(tmp_path)


def test_text_in_a_table_is_one_clear_line(group, tmp_path):
    (tmp_path / "model.csv").write_text("seconds,knee\n0,bent")
    with pytest.raises(DataError, match=r"model\.csv: every value below the names must be a number"):
        group.resample(tmp_path)


def _saved(folder, values):
    np.save(folder / "table.npy", values)
    return folder / "table.npy"
