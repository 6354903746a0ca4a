"""The temporal transformer: its shape, its positions, and its ONNX graph. Made of arrays, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoders.nodes import Nodes
from seasync.encoding import Floats

Weights = Mapping[str, NDArray[Any]]
METADATA = "seasync"  # key under which a model says what it is


@dataclass(frozen=True)
class Shape:
    """(T, features) → `hidden` layers with ReLU → width → pre-norm layers → output.

    Where a frame stands in time is encoded in one of two ways: by sines and cosines of its place, added to it
    (`reach` 0, as CARL has it), or by how far apart two frames are, up to `reach`, added to their attention.
    Of the latter no absolute place can be read off.

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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Shape:
        return cls(**{**fields, "hidden": tuple(fields["hidden"])})


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
    if not shape.reach:
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
    inputs |= {"distances": ["frames", "frames"]} if shape.reach else {"positions": ["frames", shape.width]}
    model = build.model(inputs, {x: ["frames", shape.dimension]})
    model.metadata_props.add(key=METADATA, value=about)
    return model


class _Transformer(Nodes):
    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self._weights = weights

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
