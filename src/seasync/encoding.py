"""An encoding: what an encoder makes of a clip, and what the record keeps of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from seasync.errors import FeatureError

Floats = NDArray[np.float32]
Seconds = NDArray[np.float64]
Indices = NDArray[np.int64]


WINDOW = 64  # samples from which a frame's surroundings are judged, at WINDOW_FPS samples per second
WINDOW_FPS = 7.5
HOP = 8  # samples that share a window
FOUND = 0.7  # a stream counts in a pair when its subject was found in this share of both clips' frames

# A stream's features of the same movement seen in a mirror, by the stream's name: which column each takes the
# place of, and its sign. `pose` holds x and y of the nose, then of six joints left and right.
_SIDES = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11]
MIRRORS = {
    "pose": (np.array([2 * joint + axis for joint in _SIDES for axis in (0, 1)]), np.tile([-1, 1], 13))
}
# The last channels of a stream that hold which way things move, not what is seen (`encoder.FlowMeter`): x and
# y in each of 16 squares of the picture. They follow the 384 channels of DINOv2.
FLOW_CHANNELS = 32
_WITH_FLOW = "dinov2-small", 384 + FLOW_CHANNELS


def windows(first: int, last: int, length: int = WINDOW) -> list[tuple[int, int, int, int]]:
    """Windows of bounded length for one shot, the samples `first` to `last` (exclusive).

    Each entry (a, b, begin, end): samples a to b take their statistics from samples begin to end, at most
    `length` of them, centred on the HOP samples that share them and pushed inside the shot. A shot of at most
    `length` samples has one window: itself.
    """
    if last - first <= length:
        return [(first, last, first, last)]
    spans = []
    for a in range(first, last, HOP):
        begin = min(max(a + HOP // 2 - length // 2, first), last - length)
        spans.append((a, min(a + HOP, last), begin, begin + length))
    return spans


def _all_finite(features: Floats) -> bool:
    if features.dtype == np.float16:  # numpy looks at halves one by one; as integers it looks at many
        return not features.size or bool(
            features.view(np.int16).max() < 0x7C00 and features.view(np.uint16).max() < 0xFC00
        )
    return bool(np.isfinite(features).all())


@dataclass(frozen=True, eq=False)
class Stream:
    """Frame features of one kind over a clip.

    seconds  (T,)   when each sampled frame is shown, from the file's first frame; increasing
    frames   (T,)   its number in the file, 0-based; increasing
    features (T, d) float32, or float16 as a sea stores them
    shots    (S,)   the first sample of each shot; begins with 0
    found           share of the frames in which the encoder found its subject (1 unless it looks for one)
    """

    name: str
    seconds: Seconds
    frames: Indices
    features: Floats
    shots: Indices = field(default_factory=lambda: np.zeros(1, np.int64))
    found: float = 1.0

    def __post_init__(self) -> None:
        length = len(self.seconds)
        if self.features.ndim != 2 or len(self.features) != length or len(self.frames) != length:
            raise FeatureError(
                f"{self.name}: expected features (T, d) with T seconds and T frames, got "
                f"{self.features.shape = }, {self.seconds.shape = }, {self.frames.shape = }"
            )
        if not length:
            raise FeatureError(f"{self.name}: no frames; an encoding needs at least one")
        if not _all_finite(self.features):
            bad = int((~np.isfinite(self.features)).any(1).sum())
            raise FeatureError(f"{self.name}: {bad} of {length} frame features hold NaN or infinity")
        increasing = (self.seconds[1:] > self.seconds[:-1]).all()
        if not (increasing and np.isfinite(self.seconds[0]) and np.isfinite(self.seconds[-1])):
            raise FeatureError(f"{self.name}: seconds must be finite and increasing")

    @property
    def flow_channels(self) -> int:
        """How many of the last channels hold flow."""
        name, width = _WITH_FLOW
        has_flow = self.name.partition("@")[0] == name and self.features.shape[1] == width
        return FLOW_CHANNELS if has_flow else 0

    def part(self, start: float, end: float) -> "Stream":
        """What is shown from `start` to `end` (exclusive), in seconds, of the same memory; at least the
        sample next to `start`."""
        first, last = np.searchsorted(self.seconds, (start, end)).tolist()
        first = min(first, len(self.seconds) - 1)
        kept = slice(first, max(last, first + 1))
        shots = self.shots[(self.shots > first) & (self.shots < kept.stop)] - first
        seconds, frames, features = self.seconds[kept], self.frames[kept], self.features[kept]
        return Stream(self.name, seconds, frames, features, np.append(0, shots), self.found)

    def __repr__(self) -> str:
        length, width = self.features.shape
        return f"Stream({self.name!r}, {length}×{width}, {self.seconds[0]:.2f}–{self.seconds[-1]:.2f} s)"


@dataclass(frozen=True, eq=False)
class Encoding:
    """Frame features of a clip, and its raw clip vector.

    Attributes
    ----------
    encoder : str
        Fingerprint of the encoder. Only encodings with the same one can be compared.
    streams : tuple of Stream
        The frame features, one stream or more. The first one leads.
    mean : numpy.ndarray [shape=(d,)]
        Mean frame feature: the paper's clip vector, not standardized.
    trajectory : numpy.ndarray [shape=(e,)]
        Low-frequency course of the frame features over the clip.

    Examples
    --------
    >>> encoding = seasync.encode_clip("query.mp4")
    >>> len(encoding.features) == len(encoding.seconds)
    True
    """

    encoder: str
    streams: tuple[Stream, ...]
    mean: Floats
    trajectory: Floats

    def __post_init__(self) -> None:
        if not self.streams:
            raise FeatureError("an encoding needs at least one stream")

    @property
    def seconds(self) -> Seconds:
        """When each sampled frame is shown, in seconds of the file. [shape=(T,)]"""
        return self.streams[0].seconds

    @property
    def frames(self) -> Indices:
        """Numbers of the sampled frames in the file, counted from 0. [shape=(T,)]"""
        return self.streams[0].frames

    @property
    def features(self) -> Floats:
        """Frame features of the leading stream. [shape=(T, d)]"""
        return self.streams[0].features

    @property
    def shots(self) -> Indices:
        """Indices of the sampled frames at which shots begin."""
        return self.streams[0].shots

    def __repr__(self) -> str:
        return f"Encoding({self.encoder!r}, {', '.join(map(repr, self.streams))})"


@dataclass(frozen=True, eq=False)
class EncodingBatch(Sequence[Encoding]):
    """Encodings of one stream each, without their clip vectors, as they are read from a sea.

    All frames lie one after the other, so that many clips can be scored without a step of Python for each.

    Attributes
    ----------
    encoder : str
        Fingerprint of the encoder.
    name : str
        Name of the stream.
    seconds : numpy.ndarray [shape=(N,)]
        When each of all frames is shown.
    features : numpy.ndarray [shape=(N, d)], float16
    shots : numpy.ndarray [shape=(S,)]
        The first frame of each shot, counted within its clip.
    frames_of, shots_of : numpy.ndarray [shape=(B, 2)]
        Where the frames and the shots of each of the B clips begin and end.
    found : numpy.ndarray [shape=(B,)]
        Share of the frames of each clip in which the encoder found its subject.
    read_numbers : callable
        Reads the numbers of all frames in their files, shape (N,). Scoring does not need them.
    """

    encoder: str
    name: str
    seconds: Seconds
    features: Floats
    shots: Indices
    frames_of: Indices
    shots_of: Indices
    found: Seconds
    read_numbers: Callable[[], Indices]

    def __post_init__(self) -> None:
        if not self._is_valid():
            for n in range(len(self)):
                _ = self[n]  # the one that is wrong raises
            raise FeatureError(f"{self.name}: the frames of the clips do not follow each other")

    def _is_valid(self) -> bool:
        """What each `Stream` checks, for all of them at once."""
        first, last = self.frames_of.T
        if not (first < last).all():
            return False
        rises = self.seconds[1:] > self.seconds[:-1]
        rises[first[first > 0] - 1] = True
        finite = np.isfinite(self.seconds[first]) & np.isfinite(self.seconds[last - 1])
        return bool(rises.all() and finite.all()) and _all_finite(self.features)

    def __len__(self) -> int:
        return len(self.frames_of)

    @overload
    def __getitem__(self, n: int) -> Encoding: ...
    @overload
    def __getitem__(self, n: slice) -> list[Encoding]: ...
    def __getitem__(self, n: int | slice) -> Encoding | list[Encoding]:
        if isinstance(n, slice):
            return [self[at] for at in range(*n.indices(len(self)))]
        frames = slice(*self.frames_of[n].tolist())
        nothing = np.empty(0, np.float32)
        return self.encoding(n, self._numbers[frames], nothing, nothing)

    def encoding(self, n: int, numbers: Indices, mean: Floats, trajectory: Floats) -> Encoding:
        """One of the encodings, with what was not read with it."""
        frames, shots = slice(*self.frames_of[n].tolist()), slice(*self.shots_of[n].tolist())
        seconds, features, found = self.seconds[frames], self.features[frames], float(self.found[n])
        stream = Stream(self.name, seconds, numbers, features, self.shots[shots], found)
        return Encoding(self.encoder, (stream,), mean, trajectory)

    @cached_property
    def _numbers(self) -> Indices:
        return self.read_numbers()


def seconds_of(encodings: Sequence[Encoding], n: int) -> Seconds:
    """When the sampled frames of one of the encodings are shown, without making the encoding of a batch."""
    if isinstance(encodings, EncodingBatch):
        return encodings.seconds[slice(*encodings.frames_of[n].tolist())]
    return encodings[n].seconds
