"""Pairs of clips and padded batches for one training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seasync.encoding import Floats, Seconds


@dataclass(frozen=True, eq=False)
class Pair:
    """Two clips that show the same movement (often the same clip twice), each under several looks.

    Attributes
    ----------
    one : numpy.ndarray [shape=(V, T, d)]
    other : numpy.ndarray [shape=(W, U, d)]
    seconds : numpy.ndarray [shape=(T,)]
        Times of the frames of `one`.
    partner : numpy.ndarray [shape=(U,)]
        When the frames of `other` happen in `one`; NaN where that is unknown.
    """

    one: Floats
    other: Floats
    seconds: Seconds
    partner: Seconds


@dataclass(frozen=True)
class Batch:
    """Sequences of one training step, padded to the same length.

    Attributes
    ----------
    features : torch.Tensor [shape=(B, T, d)]
    places : torch.Tensor [shape=(B, T)]
        Positions in time.
    known : torch.Tensor [shape=(B, T)], bool
        False where a short sequence is padded.
    labels : dict of str to torch.Tensor [shape=(B, T)]
    """

    features: Any
    places: Any
    known: Any
    labels: dict[str, Any]

    def to(self, device: str) -> Batch:
        """The batch on a device."""
        labels = {name: label.to(device) for name, label in self.labels.items()}
        return Batch(self.features.to(device), self.places.to(device), self.known.to(device), labels)


def pad_batch(
    sequences: Sequence[Floats], places: Sequence[NDArray[Any]], **labels: Sequence[NDArray[Any]]
) -> Batch:
    """Combine sequences (T_i, d), their places (T_i,) and labels (T_i,), padded with 0 and −1."""
    known = np.zeros((len(sequences), max(map(len, sequences))), bool)
    features = np.zeros((*known.shape, sequences[0].shape[1]), np.float32)
    for n, sequence in enumerate(sequences):
        known[n, : len(sequence)] = True
        features[n, : len(sequence)] = sequence

    def filled(rows: Sequence[NDArray[Any]], value: int) -> Any:
        table = np.full(known.shape, value, np.result_type(rows[0], np.int64))
        for n, row in enumerate(rows):
            table[n, : len(row)] = row
        return torch.from_numpy(table)

    tensors = {name: filled(rows, -1) for name, rows in labels.items()}
    return Batch(torch.from_numpy(features), filled(places, 0).double(), torch.from_numpy(known), tensors)


def with_noise(sequence: Floats, rng: np.random.Generator, noise: float) -> Floats:
    """Add noise to every frame, shape (T, d): `noise` times each channel's spread over the sequence."""
    spread = sequence.std(axis=0, keepdims=True)
    jitter: Floats = np.float32(noise) * spread * rng.standard_normal(sequence.shape, np.float32)
    return sequence + jitter
