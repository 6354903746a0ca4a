"""The recipe that carries marks: as fine in time as the sampled frames allow."""

from __future__ import annotations

from dataclasses import replace

from seasync.alignment import Recipe
from seasync.encoding import Encoding

# Change over less time is mostly noise. Chosen on half of the golf players, at 30 frames per second.
LEAST_CHANGE_SECONDS = 1 / 15


def mark_recipe(recipe: Recipe, encoding: Encoding) -> Recipe:
    """The recipe with two grid points per sampled frame, and change seen over one of them.

    A match on screen gains from a calm alignment, a mark from an exact one. At 7.5 sampled frames per second
    nothing but the grid changes; at more than 15, change is still seen over 1/15 s.
    """
    seconds = encoding.seconds
    if len(seconds) < 2 or recipe.grid_fps is None:
        return recipe
    rate = (len(seconds) - 1) / max(float(seconds[-1] - seconds[0]), 1e-9)
    finest = max(1 / rate, LEAST_CHANGE_SECONDS)
    change = recipe.change_seconds and min(recipe.change_seconds, finest)
    grid = recipe.grid_fps if recipe.grid_fps >= 1.8 * rate else 2 * rate
    return replace(recipe, grid_fps=grid, change_seconds=change)
