"""Scores of one query with many matches, without their paths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seasync.align.batched import BatchedCosts
from seasync.align.interruptions import is_interrupted
from seasync.align.kernels.vectors import LANES
from seasync.align.mirrors import better_sides, with_mirrored
from seasync.align.partial_policy import PartialPolicy
from seasync.align.pieces import contrast_of
from seasync.align.prepare import PreparedClip, prepare
from seasync.align.recipe import MOTION, Recipe
from seasync.align.scores import ScoredPieces, Scores
from seasync.align.solve import pair_blocks, solve_alone
from seasync.align.stored import StoredMatches
from seasync.align.threads import in_threads
from seasync.encoding import Encoding, EncodingBatch
from seasync.options import Partial


def score_many(
    query: Encoding | PreparedClip,
    matches: Sequence[Encoding | PreparedClip],
    *,
    recipe: Recipe = MOTION,
    partial: Partial = "never",
) -> Scores:
    """Score one query against every match without tracing whole paths, which is faster than `align_many`.

    Parameters
    ----------
    query : Encoding
    matches : sequence of Encoding, length B
    recipe, partial
        As in `align_encodings`; whole to whole by default.

    Returns
    -------
    Scores
        Arrays of shape (B,).
    """
    asked, policy = prepare(query, recipe), PartialPolicy.of(recipe, partial, "same")
    stored = None
    if isinstance(matches, EncodingBatch) and not (policy.rejoins and is_interrupted(asked)):
        stored = StoredMatches.of(asked, matches, recipe)
    plain, others = stored.blocks() if stored else ([], list(range(len(matches))))
    blocks = plain + _blocks(matches, others)

    def score(at: int) -> tuple[NDArray[np.float64], ScoredPieces]:
        if stored and at < len(plain):
            costs, moving = stored.costs(blocks[at])
            return policy.score_batched(costs, moving, contrast=recipe.rerank == "evidence")
        return _score_block(asked, [matches[k] for k in blocks[at]], policy)

    out, pieces = np.empty((len(matches), 6)), []
    for block, (rows, own) in zip(blocks, in_threads(score, range(len(blocks))), strict=True):
        out[block] = rows[:, :6]
        pieces.append(own.renumbered(block))
    span = float(asked.lead.seconds[-1] - asked.lead.seconds[0])
    return Scores(*out.T, query_span=span, pieces=ScoredPieces.joined(pieces))


def _blocks(clips: Sequence[Encoding | PreparedClip], chosen: Sequence[int]) -> list[list[int]]:
    """The positions of clips that are chosen, up to LANES of similar length together.

    A thread prepares and solves one block after the other, so that what it works on stays in its cache.
    """
    order = sorted(chosen, key=lambda k: len(clips[k].seconds))
    count = -(-len(order) // LANES)  # of about equal size, so that threads finish together
    return [order[at * len(order) // count : (at + 1) * len(order) // count] for at in range(count)]


def _score_block(
    query: PreparedClip, matches: Sequence[Encoding | PreparedClip], policy: PartialPolicy
) -> tuple[NDArray[np.float64], ScoredPieces]:
    """As `PartialPolicy.score_batched`, for one query and its matches."""
    recipe = policy.recipe
    contrast = recipe.rerank == "evidence"
    pairs, mirrored_pairs = with_mirrored([(query, prepare(match, recipe)) for match in matches], recipe)
    rows, pieces = np.full((len(pairs), 7), np.nan), []
    for block in pair_blocks(pairs, policy):
        some = [pairs[k] for k in block]
        moving = np.array([pair.moving for pair in some])
        rows[block], own = policy.score_batched(BatchedCosts.of_pairs(some), moving, contrast=contrast)
        pieces.append(own.renumbered(block))
    for k in np.flatnonzero(np.isnan(rows[:, 6])).tolist():
        found, cost = solve_alone(pairs[k], policy)
        against = contrast_of(cost, found) if contrast and cost is not None else 1.0
        rows[k] = found.cost, found.random, *found.coverage, against, found.whole_draq, found.whole_cost
        pieces.append(found.scored(k))
    parts = ScoredPieces.joined(pieces)
    if mirrored_pairs:
        score = Scores(*rows[:, :6].T).score
        sides = better_sides(score, rows[:, 6], mirrored_pairs, len(matches))
        rows, parts = rows[sides], parts.only(sides)
    return rows, parts
