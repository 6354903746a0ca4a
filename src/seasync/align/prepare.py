"""Preparing a clip for a recipe: everything its side of a cost matrix needs, computed once in O(T·d)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seasync.align.kernels import preparation as kernels
from seasync.align.recipe import Recipe
from seasync.encoding import FOUND, MIRRORS, WINDOW, Encoding, Floats, Indices, Seconds, Stream, windows
from seasync.errors import FeatureError

Int32s = NDArray[np.int32]
# Frames within this share of a sampling step from a uniform rate are taken as they are.
_JITTER = 0.02
_ONE_PART = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class PreparedStream:
    """One stream of a clip, prepared.

    Attributes
    ----------
    name : str
    rows : numpy.ndarray [shape=(T + extra, d)], float32
        Centered features, then window means or context rows: one side of the Gram matrix.
    links : numpy.ndarray [shape=(3, T)], int32
        The frames ahead and behind whose difference is the change, and the row of the frame's own mean.
    scales : numpy.ndarray [shape=(2, T)], float32
        Factors of state and change.
    lower : numpy.ndarray [shape=(n,)], int32
        The frame at or before each grid point.
    grid : numpy.ndarray [shape=(3, n)], float32
        The way from there to the next frame (0–1), 1 / norm, and motion.
    found : float
        Share of the frames in which the encoder found its subject.
    still : bool
        Nothing moves, so there is nothing to align by.
    """

    name: str
    rows: Floats
    links: Int32s
    scales: Floats
    lower: Int32s
    grid: Floats
    found: float
    still: bool

    @property
    def length(self) -> int:
        """Number of frames, T."""
        return int(self.links.shape[1])

    def mirrored(self) -> PreparedStream:
        """The stream of the same movement seen in a mirror; itself if its columns have no left and right."""
        if self.name not in MIRRORS:
            return self
        columns, signs = MIRRORS[self.name]
        return replace(self, rows=np.ascontiguousarray(self.rows[:, columns] * signs))

    @property
    def sides(self) -> tuple[Int32s, Floats, Int32s, Floats]:
        """What the kernels take besides the rows."""
        return self.links, self.scales, self.lower, self.grid


@dataclass(frozen=True, eq=False)
class PreparedClip:
    """A clip on the grid of its leading stream.

    Attributes
    ----------
    encoder : str
        Fingerprint of the encoder.
    seconds : numpy.ndarray [shape=(n,)], float64
        Times of the grid points in the file.
    frames : numpy.ndarray [shape=(n,)], int64
        Numbers of the file frames nearest to them.
    streams : tuple of PreparedStream
    step : float
        Seconds between sampled frames.
    """

    encoder: str
    seconds: Seconds
    frames: Indices
    streams: tuple[PreparedStream, ...]
    step: float

    def __len__(self) -> int:
        return len(self.seconds)

    def mirrored(self) -> PreparedClip:
        """The clip as a mirror would show it, as far as its streams have a left and a right."""
        return replace(self, streams=tuple(stream.mirrored() for stream in self.streams))


@dataclass(frozen=True, eq=False)
class _Samples:
    """Features at nearly uniform times: seconds (T,), features (T, d), shots (S,)."""

    seconds: Seconds
    features: Floats
    shots: Indices
    rate: float


def prepare(encoding: Encoding, recipe: Recipe) -> PreparedClip:
    """Prepare an encoding for a recipe."""
    lead, *others = encoding.streams
    samples = _resample(lead, recipe)
    factor = 1 if recipe.grid_fps is None else max(1, round(recipe.grid_fps / samples.rate))
    point = np.arange(factor * (len(samples.seconds) - 1) + 1, dtype=np.int32)
    lower, weight = point // np.int32(factor), point % factor / factor
    if factor == 1:
        seconds = samples.seconds
    else:
        seconds = samples.seconds[lower]
        seconds[:-1] += weight[:-1] * np.diff(samples.seconds)[lower[:-1]]
    streams = [_prepare_stream(lead, samples, lower, weight, recipe)]
    for stream in others:
        own = _resample(stream, recipe)
        streams.append(_prepare_stream(stream, own, *_between(own.seconds, seconds), recipe))
    frames = lead.frames
    if seconds is not lead.seconds:
        frames = np.rint(np.interp(seconds, lead.seconds, lead.frames)).astype(np.int64)
    return PreparedClip(encoding.encoder, seconds, frames, tuple(streams), 1 / samples.rate)


def _resample(stream: Stream, recipe: Recipe) -> _Samples:
    """Resample a stream uniformly at its own rate: linear between timestamps, nearest across a cut."""
    seconds, features, shots = stream.seconds, stream.features, stream.shots
    if features.dtype != np.float32 or not features.flags.c_contiguous:
        features = np.ascontiguousarray(features, np.float32)
    steps = np.diff(seconds)
    # The mean of ordinary steps: sampling 25 fps at 7.5 gives steps of 3 and 4 frames, and 7.5 in the mean.
    ordered = np.sort(steps)  # many times faster than np.median on so few
    median = (ordered[(len(steps) - 1) // 2] + ordered[len(steps) // 2]) / 2 if len(steps) else 0.0
    rate = 1 / float(steps[steps < 1.5 * median].mean()) if len(steps) else 1.0
    as_they_are = _Samples(seconds, features, shots, rate)
    if recipe.grid_fps is None and not recipe.compares_change:
        return as_they_are
    count = round((seconds[-1] - seconds[0]) * rate) + 1
    uniform = seconds[0] + np.arange(count) / rate
    if count == len(seconds) and np.abs(seconds - uniform).max() * rate < _JITTER:
        return as_they_are
    if count > 2 * len(seconds) + 16:  # a hole in the timestamps: there is nothing to interpolate
        return as_they_are
    lower, weight = _between(seconds, uniform)
    weight = _uncut(lower, weight, shots)
    upper = np.minimum(lower + 1, len(seconds) - 1)
    mixed = features[lower] + weight[:, None].astype(np.float32) * (features[upper] - features[lower])
    nearest = np.where(weight > 0.5, upper, lower)
    starts = np.searchsorted(nearest, shots)
    return _Samples(uniform, mixed, np.unique(starts[starts < count]), rate)


def _between(times: Seconds, wanted: Seconds) -> tuple[Int32s, Seconds]:
    """The last of `times` at or before each wanted one, and the way from it to the next (0–1)."""
    place = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, max(len(times) - 2, 0))
    if len(times) == 1:
        return place.astype(np.int32), np.zeros(len(wanted))
    weight = np.clip((wanted - times[place]) / (times[place + 1] - times[place]), 0.0, 1.0)
    return place.astype(np.int32), weight


def _uncut(lower: Int32s, weight: Seconds, shots: Indices) -> Seconds:
    """Round weights to 0 or 1 where a cut lies between: there is nothing in between two shots."""
    if len(shots) == 1:
        return weight
    return np.where(np.isin(lower + 1, shots), np.where(weight > 0.5 + 1e-6, 1.0, 0.0), weight)


def _prepare_stream(
    stream: Stream, samples: _Samples, lower: Int32s, weight: Seconds, recipe: Recipe
) -> PreparedStream:
    """Prepare a stream; a grid point lies `weight`, shape (n,), of the way from frame `lower` to the next."""
    length, width = samples.features.shape
    window, starts, stops = _windows(length, samples.shots, recipe.windows)
    several = len(starts) > 1
    extra = 2 if recipe.context else len(starts) if several else 0
    rows = np.empty((length + extra, width), np.float32)
    # With windows, rows are only ever compared within a shot: centered there they are smallest.
    mean, raw = kernels.centre(samples.features, samples.shots if several else _ONE_PART, rows)
    spread = np.empty(0)
    if recipe.context:
        kernels.context_rows(rows, length, mean)
    elif several:
        spread = kernels.window_means(rows, length, starts, stops)
    links = np.zeros((3, length), np.int32)
    links[:2] = np.arange(length)
    if several:
        links[2] = length + window
    if recipe.change_seconds is not None:
        reach = max(1, round(recipe.change_seconds * samples.rate))
        links[0], links[1] = _neighbours(length, samples.shots, reach)
    weight = _uncut(lower, weight, samples.shots)
    products = kernels.energies(rows, length, links[2], links[0], links[1], recipe.context)
    scales, grid, still = kernels.scale(
        products, raw, spread, window, starts, stops, lower, weight, recipe.compares_change
    )
    return PreparedStream(stream.name, rows, links, scales, lower, grid, stream.found, bool(still))


def _neighbours(length: int, shots: Indices, reach: int) -> tuple[Indices, Indices]:
    """The frames `reach` later and earlier than each, kept inside its shot; shape (T,) each."""
    at = np.arange(length)
    if len(shots) == 1:
        return np.minimum(at + reach, length - 1), np.maximum(at - reach, 0)
    shot = np.searchsorted(shots, at, side="right") - 1
    ends = np.append(shots[1:], length) - 1
    return np.minimum(at + reach, ends[shot]), np.maximum(at - reach, shots[shot])


def _windows(length: int, shots: Indices, windowed: bool) -> tuple[Int32s, Indices, Indices]:
    """Each frame's window, shape (T,), and where the windows start and stop."""
    if not windowed or (len(shots) == 1 and length <= WINDOW):
        return np.zeros(length, np.int32), np.zeros(1, np.int64), np.array([length])
    spans = [
        span for first, last in zip(shots, [*shots[1:], length], strict=True) for span in windows(first, last)
    ]
    distinct = sorted({(begin, end) for _, _, begin, end in spans})
    at = {window: k for k, window in enumerate(distinct)}
    window = np.repeat([at[begin, end] for _, _, begin, end in spans], [b - a for a, b, _, _ in spans])
    starts, stops = np.array(distinct, np.int64).T
    return window.astype(np.int32), starts.copy(), stops.copy()


def shared_streams(query: PreparedClip, match: PreparedClip) -> list[tuple[PreparedStream, PreparedStream]]:
    """The streams that both clips have and whose subject was found in both; else the first they share."""
    if query.encoder != match.encoder:
        raise FeatureError(
            f"the query is encoded by {query.encoder!r}, the match by {match.encoder!r}: encode both by one"
        )
    others = {stream.name: stream for stream in match.streams}
    pairs = [(stream, others[stream.name]) for stream in query.streams if stream.name in others]
    if not pairs:
        raise FeatureError("the encodings have no stream in common: encode both by one encoder")
    for one, other in pairs:
        if one.rows.shape[1] != other.rows.shape[1]:
            raise FeatureError(
                f"{one.name}: the query's features have {one.rows.shape[1]} dimensions, the match's "
                f"{other.rows.shape[1]}: encode both by one encoder"
            )
    return [pair for pair in pairs if min(pair[0].found, pair[1].found) >= FOUND] or pairs[:1]
