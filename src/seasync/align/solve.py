"""Aligning encodings: one pair, or one query with many matches at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial as bind

import numpy as np

from seasync.align.alignment import Alignment
from seasync.align.anchors import Moments, crossing_anchors, nearest_cell
from seasync.align.batched import BatchedCosts, batch_blocks
from seasync.align.choosing import choose_pieces
from seasync.align.cost_pair import CostPair
from seasync.align.fit import Piece
from seasync.align.grid import end_of
from seasync.align.interruptions import is_interrupted
from seasync.align.likelihood import likelihood
from seasync.align.matrix import Cells, SolvedPath, random_cost, solve_rows
from seasync.align.mirrors import choose_sides, with_mirrored
from seasync.align.partial_policy import PartialPolicy
from seasync.align.pieces import Pieces
from seasync.align.prepare import PreparedClip, prepare
from seasync.align.recipe import MOTION, Recipe
from seasync.align.steady import steadied
from seasync.align.threads import in_threads
from seasync.encoding import Encoding, Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial

_AT_ONCE = 16  # clips that a thread prepares before it takes more


def align_encodings(
    query: Encoding | PreparedClip,
    match: Encoding | PreparedClip,
    *,
    recipe: Recipe = MOTION,
    anchors: Moments = (),
    band: float | None = None,
    paths: int | None = None,
    seed: int = 0,
    partial: Partial = "auto",
    order: Order = "same",
) -> Alignment:
    """Align two encodings of the same encoder.

    If a stream distinguishes left from right (pose), the match is also tried as seen in a mirror. The
    mirrored one is taken if its score is better and its path clearly cheaper.

    Parameters
    ----------
    query, match : Encoding
        The clips to align.
    recipe : Recipe
        How to compare frames.
    anchors : sequence of (float, float)
        Pairs of moments (query seconds, match seconds) that must correspond. They may cross only if
        `order` is "any".
    band : float, optional
        Keep the path within this share of the length from the straight line between the ends.
    paths : int, optional
        Draw that many random paths for DRAQ instead of computing their exact mean.
    seed : int
        Seed for `paths`.
    partial : {"auto", "never", "always"}
        "never" aligns from the first frames to the last. "always" aligns only what corresponds. "auto"
        aligns the whole clips unless leaving something out is clearly better; it is "never" with a band
        or with a recipe that has no `price`.
    order : {"same", "any"}
        "any" also looks for stretches that come in another order.

    Returns
    -------
    Alignment
        With its cost matrix, unless the clips are too long to keep it.

    Raises
    ------
    FeatureError
        If the encodings do not fit together, or no path satisfies the anchors and the band.
    """
    crossing = crossing_anchors(anchors)
    if crossing and order == "same":
        raise FeatureError(f"{crossing}: remove one of them, or allow any order (order 'any')")
    policy = PartialPolicy.of(recipe, partial, order, banded=band is not None)
    policy = replace(policy, partial="always") if crossing else policy
    random = bind(random_cost, paths=paths, seed=seed)
    pairs, mirrored_pairs = with_mirrored([(prepare(query, recipe), prepare(match, recipe))], recipe)
    costs, found = [], []
    for pair in pairs:
        cost = pair.matrix_unless_large()
        cells = [nearest_cell(pair, *moments) for moments in anchors]
        if crossing and (cost is None or not pair.moving):
            why = "the clips are too long" if cost is None else "nothing moves there"
            raise FeatureError(f"{crossing}, and {why}: remove one of them")
        whole = _solve(pair, cost, band=band, anchors=() if crossing else cells)
        if paths is not None and pair.moving:
            if cost is None:
                raise FeatureError(
                    f"the clips are too long to draw {paths} paths: leave paths out for their exact mean"
                )
            whole = replace(whole, random=random(cost))
        costs.append(cost)
        chosen = choose_pieces(pair, cost, whole, policy, random, cells)
        found.append(steadied(pair, chosen, cost, band=band, anchors=cells))
    [best] = choose_sides(found, mirrored_pairs, 1)
    return replace(as_alignment(pairs[best], found[best]), cost=costs[best], anchors=tuple(anchors))


def align_many(
    query: Encoding | PreparedClip,
    matches: Sequence[Encoding | PreparedClip],
    *,
    recipe: Recipe = MOTION,
    partial: Partial = "auto",
    order: Order = "same",
) -> list[Alignment]:
    """Align one query with every match.

    The results are those of `align_encodings`, without cost matrices; solving together is faster.

    Parameters
    ----------
    query : Encoding
    matches : sequence of Encoding, length B
    recipe, partial, order
        As in `align_encodings`.

    Returns
    -------
    list of Alignment, length B
    """
    asked = prepare(query, recipe)
    pairs = [(asked, match) for match in _prepared(matches, recipe)]
    return align_pairs(pairs, recipe=recipe, partial=partial, order=order)


def align_pairs(
    clips: Sequence[tuple[PreparedClip, PreparedClip]],
    *,
    recipe: Recipe = MOTION,
    partial: Partial = "auto",
    order: Order = "same",
) -> list[Alignment]:
    """Align many pairs of prepared clips (query, match); as `align_many` does for one query."""
    solved = solve_pairs(clips, recipe=recipe, partial=partial, order=order)
    return [as_alignment(pair, steadied(pair, found, None)) for pair, found in solved]


def align_with_costs(
    query: PreparedClip, matches: Sequence[PreparedClip], *, recipe: Recipe, partial: Partial
) -> list[Alignment]:
    """As `align_many`, but with the cost matrices that `align_encodings` keeps."""
    pairs, mirrored_pairs = with_mirrored([(query, match) for match in matches], recipe)
    costs: dict[int, Floats | None] = {}
    found = _solve_many(pairs, PartialPolicy.of(recipe, partial, "same"), costs)
    best = choose_sides(found, mirrored_pairs, len(matches))
    paths = (steadied(pairs[k], found[k], costs[k]) for k in best)
    return [replace(as_alignment(pairs[k], path), cost=costs[k]) for k, path in zip(best, paths, strict=True)]


def solve_pairs(
    clips: Sequence[tuple[PreparedClip, PreparedClip]],
    *,
    recipe: Recipe,
    partial: Partial,
    order: Order = "same",
) -> list[tuple[CostPair, Pieces]]:
    """What `align_pairs` makes alignments of, with the cheapest paths."""
    pairs, mirrored_pairs = with_mirrored(clips, recipe)
    found = _solve_many(pairs, PartialPolicy.of(recipe, partial, order))
    return [(pairs[k], found[k]) for k in choose_sides(found, mirrored_pairs, len(clips))]


def _solve_many(
    pairs: list[CostPair], policy: PartialPolicy, costs: dict[int, Floats | None] | None = None
) -> list[Pieces]:
    """Every pair solved whole, in batches where that is faster, then in part where that is better.

    The cost matrices go into `costs`, by the pairs' numbers, if it is given.
    """
    found: dict[int, Pieces] = {}

    def solve_block(block: list[int]) -> list[Pieces]:
        some = [pairs[k] for k in block]
        batch = BatchedCosts.of_pairs(some)
        if costs is not None:
            costs.update((k, batch.matrix(lane)) for lane, k in enumerate(block))
        wholes = [_as_chance_if_still(*pair) for pair in zip(some, batch.solve(), strict=True)]
        return policy.choose_batched(batch, wholes, [pair.moving for pair in some])

    blocks = pair_blocks(pairs, policy)
    for block, chosen in zip(blocks, in_threads(solve_block, blocks), strict=True):
        found |= zip(block, chosen, strict=True)
    for k, pair in enumerate(pairs):
        if k not in found:
            found[k], alone = solve_alone(pair, policy)
            if costs is not None:
                costs[k] = alone
    return [found[k] for k in range(len(pairs))]


def pair_blocks(pairs: Sequence[CostPair], policy: PartialPolicy) -> list[list[int]]:
    """The numbers of pairs that are solved in a batch: it knows no penalty, interruption or other order."""
    if policy.recipe.penalty or policy.order == "any":
        return []
    plain = [
        k
        for k, pair in enumerate(pairs)
        if not policy.rejoins or not (is_interrupted(pair.query) or is_interrupted(pair.match))
    ]
    return [[plain[k] for k in block] for block in batch_blocks([pairs[k].shape for k in plain])]


def solve_alone(pair: CostPair, policy: PartialPolicy) -> tuple[Pieces, Floats | None]:
    """One pair solved whole, or in part where that is better; and its cost matrix, unless it is too large."""
    cost = pair.matrix_unless_large()
    return choose_pieces(pair, cost, _solve(pair, cost), policy, random_cost), cost


def _prepared(clips: Sequence[Encoding | PreparedClip], recipe: Recipe) -> list[PreparedClip]:
    """All clips prepared, a few of them in each thread at a time."""
    parts = [clips[first : first + _AT_ONCE] for first in range(0, len(clips), _AT_ONCE)]
    done = in_threads(lambda part: [prepare(clip, recipe) for clip in part], parts)
    return [clip for part in done for clip in part]


def _solve(
    pair: CostPair, matrix: Floats | None = None, *, band: float | None = None, anchors: Cells = ()
) -> SolvedPath:
    """The pair's path through its matrix, or through rows computed as they are needed."""
    penalty = pair.recipe.penalty
    if penalty:
        blocks = pair.blocks() if matrix is None else [(0, matrix)]
        penalty *= sum(float(block.sum(dtype=np.float64)) for _, block in blocks) / np.prod(pair.shape)
    blocks = pair.blocks() if matrix is None else [(0, matrix)]
    solved = solve_rows(blocks, *pair.shape, penalty=penalty, band=band, anchors=anchors)
    return _as_chance_if_still(pair, solved)


