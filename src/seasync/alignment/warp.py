"""Warps: monotone maps from one clip's seconds to another's, defined on spans."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.encoding import Seconds
from seasync.errors import FeatureError

# The smoother: trust in a motionless knot beside a moving one's, and the price of bending.
_LEAST_TRUST = 0.02
_BENDING = 3.0
_PINNED = 1e3  # trust in a knot that was asked for
# How often the search for the start of a line narrows its interval, and how many values it tries each time.
_ROUNDS, _TRIED = 14, 17


@dataclass(frozen=True)
class Segment:
    """A stretch of constant speed: seconds `start`–`end` map to `value_start`–`value_end`."""

    start: float
    end: float
    value_start: float
    value_end: float

    @property
    def speed(self) -> float:
        """Seconds of the other clip per second."""
        return (self.value_end - self.value_start) / (self.end - self.start)


@dataclass(frozen=True, eq=False)
class Stretch:
    """One connected part of a warp.

    Attributes
    ----------
    times : numpy.ndarray [shape=(K,)]
        Seconds of its knots, increasing.
    values : numpy.ndarray [shape=(K,)]
        The seconds they map to, never decreasing.
    end : float
        Until when it is defined; after the last knot it continues at unit slope.
    trust : numpy.ndarray [shape=(K,)]
        How much each knot counts when the warp is smoothed.
    last : float
        Where the other clip ends: no value is later, unless a knot's is.
    first : float
        No value is earlier, unless a knot's is.

    Raises
    ------
    FeatureError
        If times do not increase or values decrease.
    """

    times: Seconds
    values: Seconds
    end: float
    trust: Seconds = field(default_factory=lambda: np.ones(0))
    last: float = math.inf
    first: float = -math.inf

    def __post_init__(self) -> None:
        if not len(self.times) or len(self.times) != len(self.values):
            raise FeatureError(
                f"a warp needs as many times as values, got {self.times.shape = }, {self.values.shape = }"
            )
        times, values = self.times, self.values
        if (times[1:] <= times[:-1]).any() or (values[1:] < values[:-1]).any() or self.end < times[-1]:
            raise FeatureError("a warp's times must increase, its values must not decrease")
        if not len(self.trust):
            object.__setattr__(self, "trust", np.ones(len(self.times)))

    @property
    def start(self) -> float:
        return float(self.times[0])

    @property
    def value_end(self) -> float:
        """What `end` maps to."""
        return float(self.at(np.array(self.end)))

    def at(self, seconds: Seconds) -> Seconds:
        """What `seconds` map to, at unit slope outside the knots."""
        inside = np.interp(seconds, self.times, self.values)
        beyond = np.minimum(seconds - self.times[0], 0) + np.maximum(seconds - self.times[-1], 0)
        low, high = min(self.first, self.values[0]), max(self.last, self.values[-1])
        values: Seconds = np.clip(inside + beyond, low, high)
        return values

    def through(self, time: float, value: float) -> Stretch:
        """The stretch with a knot there instead of the nearest one; the other values give way."""
        nearest = int(np.abs(self.times - time).argmin())
        # The first knot stays, so that it begins when it began; so do other moments that were asked for.
        stays = (self.times < time) & (nearest == 0) | (self.trust == _PINNED) & (self.times != time)
        kept = (np.arange(len(self.times)) != nearest) | stays
        times, values, trust = self.times[kept], self.values[kept], self.trust[kept]
        at = int(np.searchsorted(times, time))
        values = np.where(np.arange(len(values)) < at, values.clip(max=value), values.clip(min=value))
        return replace(
            self,
            times=np.insert(times, at, time),
            values=np.insert(values, at, value),
            trust=np.insert(trust, at, _PINNED),
            end=max(self.end, time),
        )

    def inverse(self) -> Stretch:
        """The map back."""
        values, first, counts = np.unique(self.values, return_index=True, return_counts=True)
        # A flat part becomes one knot at its middle.
        times = (self.times[first] + self.times[first + counts - 1]) / 2
        return Stretch(values, times, self.value_end, self.trust[first], self.end)


@dataclass(frozen=True, eq=False)
class Warp:
    """A map of time made of stretches, which it puts in the order of their times.

    A stretch ends at the latest where the next one starts; that moment belongs to the next one. To evaluate
    a stretch up to its very end, call its own `at`. Beyond its knots, a stretch reaches no value that another
    one leads to.

    >>> warp = seasync.Warp.through([0.0, 1.0, 2.0], [5.0, 5.5, 7.0])
    >>> warp.at(1.5)
    6.25
    """

    stretches: tuple[Stretch, ...]

    def __post_init__(self) -> None:
        if not self.stretches:
            raise FeatureError("a warp needs at least one stretch")
        ordered = sorted(self.stretches, key=lambda stretch: stretch.start)
        joined = [*(_before(one, after) for one, after in pairwise(ordered)), ordered[-1]]
        object.__setattr__(self, "stretches", tuple(_beside(one, joined) for one in joined))

    @classmethod
    def through(cls, times: ArrayLike, values: ArrayLike) -> Warp:
        """The warp that is linear between knots.

        Parameters
        ----------
        times, values : array_like [shape=(K,)]
            Seconds of the knots, and the seconds they map to.
        """
        knots = np.asarray(times, np.float64)
        if not knots.size:
            raise FeatureError("a warp needs at least one knot")
        return cls((Stretch(knots, np.asarray(values, np.float64), float(knots[-1])),))

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """Where the warp is defined: (start, end) seconds of each stretch."""
        return tuple((stretch.start, stretch.end) for stretch in self.stretches)

    def covers(self, seconds: ArrayLike) -> NDArray[np.bool_]:
        """Whether the warp is defined at `seconds`; the result has the same shape."""
        times = np.asarray(seconds, np.float64)
        inside = np.zeros(times.shape, bool)
        for start, end in self.spans:
            inside |= (times >= start) & (times <= end)
        return inside

    @overload
    def at(self, seconds: float) -> float: ...
    @overload
    def at(self, seconds: ArrayLike) -> Seconds: ...
    def at(self, seconds: ArrayLike) -> float | Seconds:
        """What `seconds` map to.

        Outside the spans the stretch before (at the very start, the first) continues at unit slope and waits
        where the next one begins. That is good for display, but not a correspondence.

        Parameters
        ----------
        seconds : float or array_like

        Returns
        -------
        float or numpy.ndarray
            Of the same shape.
        """
        times = np.asarray(seconds, np.float64)
        if len(self.stretches) == 1:
            only = self.stretches[0].at(times)
            return float(only) if times.ndim == 0 else only
        starts = [stretch.start for stretch in self.stretches]
        which = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, None)
        out = np.empty(times.shape)
        for k, stretch in enumerate(self.stretches):
            out[which == k] = stretch.at(times[which == k])
        return float(out) if out.ndim == 0 else out

    def inverse(self) -> Warp:
        """The map back. Where several times map to one value, it maps to their middle."""
        return Warp(tuple(stretch.inverse() for stretch in self.stretches))

    def smooth(self) -> Warp:
        """A smoother warp, still monotone: it changes most where little moves.

        Each stretch minimizes Σ (trust + .02)(w − v)² + 3 Σ (Δ²w)² over its knots (Whittaker), and stays
        between its first and last values: beyond them there may be no footage.
        """
        return Warp(tuple(replace(s, values=_smoothed(s.values, s.trust)) for s in self.stretches))

    def segments(self, max_error_frames: float = 1.0, fps: Fraction | float = Fraction(30)) -> list[Segment]:
        """The fewest stretches of constant speed that stay close to the warp.

        Parameters
        ----------
        max_error_frames : float
            Largest error at any knot, in frames of a video at `fps`.
        fps : fractions.Fraction or float

        Returns
        -------
        list of Segment
            They break at knots.

        Raises
        ------
        FeatureError
            If a parameter is not positive.
        """
        bound = max_error_frames / float(fps)
        if not bound > 0:
            raise FeatureError(f"max_error_frames and fps must be positive, got {max_error_frames}, {fps}")
        return [segment for stretch in self.stretches for segment in _segments(stretch, bound)]


def _before(stretch: Stretch, after: Stretch) -> Stretch:
    """`stretch` until `after` starts."""
    if after.start < stretch.times[-1]:
        raise FeatureError("the stretches of a warp must follow each other in time")
    return replace(stretch, end=min(stretch.end, after.start))


def _beside(stretch: Stretch, stretches: Sequence[Stretch]) -> Stretch:
    """`stretch`, which reaches no further than the values that others lead to."""
    if len(stretches) == 1:
        return stretch
    first, last = stretch.values[0], stretch.values[-1]
    others = [other.values for other in stretches if other is not stretch]
    low = max((float(values[-1]) for values in others if values[-1] <= first), default=-math.inf)
    high = min((float(values[0]) for values in others if values[0] >= last), default=math.inf)
    return replace(stretch, first=max(stretch.first, low), last=min(stretch.last, high))


def _smoothed(values: Seconds, trust: Seconds) -> Seconds:
    """The Whittaker smoother of values (K,), made monotone by the least-squares monotone fit."""
    from seasync.alignment import kernels

    weights = trust + _LEAST_TRUST
    # Solved around the mean: time codes far from zero would cost precision.
    middle = values.mean()
    smoothed = kernels.smooth(values - middle, weights, _BENDING) + middle
    within: Seconds = np.clip(_monotone(smoothed, weights), values[0], values[-1])
    return within


def _monotone(values: Seconds, weights: Seconds) -> Seconds:
    """The non-decreasing sequence nearest in weighted least squares: pool adjacent violators."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, how many values
    for mean, weight in zip(values.tolist(), weights.tolist(), strict=True):
        count = 1
        while pools and pools[-1][0] > mean:
            before, more, others = pools.pop()
            mean = (before * more + mean * weight) / (more + weight)
            weight, count = more + weight, others + count
        pools.append((mean, weight, count))
    means, _, counts = zip(*pools, strict=True)
    return np.repeat(means, counts)


