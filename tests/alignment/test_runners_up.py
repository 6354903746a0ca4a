"""Runners-up: a series of cycles is announced as ambiguous, a single movement is not."""

import dataclasses

import numpy as np
import pytest

from seasync.alignment import MOTION, align_encodings, align_many
from seasync.encoding import Encoding
from tests.test_repetitions import cycle, encoding, other


def series(lengths: list[int]) -> Encoding:
    return encoding(np.concatenate([cycle(length) for length in lengths]))


@pytest.mark.parametrize("lengths", [[20, 20, 20], [16, 18, 20], [30, 26, 28], [20, 20, 20, 20]])
def test_a_series_may_be_off_by_a_cycle_and_says_so(lengths: list[int]) -> None:
    alignment = align_encodings(series([20, 22, 21]), series(lengths))
    best, *_ = alignment.runners_up
    cycle_seconds = np.mean(lengths) / 7.5
    assert abs(best.later) == pytest.approx(cycle_seconds, rel=0.25)
    assert max(best.coverage) >= 0.5
    assert "may repeat" in alignment.warnings[-1]
    told = alignment.to_json()["runners_up"]
    assert [one["later"] for one in told] == [one.later for one in alignment.runners_up]


@pytest.mark.parametrize("seed", range(4))
def test_a_single_movement_has_no_runner_up(seed: int) -> None:
    walk = other(60, seed)
    slower = np.stack([np.interp(np.linspace(0, 59, 75), np.arange(60), column) for column in walk.T], axis=1)
    alignment = align_encodings(encoding(walk), encoding(slower))
    assert alignment.alignable
    assert alignment.runners_up == ()
    assert not any("repeat" in text for text in alignment.warnings)


def test_who_says_what_belongs_together_is_not_asked_again() -> None:
    query, match = series([20, 20, 20]), series([20, 20, 20])
    assert align_encodings(query, match, anchors=[(1.3, 1.3)]).runners_up == ()
    assert align_many(query, [match])[0].runners_up == ()  # its costs were not kept
    alignment = align_encodings(query, match)
    assert dataclasses.replace(alignment, recipe=dataclasses.replace(MOTION, order="any")).runners_up == ()
