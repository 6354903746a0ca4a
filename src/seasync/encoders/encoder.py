"""What an encoder is, and the encoders that run an image model frame by frame.

Their frame features look where things move: patches are weighted by their variance over the clip. Beside them
stands, for some, which way things move. The parts of a clip's vector are made of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders.onnx import open_session
from seasync.encoders.weights import file_hash
from seasync.encoding import FLOW_CHANNELS, HOP, WINDOW, Encoding, Floats, Indices, Seconds, Stream, windows
from seasync.errors import EncoderError, VideoError
from seasync.files import fetch

if TYPE_CHECKING:
    from seasync.video import Frames
    from seasync.video.decode import Fit

Progress = Callable[[float, float], None]  # seconds that are done, and their total


@runtime_checkable
class Encoder(Protocol):
    """Makes encodings of clips; it takes frames or clips, see below.

    name         as the registry knows it
    fingerprint  changes whenever the features would: encodings compare only under one fingerprint
    dimension    width d of its leading frame feature
    fps          the sampling rate it is meant for, in frames per second
    """

    name: str
    fingerprint: str
    dimension: int
    fps: float


@runtime_checkable
class TakesFrames(Encoder, Protocol):
    """Uint8 frames with their times in, an encoding out.

    input_size   (height, width) of the frames it takes, and `fit`: how they are brought to it
    """

    input_size: tuple[int, int]
    fit: Fit

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        """Encode one clip, given its sampled frames in order. Raises VideoError if there are none."""
        ...


@runtime_checkable
class TakesClips(Encoder, Protocol):
    """An encoder that stands on others, or on what was made elsewhere."""

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        """Encode one clip, its leading stream sampled at `fps` (default: the encoder's own rate).

        `progress` is called with the seconds that are done and their total, now and then.
        """
        ...


class PictureModel(Protocol):
    """`run` takes uint8 (B, H, W, 3) of `input_size` and gives float32 (B, …)."""

    input_size: tuple[int, int]

    def run(self, frames: NDArray[np.uint8]) -> Floats: ...


class Look(NamedTuple):
    """What an image model says of one frame.

    feature  (d,)    the picture as a whole
    patches  (P, d)  its parts, or None where the model has none
    begins           whether a shot begins with it
    """

    feature: Floats
    patches: Floats | None
    begins: bool = False


Split = Callable[[Floats], tuple[Floats, Floats | None]]


def class_token(tokens: Floats) -> tuple[Floats, None]:
    """(B, 1 + P, d) → the class token alone."""
    return tokens[:, 0], None


def class_and_patches(tokens: Floats) -> tuple[Floats, Floats]:
    """(B, 1 + P, d) → the class token, and the patches."""
    return tokens[:, 0], tokens[:, 1:]


def pooled_output(output: Floats) -> tuple[Floats, None]:
    """Any output as one vector per frame: maps and token lists are averaged over their places."""
    if output.ndim == 4:  # (B, d, h, w) or (B, h, w, d): the longer axis of the two ends holds channels
        places = (2, 3) if output.shape[1] >= output.shape[3] else (1, 2)
        return output.mean(axis=places), None
    if output.ndim == 3:
        return output.mean(axis=1), None
    return output, None


class FrameEncoder:
    """Encodes frames one at a time: a pooled feature per frame, or patches weighted by their variance.

    `split` takes a batch of the model's output to (pooled (B, d), patches (B, P, d) or None).
    With `flow`, the last channels of a feature say which way things move.
    """

    fps = 7.5
    fit: Fit = "squash"

    def __init__(
        self,
        name: str,
        model: PictureModel,
        *,
        dimension: int,
        fingerprint: str,
        split: Split = pooled_output,
        detects_cuts: bool = False,
        flow: bool = False,
    ) -> None:
        self.name, self.fingerprint, self.dimension = name, fingerprint, dimension
        self.input_size = model.input_size
        self._model, self._split, self._detects_cuts = model, split, detects_cuts
        self._meter = FlowMeter if flow else None

    def looks(self, batches: Iterable[Frames]) -> Iterator[Look]:
        """What the model says of each frame, in order."""
        before: Floats | None = None
        for batch in batches:
            pooled, patches = self._split(self._model.run(batch.data))
            for row, feature in enumerate(pooled):
                begins = self._detects_cuts and before is not None and is_cut(before, feature)
                before = feature
                yield Look(feature, None if patches is None else patches[row], begins)

    def encode(self, batches: Iterable[Frames]) -> Encoding:
        pool, meter = PatchPool(), self._meter and self._meter()
        seconds, numbers, shots = [], [], [0]
        features: list[NDArray[np.float16]] = []  # copies: a view would hold the whole batch it is of

        def noted() -> Iterator[Frames]:
            for batch in batches:
                seconds.append(batch.seconds)
                numbers.append(batch.numbers)
                if meter:
                    meter.push(batch.data)
                yield batch

        for count, (feature, patches, begins) in enumerate(self.looks(noted())):
            if begins:
                features += map(_half, pool.end_shot())
                shots.append(count)
            features += map(_half, [feature] if patches is None else pool.push(patches))
        features += map(_half, pool.end_shot())
        if not features:
            raise VideoError("no frames to encode; the clip is empty")
        rows, starts = np.stack(features, dtype=np.float32), np.array(shots, np.int64)
        if meter:
            rows = halved(with_flow(rows, meter.flow(starts), starts))
        stream = Stream(self.name, np.concatenate(seconds), np.concatenate(numbers), rows, starts)
        return encoding_of(self, stream)

    def __repr__(self) -> str:
        height, width = self.input_size
        return f"FrameEncoder({self.name!r}, {height}×{width} → {self.dimension})"


def halved(features: Floats) -> Floats:
    """Features as half precision keeps them, so that fresh and stored ones are the same to the bit."""
    return _half(features).astype(np.float32)


def _half(features: Floats) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):  # beyond 65504: infinite, which a stream refuses
        return features.astype(np.float16)


def encoding_of(encoder: Encoder, *streams: Stream) -> Encoding:
    """The encoding of these streams, the clip vector taken from the first."""
    return Encoding(encoder.fingerprint, streams, *stream_vector_parts(streams[0]))


# Running an ONNX image model on uint8 frames.


_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
_STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


class ImageModel:
    """An ONNX model that takes a batch of RGB pictures, (B, 3, H, W) or (B, H, W, 3), ImageNet-normalized.

    `run(frames)` takes uint8 (B, H, W, 3) of `input_size` and gives the model's first output as float32.
    """

    def __init__(self, file: str | Path) -> None:
        try:
            self._session = open_session(Path(file))
        except Exception as error:  # onnxruntime's own classes share no base
            said = str(error).splitlines()[0]
            raise EncoderError(f"{file}: not an ONNX model that onnxruntime can load ({said})") from error
        self._file = file
        entry = self._session.get_inputs()[0]
        self._name: str = entry.name
        self._channels_first, self.input_size = _layout(file, entry)

    def run(self, frames: NDArray[np.uint8]) -> Floats:
        values = (frames.astype(np.float32) - _MEAN) / _STD
        if self._channels_first:
            values = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
        try:
            output: Floats = self._session.run(None, {self._name: values})[0]
        except Exception as error:  # onnxruntime's own classes share no base
            shape = "x".join(map(str, values.shape))
            said = " ".join(str(error).split())[:200]
            raise EncoderError(
                f"{self._file}: the model fails on pictures of shape {shape} ({said})"
            ) from error
        return output


def _layout(file: str | Path, entry: Any) -> tuple[bool, tuple[int, int]]:
    """Whether channels come first, and (height, width); free sides are taken as 224."""
    shape = list(entry.shape)
    if len(shape) != 4 or "float" not in entry.type or 3 not in (shape[1], shape[3]):
        raise EncoderError(
            f"{file}: expected an image model with float input (B, 3, H, W) or (B, H, W, 3), "
            f"got {entry.type} {shape}"
        )
    first = shape[1] == 3
    height, width = (side if isinstance(side, int) else 224 for side in (shape[2:] if first else shape[1:3]))
    return first, (height, width)


def onnx_file_encoder(file: str) -> FrameEncoder:
    """`onnx:FILE`: any ONNX model from ImageNet-normalized RGB to a vector, a map or tokens per picture."""
    path = find_file("onnx", file, "an ONNX image model")
    return onnx_encoder(f"onnx:{file}", path, f"onnx/{file_hash(path)[:16]}")


def find_file(scheme: str, file: str, expected: str) -> Path:
    """The path on this machine of the FILE of an encoder `SCHEME:FILE`."""
    path = fetch(file)
    if not path.is_file():
        raise EncoderError(f"{scheme}:{file}: no such file; expected {expected}")
    return path


def onnx_encoder(name: str, file: Path, fingerprint: str) -> FrameEncoder:
    """An encoder on the ONNX model in a file; what it gives for a picture is pooled to one vector."""
    model = ImageModel(file)
    output, _ = pooled_output(model.run(np.zeros((1, *model.input_size, 3), np.uint8)))
    if output.ndim != 2 or len(output) != 1:
        raise EncoderError(f"{file}: expected one vector, map or token list per picture, got {output.shape}")
    return FrameEncoder(name, model, dimension=output.shape[1], fingerprint=fingerprint)


# Patches weighted by their variance over the clip.


_ROUNDING = 1e-9  # share of the mean square that a variance of nothing may have
_AHEAD = (HOP + WINDOW) // 2  # a window ends this many frames after the first of those that share it

CUT = 0.35  # 1 − cosine of two consecutive class tokens beyond which a new shot begins


def is_cut(before: Floats, after: Floats, threshold: float = CUT) -> bool:
    """Whether a shot begins between two frames, by their class tokens (d,)."""
    scale = float(np.linalg.norm(before) * np.linalg.norm(after))
    return scale > 0 and 1 - float(before @ after) / scale > threshold


class PatchPool:
    """Turns a stream of patch tokens into frame features, one shot at a time, in bounded memory.

    For patches p[t, i] (i = place, d channels) of a window of the shot: v_i = Σ_d var_t p[t, i, d],
    w_i = v_i² / Σ v², and the frame feature is f_t = Σ_i w_i p[t, i]. A shot of at most WINDOW frames is one
    window; of a longer one WINDOW frames of tokens are held, and their sums follow as frames come and go.
    """

    def __init__(self) -> None:
        self._begin_shot()

    def _begin_shot(self) -> None:
        self._tokens: deque[Floats] = deque()  # (P, d) of the frames held
        self._length = 0  # of the shot so far, in frames
        self._done = 0  # frames of the shot already given out
        self._origin: Floats | None = None  # (P, d) what the sums are taken from: the shot's first frame

    def push(self, tokens: Floats) -> list[Floats]:
        """Take the next frame's patch tokens (P, d); give the features (d,) that are settled by it."""
        if self._origin is None:
            self._origin = tokens
            self._sum = np.zeros(tokens.shape)
            self._squares = np.zeros(len(tokens))
        self._tokens.append(tokens)
        self._length += 1
        self._count(tokens, 1)
        if len(self._tokens) > WINDOW:
            self._count(self._tokens.popleft(), -1)
        # HOP frames are settled once their window lies inside the shot, however the shot continues.
        hops = (self._length - self._done - _AHEAD) // HOP + 1
        return self._weigh(self._done + HOP * hops) if len(self._tokens) == WINDOW and hops > 0 else []

    def end_shot(self) -> list[Floats]:
        """The features still owed; the next frame begins a new shot."""
        features = self._weigh(self._length) if self._length else []
        self._begin_shot()
        return features

    def _count(self, tokens: Floats, sign: int) -> None:
        assert self._origin is not None
        away = np.subtract(tokens, self._origin, dtype=np.float64)  # or what comes and goes leaves rounding
        self._sum += sign * away
        self._squares += sign * np.einsum("pd,pd->p", away, away)

    def _weigh(self, until: int) -> list[Floats]:
        """The features of the frames that were not given out yet, up to `until`."""
        count = len(self._tokens)
        squares, mean = self._squares / count, self._sum / count
        variance = squares - np.einsum("pd,pd->p", mean, mean)
        weights = np.where(variance > _ROUNDING * squares, variance, 0.0) ** 2
        total = weights.sum()
        # A window in which nothing changes at all has no place that matters more than another.
        shares = (weights / total if total > 0 else np.full(len(weights), 1 / len(weights))).astype(
            np.float32
        )
        first = self._length - count
        held = list(self._tokens)[self._done - first : until - first]
        self._done = until
        return [shares @ tokens for tokens in held]


# Which way things move: the optical flow of a coarse picture. An image model says what is where: two people
# who make the same gesture look more different to it than one person who makes two gestures. Flow knows
# nothing of looks, and tells left from right.


SIDE = 56  # pixels of the coarse picture
CELLS = 4  # squares on each side of the picture, each with one flow
BLUR = 1.0  # standard deviation in coarse pixels
FLAT = 3.0  # mean squared gradient below which a square counts as flat: its flow is not known
# The step of a fast limb is beyond what a coarse picture shows, so its length counts less than its direction.
POWER = 0.5
LEAST = 0.1  # spread below which nothing moves: noise is not scaled up further
APART = 2  # samples between flows that are compared to see how steady it is: they share no picture


class FlowMeter:
    """Takes frames in order, gives the flow of each; it holds one coarse picture."""

    def __init__(self) -> None:
        self._before: Floats | None = None
        self._steps: list[Floats] = []

    def push(self, frames: NDArray[np.uint8]) -> None:
        """Take the next frames, shape (B, H, W, 3)."""
        pictures = _coarse(frames)
        if self._before is not None:
            pictures = np.concatenate([self._before[None], pictures])
        self._before = pictures[-1]
        if len(pictures) > 1:
            self._steps.append(step_flow(pictures))

    def flow(self, shots: Indices) -> Floats:
        """The flow of each frame, shape (T, 32): the mean of the steps to and from it within its shot."""
        steps = np.concatenate([np.zeros((0, FLOW_CHANNELS), np.float32), *self._steps])
        count = len(steps) + 1
        known = np.ones((count + 1, 1), np.float32)  # of the step from frame t − 1 to frame t
        known[count] = known[shots] = 0
        around = np.pad(steps, ((1, 1), (0, 0))) * known
        mean = (around[:-1] + around[1:]) / np.maximum(known[:-1] + known[1:], 1)
        pairs = mean.reshape(count, -1, 2)
        length = np.linalg.norm(pairs, axis=2, keepdims=True)
        shortened = pairs * np.maximum(length, 1e-6) ** (POWER - 1)
        return np.asarray(shortened.reshape(count, -1), np.float32)


def step_flow(pictures: Floats) -> Floats:
    """Flow from each coarse picture, shape (T, SIDE, SIDE), to the next: (T − 1, 32), in coarse pixels.

    Lucas and Kanade's least squares in each square. What all squares share is the camera's, and left out.
    """
    before, after = pictures[:-1], pictures[1:]
    between, change = (before + after) / 2, after - before
    down, right = (np.asarray(np.gradient(between, axis=axis), np.float32) for axis in (1, 2))
    xx, xy, yy = _squares(right * right) + FLAT, _squares(right * down), _squares(down * down) + FLAT
    xt, yt = _squares(right * change), _squares(down * change)
    flow = np.stack([xy * yt - yy * xt, xy * xt - xx * yt], axis=-1) / (xx * yy - xy * xy)[..., None]
    own = flow - np.median(flow, axis=1, keepdims=True)
    return np.asarray(own.reshape(len(flow), -1), np.float32)


def with_flow(features: Floats, flow: Floats, shots: Indices) -> Floats:
    """Image features, shape (T, d), and flow, shape (T, 32), side by side in one scale: (T, d + 32).

    Steady flow spreads as widely as the image features do. The less it persists from one moment to the next,
    the more of it is noise, and the less it counts: hardly at all in a golf swing, which is faster than the
    samples, nearly in full for the arm of a robot.
    """
    scaled = np.zeros_like(flow)
    for first, last in zip(shots, [*shots[1:], len(features)], strict=True):
        for a, b, begin, end in windows(int(first), int(last)):
            window = flow[begin:end]
            scale = _steadiness(window) * _spread(features[begin:end]) / max(_spread(window), LEAST)
            scaled[a:b] = flow[a:b] * np.float32(scale)
    return np.concatenate([features, scaled], axis=1)


def _spread(rows: Floats) -> float:
    return float(np.sqrt(rows.var(axis=0, dtype=np.float64).sum()))


def _steadiness(flow: Floats) -> float:
    """How much of the flow is still there two samples later, 0–1."""
    power = float((flow**2).sum())
    return max(float((flow[APART:] * flow[:-APART]).sum()) / power, 0.0) if power > 0 else 0.0


def _squares(values: Floats) -> Floats:
    """Means over each square, shape (T, CELLS²)."""
    side = SIDE // CELLS
    means = values.reshape(len(values), CELLS, side, CELLS, side).mean(axis=(2, 4))
    return np.asarray(means.reshape(len(values), -1), np.float32)


def _coarse(frames: NDArray[np.uint8]) -> Floats:
    """Frames (B, H, W, 3) as small, blurred pictures in gray, shape (B, SIDE, SIDE)."""
    count, height, width, _ = frames.shape
    tall, wide = height, width
    if height % SIDE == width % SIDE == 0:  # sums of whole numbers take a tenth of the time of products
        frames = frames.reshape(count, SIDE, -1, 3 * width).sum(2, dtype=np.uint32)
        tall = wide = SIDE
    gray = frames.reshape(count, tall, wide, -1).sum(-1, dtype=np.uint32).astype(np.float32)
    gray *= np.float32(tall * wide / (3 * height * width))
    return np.asarray(_shrink(tall) @ gray @ _shrink(wide).T)


@lru_cache(maxsize=8)
def _shrink(size: int) -> Floats:
    """(SIDE, size): averages areas, then blurs."""
    edges = np.linspace(0, size, SIDE + 1)
    cells = np.arange(size)
    areas = np.clip(np.minimum(edges[1:, None], cells + 1) - np.maximum(edges[:-1, None], cells), 0, None)
    places = np.arange(SIDE)
    blur = np.exp(-((places[:, None] - places) ** 2) / (2 * BLUR**2))
    return np.asarray((blur / blur.sum(1, keepdims=True)) @ (areas * SIDE / size), np.float32)


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
