"""A teacher: alignments of the training clips with each other, by the recipe and all streams there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seasync.align import MOTION, Recipe, align_many
from seasync.align.consensus import apply_consensus
from seasync.encoding import Encoding, Seconds
from seasync.similarity import similarity_matrix
from seasync.train.training_clips import Footage, Progress

CLIPS = 400  # at most, drawn at random: the teacher holds their encodings
NEIGHBOURS = 10


def nearest_others(encodings: Sequence[Encoding], count: int, recipe: Recipe) -> list[list[int]]:
    """For each clip the numbers of the `count` others with the nearest clip vectors, nearest first."""
    similarity = similarity_matrix(encodings, encodings, trajectory=recipe.trajectory)
    np.fill_diagonal(similarity, -np.inf)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(count, len(encodings) - 1)]
    return [row.tolist() for row in order]


class Teacher:
    """Knows, of clips without a cut, which others move in step with them, and when."""

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
        self._pupils: dict[int, list[tuple[int, Seconds]]] = {}
        nearest = nearest_others([encodings[n] for n in whole], NEIGHBOURS, recipe) if len(whole) > 1 else []
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
                    self._pupils.setdefault(numbers[n], []).append((numbers[m], times))

    def __len__(self) -> int:
        """How many pairs it knows."""
        return sum(map(len, self._pupils.values()))

    def partner(self, number: int, rng: np.random.Generator) -> tuple[int, Seconds] | None:
        """A clip that moves in step with clip `number`, and when its frames happen there, if there is one."""
        known = self._pupils.get(number)
        return known[int(rng.integers(len(known)))] if known else None
