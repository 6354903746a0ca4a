"""`carl:FILE.pth`: a checkpoint of CARL's public release, its ResNet and its temporal transformer."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from seasync.encoders.checkpoint import Array, read_checkpoint, tensors
from seasync.encoders.encoder import FrameEncoder
from seasync.encoders.resnet import find_resnet, folded, frame_encoder, prepared, resnet_graph
from seasync.encoders.temporal import About, TemporalModel
from seasync.encoders.transformer import Shape, transformer_graph
from seasync.errors import EncoderError

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
    frames = frame_encoder(f"carl:{file}", graph)
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
