"""Interrupted scenes: foreign footage in the middle of a movement, which continues afterwards.

Both halves of such a movement are shots of their own. Each would be compared by its own mean, not by the
movement's, and the path would have to find where the foreign footage begins and ends. But one can see where a
scene continues: its shots look alike, and what is between them does not. So the pair is also solved as if the
scene had not been interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.align.cost_pair import CostPair
from seasync.align.edits import edited, pieces_of
from seasync.align.matrix import Path, SolvedPath, solve_whole
from seasync.align.partial_policy import PartialPolicy
from seasync.align.pieces import Pieces, measured
from seasync.align.prepare import PreparedClip
from seasync.align.prices import Prices
from seasync.align.recipe import Recipe
from seasync.align.scores import draq_of
from seasync.encoding import Floats

# Shots show one scene if 1 − cosine of their mean features is below this. Halves of golf swings, pitches,
# push-ups and yoga poses differ by .24 at most from each other, and by .35 at least from foreign footage. Of
# 30 films that were written and encoded, one has foreign footage that looks more alike (.27).
_ALIKE = 0.3
# The interruption is foreign if the clips without it have a DRAQ below this share of what they have with it.
# Chosen on golf swings: where another player shows the middle of a swing, it belongs to the movement.
_CLEARLY_BETTER = 0.85


def is_interrupted(clip: PreparedClip) -> bool:
    """Whether a scene of the clip is interrupted and continues."""
    return _samples_of_scene(clip) is not None


def uninterrupted(
    pair: CostPair,
    cost: Floats,
    whole: SolvedPath,
    policy: PartialPolicy,
    random: Callable[[Floats], float],
) -> Pieces | None:
    """Solve a pair without the interruptions of its clips, and see whether they fit clearly better then.

    Parameters
    ----------
    pair : CostPair
    cost : numpy.ndarray [shape=(n, m)]
        Its cost matrix.
    whole : SolvedPath
        Its path from end to end.
    policy : PartialPolicy
        What else may be left out.
    random : callable
        Gives the mean cost of random paths through a matrix.

    Returns
    -------
    Pieces or None
        The paths on the grids of the clips as they are, measured by the pair's own costs. Its `whole_cost`
        and `whole_random` are those without interruptions. None if the clips do not fit clearly better then.
    """
    query, rows = _rejoined(pair.query, pair.recipe)
    match, columns = _rejoined(pair.match, pair.recipe)
    rejoined = CostPair(query, match, pair.recipe)
    if (query is pair.query and match is pair.match) or not rejoined.moving:
        return None
    costs = rejoined.matrix()
    penalty = pair.recipe.penalty * float(costs.mean(dtype=np.float64))
    solved = replace(solve_whole(costs, penalty=penalty), random=random(costs))
    if draq_of(solved.cost, solved.random) >= _CLEARLY_BETTER * draq_of(whole.cost, whole.random):
        return None
    pieces: list[Path] = []
    for piece in policy.choose(costs, solved, random).pieces:
        pieces_of(np.stack([rows[piece.path[:, 0]], columns[piece.path[:, 1]]], axis=1), pieces)
    return measured(cost, Prices.of(cost, policy.share), pieces, solved, random)


def _samples_of_scene(clip: PreparedClip) -> NDArray[np.bool_] | None:
    """The samples of the clip without what interrupts its longest interrupted scene, shape (T,).

    None if there is no such scene, or if several streams would have to be taken apart.
    """
    features, shots = clip.lead.features, clip.lead.shots
    if len(shots) < 3 or len(clip.streams) > 1:
        return None
    lengths = np.diff(np.append(shots, len(features)))
    sums = np.add.reduceat(features, shots, axis=0, dtype=np.float64)
    directions = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    alike = 1 - directions @ directions.T < _ALIKE
    best, longest = None, 0
    for scene in alike:
        first, last = np.flatnonzero(scene)[[0, -1]]
        kept = scene.copy()
        kept[:first] = kept[last + 1 :] = True
        if not kept.all() and lengths[scene].sum() > longest:
            best, longest = np.repeat(kept, lengths), lengths[scene].sum()
    return best


def _rejoined(clip: PreparedClip, recipe: Recipe) -> tuple[PreparedClip, NDArray[np.int32]]:
    """The clip without its interruption, and which of the clip's grid points each of its own is, (n,)."""
    kept = _samples_of_scene(clip)
    if kept is None:
        return clip, np.arange(len(clip), dtype=np.int32)
    return edited(clip, np.flatnonzero(kept), recipe)
