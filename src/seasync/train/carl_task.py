"""The CARL-style task: two random sequences of one clip must agree on which moments are the same.

The sequence contrastive loss of CARL: frame i of one sequence is compared with all frames of the other; the
softmax of the similarities should be the Gaussian of their distance in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from seasync.encoders.transformer import Shape
from seasync.train.sequences import Batch, Pair, pad_batch, with_noise


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
        return Shape(
            features,
            self.width,
            self.layers,
            self.heads,
            self.feedforward,
            self.hidden,
            self.output,
            unit=True,
        )

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
