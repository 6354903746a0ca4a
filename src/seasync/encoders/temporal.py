"""`nms:FILE`, `carl:FILE`, `taught:FILE`: frame features seen in time, by a temporal transformer.

`dinov2-small+nms:FILE` names the frame encoder, `nms:FILE` takes the one it was trained on. `carl:untrained`
on a frame encoder is CARL's transformer before training, the control for shortcuts through position.
`…@WINDOW/STRIDE` slides a window over the clip, as CARL-SW does; a stretch of frames seen by several windows
is blended. The checkpoints of CARL, and `byol:FILE` (a ResNet of the bottleneck kind), are run as ONNX.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders import encoder as image_models
from seasync.encoders.encode import encode_part
from seasync.encoders.encoder import Encoder, FrameEncoder, Progress, encoding_of, find_file, halved
from seasync.encoders.onnx import Nodes, open_session, prepared
from seasync.encoders.torch_models import read_checkpoint, tensors
from seasync.encoders.weights import file_hash
from seasync.encoding import Encoding, Floats, Indices, Stream
from seasync.errors import EncoderError
from seasync.files import Location, fetch

# The temporal transformer: its shape, its positions, and its ONNX graph. Made of arrays, without torch.


Weights = Mapping[str, NDArray[Any]]
METADATA = "seasync"  # key under which a model says what it is


@dataclass(frozen=True)
class Shape:
    """(T, features) → `hidden` layers with ReLU → width → pre-norm layers → output.

    Where a frame stands in time is encoded in one of two ways: by sines and cosines of its place, added to it
    (`reach` 0, as CARL has it), or by how far apart two frames are, up to `reach`, added to their attention.
    Of the latter no absolute place can be read off. Without layers, each frame is seen by itself.

    features     numbers a frame in
    hidden       widths of the layers before the transformer
    output       numbers a frame out, by a last linear layer; None: the normalized stream of the transformer
    unit         the output is scaled to length 1
    """

    features: int
    width: int
    layers: int
    heads: int
    feedforward: int
    hidden: tuple[int, ...] = ()
    output: int | None = None
    unit: bool = False
    reach: int = 0

    def __post_init__(self) -> None:
        if self.width % self.heads or self.width % 2:
            raise ValueError(
                f"width must be even and a multiple of heads, got {self.width = }, {self.heads = }"
            )

    @property
    def dimension(self) -> int:
        return self.output or self.width


def positions(places: NDArray[np.float64], width: int) -> Floats:
    """Sines and cosines of places (T,), alternating, as CARL has them: (T, width)."""
    channel = np.arange(width)
    angles = np.asarray(places, np.float64)[:, None] / 10_000 ** (channel / width)
    return np.where(channel % 2, np.cos(angles), np.sin(angles)).astype(np.float32)


def distances(length: int, reach: int) -> NDArray[np.int64]:
    """How much later j is than i, from 0 (`reach` or more earlier) to 2·reach (or more later): (T, T)."""
    at = np.arange(length)
    apart: NDArray[np.int64] = np.clip(at - at[:, None], -reach, reach) + reach
    return apart


def transformer_graph(shape: Shape, weights: Weights, about: str) -> Any:
    """The ONNX model features (T, d) → (T, dimension), with `about` in its metadata.

    Its second input is `positions` (T, width), or `distances` (T, T) if the shape has a reach.
    Weights by name, matrices as (out, in): shift, scale (of the features); hidden.N, input, layers.N.norm1,
    .attend (query, key, value, one above the other), .merge, .norm2, .widen, .narrow, norm (may be absent),
    output, each with .weight and .bias; layers.N.nearness (heads, 2·reach + 1).
    """
    build = _Transformer(weights)
    x = build.node("Mul", build.node("Sub", "features", build.tensor("shift")), build.tensor("scale"))
    for n in range(len(shape.hidden)):
        x = build.node("Relu", build.linear(x, f"hidden.{n}"))
    x = build.linear(x, "input")
    if shape.layers and not shape.reach:
        x = build.node("Add", x, "positions")
    for n in range(shape.layers):
        attended = build.attention(build.norm(x, f"layers.{n}.norm1"), f"layers.{n}", shape)
        x = build.node("Add", x, build.linear(attended, f"layers.{n}.merge"))
        widened = build.node("Relu", build.linear(build.norm(x, f"layers.{n}.norm2"), f"layers.{n}.widen"))
        x = build.node("Add", x, build.linear(widened, f"layers.{n}.narrow"))
    if "norm.weight" in weights:
        x = build.norm(x, "norm")
    if shape.output:
        x = build.linear(x, "output")
    if shape.unit:
        x = build.node("LpNormalization", x, axis=-1)
    inputs = {"features": ["frames", shape.features]}
    if shape.layers:
        inputs |= (
            {"distances": ["frames", "frames"]} if shape.reach else {"positions": ["frames", shape.width]}
        )
    model = build.model(inputs, {x: ["frames", shape.dimension]})
    model.metadata_props.add(key=METADATA, value=about)
    return model


class _Transformer(Nodes):
    def tensor(self, name: str) -> str:
        return self.constant(np.asarray(self._weights[name], np.float32))

    def linear(self, x: str, name: str) -> str:
        matrix = self.constant(np.asarray(self._weights[f"{name}.weight"], np.float32).T)
        return self.node("Add", self.node("MatMul", x, matrix), self.tensor(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        scale, bias = self.tensor(f"{name}.weight"), self.tensor(f"{name}.bias")
        return self.node("LayerNormalization", x, scale, bias, epsilon=1e-5)

    def attention(self, x: str, name: str, shape: Shape) -> str:
        """(T, width) → (T, width), all heads, before they are merged."""
        head = shape.width // shape.heads
        parts = self.constant(np.array([-1, 3, shape.heads, head]))
        split = self.node("Reshape", self.linear(x, f"{name}.attend"), parts)
        split = self.node("Transpose", split, perm=[1, 2, 0, 3])
        query, key, value = (self.node("Gather", split, self.constant(np.array(n)), axis=0) for n in range(3))
        query = self.node("Mul", query, self.constant(np.array(head**-0.5, np.float32)))
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 2, 1]))
        if shape.reach:
            apart = self.node("Cast", "distances", to=7)  # int64; inputs are floats
            nearness = self.node("Gather", self.tensor(f"{name}.nearness"), apart, axis=1)
            scores = self.node("Add", scores, nearness)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        joined = self.constant(np.array([-1, shape.width]))
        return self.node("Reshape", self.node("Transpose", mixed, perm=[1, 0, 2]), joined)


def with_earlier(features: Floats, earlier: int) -> Floats:
    """Each frame beside the one `earlier` frames before it, or the first one: (T, d) → (T, 2d).

    0 leaves (T, d) as it is.
    """
    if not earlier:
        return features
    before = np.maximum(np.arange(len(features)) - earlier, 0)
    return np.concatenate([features, features[before]], axis=1)


FORM = 1  # raised when files of an older form can no longer be used


@dataclass(frozen=True)
class About:
    """What a temporal model says of itself.

    kind       one of `seasync.options.TrainKind`
    encoder    name and fingerprint of the frame encoder it was trained on
    window     frames it sees at once; stride: from one window to the next
    stretch    the positions of a window go from 0 to stretch − 1, however many frames it has (CARL)
    earlier    each frame is seen with the one so many frames before it; 0: alone
    fps        the rate it was trained at
    """

    kind: str
    encoder: str
    fingerprint: str
    shape: Shape
    window: int
    stride: int
    fps: float
    stretch: int = 0
    earlier: int = 0
    form: int = FORM

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "About":
        fields = json.loads(text)
        shape = fields["shape"]
        return cls(**fields | {"shape": Shape(**shape | {"hidden": tuple(shape["hidden"])})})


class TemporalModel:
    """A temporal transformer in an ONNX file: features (T, d) of one shot in, (T, dimension) out."""

    def __init__(self, file: Path) -> None:
        if not file.is_file():
            raise EncoderError(f"{file}: no such file; expected a model made by `seasync train`")
        try:
            self._session = open_session(file, spin=True)
            said = self._session.get_modelmeta().custom_metadata_map[METADATA]
            self.about = About.from_json(said)
        except Exception as error:  # onnxruntime's own classes share no base
            raise EncoderError(f"{file}: not a temporal model made by `seasync train`") from error
        if self.about.form != FORM:
            raise EncoderError(
                f"{file}: the model has format {self.about.form}, this version reads {FORM}; train it again"
            )
        self.digest = file_hash(file)[:16]

    def window(self, features: Floats) -> Floats:
        """(T, d) → (T, dimension), all frames at once."""
        shape, count = self.about.shape, len(features)
        if not shape.layers:
            when = {}
        elif shape.reach:
            when = {"distances": distances(count, shape.reach).astype(np.float32)}
        else:
            when = {"positions": positions(np.linspace(0, self.about.stretch - 1, count), shape.width)}
        output: Floats = self._session.run(None, {"features": features, **when})[0]
        return output

    def run(self, features: Floats) -> Floats:
        """(T, d) → (T, dimension): windows, `stride` apart and the last one flush with the end, blended."""
        window, stride = self.about.window, self.about.stride
        features = with_earlier(features, self.about.earlier)
        if len(features) <= window:
            return self.window(features)
        total = np.zeros((len(features), self.about.shape.dimension), np.float32)
        shares = np.zeros((len(features), 1), np.float32)
        share = 1 - np.abs(np.arange(window, dtype=np.float32) - (window - 1) / 2)[:, None] / (window / 2 + 1)
        last = len(features) - window
        for start in [*range(0, last, stride), last]:
            total[start : start + window] += share * self.window(features[start : start + window])
            shares[start : start + window] += share
        return total / shares


UNTRAINED = "untrained"  # `A+carl:untrained`
_HIDDEN, _STRETCH, _LONGEST = (512, 512), 80, 1024  # CARL's settings for Penn Action


def untrained_carl(features: int, frames: Encoder | None = None) -> TemporalModel:
    """CARL's transformer as it is before training, from a fixed seed: features (T, d) → (T, 128).

    Initialized as its public release does: layers outside the transformer uniform within 1/√(inputs), its
    matrices Xavier-uniform and the same in all three layers, batch normalization without statistics. The clip
    is seen whole, and its positions are stretched over 80 places.
    """
    shape = Shape(features, 256, 3, 8, 1024, _HIDDEN, 128, unit=True)
    name, fingerprint, fps = (frames.name, frames.fingerprint, frames.fps) if frames else ("", "", 30.0)
    about = About("carl", name, fingerprint, shape, _LONGEST, _LONGEST // 2, fps, _STRETCH).to_json()
    file = f"carl-untrained-{hashlib.sha256(about.encode()).hexdigest()[:16]}.onnx"
    return TemporalModel(prepared(file, lambda: transformer_graph(shape, _initial(shape), about)))


def _initial(shape: Shape) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(0)
    weights: dict[str, NDArray[Any]] = {"shift": np.zeros(shape.features), "scale": np.ones(shape.features)}

    def linear(name: str, rows: int, columns: int, *, bound: float | None = None) -> None:
        plain = columns**-0.5
        limit = bound or plain
        weights[f"{name}.weight"] = random.uniform(-limit, limit, (rows, columns))
        weights[f"{name}.bias"] = random.uniform(-plain, plain, rows)

    widths = (shape.features, *shape.hidden)
    for n, (before, after) in enumerate(pairwise(widths)):
        linear(f"hidden.{n}", after, before)
    width, wide = shape.width, shape.feedforward
    linear("input", width, widths[-1])
    linear("output", shape.dimension, width)
    square, broad = np.sqrt(6 / (2 * width)), np.sqrt(6 / (width + wide))
    linear("layers.0.attend", 3 * width, width, bound=square)
    linear("layers.0.merge", width, width, bound=square)
    linear("layers.0.widen", wide, width, bound=broad)
    linear("layers.0.narrow", width, wide, bound=broad)
    for norm in ("norm1", "norm2"):
        weights |= {f"layers.0.{norm}.weight": np.ones(width), f"layers.0.{norm}.bias": np.zeros(width)}
    first = {name: array for name, array in weights.items() if name.startswith("layers.0.")}
    for n in range(1, shape.layers):
        weights |= {name.replace(".0.", f".{n}.", 1): array for name, array in first.items()}
    return weights


class TemporalEncoder:
    """The frame features of `frames`, seen in time."""

    def __init__(self, name: str, frames: Encoder, model: TemporalModel) -> None:
        about = model.about
        if frames.fingerprint != about.fingerprint:
            raise EncoderError(
                f"{name}: trained on features of {about.encoder} ({about.fingerprint}), not of {frames.name} "
                f"({frames.fingerprint})"
            )
        self.name, self.fps, self.dimension = name, about.fps, about.shape.dimension
        self.fingerprint = f"{frames.fingerprint}+{about.kind}/{model.digest}/{about.window}/{about.stride}"
        self._frames, self._model = frames, model

    def encode_clip(
        self, clip: Clip, *, fps: float | None, cache: bool, progress: Progress | None = None
    ) -> Encoding:
        return self.over(encode_part(clip, self._frames, fps=fps or self.fps, cache=cache, progress=progress))

    def over(self, encoding: Encoding) -> Encoding:
        """The same, of an encoding by its frame encoder."""
        lead, *others = encoding.streams
        features = halved(over_shots(self._model, lead.features, lead.shots))
        stream = Stream(self.name, lead.seconds, lead.frames, features, lead.shots, lead.found)
        return encoding_of(self, stream, *others)

    def __repr__(self) -> str:
        return f"TemporalEncoder({self.name!r}, {self._frames!r} → {self.dimension})"


def over_shots(model: TemporalModel, features: Floats, shots: Indices) -> Floats:
    """Each shot by itself: what happens before a cut is no context for what comes after."""
    ends = np.append(shots[1:], len(features))
    return np.concatenate([model.run(features[a:b]) for a, b in zip(shots, ends, strict=True)])


def temporal_encoder(kind: str, frames: Encoder | None, rest: str) -> Encoder:
    """`kind:REST` on `frames`, or on the encoder it was trained on."""
    from seasync.encoders.registry import encoder_for

    file, window, stride = sliding(rest)
    if kind == "carl" and file == UNTRAINED:
        if frames is None:
            raise EncoderError("carl:untrained: stands on a frame encoder; expected ENCODER+carl:untrained")
        model = untrained_carl(frames.dimension, frames)
        name = f"{frames.name}+carl:{rest}"
    elif kind == "carl" and frames is None and Location(file).suffix != ".onnx":
        frames, model = carl_parts(fetch(file))
        name = f"carl:{rest}"
    else:
        model = TemporalModel(fetch(file))
        frames = frames or encoder_for(model.about.encoder, model.about.fingerprint)
        name = f"{frames.name}+{kind}:{rest}"
    if model.about.kind != kind:
        raise EncoderError(f"{name}: holds a model of kind {model.about.kind}, not {kind}")
    if window:
        model.about = replace(model.about, window=window, stride=stride or max(1, window // 4))
    return TemporalEncoder(name, frames, model)


def sliding(rest: str) -> tuple[str, int, int]:
    """`FILE@WINDOW/STRIDE` as its three parts; 0 for what is not given."""
    found = re.fullmatch(r"(.*?)(?:@(\d+)(?:/(\d+))?)?", rest)
    assert found
    file, window, stride = found.group(1), int(found.group(2) or 0), int(found.group(3) or 0)
    if found.group(2) and (window < 2 or not 0 <= stride <= window):
        raise EncoderError(f"{rest}: expected FILE@WINDOW/STRIDE in frames, with a stride up to the window")
    return file, window, stride


Array = NDArray[Any]
# Some save the network as a list of its children, by their numbers.
_CHILDREN = {"0": "conv1", "1": "bn1", "4": "layer1", "5": "layer2", "6": "layer3", "7": "layer4"}
_EPSILON = 1e-5


def byol_encoder(file: str) -> FrameEncoder:
    """`byol:FILE`: features (2048 for ResNet-50) averaged over the picture."""
    path = find_file("byol", file, "a ResNet checkpoint")

    def make() -> Any:
        return resnet_graph(find_resnet(path, dict(tensors(read_checkpoint(path)))), pool="mean")

    graph = converted(path, "byol", make)
    return image_models.onnx_encoder(f"byol:{file}", graph, graph.stem)


def converted(file: Path, kind: str, make: Any) -> Path:
    """The ONNX graph that `make` makes of `file`, kept in the cache by the file's content."""
    return prepared(f"{kind}-{file_hash(file)[:16]}.onnx", make)


