"""`seasync group`: what its table says about each take."""

from __future__ import annotations

import numpy as np

from seasync.cli.group import tempo_range


def test_the_tempo_is_from_the_slow_to_the_fast_moments_without_the_extremes() -> None:
    assert tempo_range(np.linspace(0.5, 1.5, 101)) == "60%–140%"


def test_a_stretch_that_the_take_skips_has_no_absurd_tempo() -> None:
    assert tempo_range(np.r_[np.full(50, 0.9), np.full(50, 36.0), np.nan]) == "90%–over 400%"


def test_a_take_without_a_known_tempo_has_a_dash() -> None:
    assert tempo_range(np.full(5, np.nan)) == "–"
