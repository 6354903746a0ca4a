"""Every metric against an independent computation, and on cases small enough to work out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from seasync.errors import DataError
from seasync.evaluate import metrics
from tests.evaluate import naive

LENGTHS = [(1, 1), (1, 5), (5, 1), (4, 4), (7, 3), (3, 9), (12, 12)]


@pytest.fixture(params=range(5))
def random(request):
    return np.random.default_rng(request.param)


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_partners_are_the_first_or_the_mean_on_the_path(random, n, m):
    path = naive.random_path(random, n, m)
    for keep, length, column in (("query", n, 0), ("match", m, 1)):
        first = [naive.first_partner(path, k, column) for k in range(length)]
        mean = [naive.mean_partner(path, k, column) for k in range(length)]
        assert metrics.partners(path, length, keep=keep).tolist() == first
        np.testing.assert_allclose(metrics.partners(path, length, keep=keep, readout="mean"), mean)


def test_frames_off_the_path_have_no_partner():
    partner = metrics.partners([(1, 4), (2, 4), (2, 5)], 4)
    np.testing.assert_array_equal(partner, [np.nan, 4, 4, np.nan])


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_apa_counts_kept_query_frames(random, n, m):
    path = naive.random_path(random, n, m)
    mine, theirs = random.integers(-1, 3, n), random.integers(-1, 3, m)
    partner = metrics.partners(path, n)
    np.testing.assert_equal(tuple(metrics.apa(mine, theirs, partner)), naive.agreement(mine, theirs, path))


def test_apa_by_hand():
    path = [(0, 0), (1, 0), (2, 1), (2, 2), (3, 3)]
    mine, theirs = [0, 0, 1, 2], [0, 1, 1, 1]
    assert metrics.apa(mine, theirs, metrics.partners(path, 4)).covered == 3 / 4
    assert metrics.apa_per_path(mine, theirs, path) == 4 / 5


def test_apa_of_frames_left_out_is_reported_over_covered_and_over_all():
    partial = [(1, 0), (2, 1)]
    result = metrics.apa([0, 0, 1, 1], [0, 1], metrics.partners(partial, 4))
    assert result == (1.0, 0.5)


def test_apa_of_a_phase_that_the_match_lacks_is_a_disagreement():
    assert metrics.apa([0, 1, 2], [0, 2], [0, 0, 1]).covered == pytest.approx(2 / 3)


def test_apa_of_unlabelled_clips_is_unknown():
    assert math.isnan(metrics.apa([-1, -1], [0, 0], [0, 1]).covered)
    assert math.isnan(metrics.apa_per_path([0, 0], [-1, -1], [(0, 0), (1, 1)]))


def test_apa_of_other_lengths_says_so():
    with pytest.raises(DataError, match="3 query phases but partners for 2"):
        metrics.apa([0, 0, 0], [0], [0, 0])


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_cycle_carries_labels_there_and_back(random, n, m):
    forward, backward = naive.random_path(random, n, m), naive.random_path(random, m, n)
    there = metrics.partners(forward, m, keep="match")
    back = metrics.partners([(q, k) for k, q in backward], n)
    positions = naive.cycle(forward, backward, list(range(n)))
    assert metrics.cycle(there, back).tolist() == positions
    assert metrics.fpe(there, back) == pytest.approx(np.mean((np.arange(n) - positions) ** 2))
    phases = random.integers(0, 4, n)
    after = naive.cycle(forward, backward, phases.tolist())
    assert metrics.cpe(phases, there, back) == pytest.approx(np.mean(np.abs(phases - after)))


def test_fpe_and_cpe_by_hand():
    # The match has one frame only: everything comes back as frame 0 of phase 0.
    assert metrics.fpe([0], [0, 0, 0]) == (0 + 1 + 4) / 3
    assert metrics.cpe([0, 0, 2], [0], [0, 0, 0]) == 2 / 3


def test_cycle_between_two_frames_interpolates_positions():
    assert metrics.cycle([0, 4], [0, 0.5, 1]).tolist() == [0, 2, 4]


def test_cycle_leaves_out_what_either_way_leaves_out():
    np.testing.assert_array_equal(metrics.cycle([0, np.nan, 2], [0, 1, np.nan, 2]), [0, np.nan, np.nan, 2])
    assert metrics.fpe([0, np.nan, 2], [0, 1, np.nan, 2]) == 0.5
    assert metrics.cpe([0, 1, 1, 0], [0, np.nan, 2], [0, 1, np.nan, 2]) == 0.5
    assert math.isnan(metrics.fpe([np.nan], [np.nan, np.nan]))


def test_recall_and_precision_by_hand():
    relevant = [[0, 1, 0], [0, 0, 0], [1, 1, 1]]
    assert metrics.recall_at(relevant, 1).tolist() == [False, False, True]
    assert metrics.recall_at(relevant, 2).tolist() == [True, False, True]
    np.testing.assert_allclose(metrics.precision_at(relevant, 3), [1 / 3, 0, 1])
    np.testing.assert_allclose(metrics.precision_at(relevant, 10), [1 / 3, 0, 1])


@pytest.mark.parametrize("n", [2, 3, 10, 40])
def test_kendall_tau_agrees_with_scipy_and_with_counting(random, n):
    neighbours = random.integers(0, max(2, n // 2), (6, n))
    ours = metrics.kendall_tau(neighbours)
    scipys = [kendalltau(np.arange(n), row).statistic for row in neighbours]
    np.testing.assert_allclose(ours, scipys, atol=1e-12)
    np.testing.assert_allclose(ours, [naive.tau_b(range(n), row) for row in neighbours], atol=1e-12)


def test_kendall_tau_is_undefined_for_one_frame_and_for_one_neighbour():
    assert math.isnan(metrics.kendall_tau([3]))
    assert math.isnan(metrics.kendall_tau([2, 2, 2]))


def test_event_error_is_in_seconds_and_unknown_off_the_warp():
    np.testing.assert_allclose(metrics.event_error([1, 2], [1.5, 2], [1.25, np.nan]), [0.25, np.nan])
    with pytest.raises(DataError, match="2 and 3 events"):
        metrics.event_error([1, 2], [1, 2, 3], [1, 2])
