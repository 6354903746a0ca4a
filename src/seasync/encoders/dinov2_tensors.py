"""The tensors of DINOv2 ViT-S/14, read from any file that holds them and checked by one hash.

Meta's own checkpoint, the model hub and several ONNX exports hold the same numbers under other names. Here
they all become one mapping with the names of Meta's checkpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors.numpy import load_file

from seasync.encoders.onnx_graph import array, message
from seasync.encoding import Floats
from seasync.errors import EncoderError

Tensors = Mapping[str, Floats]

LAYERS, WIDTH, HEADS = 12, 384, 6
# One sha256 for every source: see `tensor_hash`.
SHA256 = "08a9661b450546ed1454932ed28f73301700decc66a051dd6bbafe4ec1ccd9be"

_LINEAR = ("attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2")
_HUB_NAMES = (
    (r"^dinov2\.", ""),
    (r"^embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"^embeddings\.position_embeddings$", "pos_embed"),
    (r"^embeddings\.cls_token$", "cls_token"),
    (r"^encoder\.layer\.", "blocks."),
    (r"^layernorm\.", "norm."),
    (r"\.attention\.(output\.dense|o_proj)\.", ".attn.proj."),
    (r"\.attention\.(attention\.query|q_proj)\.", ".attn.q."),
    (r"\.attention\.(attention\.key|k_proj)\.", ".attn.k."),
    (r"\.attention\.(attention\.value|v_proj)\.", ".attn.v."),
    (r"\.layer_scale(\d)\.lambda1$", r".ls\1.gamma"),
)


def tensor_shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor, named as in Meta's checkpoint."""
    shapes: dict[str, tuple[int, ...]] = {
        "cls_token": (1, 1, WIDTH),
        "pos_embed": (1, 1 + 37 * 37, WIDTH),
        "patch_embed.proj.weight": (WIDTH, 3, 14, 14),
        "patch_embed.proj.bias": (WIDTH,),
        "norm.weight": (WIDTH,),
        "norm.bias": (WIDTH,),
    }
    for n in range(LAYERS):
        for part, (out, into) in zip(
            _LINEAR, ((3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)), strict=True
        ):
            shapes |= {f"blocks.{n}.{part}.weight": (out, into), f"blocks.{n}.{part}.bias": (out,)}
        for part in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "ls1.gamma", "ls2.gamma"):
            shapes[f"blocks.{n}.{part}"] = (WIDTH,)
    return shapes


def read_tensors(file: Path) -> dict[str, Floats]:
    """Read the tensors from a safetensors file, an ONNX export or (with torch) a checkpoint of Meta's.

    Parameters
    ----------
    file : Path
        The format is recognized by its content, not by its name.

    Returns
    -------
    dict of str to ndarray
        float32 arrays, named and shaped as `tensor_shapes` says.

    Raises
    ------
    EncoderError
        If the file is none of these, or lacks a tensor.
    MissingExtra
        If torch is needed to read it.
    """
    with file.open("rb") as opened:
        head = opened.read(16)
    if head[8:9] == b"{":
        found = _hub_tensors(file)
    elif head[:2] in (b"PK", b"\x80\x02"):
        from seasync.encoders.torch_models import read_checkpoint, tensors

        found = dict(tensors(read_checkpoint(file)))
    else:
        found = _onnx_tensors(file)
    shapes = tensor_shapes()
    wrong = [name for name, shape in shapes.items() if name not in found or found[name].shape != shape]
    if wrong:
        raise EncoderError(
            f"{file}: not the weights of DINOv2 ViT-S/14 ({wrong[0]} is missing or has another shape)"
        )
    return {name: np.ascontiguousarray(found[name], np.float32) for name in shapes}


def tensor_hash(weights: Tensors) -> str:
    """The sha256 over name, shape and little-endian float32 bytes of each tensor, in order of name."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        values = weights[name]
        digest.update(f"{name} {' '.join(map(str, values.shape))}\n".encode())
        digest.update(np.ascontiguousarray(values, "<f4").tobytes())
    return digest.hexdigest()


def plain_name(name: str) -> str:
    """The name in Meta's checkpoint of a tensor on the model hub."""
    for pattern, plain in _HUB_NAMES:
        name = re.sub(pattern, plain, name)
    return name


def _hub_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of a safetensors file; those with the model hub's names under Meta's."""
    try:
        renamed = {plain_name(name): values for name, values in load_file(file).items()}
    except (safetensors.SafetensorError, OSError) as error:
        raise EncoderError(f"{file}: not a complete safetensors file ({error})") from error
    for n in range(LAYERS):
        for kind in ("weight", "bias"):
            parts = [f"blocks.{n}.attn.{part}.{kind}" for part in "qkv"]
            if all(part in renamed for part in parts):
                renamed[f"blocks.{n}.attn.qkv.{kind}"] = np.concatenate([renamed.pop(part) for part in parts])
    return renamed


def _onnx_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of an export by torch.onnx, in which matrices are transposed and have lost their names."""
    from google.protobuf.message import DecodeError

    try:
        return _named_tensors(message("ModelProto").FromString(file.read_bytes()).graph)
    except (DecodeError, ValueError, LookupError) as error:
        raise EncoderError(f"{file}: neither ONNX, safetensors nor a torch checkpoint") from error


def _named_tensors(graph: Any) -> dict[str, Floats]:
    stored = {tensor.name: tensor for tensor in graph.initializer}
    found = {
        name.removeprefix("model."): array(tensor)
        for name, tensor in stored.items()
        if name.startswith("model.")
    }
    source = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity"}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in stored:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            found[f"{name}.weight"] = array(stored[node.input[1]]).T
        inputs = [stored.get(source.get(name, name)) for name in node.input]
        # The position of the class token equals the class token, so the export kept one of the two.
        if node.op_type == "Reshape" and inputs[0] is not None:
            found["pos_embed"] = np.concatenate([found["cls_token"], array(inputs[0])], axis=1)
    return found
