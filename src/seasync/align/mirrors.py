"""Matches as a mirror would show them, where a stream distinguishes left from right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seasync.align.cost_pair import CostPair
from seasync.align.pieces import Pieces
from seasync.align.prepare import PreparedClip
from seasync.align.recipe import Recipe

# A mirrored match is taken only if its whole path costs less than this share of the other one's.
_CHEAPER = 0.97


def with_mirrored(
    clips: Sequence[tuple[PreparedClip, PreparedClip]], recipe: Recipe
) -> tuple[list[CostPair], dict[int, int]]:
    """Every pair, then those with a mirrored match; and where each pair's mirrored one is."""
    pairs = [CostPair(query, match, recipe) for query, match in clips]
    mirrored = {k: other for k, pair in enumerate(pairs) if (other := pair.mirrored())}
    return [*pairs, *mirrored.values()], {k: len(pairs) + at for at, k in enumerate(mirrored)}


def choose_sides(found: Sequence[Pieces], mirrored_pairs: dict[int, int], count: int) -> list[int]:
    """For each of `count` matches, the index of its better solution: as it is, or mirrored."""
    if not mirrored_pairs:
        return list(range(count))
    score, whole = (np.array([getattr(each, name) for each in found]) for name in ("score", "whole_cost"))
    return better_sides(score, whole, mirrored_pairs, count)


def better_sides(
    score: NDArray[np.float64],
    whole_cost: NDArray[np.float64],
    mirrored_pairs: dict[int, int],
    count: int,
) -> list[int]:
    """For each of `count` matches, the index of its better solution: as it is, or mirrored.

    Of two tries one is better by chance. A mirror that is right makes the path cheaper; one that is wrong may
    only make random paths more expensive, and so the score better.
    """

    def better(plain: int, mirrored: int) -> int:
        cheaper = whole_cost[mirrored] < _CHEAPER * whole_cost[plain]
        return mirrored if cheaper and score[mirrored] < score[plain] else plain

    return [better(k, mirrored_pairs.get(k, k)) for k in range(count)]