def _as_chance_if_still(pair: CostPair, solved: SolvedPath) -> SolvedPath:
    """A motionless pair gets DRAQ 1: nothing distinguishes a good path from a bad one."""
    return solved if pair.moving else replace(solved, random=solved.cost)


def as_alignment(pair: CostPair, found: Pieces) -> Alignment:
    """The alignment of a pair that is solved."""
    query, match = pair.query, pair.match
    pieces, stop = [], 0
    for piece in found.pieces:
        start, stop = stop, stop + len(piece.path)
        of_query, of_match = (
            (float(track.seconds[first]), end_of(track.seconds, last, track.step))
            for track, first, last in zip((query, match), piece.path[0], piece.path[-1], strict=True)
        )
        pieces.append(Piece(start, stop, of_query, of_match, piece.cost, piece.random))
    return Alignment(
        recipe=pair.recipe,
        path=np.concatenate([piece.path for piece in found.pieces]),
        query_seconds=query.seconds,
        match_seconds=match.seconds,
        query_frames=query.frames,
        match_frames=match.frames,
        query_motion=pair.motion[0],
        match_motion=pair.motion[1],
        query_step=query.step,
        match_step=match.step,
        dtw_cost=found.cost,
        random_cost=found.random,
        pieces=tuple(pieces),
        coverage=found.coverage,
        likelihood=likelihood(query, match, min(found.score, found.whole_draq), pair.recipe),
        pair=pair,
    )
