"""The teacher: alignments of training clips with each other, using all streams of the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seasync.align import MOTION, Recipe, align_many
from seasync.align.consensus import apply_consensus
from seasync.encoding import Encoding, Seconds
from seasync.similarity import similarity_matrix
from seasync.train.training_clips import Footage, Progress

CLIPS = 400  # at most, drawn at random: the teacher keeps their encodings in memory
NEIGHBORS = 10


def nearest_others(encodings: Sequence[Encoding], count: int, recipe: Recipe) -> list[list[int]]:
    """For each clip the numbers of the `count` others with the nearest clip vectors, nearest first."""
    similarity = similarity_matrix(encodings, encodings, trajectory=recipe.trajectory)
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(count, len(encodings) - 1)]
    return [row.tolist() for row in order]


class Teacher:
    """For clips without a cut: which other clips move in step with them, and when.

    Parameters
    ----------
    footage : Footage
    numbers : sequence of int
        The clips to align.
    recipe : Recipe
    seed : int
    progress : callable, optional
    """

    def __init__(
        self,
        footage: Footage,
        numbers: Sequence[int],
        *,
        recipe: Recipe = MOTION,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        numbers = sorted(np.random.default_rng(seed).permutation(numbers)[:CLIPS].tolist())
        encodings = footage.encodings(numbers)
        whole = [n for n, encoding in enumerate(encodings) if len(encoding.shots) == 1]
        self._partners: dict[int, list[tuple[int, Seconds]]] = {}
        nearest = nearest_others([encodings[n] for n in whole], NEIGHBORS, recipe) if len(whole) > 1 else []
        for at, n in enumerate(whole[: len(nearest)]):
            if progress:
                progress("teacher", at, len(whole))
            others = [whole[k] for k in nearest[at]]
            matches = [encodings[m] for m in others]
            alignments = apply_consensus(align_many(encodings[n], matches, recipe=recipe), matches)
            for m, alignment in zip(others, alignments, strict=True):
                if alignment.alignable:
                    warp, seconds = alignment.warp(keep="match"), encodings[m].seconds
                    times = np.where(warp.covers(seconds), warp.at(seconds), np.nan)
                    self._partners.setdefault(numbers[n], []).append((numbers[m], times))

    def __len__(self) -> int:
        """Number of aligned pairs."""
        return sum(map(len, self._partners.values()))

    def partner(self, number: int, rng: np.random.Generator) -> tuple[int, Seconds] | None:
        """Draw a clip that aligns with clip `number`, and when its frames happen there; None if none does."""
        known = self._partners.get(number)
        return known[int(rng.integers(len(known)))] if known else None
