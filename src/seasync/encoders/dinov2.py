"""DINOv2 ViT-S/14, ready to run: whole pictures, or some patches of them beside others known before."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.device import active_device, open_session
from seasync.encoders.dinov2_tensors import HEADS, LAYERS, SHA256, WIDTH, Tensors
from seasync.encoders.onnx_graph import Nodes
from seasync.encoders.weights import cache_folder
from seasync.encoding import Floats, Indices
from seasync.errors import EncoderError
from seasync.files import atomic_write

# The network of DINOv2 ViT-S/14 as an ONNX graph, built from its tensors.


PATCH = 14
HEAD = WIDTH // HEADS
_TABLE = 37  # the position table is 37 × 37
_MEAN = np.array([0.485, 0.456, 0.406]) * 255
_STD = np.array([0.229, 0.224, 0.225]) * 255


def dinov2_graph(weights: Tensors, size: int, *, int8: bool = False, positions: str = "linear") -> Any:
    """Build the graph.

    Parameters
    ----------
    weights : mapping of str to ndarray
        As `read_tensors` gives them.
    size : int
        Side of the square pictures in pixels, a multiple of 14.
    int8 : bool
        Hold the weights of the linear layers in 8 bits per output channel and quantize activations as they
        come.
    positions : {"linear", "cubic"}
        How the position table is resized. The packaged ONNX export does it linearly, Meta's code cubically.

    Returns
    -------
    ModelProto
        Its `SerializeToString` gives what an ONNX file holds.
    """
    build = _Dinov2(weights, int8)
    x = build.embed(resized_positions(weights["pos_embed"], size // PATCH, positions))
    kept = {}
    for n in range(LAYERS):
        x, kept[f"own_key.{n}"], kept[f"own_value.{n}"] = build.block(x, n)
    kept["tokens"] = build.norm(x, "norm")
    for name, value in kept.items():
        build.rename(value, name)
    inputs: dict[str, list[Any]] = {"pixels": ["batch", "patches", 3 * PATCH**2], "keep": ["patches"]}
    cached = [f"{kind}.{n}" for n in range(LAYERS) for kind in ("key", "value")]
    inputs |= {name: [1, "cached", WIDTH] for name in cached}
    outputs: dict[str, list[Any]] = {name: ["batch", "own", WIDTH] for name in ["tokens", *sorted(kept)]}
    return build.model(inputs, outputs, {"pixels": np.uint8, "keep": np.int64})


def resized_positions(table: Floats, cells: int, method: str) -> Floats:
    """(1 + cells², 384): the position of the class token, then those of the patches, row by row."""
    grid = table[0, 1:].reshape(_TABLE, _TABLE, WIDTH).astype(np.float64)
    if cells != _TABLE:
        across = _resizing(cells, method)
        grid = np.einsum("ya,xb,abd->yxd", across, across, grid, optimize=True)
    return np.concatenate([table[0, :1], grid.reshape(-1, WIDTH)]).astype(np.float32)


def _resizing(cells: int, method: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(cells, 37): the weights by which each cell takes its position from the table's."""
    # DINOv2 adds the tenth so that rounding never loses a row; the sampled places shift with it.
    scale = np.float32((cells + 0.1) / _TABLE)
    at = (np.arange(cells) + 0.5) / float(scale) - 0.5
    left = np.floor(at).astype(int)
    matrix = np.zeros((cells, _TABLE))
    for tap in (0, 1) if method == "linear" else (-1, 0, 1, 2):
        distance = np.abs(at - (left + tap))
        share = 1 - distance if method == "linear" else _cubic(distance)
        np.add.at(matrix, (np.arange(cells), (left + tap).clip(0, _TABLE - 1)), share)
    return matrix


