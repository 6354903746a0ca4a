from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seasync.alignment import MOTION, PAPER, Warp, align_encodings
from seasync.alignment.warp import Stretch
from seasync.errors import FeatureError
from tests import naive
from tests.alignment.clips import encoding, walk


@st.composite
def warps(draw, stretches=3):
    """A warp of a few stretches with flats and jumps, in order."""
    parts, time, value = [], 0.0, 0.0
    for _ in range(draw(st.integers(1, stretches))):
        steps = draw(
            st.lists(st.tuples(st.integers(1, 8), st.sampled_from([0, 0, 1, 3, 9])), min_size=1, max_size=12)
        )
        times = time + np.cumsum([a for a, _ in steps]) / 8
        values = value + np.cumsum([b for _, b in steps]) / 8
        end = times[-1] + draw(st.sampled_from([0.125, 1.0]))
        parts.append(Stretch(times, values, end))
        time, value = end, parts[-1].value_end
    return Warp(tuple(parts))


@given(warps())
def test_a_warp_passes_its_knots_and_never_runs_backwards(warp):
    for stretch in warp.stretches:
        assert warp.at(stretch.times) == pytest.approx(stretch.values)
    everywhere = np.linspace(-3, warp.spans[-1][1] + 3, 500)
    assert (np.diff(warp.at(everywhere)) >= -1e-9).all()


@given(warps())
def test_the_inverse_is_monotone_defined_and_leads_back(warp):
    inverse = warp.inverse()
    everywhere = np.linspace(-3, inverse.spans[-1][1] + 3, 500)
    assert (np.diff(inverse.at(everywhere)) >= -1e-9).all()
    for stretch in warp.stretches:
        back = inverse.at(stretch.values)
        alike = stretch.values[:, None] == stretch.values
        low = np.where(alike, stretch.times, np.inf).min(1)
        high = np.where(alike, stretch.times, -np.inf).max(1)
        assert ((back >= low - 1e-9) & (back <= high + 1e-9)).all()


@given(warps())
def test_covers_is_true_where_the_warp_is_defined(warp):
    for start, end in warp.spans:
        assert warp.covers([start, (start + end) / 2, end]).all()
    assert not warp.covers(warp.spans[0][0] - 0.01)
    assert not warp.covers(warp.spans[-1][1] + 0.01)


def test_outside_its_spans_a_warp_goes_on_at_unit_slope_and_waits_for_the_next_stretch():
    first = Stretch(np.array([1.0, 2.0]), np.array([10.0, 12.0]), 2.5)
    second = Stretch(np.array([6.0, 7.0]), np.array([13.0, 14.0]), 7.0)
    warp = Warp((first, second))
    assert warp.spans == ((1.0, 2.5), (6.0, 7.0))
    assert warp.at([0.5, 2.5, 3.0, 5.0, 6.0, 8.0]).tolist() == [9.5, 12.5, 13.0, 13.0, 13.0, 15.0]
    assert warp.at(1.5) == 11.0
    assert warp.covers([2.4, 2.6, 5.9, 6.0]).tolist() == [True, False, False, True]


def test_beyond_its_knots_a_stretch_does_not_reach_what_another_one_leads_to():
    later = Stretch(np.array([2.0, 3.0]), np.array([10.0, 11.0]), 3.0)
    earlier = Stretch(np.array([4.0, 5.0]), np.array([8.0, 9.5]), 5.0)
    warp = Warp((later, earlier))
    assert warp.at([0.0, 1.8, 3.5, 4.0, 5.2, 7.0]) == pytest.approx([9.5, 9.8, 11.5, 8.0, 9.7, 10.0])


def test_the_moment_where_two_stretches_touch_is_the_second_ones():
    """Each in the other's order; the first one's own end stays its own."""
    first = Stretch(np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0, 7.0]), 2.5)
    second = Stretch(np.array([2.0, 3.0]), np.array([1.0, 2.0]), 3.0)
    warp = Warp((second, first))
    assert warp.spans == ((0.0, 2.0), (2.0, 3.0))
    assert warp.at([1.9, 2.0, 2.5]) == pytest.approx([6.9, 1.0, 1.5])
    assert warp.stretches[0].value_end == 7.0
    assert warp.inverse().spans == ((1.0, 2.0), (5.0, 7.0))


def test_a_stretch_reaches_no_value_of_the_next_one():
    first = Stretch(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2.0)
    warp = Warp((first, Stretch(np.array([2.0, 3.0]), np.array([1.25, 2.0]), 3.0)))
    assert warp.stretches[0].value_end == 1.25
    assert warp.inverse().spans == ((0.0, 1.25), (1.25, 2.0))


def test_moments_pinned_close_to_each_other_are_all_passed():
    stretch = Stretch(np.arange(5.0), np.arange(5.0), 5.0)
    for time, value in ((2.1, 2.3), (2.2, 2.35), (1.9, 2.2)):
        stretch = stretch.through(time, value)
    assert stretch.at(np.array([1.9, 2.1, 2.2])) == pytest.approx([2.2, 2.3, 2.35], abs=1e-12)
    assert stretch.through(2.1, 2.25).at(np.array(2.1)) == 2.25  # the same moment again: one of the two


