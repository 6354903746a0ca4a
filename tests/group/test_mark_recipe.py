"""Marks are carried on a grid as fine as the sampled frames allow."""

from __future__ import annotations

import pytest

from seasync.alignment import MOTION
from seasync.encoding import Encoding
from seasync.group.carry import mark_recipe
from tests.alignment.clips import stream, walk


@pytest.mark.parametrize(
    ("fps", "grid", "change"), [(7.5, 15, 1 / 7.5), (15, 30, 1 / 15), (30, 60, 1 / 15), (60, 120, 1 / 15)]
)
def test_the_grid_follows_the_samples_and_change_is_never_seen_over_less_than_a_fifteenth(fps, grid, change):
    lead = stream(walk(90, width=4, seed=1), fps=fps)
    recipe = mark_recipe(MOTION, Encoding("test", (lead,), lead.features[0], lead.features[0]))
    assert recipe.grid_fps == pytest.approx(grid)
    assert recipe.change_seconds == pytest.approx(change)