def _cubic(x: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The cubic convolution kernel with a = −.75, as torch's bicubic interpolation has it."""
    a = -0.75
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


class _Dinov2(Nodes):
    def __init__(self, weights: Tensors, int8: bool) -> None:
        super().__init__()
        self._weights = weights
        self._int8 = int8

    def embed(self, positions: Floats) -> str:
        """The class token and the patches with their positions, (B, 1 + M, 384)."""
        # The deviation of the pictures is part of the first product. Were the mean too, digits would be lost.
        kernel = self._weights["patch_embed.proj.weight"].astype(np.float64).transpose(2, 3, 1, 0)
        matrix = (kernel / _STD[:, None]).reshape(-1, WIDTH).astype(np.float32)
        mean = self.constant(np.tile(_MEAN.astype(np.float32), PATCH**2))
        pixels = self.node("Sub", self.node("Cast", "pixels", to=1), mean)
        patches = self.node("MatMul", pixels, self.constant(matrix))
        table = self.constant(positions[1:] + self._weights["patch_embed.proj.bias"])
        patches = self.node("Add", patches, self.node("Gather", table, "keep", axis=0))
        first = self.constant((self._weights["cls_token"][0] + positions[:1])[None])
        batch = self.node("Shape", "pixels", start=0, end=1)
        shape = self.node("Concat", batch, self.constant(np.array([1, 1])), axis=0)
        return self.node("Concat", self.node("Expand", first, shape), patches, axis=1)

    def block(self, x: str, n: int) -> tuple[str, str, str]:
        """One layer: its output, and its own keys and values."""
        name = f"blocks.{n}"
        query, key, value = self._query_key_value(self.norm(x, f"{name}.norm1"), f"{name}.attn.qkv")
        mixed = self._attention(query, key, value, n)
        x = self.node("Add", x, self._linear(mixed, f"{name}.attn.proj", f"{name}.ls1.gamma"))
        wide = self._gelu(self._linear(self.norm(x, f"{name}.norm2"), f"{name}.mlp.fc1"))
        x = self.node("Add", x, self._linear(wide, f"{name}.mlp.fc2", f"{name}.ls2.gamma"))
        return x, key, value

    def norm(self, x: str, name: str) -> str:
        scale, bias = (self.constant(self._weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", x, scale, bias, epsilon=1e-6)

    def _query_key_value(self, x: str, name: str) -> list[str]:
        # The attention's scale is part of the queries.
        scale = np.repeat(np.array([HEAD**-0.5, 1, 1], np.float32), WIDTH)
        joint = self._product(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], scale)
        return self.split(joint, 3)

    def _linear(self, x: str, name: str, gamma: str = "") -> str:
        """A linear layer; the layer scale after it is part of its weights."""
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        scale = self._weights[gamma] if gamma else np.ones(len(bias), np.float32)
        return self._product(x, weight, bias, scale)

    def _product(self, x: str, weight: Floats, bias: Floats, scale: Floats) -> str:
        matrix = np.ascontiguousarray((weight * scale[:, None]).T)
        product = self._quantized(x, matrix) if self._int8 else self.node("MatMul", x, self.constant(matrix))
        return self.node("Add", product, self.constant(bias * scale))

    def _quantized(self, x: str, matrix: Floats) -> str:
        """A product in 8 bits, in the nodes that onnxruntime recognizes and fuses."""
        steps = (np.abs(matrix).max(0) / 127).astype(np.float32)
        whole = np.round(matrix / steps).astype(np.int8)
        values, step, zero = self.quantize(x)
        product = self.node("Cast", self.node("MatMulInteger", values, self.constant(whole), zero), to=1)
        return self.node("Mul", product, self.node("Mul", step, self.constant(steps)))

    def _gelu(self, x: str) -> str:
        """The exact form, in the nodes that onnxruntime recognizes and fuses."""
        erf = self.node("Erf", self.node("Div", x, self.constant(np.float32(np.sqrt(2)))))
        twice = self.node("Mul", x, self.node("Add", erf, self.constant(np.float32(1))))
        return self.node("Mul", twice, self.constant(np.float32(0.5)))

    def _attention(self, query: str, key: str, value: str, n: int) -> str:
        """What each token takes from its own picture's tokens and from the cached ones.

        The cached part broadcasts over the pictures: copying it for each costs 5–10 % of the time of 64
        patches.
        """
        query, value, seen_value = (self._by_head(each) for each in (query, value, f"value.{n}"))
        key, seen_key = (self._by_head(each, transposed=True) for each in (key, f"key.{n}"))
        own, seen = self.node("MatMul", query, key), self.node("MatMul", query, seen_key)
        weights = self.node("Softmax", self.node("Concat", own, seen, axis=-1), axis=-1)
        axis, border = self.constant(np.array([3])), self.node("Shape", key, start=3, end=4)
        own = self.node("Slice", weights, self.constant(np.array([0])), border, axis)
        seen = self.node("Slice", weights, border, self.constant(np.array([2**31])), axis)
        mixed = self.node("Add", self.node("MatMul", own, value), self.node("MatMul", seen, seen_value))
        joined = self.constant(np.array([0, 0, WIDTH]))
        return self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)

    def _by_head(self, x: str, *, transposed: bool = False) -> str:
        """(B, T, 384) → (B, heads, T, 64), or with the last two axes exchanged."""
        # A zero keeps a size, so the number of tokens, which may be 0, must not be given as "the rest".
        split = self.node("Reshape", x, self.constant(np.array([0, 0, HEADS, HEAD])))
        return self.node("Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])


Pixels = NDArray[np.uint8]

_FORM = 3  # raised when the same weights are prepared in another way
_CACHED = [f"{kind}.{n}" for n in range(LAYERS) for kind in ("key", "value")]


@dataclass(frozen=True, eq=False)
class Reference:
    """A picture encoded whole: its tokens (1 + P, 384) and what each layer lets other tokens see of it."""

    tokens: Floats
    cache: Sequence[Floats]  # (1, 1 + P, 384) each: key and value of every layer

    def seen(self, places: Indices) -> dict[str, Floats]:
        """Keys and values of some patches, as the network takes them."""
        rows = places + 1
        return {name: values[:, rows] for name, values in zip(_CACHED, self.cache, strict=True)}


class Dinov2:
    """The network for square pictures of one size.

    Attributes
    ----------
    input_size : (int, int)
        Height and width of the pictures it takes.
    patches : int
        How many patches a picture has.
    """

    def __init__(self, size: int = 224) -> None:
        if size % PATCH or not 56 <= size <= 518:
            raise EncoderError(
                f"dinov2-small@{size}: the input size must be a multiple of {PATCH} from 56 to 518"
            )
        self.input_size = size, size
        self.patches = (size // PATCH) ** 2
        device = active_device()
        self.batch, self._tokens_at_once = device.batch, device.tokens_at_once
        self._session = open_session(prepared_graph(size))
        self._nothing = {name: np.empty((1, 0, WIDTH), np.float32) for name in _CACHED}

    def run(self, frames: Pixels) -> Floats:
        """Tokens (B, 1 + P, 384) of whole pictures (B, H, W, 3)."""
        return self.encode(patches_of(frames), np.arange(self.patches), self._nothing)

    def reference(self, pixels: Pixels) -> Reference:
        """Encode one picture, given as patches (P, 588), and keep what others may attend to."""
        fed = {"pixels": pixels[None], "keep": np.arange(self.patches)} | self._nothing
        tokens, *cache = self._session.run(["tokens", *(f"own_{name}" for name in _CACHED)], fed)
        return Reference(tokens[0], cache)

    def encode(self, pixels: Pixels, places: Indices, seen: dict[str, Floats]) -> Floats:
        """Tokens (B, 1 + M, 384) of some patches of each picture, beside the patches `seen` of a reference.

        Parameters
        ----------
        pixels : ndarray of uint8, shape (B, M, 588)
        places : ndarray of int64, shape (M,)
            Where in the picture the patches are.
        seen : dict
            Keys and values of other patches: `Reference.seen`.
        """
        at_once = max(1, self._tokens_at_once // (1 + len(places)))
        parts = [
            self._session.run(["tokens"], {"pixels": pixels[first : first + at_once], "keep": places} | seen)[
                0
            ]
            for first in range(0, len(pixels), at_once)
        ]
        return np.concatenate(parts)


def patches_of(frames: Pixels) -> Pixels:
    """(B, H, W, 3) → (B, P, 588): the patches row by row, each 14 × 14 × 3."""
    count, height, width, _ = frames.shape
    rows, columns = height // PATCH, width // PATCH
    grid = frames.reshape(count, rows, PATCH, columns, PATCH, 3).transpose(0, 1, 3, 2, 4, 5)
    return grid.reshape(count, rows * columns, 3 * PATCH**2)


def precision() -> str:
    """`int8` or `fp32`: as `SEASYNC_PRECISION` says, else what the active device is good at.

    It is no part of the fingerprint: encodings of either precision serve together (docs/models.md).
    """
    named = os.environ.get("SEASYNC_PRECISION") or active_device().precision
    if named not in ("int8", "fp32"):
        raise EncoderError(f"SEASYNC_PRECISION={named}: expected int8 or fp32")
    return named


def prepared_graph(size: int) -> Path:
    """The ONNX file for this input size, precision and device; made once and kept in the cache."""
    bits = precision()
    name = f"dinov2_vits14-{SHA256[:8]}-{size}-{bits}-{_FORM}.onnx"
    file = cache_folder() / "models" / "prepared" / name
    if not file.is_file():
        from seasync.encoders.weights import dinov2_tensors

        model = dinov2_graph(dinov2_tensors(), size, int8=bits == "int8")
        with atomic_write(file, make_folder=True, error=EncoderError) as part:
            part.write_bytes(model.SerializeToString())
    return file
