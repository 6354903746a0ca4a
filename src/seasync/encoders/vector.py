"""The raw parts of a clip vector: where a clip is in feature space on average, and how it moves there."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Encoding, Floats, Seconds, Stream

POINTS = 32
COEFFICIENTS = 4
# Narrow features are kept whole: on 26 joint coordinates a quarter of the width loses 1.6 points of R@1.
WHOLE = 64
# (4, 32): coefficients 1–4 of the orthonormal DCT-II.
_COSINES = np.cos(
    np.pi / POINTS * (np.arange(POINTS) + 0.5) * np.arange(1, COEFFICIENTS + 1)[:, None]
) * np.sqrt(2 / POINTS)
FLOW_COEFFICIENTS = 5
FLOW_WEIGHT = 1.4
# (5, 32): coefficients 0–4, the first one as long as the others.
_FLOW_COSINES = np.cos(np.pi / POINTS * (np.arange(POINTS) + 0.5) * np.arange(FLOW_COEFFICIENTS)[:, None])


def stream_vector_parts(stream: Stream) -> tuple[Floats, Floats]:
    """`clip_vector_parts` of a stream, and of its flow.

    Flow is compared as it is, not around its mean: which way something moves on the whole is what a movement
    is known by. So its coefficients begin with 0; they are scaled to count FLOW_WEIGHT times as much as the
    rest of the trajectory.
    """
    count = stream.flow_channels
    if not count:
        return clip_vector_parts(stream.features, stream.seconds)
    flow = stream.features[:, -count:]
    mean, trajectory = clip_vector_parts(stream.features[:, :-count], stream.seconds)
    course = (_FLOW_COSINES @ _drawn(flow, np.asarray(stream.seconds, np.float64))).ravel()
    length, size = np.linalg.norm(trajectory), np.linalg.norm(course)
    scaled = course * (FLOW_WEIGHT * (length or 1.0) / (size or 1.0))
    return (
        np.append(mean, flow.mean(0, dtype=np.float64)).astype(np.float32),
        np.append(trajectory, scaled).astype(np.float32),
    )


def clip_vector_parts(features: Floats, seconds: Seconds) -> tuple[Floats, Floats]:
    """The mean frame feature and the trajectory of a clip, both raw (nothing standardized or normalized).

    features (T, d), seconds (T,) increasing. Returns mean (d,) and trajectory (trajectory_dimension(d),).

    The trajectory: centred features, drawn at 32 evenly spaced times between the first frame and the last;
    wide ones projected by a fixed orthonormal d × d/4 matrix; of their orthonormal DCT-II coefficients 1–4.
    A clip of a single frame, or one in which nothing changes, has a trajectory of zeros.
    """
    mean = features.mean(0, dtype=np.float64)
    course = _COSINES @ (_drawn(features, np.asarray(seconds, np.float64)) - mean)
    trajectory = course @ _projection(features.shape[1])
    return mean.astype(np.float32), trajectory.astype(np.float32).ravel()


def cut(encoding: Encoding, start: float, end: float) -> Encoding:
    """The part of an encoding from `start` to `end` (exclusive), in seconds; at least its nearest sample."""
    streams = tuple(stream.part(start, end) for stream in encoding.streams)
    return Encoding(encoding.encoder, streams, *stream_vector_parts(streams[0]))


def joined(encodings: Sequence[Encoding], *, at_cuts: bool) -> Encoding:
    """Encodings of stretches that follow each other in one film, as one; with `at_cuts`, a shot each."""
    streams = tuple(
        _joined_streams(kind, at_cuts) for kind in zip(*(e.streams for e in encodings), strict=True)
    )
    return Encoding(encodings[0].encoder, streams, *stream_vector_parts(streams[0]))


def _joined_streams(streams: Sequence[Stream], at_cuts: bool) -> Stream:
    first, *others = streams
    kept, shots, length = [(first.seconds, first.frames, first.features)], [first.shots], len(first.seconds)
    for stream in others:
        # A frame that is shown from one stretch into the next counts once.
        seen = int(np.searchsorted(stream.seconds, kept[-1][0][-1], "right"))
        if seen == len(stream.seconds):
            continue
        kept.append((stream.seconds[seen:], stream.frames[seen:], stream.features[seen:]))
        inside = stream.shots[stream.shots > seen] - seen + length
        shots.append(np.append(length, inside) if at_cuts else inside)
        length += len(stream.seconds) - seen
    seconds, frames, features = (np.concatenate(column) for column in zip(*kept, strict=True))
    found = float(np.mean([stream.found for stream in streams]))
    return Stream(first.name, seconds, frames, features, np.concatenate(shots), found)


def trajectory_dimension(dimension: int) -> int:
    """Length of the trajectory of features with `dimension` channels."""
    return COEFFICIENTS * (dimension if dimension <= WHOLE else dimension // 4)


def _drawn(features: Floats, seconds: Seconds) -> NDArray[np.float64]:
    """(32, d): the features at evenly spaced times, linear between the two frames around each."""
    if len(seconds) < 2:
        return features.repeat(POINTS, axis=0).astype(np.float64)
    times = np.linspace(seconds[0], seconds[-1], POINTS)
    left = np.clip(np.searchsorted(seconds, times, side="right") - 1, 0, len(seconds) - 2)
    share = ((times - seconds[left]) / (seconds[left + 1] - seconds[left]))[:, None]
    # In this form frames that are alike give exactly themselves: a still clip has no course.
    return np.asarray(features[left] + share * (features[left + 1] - features[left]))


@lru_cache(maxsize=8)
def _projection(dimension: int) -> NDArray[np.float64]:
    """(d, d // 4) with orthonormal columns, the same on every machine; the identity for narrow features."""
    if dimension <= WHOLE:
        return np.eye(dimension)
    # RandomState's stream never changes, a Generator's is not, and stored vectors must stay comparable.
    noise = np.random.RandomState(20240613).standard_normal((dimension, dimension // 4))
    q, r = np.linalg.qr(noise)
    return np.asarray(q * np.sign(np.diag(r)))
