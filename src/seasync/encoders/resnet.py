"""`byol:FILE`: a ResNet (bottleneck kind, such as ResNet-50) out of a checkpoint, run as ONNX."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seasync.encoders import onnx_graph
from seasync.encoders.encoder import FrameEncoder, find_file, onnx_encoder
from seasync.encoders.temporal import About, Shape, TemporalModel, transformer_graph
from seasync.encoders.torch_models import read_checkpoint, tensors
from seasync.encoders.weights import file_hash
from seasync.errors import EncoderError

Array = NDArray[Any]
# Some save the network as a list of its children, by their numbers.
_CHILDREN = {"0": "conv1", "1": "bn1", "4": "layer1", "5": "layer2", "6": "layer3", "7": "layer4"}
_EPSILON = 1e-5


def byol_encoder(file: str) -> FrameEncoder:
    """`byol:FILE`: features (2048 for ResNet-50) averaged over the picture."""
    path = find_file("byol", file, "a ResNet checkpoint")

    def make() -> Any:
        return resnet_graph(find_resnet(path, dict(tensors(read_checkpoint(path)))), pool="mean")

    graph = prepared(path, "byol", make)
    return onnx_encoder(f"byol:{file}", graph, graph.stem)


def prepared(file: Path, kind: str, make: Any) -> Path:
    """The ONNX graph that `make` makes of `file`, kept in the cache by the file's content."""
    return onnx_graph.prepared(f"{kind}-{file_hash(file)[:16]}.onnx", make)


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


class _ResNet(onnx_graph.Nodes):
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
        return self.node(
            "Conv",
            x,
            self.constant(kernel),
            self.constant(bias.astype(np.float32)),
            kernel_shape=[size, size],
            strides=[stride, stride],
            pads=[size // 2] * 4,
        )


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
    graph = prepared(file, "carl-frames", lambda: resnet_graph(_resnet(file, state()[0]), pool="max"))
    frames = onnx_encoder(f"carl:{file}", graph, graph.stem)
    return frames, TemporalModel(prepared(file, "carl-temporal", lambda: _temporal(file, *state(), frames)))


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
    about = About(
        kind="carl",
        encoder=frames.name,
        fingerprint=frames.fingerprint,
        shape=shape,
        window=LONGEST,
        stride=LONGEST // 2,
        fps=frames.fps,
        stretch=settings.get("TRAIN", {}).get("NUM_FRAMES", 80),
    )
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
