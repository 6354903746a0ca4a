"""The fewest straight lines along a monotone polyline."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _slopes(times, values, first, last, bound, value):
    """Least and greatest slope of lines from (times[first], value) that pass all knots within the bound."""
    low = 0.0
    high = np.inf
    for k in range(first + 1, last + 1):
        run = times[k] - times[first]
        low = max(low, (values[k] - bound - value) / run)
        high = min(high, (values[k] + bound - value) / run)
    return low, high


@njit(cache=True, nogil=True)
def _start(times, values, first, last, bound, wanted):
    """The start value nearest to `wanted` whence one line passes knots first … last; NaN if there is none.

    The room between the two slopes is concave in the start value: first its peak, then the nearest edge.
    """
    low = values[first] - bound
    high = values[first] + bound
    left = low
    right = high
    for _ in range(80):
        a = left + (right - left) / 3
        b = right - (right - left) / 3
        slopes_a = _slopes(times, values, first, last, bound, a)
        slopes_b = _slopes(times, values, first, last, bound, b)
        if slopes_a[1] - slopes_a[0] < slopes_b[1] - slopes_b[0]:
            left = a
        else:
            right = b
    peak = (left + right) / 2
    slopes = _slopes(times, values, first, last, bound, peak)
    if slopes[1] < slopes[0]:
        return np.nan
    goal = min(max(wanted, low), high)
    slopes = _slopes(times, values, first, last, bound, goal)
    if slopes[1] >= slopes[0]:
        return goal
    for _ in range(80):
        middle = (peak + goal) / 2
        slopes = _slopes(times, values, first, last, bound, middle)
        if slopes[1] >= slopes[0]:
            peak = middle
        else:
            goal = middle
    return peak


@njit(cache=True, nogil=True)
def fewest_lines(times, values, bound):
    """Break the polyline (K,), (K,) at knots into the fewest parts that one line each follows within `bound`.

    Whatever a line can follow, it can follow any part of: so reaching as far as possible each time is best,
    and how far can be searched by doubling and halving. A line starts where the last one ended if it can.
    Returns knots (S + 1,) and values (S, 2) at both ends of each line.
    """
    count = len(times)
    knots = np.zeros(count, np.int64)
    ends = np.empty((count, 2), np.float64)
    lines = 0
    first = 0
    value = values[0]
    while first < count - 1:
        good = first + 1
        bad = count
        step = 1
        while bad - good > 1:
            probe = min(good + step, bad - 1) if bad == count else (good + bad) // 2
            if np.isnan(_start(times, values, first, probe, bound, value)):
                bad = probe
            else:
                good = probe
                step *= 2
        value = _start(times, values, first, good, bound, value)
        low, high = _slopes(times, values, first, good, bound, value)
        straight = (values[good] - value) / (times[good] - times[first])
        slope = min(max(straight, low), high)
        ends[lines, 0] = value
        value += slope * (times[good] - times[first])
        ends[lines, 1] = value
        lines += 1
        knots[lines] = good
        first = good
    return knots[: lines + 1], ends[:lines]