def find_resnet(file: Path, found: Mapping[str, Array]) -> dict[str, Array]:
    """The ResNet among a checkpoint's tensors, under torchvision's names, wherever and however it is saved.

    Layouts seen: bare, under `state_dict`, `model` or `online_backbone`, with `module.`, `backbone.` or
    `encoder.` in front, and as a list of children.
    """
    for name, tensor in found.items():
        stem = re.fullmatch(r"((?:.*\.)?)(conv1|0)\.weight", name)
        if stem and tensor.ndim == 4 and tensor.shape[1:] == (3, 7, 7):
            break
    else:
        raise EncoderError(
            f"{file}: no ResNet in this checkpoint; expected a first convolution of 7 × 7 on RGB"
        )
    prefix, listed = stem.group(1), stem.group(2) == "0"
    resnet = {}
    for name, tensor in found.items():
        if name.startswith(prefix):
            first, dot, rest = name.removeprefix(prefix).partition(".")
            resnet[(_CHILDREN.get(first, first) if listed else first) + dot + rest] = tensor
    return resnet


def resnet_graph(weights: Mapping[str, Array], *, pool: Literal["mean", "max"]) -> Any:
    """ONNX: (B, 3, 224, 224) ImageNet-normalized → (B, channels), normalization folded into the convolutions.

    How many blocks there are and how wide they are is read off the weights.
    """
    build = _ResNet(weights)
    x = build.node("Relu", build.convolution("pictures", "conv1", "bn1", stride=2))
    x = build.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for layer in range(1, 5):
        blocks = sorted({int(n.split(".")[1]) for n in weights if n.startswith(f"layer{layer}.")})
        if not blocks or f"layer{layer}.0.conv3.weight" not in weights:
            raise EncoderError(
                f"layer{layer}: expected bottleneck blocks of three convolutions, as ResNet-50 has"
            )
        for block in blocks:
            x = build.bottleneck(x, f"layer{layer}.{block}", stride=2 if layer > 1 and block == 0 else 1)
    x = build.node("GlobalAveragePool" if pool == "mean" else "GlobalMaxPool", x)
    return build.model(
        {"pictures": ["batch", 3, 224, 224]}, {build.node("Flatten", x): ["batch", "channels"]}
    )


