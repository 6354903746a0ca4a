"""Control features that know only a frame's position, to show what a proxy task rewards.

A metric on which they do well can be won without looking at the action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Encoding

Array = NDArray[np.floating[Any]]
WIDTH, LAYERS, HEADS, HIDDEN, OUTPUT = 256, 3, 8, 1024, 128


def position_only(length: int) -> Array:
    """Frame index / T and nothing else, shape (T, 2).

    The constant second column keeps the position readable where a protocol normalizes each frame to length 1.
    """
    return np.stack([np.arange(length) / length, np.ones(length)], axis=1)


def position_only_encoding(encoding: Encoding) -> Encoding:
    """The encoding with features that hold a frame's position and nothing else."""
    lead = encoding.streams[0]
    stream = replace(lead, name="position", features=position_only(len(lead.seconds)).astype(np.float32))
    return replace(encoding, streams=(stream,))


class UntrainedTransformer:
    """A temporal transformer with sine-cosine positions, never trained: (T, d) → (T, 128).

    It has CARL's size (width 256, 3 pre-norm layers, 8 heads, feed-forward 1024) and Xavier-uniform weights
    from a fixed seed, so every run uses the same.

    Parameters
    ----------
    embeddings : sequence of numpy.ndarray [shape=(T, d)]
        The data set's own features; their mean and spread replace batch normalization.
    seed : int
    """

    def __init__(self, embeddings: Sequence[NDArray[Any]], *, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        frames = np.concatenate(embeddings).astype(np.float64)
        self.mean, self.spread = frames.mean(0), frames.std(0) + 1e-6

        def weights(rows: int, columns: int) -> Array:
            bound = np.sqrt(6 / (rows + columns))
            return random.uniform(-bound, bound, (rows, columns)).astype(np.float32)

        self.input = weights(frames.shape[1], WIDTH)
        self.layers = [
            (
                weights(WIDTH, 3 * WIDTH),
                weights(WIDTH, WIDTH),
                weights(WIDTH, HIDDEN),
                weights(HIDDEN, WIDTH),
            )
            for _ in range(LAYERS)
        ]
        self.output = weights(WIDTH, OUTPUT)

    def __call__(self, features: NDArray[Any]) -> Array:
        standard = ((features - self.mean) / self.spread).astype(np.float32)
        x = standard @ self.input + _positions(len(features))
        for attend, merge, widen, narrow in self.layers:
            x = x + _attention(_normalize(x) @ attend) @ merge
            x = x + np.maximum(_normalize(x) @ widen, 0) @ narrow
        return np.asarray(_normalize(x) @ self.output)


def _positions(length: int) -> Array:
    rate = np.exp(-np.log(10_000) * np.arange(0, WIDTH, 2) / WIDTH)
    angle = np.arange(length)[:, None] * rate
    return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(length, WIDTH).astype(np.float32)


def _normalize(x: Array) -> Array:
    return np.asarray((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5))


def _attention(projected: Array) -> Array:
    """(T, 3·width) → (T, width), all heads."""
    length = len(projected)
    query, key, value = projected.reshape(length, 3, HEADS, -1).transpose(1, 2, 0, 3)
    score = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
    share = np.exp(score - score.max(2, keepdims=True))
    mixed = (share / share.sum(2, keepdims=True)) @ value
    return np.asarray(mixed.transpose(1, 0, 2).reshape(length, WIDTH))
