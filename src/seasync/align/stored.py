"""Cost matrices of one query with clips as a sea stores them, made without a step of Python for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.align.batched import LONGEST, BatchedCosts
from seasync.align.grid import JITTER, ORDINARY
from seasync.align.kernels import stored as kernels
from seasync.align.kernels.vectors import LANES
from seasync.align.prepare import PreparedClip
from seasync.align.recipe import Recipe
from seasync.encoding import MIRRORS, WINDOW, WINDOW_FPS, EncodingBatch, Floats, Indices, Seconds


@dataclass(frozen=True, eq=False)
class StoredMatches:
    """A query and the clips of a batch, and how each of these is prepared.

    Attributes
    ----------
    query : PreparedClip
    batch : EncodingBatch
    recipe : Recipe
    plans : numpy.ndarray [shape=(B, 5)]
    rates : numpy.ndarray [shape=(B,)]
        See `kernels.stored.plan_clips`.
    """

    query: PreparedClip
    batch: EncodingBatch
    recipe: Recipe
    plans: Indices
    rates: Seconds

    @classmethod
    def of(cls, query: PreparedClip, batch: EncodingBatch, recipe: Recipe) -> StoredMatches | None:
        """None if recipe, query or batch need more than one plain stream of both."""
        only = query.streams[0]
        if (
            not recipe.compares_change
            or recipe.grid_fps is None
            or recipe.context
            or recipe.penalty
            or len(query.streams) > 1
            or only.still
            or only.name in MIRRORS
            or len(query) > LONGEST
            or (query.encoder, only.name, only.rows.shape[1])
            != (batch.encoder, batch.name, batch.features.shape[1])
        ):
            return None
        plans, rates = np.zeros((len(batch), 5), np.int64), np.zeros(len(batch))
        most = WINDOW if recipe.windows else LONGEST
        settings = JITTER, ORDINARY, float(most), WINDOW_FPS, recipe.grid_fps
        kernels.plan_clips(batch.seconds, batch.frames_of, batch.shots_of, settings, LONGEST, plans, rates)
        return cls(query, batch, recipe, plans, rates)

    def blocks(self) -> tuple[list[list[int]], list[int]]:
        """Clips to be solved together, LANES at most and of similar length; and those that are not plain."""
        plain = self.plans[:, kernels.PLAIN] == 1
        chosen = np.flatnonzero(plain)
        found: list[list[int]] = []
        for factor in np.unique(self.plans[chosen, kernels.FACTOR]).tolist():
            same = chosen[self.plans[chosen, kernels.FACTOR] == factor]
            same = same[np.argsort(self.plans[same, kernels.POINTS], kind="stable")]
            found += [part.tolist() for part in np.array_split(same, -(-len(same) // LANES))]
        return found, np.flatnonzero(~plain).tolist()

    def costs(self, block: list[int]) -> tuple[BatchedCosts, NDArray[np.bool_]]:
        """The cost matrices of one block, and whether something moves in each clip."""
        chosen, only = np.array(block), self.query.streams[0]
        plans = self.plans[chosen]
        sizes = np.zeros((2, LANES), np.int64)
        sizes[0, : len(block)], sizes[1, : len(block)] = len(self.query), plans[:, kernels.POINTS]
        moving = np.empty(len(block), np.bool_)

        def fill(planes: Floats, query: Floats, match: Floats) -> None:
            kernels.fill_lanes(
                self.batch.features.view(np.uint16), self.batch.seconds, self.batch.frames_of,
                self.plans, self.rates, chosen, self.recipe.change_seconds, self.recipe.stillness,
                only.rows, only.sides, planes, query, match, moving,
            )  # fmt: skip

        factors = np.array([self.query.factor, plans[0, kernels.FACTOR]])
        frames = only.length, int(plans[:, kernels.SAMPLES].max())
        return BatchedCosts.filled(fill, len(block), sizes, frames, factors, self.recipe.power), moving
