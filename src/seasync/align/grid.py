"""The grid of a clip: uniform times, finer than its sampled frames by an integer factor."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.align.kernels.clock import clock, longest_over_shortest
from seasync.align.recipe import Recipe
from seasync.encoding import Seconds

# Frames within this share of a sampling step from a uniform rate are taken as they are.
JITTER = 0.02
# Steps shorter than this many median steps tell the rate.
ORDINARY = 1.5


class Grid(NamedTuple):
    """The times of a clip's grid points, shape (n,), and the seconds between its sampled frames."""

    seconds: Seconds
    step: float

    @property
    def whole(self) -> tuple[float, float]:
        """From when to when the clip is shown."""
        return self.span(0, len(self.seconds) - 1)

    def span(self, first: int, last: int) -> tuple[float, float]:
        """From when to when the grid points `first` to `last` are shown."""
        return float(self.seconds[first]), end_of(self.seconds, last, self.step)


def grid_of(seconds: Seconds, recipe: Recipe) -> Grid:
    """The grid of a clip, given when its sampled frames are shown, shape (T,)."""
    times, rate = uniform_times(seconds, recipe)
    return Grid(refined_times(times, grid_factor(rate, recipe)), 1 / rate)


def uniform_times(seconds: Seconds, recipe: Recipe) -> tuple[Seconds, float]:
    """When the frames of a stream are shown once it is resampled, and their rate; `seconds` if it is not."""
    rate, count, off = clock_of(seconds)
    if (recipe.grid_fps is None and not recipe.compares_change) or off < JITTER:
        return seconds, rate
    if count > 2 * len(seconds) + 16:  # a hole in the timestamps: there is nothing to interpolate
        return seconds, rate
    return seconds[0] + np.arange(count) / rate, rate


def clock_of(seconds: Seconds) -> tuple[float, int, float]:
    """`clock`, where a step is ordinary if it is shorter than one and a half of the median step."""
    even = longest_over_shortest(seconds) < ORDINARY  # then all are ordinary
    limit = np.inf if even else ORDINARY * float(np.median(np.diff(seconds)))
    found: tuple[float, int, float] = clock(seconds, limit)
    return found


def grid_factor(rate: float, recipe: Recipe) -> int:
    """Grid points from one sampled frame to the next."""
    return 1 if recipe.grid_fps is None else max(1, round(recipe.grid_fps / rate))


@lru_cache(maxsize=256)
def grid_points(length: int, factor: int) -> tuple[NDArray[np.int32], Seconds]:
    """The sample at or before each point of a grid `factor` times as fine, and the way to the next (0–1)."""
    point = np.arange(factor * (length - 1) + 1, dtype=np.int32)
    return point // np.int32(factor), point % factor / factor


def refined_times(times: Seconds, factor: int) -> Seconds:
    """The times of a grid `factor` times as fine."""
    if factor == 1:
        return times
    lower, weight = grid_points(len(times), factor)
    seconds = times[lower]
    seconds[:-1] += weight[:-1] * np.diff(times)[lower[:-1]]
    return seconds


def end_of(times: Seconds, last: int, step: float) -> float:
    """When the grid point `last` ends: at the next one, or a sampling step after the last of all."""
    return float(times[last + 1] if last + 1 < len(times) else times[last] + step)
