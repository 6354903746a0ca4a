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
# A pause may be long in one clip and short in the other, and clips begin and end at different moments of an
# action. Without these two conditions, 61 % of 304 good alignments of golf swings would be warned of; with
# them, 7 %.
MOVING = 1.0  # times the average motion
EDGE = 0.15  # of what the warp covers


@dataclass(frozen=True)
class SlowStretch:
    """Where the other clip is played at `speed` while the kept one runs from `start` to `end` seconds."""

    start: float
    end: float
    speed: float


def speed_warnings(query: Warp, match: Warp) -> Iterator[str]:
    """What to check, in words, by the warps of an alignment that keep the query and the match."""
    for each in slow_stretches(query):
        yield (
            f"the match plays at {each.speed:.0%} speed from {each.start:.1f} to {each.end:.1f} s of the "
            "query; the query may show something there that the match does not"
        )
    for each in slow_stretches(match):
        yield (
            f"the match plays at {1 / max(each.speed, 0.01):.0%} speed from {each.start:.1f} to "
            f"{each.end:.1f} s of its own time; it may show something there that the query does not"
        )


def slow_stretches(warp: Warp) -> list[SlowStretch]:
    """The longer stretches in which the kept clip moves and the other one hardly moves on."""
    smooth = warp.smooth()
    covered = sum(end - start for start, end in smooth.spans)
    window = max(SHORTEST, SHARE * covered)
    slopes = [np.diff(s.values) / np.diff(s.times) for s in smooth.stretches if len(s.times) > 1]
    usual = float(np.median(np.concatenate(slopes))) if slopes else 1.0
    limit = min(SLOWEST, usual / UNEVEN)
    return [found for piece in smooth.stretches for found in _slow(piece, window, limit, EDGE * covered)]


def _slow(stretch: Stretch, window: float, limit: float, edge: float) -> Iterator[SlowStretch]:
    times, values = stretch.times, stretch.values
    last = np.searchsorted(times, times + window)
    starts = np.flatnonzero(last < len(times))
    ends = last[starts]
    speed = (values[ends] - values[starts]) / (times[ends] - times[starts])
    motion = np.concatenate([[0.0], np.cumsum(stretch.trust)])
    moves = (motion[ends] - motion[starts]) / (ends - starts) >= MOVING
    inner = (times[starts] - times[0] >= edge) & (times[-1] - times[ends] >= edge)
    slow = (speed < limit) & moves & inner
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