def _segments(stretch: Stretch, bound: float) -> Iterator[Segment]:
    """The fewest lines within `bound` of the stretch.

    Whatever a line can follow, it can follow any part of: so reaching as far as possible each time is best,
    and how far can be searched by doubling and halving. A line starts where the last one ended if it can.
    """
    times, values = stretch.times, stretch.values
    if stretch.end > times[-1]:
        times, values = np.append(times, stretch.end), np.append(values, stretch.value_end)
    first, value = 0, float(values[0])
    while first < len(times) - 1:
        good, bad, step = first + 1, len(times), 1
        lines = _Lines(times[first:], values[first:], bound)
        start = lines.start_value(1, value)
        while bad - good > 1:
            probe = min(good + step, bad - 1) if bad == len(times) else (good + bad) // 2
            found = lines.start_value(probe - first, value)
            if found is None:
                bad = probe
            else:
                good, start, step = probe, found, 2 * step
        assert start is not None  # a line passes any two knots
        low, high = (slopes.item() for slopes in lines.slopes(good - first, np.array([start])))
        run = float(times[good] - times[first])
        value = start + min(max((float(values[good]) - start) / run, low), high) * run
        yield Segment(float(times[first]), float(times[good]), start, value)
        first = good


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines from the first knot of a polyline, times (K,) and values (K,), within `bound` of its knots."""

    times: Seconds
    values: Seconds
    bound: float

    def slopes(self, last: int, starts: Seconds) -> tuple[Seconds, Seconds]:
        """The least and the greatest slope of lines from these values on that pass the knots up to `last`."""
        run = self.times[1 : last + 1] - self.times[0]
        rise = self.values[1 : last + 1] - starts[:, None]
        low = ((rise - self.bound) / run).max(1).clip(0.0)
        high: Seconds = ((rise + self.bound) / run).min(1)
        return low, high

    def start_value(self, last: int, wanted: float) -> float | None:
        """The value nearest to `wanted` from which one line passes the knots up to `last`, or None."""

        def room(starts: Seconds) -> Seconds:
            low, high = self.slopes(last, starts)
            return high - low

        lowest, highest = self.values[0] - self.bound, self.values[0] + self.bound
        goal = min(max(wanted, lowest), highest)
        if room(np.array([goal]))[0] >= 0:
            return float(goal)
        # The room between both slopes is concave in the start value: first its peak, then the nearest edge.
        for _ in range(_ROUNDS):
            starts = np.linspace(lowest, highest, _TRIED)
            peak = int(room(starts).argmax())
            lowest, highest = starts[max(peak - 1, 0)], starts[min(peak + 1, _TRIED - 1)]
        inside = starts[peak]
        if room(starts)[peak] < 0:
            return None
        for _ in range(_ROUNDS):
            starts = np.linspace(inside, goal, _TRIED)
            beyond = int((room(starts) < 0).argmax())
            inside, goal = starts[beyond - 1], starts[beyond]
        return float(inside)


# Stretches that an alignment plays absurdly slowly or fast: a sign of footage without a counterpart.


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