@given(warps(), st.data())
def test_smoothing_solves_whittakers_equations_between_the_ends_and_stays_monotone(warp, data):
    stretch = warp.stretches[0]
    trust = np.array([data.draw(st.floats(0, 4)) for _ in stretch.times])
    values = Warp((replace(stretch, trust=trust),)).smooth().stretches[0].values
    assert (np.diff(values) >= -1e-9).all()
    direct = naive.whittaker(stretch.values, trust + 0.02, 3.0)
    if (np.diff(direct) >= 0).all():
        assert values == pytest.approx(direct.clip(stretch.values[0], stretch.values[-1]), abs=1e-6)


def test_smoothed_warp_stays_within_the_footage():
    """Half a second at six times the speed, of which little is known for sure, at the very start."""
    times = np.arange(0, 4, 0.1)
    values = np.where(times < 0.5, 6 * times, 3 + (times - 0.5))
    smooth = Warp((Stretch(times, values, 4.0, np.where(times < 1, 0.0, 1.0)),)).smooth()
    assert smooth.at(0.0) >= 0
    assert smooth.at(0.2) != pytest.approx(1.2, abs=0.1)


@settings(max_examples=25)
@given(warps(stretches=1), st.sampled_from([0.5, 1.0, 3.0]))
def test_segments_stay_within_the_bound_and_no_fewer_would_do(warp, frames):
    bound = frames / 8
    segments = warp.segments(max_error_frames=frames, fps=Fraction(8))
    stretch = warp.stretches[0]
    times, values = np.append(stretch.times, stretch.end), np.append(stretch.values, stretch.value_end)
    assert segments[0].start == times[0]
    assert segments[-1].end == times[-1]
    for segment, after in zip(segments, [*segments[1:], None], strict=True):
        assert segment.speed >= 0
        assert after is None or segment.end == after.start
        inside = (times >= segment.start) & (times <= segment.end)
        line = np.interp(
            times[inside], [segment.start, segment.end], [segment.value_start, segment.value_end]
        )
        assert np.abs(line - values[inside]).max() <= bound + 1e-6
    # A hair's breadth decides ties: the fewest at a slightly wider bound is a lower limit.
    assert naive.fewest_lines(times, values, bound + 1e-7) <= len(segments)
    assert len(segments) <= naive.fewest_lines(times, values, bound - 1e-7)


def test_a_straight_warp_is_one_segment():
    (segment,) = Warp.through(np.arange(200) / 15, 3 + np.arange(200) / 10).segments()
    assert segment.speed == pytest.approx(1.5)


@pytest.mark.parametrize("recipe", [PAPER, MOTION])
@pytest.mark.parametrize("keep", ["query", "match"])
def test_every_kept_point_has_one_partner_the_first_or_the_mean(recipe, keep):
    query, match = encoding(walk(20), start=1.0), encoding(walk(33, seed=4))
    alignment = align_encodings(query, match, recipe=recipe, partial="never")
    side = ["query", "match"].index(keep)
    times = [alignment.query_seconds, alignment.match_seconds]
    values = alignment.warp(keep=keep).at(times[side])
    for k, value in enumerate(values):
        partners = times[1 - side][alignment.path[alignment.path[:, side] == k, 1 - side]]
        assert value == pytest.approx(partners[0] if recipe.readout == "first" else partners.mean())


def test_a_pinned_moment_is_passed_exactly_and_all_stays_in_order():
    rng = np.random.default_rng(0)
    for _ in range(50):
        times, values = np.sort(rng.choice(40, 9, replace=False)) / 8.0, np.sort(rng.uniform(0, 9, 9))
        stretch = Stretch(times, values, float(times[-1]) + 0.125)
        time, value = rng.uniform(times[0], stretch.end), rng.uniform(0, 9)
        warp = Warp((stretch.through(time, value),))
        assert warp.at(time) == pytest.approx(value, abs=1e-12)
        assert warp.smooth().at(time) == pytest.approx(value, abs=0.02)
        assert warp.spans[0][0] == times[0]
        assert (np.diff(warp.at(np.linspace(0, 6, 99))) >= 0).all()


def test_a_warp_reaches_to_the_end_of_the_last_frame():
    alignment = align_encodings(encoding(walk(20), start=1.0), encoding(walk(20, seed=2)), partial="never")
    assert alignment.warp().spans == ((1.0, pytest.approx(1 + 20 / 7.5)),)


def test_invalid_warps_are_refused():
    with pytest.raises(FeatureError, match="at least one"):
        Warp.through([], [])
    with pytest.raises(FeatureError, match="must increase"):
        Warp.through([0, 0], [1, 2])
    with pytest.raises(FeatureError, match="must not decrease"):
        Warp.through([0, 1], [2, 1])
    with pytest.raises(FeatureError, match="as many times as values"):
        Warp.through([0, 1], [2])
    with pytest.raises(FeatureError, match="positive"):
        Warp.through([0, 1], [2, 3]).segments(max_error_frames=0)
    with pytest.raises(ValueError, match="keep"):
        align_encodings(encoding(walk(5)), encoding(walk(5))).warp(keep="both")
