"""How long to train, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingPlan:
    """How long and how to train.

    Attributes
    ----------
    steps : int
        Training steps.
    batch : int
        Clips per step.
    rate : float
        Highest learning rate; it rises over `warmup` steps and falls as a cosine.
    warmup : int
    decay : float
        Weight decay.
    every : int
        Steps between validations.
    patience : int
        Training stops after this many validations without a better score.
    held_out : float
        Share of the files that are used for validation only.
    seed : int
    """

    steps: int = 400
    batch: int = 16
    rate: float = 1e-4
    warmup: int = 100
    decay: float = 0.01
    every: int = 100
    patience: int = 8
    held_out: float = 0.2
    seed: int = 0

    def rate_at(self, step: int) -> float:
        """The learning rate at a step: linear warm-up, then half a cosine."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True)
class TrainingResult:
    """The outcome of a training.

    Attributes
    ----------
    best : dict of str to float
        Scores on held-out clips at the best step.
    history : list of dict
        Scores of all validations.
    steps : int
        Steps that were trained.
    training_clips, held_out_clips : int
    encoder : str
        Name of the encoder whose frame features the model takes.
    """

    best: dict[str, float]
    history: list[dict[str, float]]
    steps: int
    training_clips: int
    held_out_clips: int
    encoder: str

    @property
    def kept(self) -> int:
        """The step whose weights were kept; 0 means untrained."""
        return int(self.best.get("step", 0))
