"""Preparing a clip for a recipe: everything its side of a cost matrix needs, computed once in O(T·d)."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import kernels
from seasync.alignment.recipe import Recipe
from seasync.encoding import (
    FOUND,
    MIRRORS,
    WINDOW,
    WINDOW_FPS,
    Encoding,
    Floats,
    Indices,
    Seconds,
    Stream,
    windows,
)
from seasync.errors import FeatureError

# The grid of a clip: uniform times, finer than its sampled frames by an integer factor.


# Frames within this share of a sampling step from a uniform rate are taken as they are.
JITTER = 0.02
# Steps shorter than this many median steps tell the rate.
ORDINARY = 1.5
# A grid has at most so many points, unless frames are at most so many points apart: 1 frame per second is 30.
MOST_POINTS, MOST_FACTOR = 1 << 17, 32


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
    """The rate of a stream, the samples of a uniform clock of that rate, and how far the frames are from it.

    The rate is that of the ordinary steps: those shorter than one and a half of the median step.
    """
    unevenness, *clock = kernels.clock_of(seconds)
    if unevenness >= ORDINARY:
        _, *clock = kernels.clock_of(seconds, ORDINARY * float(np.median(np.diff(seconds))))
    rate, count, off = clock
    return rate, int(count), off


def grid_factor(rate: float, recipe: Recipe) -> int:
    """Grid points from one sampled frame to the next."""
    return 1 if recipe.grid_fps is None else max(1, round(recipe.grid_fps / rate))


@lru_cache(maxsize=256)
def grid_points(length: int, factor: int) -> tuple[NDArray[np.int32], Seconds]:
    """The sample at or before each point of a grid `factor` times as fine, and the way to the next (0–1).

    Raises
    ------
    FeatureError
        If the samples are so far apart that the grid has far too many points, as in a film whose timestamps
        are damaged.
    """
    points, most = factor * (length - 1) + 1, max(MOST_POINTS, MOST_FACTOR * length)
    if points > most:
        raise FeatureError(
            f"{length} frames are spread over so long a time that their grid has {points} points, at most "
            f"{most}: align a shorter span, and check the timestamps of the file"
        )
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


Int32s = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PreparedStream:
    """One stream of a clip, prepared.

    Attributes
    ----------
    name : str
    arrays : kernels.StreamArrays
        What the kernels read of it.
    found : float
        Share of the frames in which the encoder found its subject.
    still : bool
        Nothing moves, so there is nothing to align by.
    """

    name: str
    arrays: kernels.StreamArrays
    found: float
    still: bool

    @property
    def length(self) -> int:
        """Number of frames, T."""
        return int(self.arrays.length)

    def mirrored(self) -> "PreparedStream":
        """The stream of the same movement seen in a mirror; itself if its columns have no left and right."""
        if self.name not in MIRRORS:
            return self
        columns, signs = MIRRORS[self.name]
        own = self.arrays
        rows = np.ascontiguousarray(own.rows[:, columns] * signs, np.float32)
        return replace(self, arrays=kernels.StreamArrays(rows, own.links, own.scales, own.lower, own.grid))


@dataclass(frozen=True, eq=False)
class PreparedClip:
    """A clip on the grid of its leading stream.

    Attributes
    ----------
    encoder : str
        Fingerprint of the encoder.
    seconds : numpy.ndarray [shape=(n,)], float64
        Times of the grid points in the file.
    lead : Stream
        The leading stream as it was sampled.
    streams : tuple of PreparedStream
    scene : numpy.ndarray [shape=(T,)], int32
        The scene that each sample of the leading stream shows.
    step : float
        Seconds between sampled frames.
    factor : int
        Grid points from one sampled frame of the leading stream to the next.
    mean, trajectory : numpy.ndarray [shape=(d,)], numpy.ndarray [shape=(e,)]
        The raw parts of the clip's vector; empty if the encoding came without them.
    """

    encoder: str
    seconds: Seconds
    lead: Stream
    streams: tuple[PreparedStream, ...]
    scene: Int32s
    step: float
    factor: int
    mean: Floats
    trajectory: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def features(self) -> Floats:
        """Features of the leading stream as it was sampled, shape (T, d)."""
        return self.lead.features

    @cached_property
    def uninterrupted(self) -> NDArray[np.bool_] | None:
        """Which grid points are left without what interrupts the longest scene that continues, shape (n,).

        None if no scene continues after something else.
        """
        if not self.scene.any():
            return None
        best, longest = None, 0
        scene = self.scene[np.rint(np.arange(len(self)) / self.factor).astype(np.int64)]
        for number in range(int(scene.max()) + 1):
            own = scene == number
            points, (first, last) = own.sum(), np.flatnonzero(own)[[0, -1]]
            if points > longest and not own[first : last + 1].all():
                own[:first] = own[last + 1 :] = True
                best, longest = own, points
        return best

    @cached_property
    def frames(self) -> Indices:
        """Numbers of the file frames nearest to the grid points, shape (n,)."""
        if self.seconds is self.lead.seconds:
            return self.lead.frames
        return np.rint(np.interp(self.seconds, self.lead.seconds, self.lead.frames)).astype(np.int64)

    def mirrored(self) -> "PreparedClip":
        """The clip as a mirror would show it, as far as its streams have a left and a right."""
        return replace(self, streams=tuple(stream.mirrored() for stream in self.streams))


@dataclass(frozen=True, eq=False)
class _Samples:
    """Features at nearly uniform times: seconds (T,), features (T, d), shots (S,)."""

    seconds: Seconds
    features: Floats
    shots: Indices
    rate: float


def refined(recipe: Recipe, encoding: Encoding) -> Recipe:
    """The recipe for a pair that is aligned alone; see `Recipe.refined`."""
    return recipe.refined(clock_of(encoding.seconds)[0])


def prepare(clip: Encoding | PreparedClip, recipe: Recipe) -> PreparedClip:
    """Prepare an encoding for a recipe; a clip that is prepared already stays as it is."""
    if isinstance(clip, PreparedClip):
        return clip
    lead, *others = clip.streams
    samples = _resample(lead, recipe)
    factor = grid_factor(samples.rate, recipe)
    lower, weight = grid_points(len(samples.seconds), factor)
    seconds = refined_times(samples.seconds, factor)
    streams = [_prepare_stream(lead, samples, lower, weight, recipe)]
    for stream in others:
        own = _resample(stream, recipe)
        streams.append(_prepare_stream(stream, own, *_between(own.seconds, seconds), recipe))
    return PreparedClip(
        clip.encoder,
        seconds,
        lead,
        tuple(streams),
        _scenes(samples, recipe),
        1 / samples.rate,
        factor,
        clip.mean,
        clip.trajectory,
    )


def _resample(stream: Stream, recipe: Recipe) -> _Samples:
    """Resample a stream uniformly at its own rate: linear between timestamps, nearest across a cut."""
    seconds, features, shots = stream.seconds, stream.features, stream.shots
    if features.dtype == np.float16:
        features = kernels.single(features)
    elif features.dtype != np.float32 or not features.flags.c_contiguous:
        features = np.ascontiguousarray(features, np.float32)
    uniform, rate = uniform_times(seconds, recipe)
    if uniform is seconds:
        return _Samples(seconds, features, shots, rate)
    lower, weight = _between(seconds, uniform)
    weight = _uncut(lower, weight, shots)
    upper = np.minimum(lower + 1, len(seconds) - 1)
    mixed = features[lower] + weight[:, None].astype(np.float32) * (features[upper] - features[lower])
    nearest = np.where(weight > 0.5, upper, lower)
    starts = np.searchsorted(nearest, shots)
    return _Samples(uniform, mixed, np.unique(starts[starts < len(uniform)]), rate)


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
    reach = 0 if recipe.change_seconds is None else max(1, round(recipe.change_seconds * samples.rate))
    settings = kernels.Settings(
        reach, recipe.context, recipe.compares_change, recipe.motion_cap, recipe.scale_floor
    )
    windows, weight = _windows(samples, recipe), _uncut(lower, weight, samples.shots)
    arrays, still = kernels.prepare_frames(samples.features, samples.shots, windows, settings, lower, weight)
    return PreparedStream(stream.name, arrays, stream.found, still)


def _windows(samples: _Samples, recipe: Recipe) -> kernels.Windows:
    """Each frame's scene and window, and where the windows are in the order of the scenes.

    At more samples per second a window has more of them: what surrounds a moment is a matter of time.
    """
    length, shots = len(samples.seconds), samples.shots
    most = max(WINDOW, round(WINDOW * samples.rate / WINDOW_FPS))
    if not recipe.windows or (len(shots) == 1 and length <= most):
        return _one_window(length)
    scene = _scenes(samples, recipe)
    order = np.argsort(scene, kind="stable")
    ends = np.cumsum(np.bincount(scene))
    spans = [span for part in zip([0, *ends[:-1]], ends, strict=True) for span in windows(*part, most)]
    distinct = sorted({(begin, end) for _, _, begin, end in spans})
    at = {window: k for k, window in enumerate(distinct)}
    window = np.empty(length, np.int32)
    window[order] = np.repeat([at[begin, end] for _, _, begin, end in spans], [b - a for a, b, _, _ in spans])
    starts, stops = np.array(distinct, np.int64).T
    return kernels.Windows(scene, window, order, starts.copy(), stops.copy())


def _scenes(samples: _Samples, recipe: Recipe) -> Int32s:
    """The scene of each sample, shape (T,): shots whose mean features are alike show one scene."""
    shots, length = samples.shots, len(samples.seconds)
    if len(shots) == 1:
        return np.zeros(length, np.int32)
    sums = np.add.reduceat(samples.features, shots, axis=0, dtype=np.float64)
    directions = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    alike = 1 - directions @ directions.T < recipe.scene_distance
    out = np.full(len(shots), -1, np.int32)
    for shot in range(len(shots)):
        before = out[alike[shot] & (out >= 0)]
        out[shot] = before.min() if len(before) else out.max() + 1
    return np.repeat(out, np.diff(np.append(shots, length)))


@lru_cache(maxsize=256)
def _one_window(length: int) -> kernels.Windows:
    zeros = np.zeros(length, np.int32)
    return kernels.Windows(zeros, zeros, np.arange(length), np.zeros(1, np.int64), np.array([length]))


def shared_streams(query: PreparedClip, match: PreparedClip) -> list[tuple[PreparedStream, PreparedStream]]:
    """The streams that both clips have and whose subject was found in both; else the first they share."""
    if query.encoder != match.encoder:
        raise FeatureError(
            f"the query is encoded by {query.encoder!r}, the match by {match.encoder!r}: encode both by one"
        )
    others = {stream.name: stream for stream in match.streams}
    pairs = [(stream, others[stream.name]) for stream in query.streams if stream.name in others]
    if not pairs and [_scheme(one) for one in query.streams] == [_scheme(one) for one in match.streams]:
        # A name such as onnx:FILE has a path: the same model lay elsewhere when the other clip was encoded.
        pairs = list(zip(query.streams, match.streams, strict=True))
    if not pairs:
        raise FeatureError("the encodings have no stream in common: encode both by one encoder")
    for one, other in pairs:
        if one.arrays.width != other.arrays.width:
            raise FeatureError(
                f"{one.name}: the query's features have {one.arrays.width} dimensions, the match's "
                f"{other.arrays.width}: encode both by one encoder"
            )
    return [pair for pair in pairs if min(pair[0].found, pair[1].found) >= FOUND] or pairs[:1]


def _scheme(stream: PreparedStream) -> str:
    """The name of a stream, without the path in it."""
    scheme, colon, _ = stream.name.partition(":")
    return scheme + colon
