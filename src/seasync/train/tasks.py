"""What a temporal encoder is trained as, and what on: the transformer in torch, and three tasks for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from seasync.encoders.temporal import Shape, distances, folded
from seasync.encoding import Floats
from seasync.train.clips import Batch, Pair, pad_batch, with_noise

Ints = NDArray[np.int64]


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
        self.norm = nn.LayerNorm(shape.width) if shape.layers and not shape.output else None
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
        if not self.shape.layers:
            pass
        elif self.shape.reach:
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


# The NMS-style task: detect frames out of order, and tell the speed at which a clip runs.

# The transformer answers two questions at every frame. *Order*: some frames have changed places, is this one
# of them? *Speed*: the clip runs at changing speed, how many frames were skipped after this one? Each frame
# takes its look from one of several views at random, and positions begin anywhere, so that neither appearance
# nor position gives the answer away. docs/training.md says what is known of the NMS paper's settings.


@dataclass(frozen=True)
class NmsTask:
    """The task and its settings.

    Attributes
    ----------
    width, layers, heads, feedforward, dropout, reach
        Size of the transformer.
    window : int
        Frames of a sequence at most.
    skips : tuple of int
        Frames from one sampled frame to the next, at each speed.
    lasts : (int, int)
        Fewest and most frames that a speed lasts.
    displaced : float
        Share of the frames that change places.
    noise : float
        Noise on every frame, as a share of each channel's spread.
    """

    kind = "nms"
    taught = 0.0
    same_action = False
    views = 2
    stretch = 0
    earlier = 0
    width: int = 256
    layers: int = 4
    heads: int = 8
    feedforward: int = 1024
    dropout: float = 0.1
    reach: int = 16
    window: int = 64
    skips: tuple[int, ...] = (1, 2, 4)
    lasts: tuple[int, int] = (4, 12)
    displaced: float = 0.15
    noise: float = 0.1

    def shape(self, features: int) -> Shape:
        """The transformer for frame features of this dimension."""
        return Shape(features, self.width, self.layers, self.heads, self.feedforward, reach=self.reach)

    def head(self) -> Any:
        """The two classifiers on top of the features; they are not exported."""
        return nn.ModuleDict(
            {"order": nn.Linear(self.width, 1), "speed": nn.Linear(self.width, len(self.skips))}
        )

    def draw(self, pairs: Sequence[Pair], rng: np.random.Generator) -> Batch:
        """Draw a sequence of the first clip of every pair."""
        sequences, orders, speeds, places = [], [], [], []
        for looks in (pair.one for pair in pairs):
            at, speed = self.at_changing_speed(looks.shape[1], rng)
            order = self.displaced_order(len(at), rng)
            sequences.append(
                with_noise(looks[rng.integers(len(looks), size=len(at)), at[order]], rng, self.noise)
            )
            moved = order != np.arange(len(at))
            orders.append(moved)
            speeds.append(np.where(moved, -1, speed))
            places.append(rng.integers(0, 1000) + np.arange(len(at)))
        return pad_batch(sequences, places, order=orders, speed=speeds)

    def at_changing_speed(self, length: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Draw up to `window` frames of a clip of `length` frames, and the number of each one's speed."""
        fitting = [n for n, skip in enumerate(self.skips) if 4 * skip <= length] or [0]
        at = int(rng.integers(0, max(1, length - self.window + 1)))
        frames: list[int] = []
        speeds: list[int] = []
        speed = -1
        while at < length and len(frames) < self.window:
            speed = int(rng.choice([n for n in fitting if n != speed] or fitting))
            for _ in range(rng.integers(*self.lasts, endpoint=True)):
                if at < length and len(frames) < self.window:
                    frames.append(at)
                    speeds.append(speed)
                    at += self.skips[speed]
        return np.array(frames), np.array(speeds)

    def displaced_order(self, length: int, rng: np.random.Generator) -> Ints:
        """The order 0 … length − 1 with a share of the positions, at least two, rotated."""
        order = np.arange(length)
        count = max(2, round(self.displaced * length))
        moved = rng.permutation(length)[:count]
        order[moved] = np.roll(moved, 1)
        return order

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        """Cross entropies of both questions, from features of shape (B, T, d)."""
        order, speed = batch.labels["order"], batch.labels["speed"]
        labeled = speed >= 0
        answer = head["order"](features)[..., 0]
        return {
            "order": functional.binary_cross_entropy_with_logits(
                answer[batch.known], order[batch.known].float()
            ),
            "speed": functional.cross_entropy(head["speed"](features)[labeled], speed[labeled]),
        }

    def scores(self, head: Any, features: Any, batch: Batch) -> dict[str, float]:
        """Order as the area under the ROC curve (chance .5), speed as its mean accuracy per speed."""
        order, speed = batch.labels["order"][batch.known].bool().numpy(), batch.labels["speed"]
        area = _area_under_curve(head["order"](features)[..., 0][batch.known].numpy(), order)
        guess = head["speed"](features).argmax(-1)
        right = [float((guess == n)[speed == n].float().mean()) for n in speed[speed >= 0].unique()]
        accuracy, chance = float(np.mean(right)), 1 / len(right)
        score = (2 * area - 1 + (accuracy - chance) / max(1 - chance, 1e-9)) / 2
        return {"order AUC": area, "speed accuracy": accuracy, "speed chance": chance, "score": score}


