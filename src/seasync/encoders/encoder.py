"""What an encoder is, and the encoders that run an ONNX image model frame by frame."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders.device import open_session
from seasync.encoders.flow import FlowMeter, with_flow
from seasync.encoders.patches import PatchPool, is_cut
from seasync.encoders.vector import stream_vector_parts
from seasync.encoding import Encoding, Floats, Stream
from seasync.errors import EncoderError, VideoError
from seasync.files import fetch

if TYPE_CHECKING:
    from seasync.video import Frames
    from seasync.video.color import Fit


# Running an ONNX image model on uint8 frames.


_MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
_STD = np.array([0.229, 0.224, 0.225], np.float32) * 255


class ImageModel:
    """An ONNX model that takes a batch of RGB pictures, (B, 3, H, W) or (B, H, W, 3), ImageNet-normalized.

    `run(frames)` takes uint8 (B, H, W, 3) of `input_size` and gives the model's first output as float32.
    """

    def __init__(self, file: str | Path, *, threads: int | None = None) -> None:
        try:
            self._session = open_session(Path(file), threads=threads)
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
        split: Callable[[Floats], tuple[Floats, Floats | None]],
        detects_cuts: bool = False,
        flow: bool = False,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.input_size = model.input_size
        self._model = model
        self._split = split
        self._detects_cuts = detects_cuts
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
        return encoding_of(
            self,
            Stream(
                self.name,
                np.concatenate(seconds),
                np.concatenate(numbers),
                rows,
                starts,
            ),
        )

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


def onnx_file_encoder(file: str) -> FrameEncoder:
    """`onnx:FILE`: any ONNX model from ImageNet-normalized RGB to a vector, a map or tokens per picture."""
    path = fetch(file)
    if not path.is_file():
        raise EncoderError(f"onnx:{file}: no such file; expected an ONNX image model")
    model = ImageModel(path)
    height, width = model.input_size
    output, _ = pooled_output(model.run(np.zeros((1, height, width, 3), np.uint8)))
    if output.ndim != 2 or len(output) != 1:
        raise EncoderError(f"{file}: expected one vector, map or token list per picture, got {output.shape}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return FrameEncoder(
        f"onnx:{file}",
        model,
        dimension=output.shape[1],
        fingerprint=f"onnx/{digest}",
        split=pooled_output,
    )
