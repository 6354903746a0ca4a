"""Intervals: their width against theory, their repeatability, and what groups and NaN do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import bootstrap

from seasync.evaluate.results import interval, mean_interval, mean_over_groups


def test_the_interval_of_a_mean_agrees_with_scipy_and_with_theory():
    values = np.random.default_rng(0).normal(3, 2, 400)
    low, high = mean_interval(values)
    scipys = bootstrap((values,), np.mean, method="percentile", random_state=1).confidence_interval
    assert low == pytest.approx(scipys.low, abs=0.05)
    assert high == pytest.approx(scipys.high, abs=0.05)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(0).normal(size=50)
    assert mean_interval(values, seed=4) == mean_interval(values, seed=4)
    assert mean_interval(values, seed=4) != mean_interval(values, seed=5)


def test_nan_values_are_ignored():
    assert mean_interval([1.0, np.nan, 1.0]) == (1.0, 1.0)
    assert all(map(math.isnan, mean_interval([])))
    assert all(map(math.isnan, interval(lambda draw: math.nan, 4)))


def test_the_mean_over_groups_weighs_groups_alike_and_clips_by_weight():
    values, groups = [1, 0, 1, np.nan], np.array([0, 0, 2, 2])
    assert mean_over_groups(values, groups) == 0.75
    assert mean_over_groups(values, groups, [3, 1, 5, 5]) == (0.75 + 1) / 2
    assert math.isnan(mean_over_groups([np.nan], np.array([0])))
