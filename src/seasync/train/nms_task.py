"""NMS-style: learn from time itself. Which frames stand where they do not belong, and how fast does it run?

A transformer is trained on two tasks at every frame: *order* (some frames have changed places: is this one of
them?) and *speed* (the clip runs at changing speed: how many frames were skipped after this one?). Each frame
takes its look from one of several views at random and positions begin anywhere, so that neither appearance
nor place gives the answer away. The published NMS does not tell its hyper-parameters; these are ours.
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
from seasync.train.sequences import Batch, Pair, altered, padded

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Nms:
    """The task and its settings.

    skips      frames from one to the next, at each speed
    lasts      how many frames a speed lasts, at least and at most
    displaced  share of the frames that change places
    noise      on every frame, as a share of each channel's spread
    """

    kind = "nms"
    taught = 0.0
    stretch = 0
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
        return Shape(features, self.width, self.layers, self.heads, self.feedforward, reach=self.reach)

    def head(self) -> Any:
        """What the tasks need on top of the features; it is not exported."""
        return nn.ModuleDict(
            {"order": nn.Linear(self.width, 1), "speed": nn.Linear(self.width, len(self.skips))}
        )

    def draw(self, pairs: Sequence[Pair], rng: np.random.Generator) -> Batch:
        """A sequence of the first clip of every pair."""
        sequences, orders, speeds, places = [], [], [], []
        for looks in (pair.one for pair in pairs):
            at, speed = self.at_changing_speed(looks.shape[1], rng)
            order = self.misplaced(len(at), rng)
            sequences.append(
                altered(looks[rng.integers(len(looks), size=len(at)), at[order]], rng, self.noise)
            )
            moved = order != np.arange(len(at))
            orders.append(moved)
            speeds.append(np.where(moved, -1, speed))
            places.append(rng.integers(0, 1000) + np.arange(len(at)))
        return padded(sequences, places, order=orders, speed=speeds)

    def at_changing_speed(self, length: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Frames of a clip of `length` frames, up to `window` of them, and the number of each one's speed."""
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

    def misplaced(self, length: int, rng: np.random.Generator) -> Ints:
        """0 … length − 1 with a share of the numbers, at least two, rotated among each other."""
        order = np.arange(length)
        count = max(2, round(self.displaced * length))
        moved = rng.permutation(length)[:count]
        order[moved] = np.roll(moved, 1)
        return order

    def losses(self, head: Any, features: Any, batch: Batch) -> dict[str, Any]:
        """Of features (B, T, d)."""
        order, speed = batch.labels["order"], batch.labels["speed"]
        told = speed >= 0
        answer = head["order"](features)[..., 0]
        return {
            "order": functional.binary_cross_entropy_with_logits(
                answer[batch.known], order[batch.known].float()
            ),
            "speed": functional.cross_entropy(head["speed"](features)[told], speed[told]),
        }

    def scores(self, head: Any, features: Any, batch: Batch) -> dict[str, float]:
        """Order as the area under the ROC curve (chance .5), speed as its accuracy, mean of the speeds."""
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