class _ResNet(Nodes):
    def bottleneck(self, x: str, name: str, *, stride: int) -> str:
        y = self.node("Relu", self.convolution(x, f"{name}.conv1", f"{name}.bn1"))
        y = self.node("Relu", self.convolution(y, f"{name}.conv2", f"{name}.bn2", stride=stride))
        y = self.convolution(y, f"{name}.conv3", f"{name}.bn3")
        if f"{name}.downsample.0.weight" in self._weights:
            x = self.convolution(x, f"{name}.downsample.0", f"{name}.downsample.1", stride=stride)
        return self.node("Relu", self.node("Add", x, y))

    def convolution(self, x: str, name: str, norm: str, *, stride: int = 1) -> str:
        """A convolution and the batch normalization after it, as one."""
        try:
            kernel = self._weights[f"{name}.weight"].astype(np.float64)
            gain, bias = folded(self._weights, norm)
        except KeyError as error:
            raise EncoderError(f"{error.args[0]}: not in the checkpoint; its ResNet is incomplete") from None
        kernel = (kernel * gain[:, None, None, None]).astype(np.float32)
        size = kernel.shape[2]
        shape = {"kernel_shape": [size, size], "strides": [stride, stride], "pads": [size // 2] * 4}
        return self.node("Conv", x, self.constant(kernel), self.constant(bias.astype(np.float32)), **shape)


def folded(weights: Mapping[str, Array], norm: str) -> tuple[Array, Array]:
    """A batch normalization in use as gain and bias: gain · x + bias."""
    parts = ("weight", "bias", "running_mean", "running_var")
    gain, bias, mean, variance = (weights[f"{norm}.{part}"].astype(np.float64) for part in parts)
    gain = gain / np.sqrt(variance + _EPSILON)
    return gain, bias - mean * gain


# `carl:FILE.pth`: a checkpoint of CARL's public release, its ResNet and its temporal transformer.


LONGEST = 1024  # frames seen at once; longer clips are seen in windows
_LAYER = "video_encoder.enc_layers"
_INNER = {
    "res_layer0.norm": "norm1",
    "self_att.linear_d2Q": "merge",
    "res_layer1.norm": "norm2",
    "feed_forward.fc1": "widen",
    "feed_forward.fc2": "narrow",
}


def carl_parts(file: Path) -> tuple[FrameEncoder, TemporalModel]:
    """The frame encoder (the largest of each ResNet feature over the picture) and the temporal model."""
    if not file.is_file():
        raise EncoderError(
            f"carl:{file}: no such file; expected a checkpoint of CARL's release, or an .onnx file"
        )
    state = cache(lambda: _state(file))  # read only if a graph is still to be made
    graph = converted(file, "carl-frames", lambda: resnet_graph(_resnet(file, state()[0]), pool="max"))
    frames = image_models.onnx_encoder(f"carl:{file}", graph, graph.stem)
    return frames, TemporalModel(converted(file, "carl-temporal", lambda: _temporal(file, *state(), frames)))


def _state(file: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Weights, and settings where they are saved with them."""
    checkpoint = read_checkpoint(file)
    found = {re.sub(r"^(model_state\.)?(module\.)?", "", name): t for name, t in tensors(checkpoint)}
    if "embed.video_emb.weight" not in found:
        raise EncoderError(f"{file}: no temporal transformer of CARL's in this checkpoint (embed.video_emb)")
    return found, checkpoint.get("cfg") or {}


def _resnet(file: Path, state: dict[str, Array]) -> dict[str, Array]:
    """The backbone is saved as a list of children; its last layers stand apart where they were fine-tuned."""
    backbone = {n.removeprefix("backbone."): t for n, t in state.items() if n.startswith("backbone.")}
    resnet = find_resnet(file, backbone)
    tuned = {n.removeprefix("res_finetune."): t for n, t in state.items() if n.startswith("res_finetune.")}
    first = next(n for n in (1, 2, 3, 4, 5) if f"layer{n}.0.conv1.weight" not in resnet)
    several = any(re.match(r"\d+\.\d+\.", name) for name in tuned)
    for name, tensor in tuned.items():
        layer, _, rest = name.partition(".") if several else ("0", "", name)
        resnet[f"layer{first + int(layer)}.{rest}"] = tensor
    return resnet


def _temporal(file: Path, state: dict[str, Array], settings: dict[str, Any], frames: FrameEncoder) -> Any:
    embed = {n.removeprefix("embed."): t for n, t in state.items() if n.startswith("embed.")}
    try:
        weights = _renamed(embed)
    except KeyError as error:
        raise EncoderError(f"{file}: {error.args[0]} is missing; its transformer is incomplete") from None
    weights["shift"], weights["scale"] = np.zeros(frames.dimension), np.ones(frames.dimension)
    model = settings.get("MODEL", {})
    shape = Shape(
        features=frames.dimension,
        width=len(weights["input.bias"]),
        layers=sum(name.endswith("merge.bias") for name in weights),
        heads=model.get("EMBEDDER_MODEL", {}).get("NUM_HEADS", 8),
        feedforward=max((len(t) for n, t in weights.items() if n.endswith("widen.bias")), default=0),
        hidden=tuple(len(t) for n, t in weights.items() if re.fullmatch(r"hidden\.\d+\.bias", n)),
        output=len(weights["output.bias"]),
        unit=model.get("L2_NORMALIZE", True),
    )
    stretch = settings.get("TRAIN", {}).get("NUM_FRAMES", _STRETCH)
    name, fingerprint, fps = frames.name, frames.fingerprint, frames.fps
    about = About("carl", name, fingerprint, shape, LONGEST, LONGEST // 2, fps, stretch)
    return transformer_graph(shape, weights, about.to_json())


def _renamed(embed: dict[str, Array]) -> dict[str, Array]:
    """CARL's weights under the names of `transformer_graph`, batch normalization folded into them."""
    weights: dict[str, Array] = {}
    linear = sorted(int(n.split(".")[1]) for n in embed if re.fullmatch(r"fc_layers\.\d+\.weight", n))[::2]
    for n, at in enumerate(linear):  # dropout, linear, batch normalization, ReLU; and again
        gain, bias = folded(embed, f"fc_layers.{at + 1}")
        weights[f"hidden.{n}.weight"] = embed[f"fc_layers.{at}.weight"] * gain[:, None]
        weights[f"hidden.{n}.bias"] = embed[f"fc_layers.{at}.bias"] * gain + bias
    names = {"video_emb": "input", "embedding_layer": "output"}
    for layer in {name.split(".")[2] for name in embed if name.startswith(_LAYER)}:
        for part in ("weight", "bias"):
            sides = [embed[f"{_LAYER}.{layer}.self_att.linear_{side}2d.{part}"] for side in "QKV"]
            weights[f"layers.{layer}.attend.{part}"] = np.concatenate(sides)
        names |= {f"{_LAYER}.{layer}.{theirs}": f"layers.{layer}.{ours}" for theirs, ours in _INNER.items()}
    for theirs, ours in names.items():
        for part in ("weight", "bias"):
            weights[f"{ours}.{part}"] = embed[f"{theirs}.{part}"]
    return weights