def _area_under_curve(scores: NDArray[Any], truth: NDArray[np.bool_]) -> float:
    ranks = np.argsort(np.argsort(scores)) + 1.0
    positive, negative = truth.sum(), (~truth).sum()
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / max(1, positive * negative))


# The CARL-style task: two random sequences of one clip must agree on which moments are the same.


@dataclass(frozen=True)
class CarlTask:
    """The task and its settings.

    Attributes
    ----------
    width, layers, heads, feedforward, hidden, output, dropout
        Size of the transformer.
    window : int
        Frames of a sequence at most.
    spread : float
        Standard deviation of the Gaussian in seconds: √10 frames at 30 per second.
    temperature : float
        Temperature of the softmax.
    shortest : float
        Least share of the clip that a sequence covers.
    noise : float
        Noise on every frame, as a share of each channel's spread.
    """

    kind = "carl"
    taught = 0.0
    same_action = False
    views = 0
    earlier = 0
    width: int = 256
    layers: int = 3
    heads: int = 8
    feedforward: int = 1024
    hidden: tuple[int, ...] = (512, 512)
    output: int = 128
    dropout: float = 0.1
    window: int = 64
    spread: float = 10**0.5 / 30
    temperature: float = 0.1
    shortest: float = 0.6
    noise: float = 0.1

    @property
    def stretch(self) -> int:
        """Frames that positions are stretched over."""
        return self.window

    def shape(self, features: int) -> Shape:
        """The transformer for frame features of this dimension."""
        width, layers, heads, feedforward = self.width, self.layers, self.heads, self.feedforward
        return Shape(features, width, layers, heads, feedforward, self.hidden, self.output, unit=True)

    def head(self) -> Any:
        """The projection before the loss; it is not exported."""
        width = self.shape(1).dimension
        return nn.Sequential(nn.Linear(width, 512), nn.LayerNorm(512), nn.ReLU(), nn.Linear(512, width))

    def draw(self, pairs: Sequence[Pair], rng: np.random.Generator) -> Batch:
        """Draw two sequences of every pair, one after the other."""
        sequences, seconds, places = [], [], []
        for pair in pairs:
            for looks, times in ((pair.one, pair.seconds), (pair.other, pair.partner)):
                at = self.draw_frames(looks.shape[1], rng)
                # One look for the whole sequence: what changes within it is the action.
                sequences.append(with_noise(looks[rng.integers(len(looks)), at], rng, self.noise))
                seconds.append(times[at])
                places.append(np.linspace(0, self.window - 1, len(at)))
        return pad_batch(sequences, places, seconds=seconds)

    def draw_frames(self, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw at most `window` frames of a random stretch of the clip, in order."""
        span = max(2, round(length * rng.uniform(self.shortest, 1.0)))
        start = rng.integers(0, length - span + 1)
        count = min(self.window, max(2, round(span * rng.uniform(0.5, 1.0))))
        return np.sort(start + rng.permutation(span)[:count])

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        """KL divergence in both directions, from features of shape (2B, T, d)."""
        projected = functional.normalize(head(features), dim=-1)
        one, other = projected[::2], projected[1::2]
        seconds = batch.labels["seconds"]
        known = batch.known & ~seconds.isnan()
        pull, push = seconds[::2], seconds[1::2]
        logits = one @ other.transpose(1, 2) / self.temperature
        distance = (pull[:, :, None] - push[:, None, :]).float().nan_to_num(1e6)
        closeness = -(distance**2) / (2 * self.spread**2)
        forth = _divergence(logits, closeness, known[::2], known[1::2])
        back = _divergence(logits.transpose(1, 2), closeness.transpose(1, 2), known[1::2], known[::2])
        return {"sequence": (forth + back) / 2}

    def scores(self, head: Any, features: Any, batch: Batch) -> dict[str, float]:
        """How often the most similar frame of the other sequence is within 0.1 s of the truth, and chance.

        Only frames that have a true partner so near count.
        """
        seconds = batch.labels["seconds"].float()
        similar = (features[::2] @ features[1::2].transpose(1, 2)).masked_fill(~batch.known[1::2, None], -9)
        distance = (seconds[::2, :, None] - seconds[1::2, None, :]).abs()
        distance = distance.masked_fill(~batch.known[1::2, None], 1e6).nan_to_num(1e6)
        near = batch.known[::2] & (distance.min(-1).values < _NEAR)
        hit = distance.gather(-1, similar.argmax(-1, keepdim=True))[..., 0] < _NEAR
        chance = (distance < _NEAR).float().sum(-1) / batch.known[1::2].sum(-1, keepdim=True)
        found, luck = float(hit[near].float().mean()), float(chance[near].mean())
        return {"same moment found": found, "chance": luck, "score": (found - luck) / max(1 - luck, 1e-9)}


_NEAR = 0.1  # seconds


def _divergence(logits: Any, closeness: Any, rows: Any, columns: Any) -> Any:
    """Mean over the rows of the KL divergence of softmax(logits) from softmax(closeness), (B, T, U)."""
    logits = logits.masked_fill(~columns[:, None], -1e4)
    target = closeness.masked_fill(~columns[:, None], -1e9).softmax(-1)
    # A row whose moment is not in the other sequence carries no information.
    rows = rows & (closeness.masked_fill(~columns[:, None], -1e9).amax(-1) > -8)
    each = functional.kl_div(logits.log_softmax(-1), target, reduction="none").sum(-1)
    return each[rows].mean() if rows.any() else each.sum() * 0


# The taught task: learn which moments of two clips are the same from their alignments.


@dataclass(frozen=True)
class TaughtTask(CarlTask):
    """The task and its settings; the share `taught` of the pairs shows two clips, the others one."""

    kind = "taught"
    taught = 0.9
    width: int = 128
    layers: int = 2
    heads: int = 4
    feedforward: int = 512
    hidden: tuple[int, ...] = ()
    reach: int = 16

    @property
    def stretch(self) -> int:
        """Positions are not stretched."""
        return 0

    def shape(self, features: int) -> Shape:
        """The transformer for frame features of this dimension."""
        return Shape(
            features, self.width, self.layers, self.heads, self.feedforward, unit=True, reach=self.reach
        )
