"""Stretches that an alignment plays absurdly slowly or fast: a sign of footage without a counterpart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from seasync.align.warp import Stretch, Warp
from seasync.encoding import Seconds

SLOWEST = 0.4  # slower than this, or faster than its inverse, is absurd
UNEVEN = 1.5  # and by this factor off the usual speed: slow motion as a whole is fine
SHORTEST = 1.0  # seconds
SHARE = 0.1  # of what the warp covers
MOVING = 0.5  # of the average motion: a pause may be long on one side and short on the other


@dataclass(frozen=True)
class SlowStretch:
    """Where the other clip is played at `speed` while the kept one runs from `start` to `end` seconds."""

    start: float
    end: float
    speed: float


def slow_stretches(warp: Warp) -> list[SlowStretch]:
    """The longer stretches in which the kept clip moves and the other one hardly goes on."""
    smooth = warp.smooth()
    covered = sum(end - start for start, end in smooth.spans)
    window = max(SHORTEST, SHARE * covered)
    slopes = [np.diff(s.values) / np.diff(s.times) for s in smooth.stretches if len(s.times) > 1]
    usual = float(np.median(np.concatenate(slopes))) if slopes else 1.0
    limit = min(SLOWEST, usual / UNEVEN)
    return [found for stretch in smooth.stretches for found in _slow(stretch, window, limit)]


def _slow(stretch: Stretch, window: float, limit: float) -> Iterator[SlowStretch]:
    times, values = stretch.times, stretch.values
    last = np.searchsorted(times, times + window)
    starts = np.flatnonzero(last < len(times))
    ends = last[starts]
    speed = (values[ends] - values[starts]) / (times[ends] - times[starts])
    motion = np.concatenate([[0.0], np.cumsum(stretch.trust)])
    moves = (motion[ends] - motion[starts]) / (ends - starts) >= MOVING
    slow = (speed < limit) & moves
    # Windows that overlap are one stretch.
    first = None
    for start, end in zip(starts[slow], ends[slow], strict=True):
        if first is None:
            first, until = start, end
        elif start <= until:
            until = end
        else:
            yield _between(times, values, first, until)
            first, until = start, end
    if first is not None:
        yield _between(times, values, first, until)


def _between(times: Seconds, values: Seconds, first: int, until: int) -> SlowStretch:
    speed = (values[until] - values[first]) / (times[until] - times[first])
    return SlowStretch(float(times[first]), float(times[until]), float(speed))
