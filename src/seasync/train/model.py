"""The temporal transformer in torch, for training; the trained model is exported to ONNX."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from seasync.encoders.resnet import folded
from seasync.encoders.temporal import About, Shape, distances, transformer_graph
from seasync.encoding import Floats
from seasync.errors import EncoderError
from seasync.files import atomic_write


class Temporal(nn.Module):
    """The transformer that `seasync.encoders.temporal` describes.

    It maps (B, T, features) to (B, T, dimension). Dropout is for training only; `shift` and `scale` bring
    features to mean 0 and spread 1.
    """

    def __init__(self, shape: Shape, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        widths = (shape.features, *shape.hidden)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for width in shape.hidden)
        self.input = nn.Linear(widths[-1], shape.width)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.norm = None if shape.output else nn.LayerNorm(shape.width)
        self.output = nn.Linear(shape.width, shape.output) if shape.output else None
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("shift", torch.zeros(shape.features))
        self.register_buffer("scale", torch.ones(shape.features))

    def forward(self, features: Any, places: Any, known: Any) -> Any:
        """Run it on features (B, T, d) at places (B, T); `known` (B, T) is False where a clip is padded."""
        x = (features - self.shift) * self.scale
        for linear, norm in zip(self.hidden, self.norms, strict=True):
            x = self.dropout(x)
            x = functional.relu(_over_known(norm, linear(x), known))
        x, apart = self.input(x), None
        if self.shape.reach:
            apart = torch.from_numpy(distances(x.shape[1], self.shape.reach)).to(x.device)
        else:
            x = x + sines(places, self.shape.width)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, known, apart)
        if self.norm is not None:
            x = self.norm(x)
        if self.output is not None:
            x = self.output(x)
        return functional.normalize(x, dim=-1) if self.shape.unit else x

    def weights(self) -> dict[str, Floats]:
        """The weights for `transformer_graph`, batch normalization folded into the layer before it."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self.state_dict().items()}
        weights = {name: array for name, array in arrays.items() if not name.startswith("norms.")}
        for n in range(len(self.hidden)):
            gain, bias = folded(arrays, f"norms.{n}")
            weights[f"hidden.{n}.weight"] = arrays[f"hidden.{n}.weight"] * gain[:, None]
            weights[f"hidden.{n}.bias"] = arrays[f"hidden.{n}.bias"] * gain + bias
        return weights


class Layer(nn.Module):
    """One pre-norm transformer layer."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm1, self.norm2 = nn.LayerNorm(shape.width), nn.LayerNorm(shape.width)
        self.attend = nn.Linear(shape.width, 3 * shape.width)
        self.merge = nn.Linear(shape.width, shape.width)
        self.widen = nn.Linear(shape.width, shape.feedforward)
        self.narrow = nn.Linear(shape.feedforward, shape.width)
        self.nearness = nn.Parameter(_neighbors(shape.heads, shape.reach)) if shape.reach else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Any, known: Any, apart: Any) -> Any:
        batch, length, width = x.shape
        split = self.attend(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mask = known[:, None, None, :]
        if self.nearness is not None:
            mask = self.nearness[:, apart].masked_fill(~mask, -torch.inf)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.dropout(self.merge(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.narrow(functional.relu(self.widen(self.norm2(x)))))


def _neighbors(heads: int, reach: int) -> Any:
    """Initial attention, shape (heads, 2·reach + 1): heads look at the previous frame, the next one, …

    From zeros, training takes many times as long to discover that neighbors matter.
    """
    apart = torch.arange(-reach, reach + 1.0)
    looks = torch.tensor([(-1) ** n * (1 + n // 2) for n in range(heads)])
    return -2.0 * (apart - looks[:, None]).abs()


def sines(places: Any, width: int) -> Any:
    """`seasync.encoders.temporal.positions` for a batch of places: (B, T) → (B, T, width)."""
    channel = torch.arange(width, dtype=torch.float64, device=places.device)
    angles = places[..., None].double() / 10_000 ** (channel / width)
    return torch.where(channel % 2 == 1, angles.cos(), angles.sin()).float()


def _over_known(norm: Any, x: Any, known: Any) -> Any:
    """Batch normalization, (B, T, c), over the frames that are not padding."""
    out = torch.zeros_like(x)
    out[known] = norm(x[known]).to(x.dtype)
    return out


def write_onnx(model: Temporal, about: About, file: Path) -> None:
    """Write the model as an ONNX file that runs without torch, atomically."""
    graph = transformer_graph(model.shape, model.weights(), about.to_json())
    with atomic_write(file, make_folder=True, error=EncoderError) as part:
        part.write_bytes(graph.SerializeToString())
