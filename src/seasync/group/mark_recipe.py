"""The recipe that carries marks: as fine in time as the sampled frames allow."""

from __future__ import annotations

from dataclasses import replace

from seasync.align import Recipe
from seasync.encoding import Encoding


def mark_recipe(recipe: Recipe, encoding: Encoding) -> Recipe:
    """The recipe with two grid points per sampled frame, and change seen over one of them.

    A match on screen gains from a calm alignment, a mark from an exact one. At 7.5 sampled frames per second
    nothing but the grid changes.
    """
    seconds = encoding.seconds
    if len(seconds) < 2 or recipe.grid_fps is None:
        return recipe
    rate = (len(seconds) - 1) / max(float(seconds[-1] - seconds[0]), 1e-9)
    change = recipe.change_seconds and min(recipe.change_seconds, 1 / rate)
    grid = recipe.grid_fps if recipe.grid_fps >= 1.8 * rate else 2 * rate
    return replace(recipe, grid_fps=grid, change_seconds=change)
