"""The rate of sampled times.

Written without sort and diff, which would take two seconds to compile.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def longest_over_shortest(seconds):
    """The longest step between sampled times (T,) over the shortest one; 1 if there is none."""
    if len(seconds) == 1:
        return 1.0
    shortest = np.inf
    longest = 0.0
    for t in range(1, len(seconds)):
        step = seconds[t] - seconds[t - 1]
        shortest = min(shortest, step)
        longest = max(longest, step)
    return longest / shortest


@njit(cache=True)
def clock(seconds, limit):
    """The rate of sampled times (T,), how many samples a uniform clock of that rate has, and how far the
    times are from it, in steps (infinite if their number differs).

    The rate is that of the ordinary steps, those below `limit`: sampling 25 fps at 7.5 gives steps of 3 and 4
    frames, and 7.5 in the mean.
    """
    if len(seconds) == 1:
        return 1.0, 1, 0.0
    total = 0.0
    ordinary = 0
    for t in range(1, len(seconds)):
        step = seconds[t] - seconds[t - 1]
        if step < limit:
            total += step
            ordinary += 1
    rate = ordinary / total
    count = int(np.rint((seconds[-1] - seconds[0]) * rate)) + 1
    if count != len(seconds):
        return rate, count, np.inf
    off = 0.0
    for t in range(count):
        off = max(off, abs(seconds[t] - (seconds[0] + t / rate)) * rate)
    return rate, count, off
