"""`byol:FILE`: a ResNet (bottleneck kind, such as ResNet-50) out of a checkpoint, run as ONNX."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from seasync.encoders.checkpoint import Array, read_checkpoint, tensors
from seasync.encoders.encoder import FrameEncoder, pooled_output
from seasync.encoders.nodes import Nodes
from seasync.encoders.session import ImageModel
from seasync.encoders.weights import cache_folder
from seasync.errors import EncoderError
from seasync.files import atomic_write, fetch

# Some save the network as a list of its children, by their numbers.
_CHILDREN = {"0": "conv1", "1": "bn1", "4": "layer1", "5": "layer2", "6": "layer3", "7": "layer4"}
_EPSILON = 1e-5


def byol_encoder(file: str) -> FrameEncoder:
    """`byol:FILE`: features (2048 for ResNet-50) averaged over the picture."""
    path = fetch(file)
    if not path.is_file():
        raise EncoderError(f"byol:{file}: no such file; expected a ResNet checkpoint")
    graph = prepared(
        path, "byol", lambda: resnet_graph(find_resnet(path, read_checkpoint(path)), pool="mean")
    )
    return frame_encoder(f"byol:{file}", graph)


def frame_encoder(name: str, graph: Path) -> FrameEncoder:
    """The frame encoder that runs this prepared graph."""
    model = ImageModel(graph)
    width = model.run(np.zeros((1, *model.input_size, 3), np.uint8)).shape[1]
    return FrameEncoder(name, model, dimension=width, fingerprint=graph.stem, split=pooled_output)


def prepared(file: Path, kind: str, make: Any) -> Path:
    """The ONNX graph that `make` makes of `file`, kept in the cache by the file's content."""
    with file.open("rb") as opened:
        content = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    target = cache_folder() / "models" / "prepared" / f"{kind}-{content}.onnx"
    if not target.is_file():
        model = make()
        with atomic_write(target, make_folder=True, error=EncoderError) as part:
            part.write_bytes(model.SerializeToString())
    return target


def find_resnet(file: Path, checkpoint: Any) -> dict[str, Array]:
    """The ResNet among a checkpoint's tensors, under torchvision's names, wherever and however it is saved.

    Layouts seen: bare, under `state_dict`, `model` or `online_backbone`, with `module.`, `backbone.` or
    `encoder.` in front, and as a list of children.
    """
    found = dict(tensors(checkpoint))
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
    def __init__(self, weights: Mapping[str, Array]) -> None:
        super().__init__()
        self._weights = weights

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
