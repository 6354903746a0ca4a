"""Maps of time as plain knots: read off a path, followed one after the other, and turned into a path again.

They give the same numbers as `seasync.alignment.warp`, for the many detours of a consensus.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def _sum(values, cells, first, stop):
    """The sum of values[cells[first:stop]], added in numpy's order, so that both give the same digits."""
    total = values[cells[first]]
    count = stop - first - 1
    if count < 8:
        rest = 0.0
        for at in range(first + 1, stop):
            rest += values[cells[at]]
        return total + rest if count else total
    sums = np.empty(8, np.float64)
    for lane in range(8):
        sums[lane] = values[cells[first + 1 + lane]]
    whole = count - count % 8
    for at in range(8, whole, 8):
        for lane in range(8):
            sums[lane] += values[cells[first + 1 + at + lane]]
    rest = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    for at in range(first + 1 + whole, stop):
        rest += values[cells[at]]
    return total + rest


@njit(cache=True)
def knots(kept, cells, times, others, mean):
    """The knots (times, values) of a path without jumps, and the last point that it keeps.

    kept, cells (L,) int32: its points in the clip whose time stays, and in the other one; times, others:
    their seconds; mean: whether a point that occurs several times takes the mean of its partners, or the
    first.
    """
    length = len(kept)
    at = np.empty(length, np.float64)
    values = np.empty(length, np.float64)
    count = 0
    first = 0
    while first < length:
        stop = first + 1
        while stop < length and kept[stop] == kept[first]:
            stop += 1
        at[count] = times[kept[first]]
        values[count] = _sum(others, cells, first, stop) / (stop - first) if mean else others[cells[first]]
        count += 1
        first = stop
    return at[:count].copy(), values[:count].copy(), kept[length - 1]


@njit(cache=True)
def _at(moment, place, times, values, last):
    """What a moment maps to, given a knot at or before it (or 0)."""
    if moment > times[-1]:
        inside = values[-1]
    elif moment < times[0]:
        inside = values[0]
    elif place == len(times) - 1 or times[place] == moment:
        inside = values[place]
    else:
        slope = (values[place + 1] - values[place]) / (times[place + 1] - times[place])
        inside = slope * (moment - times[place]) + values[place]
    beyond = min(moment - times[0], 0.0) + max(moment - times[-1], 0.0)
    return min(inside + beyond, max(last, values[-1]))


@njit(cache=True)
def follow(moments, times1, values1, end1, last1, times2, values2, end2, last2, out):
    """Where two maps lead one after the other from moments (N,), increasing; NaN where one is not defined."""
    one = 0
    two = 0
    for n in range(len(moments)):
        moment = moments[n]
        while one + 1 < len(times1) and times1[one + 1] <= moment:
            one += 1
        between = _at(moment, one, times1, values1, last1)
        while two + 1 < len(times2) and times2[two + 1] <= between:
            two += 1
        there = times1[0] <= moment <= end1 and times2[0] <= between <= end2
        out[n] = _at(between, two, times2, values2, last2) if there else np.nan


@njit(cache=True)
def course_at(moments, times, values, last, out):
    """What one map leads to from moments (N,), increasing."""
    place = 0
    for n in range(len(moments)):
        while place + 1 < len(times) and times[place + 1] <= moments[n]:
            place += 1
        out[n] = _at(moments[n], place, times, values, last)


@njit(cache=True)
def medians(direct, reached, first, weight, fewest, out):
    """The median of direct (N,), counted `weight` times, and of reached (R, ≥ N) from `first` on, into out.

    It never decreases. NaN does not count; where fewer than `fewest` of reached are numbers, it is direct.
    """
    sorted_values = np.empty(weight + len(reached), np.float64)
    highest = -np.inf
    for n in range(len(direct)):
        sorted_values[:weight] = direct[n]
        count = weight
        for r in range(len(reached)):
            value = reached[r, first + n]
            if not np.isnan(value):
                at = count
                while at > 0 and sorted_values[at - 1] > value:
                    sorted_values[at] = sorted_values[at - 1]
                    at -= 1
                sorted_values[at] = value
                count += 1
        median = direct[n]
        if count >= weight + fewest:
            median = (sorted_values[(count - 1) // 2] + sorted_values[count // 2]) / 2
        highest = max(highest, median)
        out[n] = highest


@njit(cache=True)
def cells_around(rows, places, first, last):
    """Cells (L, 2) int32 from column `first` to `last` in unit steps, centered on each row's place.

    A row reaches half-way to the places before and after it.
    """
    out = np.empty((len(rows) + last - first + 1, 2), np.int32)
    count = 0
    at = first
    low = float(first)
    for r in range(len(rows)):
        high = float(last)
        if r + 1 < len(rows):
            high = min(max((places[r + 1] + places[r]) / 2, float(first)), float(last))
        begin = min(max(int(np.ceil(low)), at), at + 1)
        at = max(int(np.floor(high)), begin)
        for column in range(begin, at + 1):
            out[count, 0] = rows[r]
            out[count, 1] = column
            count += 1
        low = high
    return out[:count].copy()
