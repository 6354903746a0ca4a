"""Aligning encodings: one pair, or one query with many matches at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial as bind
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.costs import BatchedCosts, CostPair, StoredMatches, batch_blocks, in_threads
from seasync.alignment.judge import ScoredPieces, Scores, likelihood
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Cells, SolvedPath, random_cost, solve_rows
from seasync.alignment.partial import PartialPolicy, choose_pieces, is_interrupted
from seasync.alignment.prepare import PreparedClip, end_of, prepare
from seasync.alignment.prices import Pieces, contrast_of
from seasync.alignment.recipe import MOTION, Recipe
from seasync.alignment.result import Alignment, Piece
from seasync.alignment.steady import steadied
from seasync.encoding import Encoding, EncodingBatch, Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial

# Anchors: pairs of moments that must correspond.


Moments = Sequence[tuple[float, float]]


def crossing_anchors(anchors: Moments) -> str:
    """Which two anchors come in different orders in the two clips, in words; empty if none do."""
    for (query, match), (later, earlier) in pairwise(sorted(anchors)):
        if earlier < match:
            return (
                f"anchors {query:g}={match:g} and {later:g}={earlier:g} cross, what is later in the query is "
                "earlier in the match"
            )
    return ""


def nearest_cell(pair: CostPair, query_seconds: float, match_seconds: float) -> tuple[int, int]:
    """The grid cell nearest to an anchor."""
    cell = []
    for name, track, seconds in (
        ("query", pair.query, query_seconds),
        ("match", pair.match, match_seconds),
    ):
        first, last = float(track.seconds[0]), float(track.seconds[-1]) + track.step
        if not first <= seconds <= last:
            raise FeatureError(f"anchor at {seconds} s: the {name} has only {first:.2f}–{last:.2f} s")
        cell.append(int(np.abs(track.seconds - seconds).argmin()))
    return cell[0], cell[1]


# Matches as a mirror would show them, where a stream distinguishes left from right.


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


# Scores of one query with many matches, without their paths.


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
