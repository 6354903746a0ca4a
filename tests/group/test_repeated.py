"""The repetitions of a film as a group: the odd ones, the sentences, marks for all, files."""

import json
from pathlib import Path

import numpy as np
import pytest

import seasync
from seasync.errors import DataError, FeatureError
from seasync.group import RepeatedMovement
from seasync.group.repeated import repeated
from seasync.marks import Mark, read_marks
from seasync.repetitions import find_movements
from tests.cli.run import seasync as command
from tests.encoders.models import colour_grid
from tests.sea.footage import pictures
from tests.test_repetitions import RATE, cycle, encoding
from tests.videos import write


def repeated_film(parts: list[np.ndarray]) -> RepeatedMovement:
    film = encoding(np.concatenate(parts))
    first, *_ = find_movements(film)
    end = float(film.seconds[-1]) + 1 / RATE
    return RepeatedMovement(seasync.Clip("film.mp4"), first, film, end)


def noisy(samples: int, seed: int) -> np.ndarray:
    return cycle(samples) + np.random.default_rng(seed).normal(size=(samples, 12)) * 0.005


def test_one_that_is_much_slower_or_shows_something_else_is_odd() -> None:
    parts = [noisy(18 + n % 3, n) for n in range(9)]
    assert repeated_film(parts).odd() == []
    parts[4] = noisy(32, 4)
    assert repeated_film(parts).odd() == [5]
    parts[4] = noisy(19, 4) * np.where(np.arange(12) < 4, -1, 1)
    found = repeated_film(parts)
    assert found.odd() == [5]
    assert found.words()[-1] == "Not like the others: 5."


def test_a_change_of_tempo_is_said() -> None:
    found = repeated_film([noisy(length, length) for length in (16, 16, 17, 19, 20, 22, 23, 24, 24)])
    assert any("slower than the first 3" in sentence for sentence in found.words())
    assert found.tempo[0] > 1 > found.tempo[-1]
    assert found.form().repetitions[0].tempo == pytest.approx(found.tempo[0], abs=1e-3)


def test_two_repetitions_have_no_odd_one() -> None:
    assert repeated_film([cycle(20), cycle(20)]).oddness.tolist() == [0, 0]


def test_marks_of_one_repetition_come_in_all(tmp_path: Path) -> None:
    found = repeated_film([noisy(20, n) for n in range(6)])
    second = found.movement.repetitions[1]
    middle = (second.start + second.end) / 2
    carried = found.carry_marks({"film.mp4": [Mark("bottom", middle)]}, tmp_path / "all.csv")
    [marks] = carried.values()
    assert [mark.name for mark in marks] == [f"bottom {n}" for n in range(1, len(found) + 1)]
    inside = zip(marks, found.movement.repetitions, strict=True)
    assert all(abs(mark.seconds - (one.start + one.end) / 2) < 0.5 for mark, one in inside)
    assert read_marks(tmp_path / "all.csv").keys() == carried.keys()
    with pytest.raises(DataError, match="no mark lies within"):
        found.carry_marks({"film.mp4": [Mark("bottom", 900.0)]})


def test_a_movement_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FeatureError, match="nothing repeats"):
        repeated([], 1)
    with pytest.raises(FeatureError, match="movement 2"):
        repeated([repeated_film([cycle(20), cycle(20)])], 2)


def test_a_film_from_the_command_line(tmp_path: Path) -> None:
    model = f"onnx:{colour_grid(tmp_path / 'grid.onnx')}"
    film = write(
        tmp_path / "film.mp4", (each for _ in range(5) for each in pictures("circle", 1, 30)), fps=15
    )
    files = [tmp_path / name for name in ("reps.srt", "together.mp4")]
    done = command("reps", film, "--encoder", model, "--json", "--to", files[0], "--film", files[1])
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)["movements"][0]
    assert first["count"] in (4, 5)
    assert len(read_marks(files[0])["reps"]) == first["count"]
    assert files[1].stat().st_size
    printed = command("reps", film, "--encoder", model, "--like", "2=4").stdout
    assert "the typical one" in printed
    wrong = command("reps", film, "--encoder", model, "--like", "2=400")
    assert wrong.returncode == 1
    assert "expected one repetition within" in wrong.stderr
    assert command("reps", film, "--marks", "m.csv").returncode == 2
