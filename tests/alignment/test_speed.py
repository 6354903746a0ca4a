"""Absurd speeds are warned of, and ordinary ones are not."""

from __future__ import annotations

import numpy as np

from seasync.alignment.warp import Stretch, Warp, slow_stretches, speed_warnings

TIMES = np.arange(0, 10, 1 / 15)


def warp(speeds: list[tuple[float, float]], still: tuple[float, float] | None = None) -> Warp:
    """Ten seconds of the kept clip: (until seconds, speed of the other clip); nothing moves while `still`."""
    speed = np.select([until > TIMES for until, _ in speeds], [value for _, value in speeds])
    values = np.concatenate([[0.0], np.cumsum(speed[:-1]) / 15])
    trust = np.ones(len(TIMES))
    if still:
        trust[(still[0] <= TIMES) & (still[1] > TIMES)] = 0
    return Warp((Stretch(TIMES, values, 10.0, trust),))


def test_footage_in_the_middle_that_the_other_clip_does_not_have() -> None:
    (found,) = slow_stretches(warp([(4, 1), (6.5, 0.1), (10, 1)]))
    assert found.speed < 0.4
    assert 3 < found.start < 4.5
    assert 6 < found.end < 7.5


def test_speeds_that_vary_as_people_do_are_fine() -> None:
    assert not slow_stretches(warp([(3, 1), (6, 0.6), (10, 1.5)]))


def test_slow_motion_as_a_whole_is_fine() -> None:
    assert not slow_stretches(warp([(10, 0.25)]))


def test_a_pause_may_be_longer_in_one_clip() -> None:
    assert not slow_stretches(warp([(4, 1), (6.5, 0.1), (10, 1)], still=(4, 6.5)))


def test_clips_may_begin_and_end_at_different_moments() -> None:
    assert not slow_stretches(warp([(2, 0.1), (8, 1), (10, 0.1)]))


def test_a_warp_of_one_moment_has_no_speed() -> None:
    assert not slow_stretches(Warp.through([1.0], [2.0]))


def test_the_words_name_the_speed_the_time_and_the_clip() -> None:
    plain, odd = warp([(10, 1)]), warp([(4, 1), (6.5, 0.1), (10, 1)])
    (slow,) = speed_warnings(odd, plain)
    assert slow.startswith("the match plays at ")
    assert slow.endswith("s of the query; the query may show something there that the match does not")
    (fast,) = speed_warnings(plain, odd)
    assert int(fast.split("%")[0].split()[-1]) > 250
    assert "it may show something there that the query does not" in fast
