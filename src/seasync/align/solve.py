"""Aligning encodings: one pair, or one query with many matches at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial as bind
from itertools import pairwise

import numpy as np

from seasync.align.alignment import Alignment, Piece, end_of
from seasync.align.batch import Abreast, lane_blocks
from seasync.align.cost import CostPair
from seasync.align.matrix import Cells, Solved, random_cost, solve_rows
from seasync.align.partial import Manner, Parts
from seasync.align.recipe import MOTION, Recipe
from seasync.align.scores import Scores
from seasync.align.track import prepare
from seasync.encoding import Encoding, Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial

Moments = Sequence[tuple[float, float]]
# A cost matrix of up to this many cells (256 MB) is kept whole; a larger one is computed block by block.
_WHOLE = 1 << 26
# What the whole path must cost in the mirror, as a share of what it costs otherwise.
_CHEAPER = 0.97


def align_encodings(
    query: Encoding,
    match: Encoding,
    *,
    recipe: Recipe = MOTION,
    anchors: Moments = (),
    band: float | None = None,
    paths: int | None = None,
    seed: int = 0,
    partial: Partial = "auto",
    order: Order = "same",
) -> Alignment:
    """Align two encodings of one encoder.

    Where a stream tells left from right (pose), the match is seen in a mirror too; that counts if its score
    is better and its path clearly cheaper.

    anchors      pairs of moments (query seconds, match seconds) that must correspond; they may cross only if
                 the order is "any"
    band         keep within this share of the length from the straight line between the ends
    paths, seed  draw that many random paths for DRAQ instead of computing their exact mean
    partial      "never": from the first frames to the last; "always": only what corresponds; "auto": whole,
                 unless leaving something out is clearly better (always whole with a band, or a recipe
                 without `price`)
    order        "any" also looks for stretches that come in another order
    """
    crossing = _crossing(anchors)
    if crossing and order == "same":
        raise FeatureError(f"{crossing}: drop one of them, or let stretches come in any order (order 'any')")
    manner = Manner.of(recipe, partial, order, held=band is not None)
    manner = replace(manner, partial="always") if crossing else manner
    random = bind(random_cost, paths=paths, seed=seed)
    (pairs, twins), costs, found = _pairs(query, [match], recipe), [], []
    for pair in pairs:
        cost = _whole_cost(pair)
        cells = [_cell(pair, *moments) for moments in anchors]
        if crossing and (cost is None or not pair.moving):
            why = "the clips are too long" if cost is None else "nothing moves there"
            raise FeatureError(f"{crossing}, and {why}: drop one of them")
        whole = _solve(pair, cost, band=band, anchors=() if crossing else cells)
        if paths is not None and pair.moving:
            if cost is None:
                raise FeatureError(
                    f"the clips are too long to draw {paths} paths: leave paths out for their exact mean"
                )
            whole = replace(whole, random=random(cost))
        costs.append(cost)
        found.append(manner.parts(cost if pair.moving else None, whole, random, cells))
    [best] = _sides(found, twins, 1)
    return replace(_alignment(pairs[best], found[best]), cost=costs[best], anchors=tuple(anchors))


def align_many(
    query: Encoding,
    matches: Sequence[Encoding],
    *,
    recipe: Recipe = MOTION,
    partial: Partial = "auto",
    order: Order = "same",
) -> list[Alignment]:
    """`align_encodings` of the query with every match: the same results, faster together."""
    pairs, twins = _pairs(query, matches, recipe)
    parts = _solve_many(pairs, Manner.of(recipe, partial, order), Abreast.solve)
    return [_alignment(pairs[k], parts[k]) for k in _sides(parts, twins, len(matches))]


def score_many(
    query: Encoding, matches: Sequence[Encoding], *, recipe: Recipe = MOTION, partial: Partial = "never"
) -> Scores:
    """DRAQ of the query with every match, without paths; whole to whole unless `partial` says otherwise."""
    pairs, twins = _pairs(query, matches, recipe)
    parts = _solve_many(pairs, Manner.of(recipe, partial, "same"), Abreast.scores)
    return _scores([parts[k] for k in _sides(parts, twins, len(matches))])


def _scores(parts: Sequence[Parts]) -> Scores:
    return Scores.of([(part.cost, part.random, *part.coverage) for part in parts])


def _sides(parts: Sequence[Parts], twins: dict[int, int], count: int) -> list[int]:
    """For each of `count` matches, where its parts are: as it is, or in the mirror.

    Of two tries one is the better by chance. A mirror that is true makes the path cheaper; one that is not
    may only make random paths dearer, and so the score better.
    """
    score = _scores(parts).score
    return [
        twin if score[twin] < score[k] and parts[twin].whole_cost < _CHEAPER * parts[k].whole_cost else k
        for k, twin in ((k, twins.get(k, k)) for k in range(count))
    ]


def _solve_many(
    pairs: list[CostPair], manner: Manner, solve: Callable[[Abreast], list[Solved]]
) -> list[Parts]:
    """Every pair solved whole, abreast where that is faster, then in part where that is better."""
    found: dict[int, Parts] = {}
    # A penalty is for single pairs.
    blocks = [] if manner.recipe.penalty else lane_blocks([pair.shape for pair in pairs])
    for block in blocks:
        some = [pairs[k] for k in block]
        costs = [pair.matrix() for pair in some]
        abreast = Abreast(costs)
        wholes = [_judged(pair, whole) for pair, whole in zip(some, solve(abreast), strict=True)]
        parts = manner.parts_abreast(abreast, costs, wholes, [pair.moving for pair in some])
        found |= zip(block, parts, strict=True)
    for k, pair in enumerate(pairs):
        if k not in found:
            cost = _whole_cost(pair)
            found[k] = manner.parts(cost if pair.moving else None, _solve(pair, cost), random_cost)
    return [found[k] for k in range(len(pairs))]


def _pairs(
    query: Encoding, matches: Sequence[Encoding], recipe: Recipe
) -> tuple[list[CostPair], dict[int, int]]:
    """The query with every match, then with mirrored ones; and by match, where its mirrored pair is."""
    one = prepare(query, recipe)
    pairs = [CostPair(one, prepare(match, recipe), recipe) for match in matches]
    twins = {k: twin for k, pair in enumerate(pairs) if (twin := pair.mirrored())}
    return [*pairs, *twins.values()], {k: len(pairs) + at for at, k in enumerate(twins)}


def _whole_cost(pair: CostPair) -> Floats | None:
    return pair.matrix() if math.prod(pair.shape) <= _WHOLE else None


def _solve(
    pair: CostPair, matrix: Floats | None = None, *, band: float | None = None, anchors: Cells = ()
) -> Solved:
    """The pair's path through its matrix, or through rows computed as they are needed."""
    penalty = pair.recipe.penalty
    if penalty:
        blocks = pair.blocks() if matrix is None else [(0, matrix)]
        penalty *= sum(float(block.sum(dtype=np.float64)) for _, block in blocks) / np.prod(pair.shape)
    blocks = pair.blocks() if matrix is None else [(0, matrix)]
    return _judged(pair, solve_rows(blocks, *pair.shape, penalty=penalty, band=band, anchors=anchors))


def _judged(pair: CostPair, solved: Solved) -> Solved:
    """`solved`, but no better than chance if nothing moves: nothing tells a good path from a bad one."""
    return solved if pair.moving else replace(solved, random=solved.cost)


def _crossing(anchors: Moments) -> str:
    """Which two anchors are not in the same order in both clips, in words; empty if none."""
    for (query, match), (later, earlier) in pairwise(sorted(anchors)):
        if earlier < match:
            return (
                f"anchors {query:g}={match:g} and {later:g}={earlier:g} cross, what is later in the query is "
                "earlier in the match"
            )
    return ""


def _cell(pair: CostPair, query_seconds: float, match_seconds: float) -> tuple[int, int]:
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


def _alignment(pair: CostPair, parts: Parts) -> Alignment:
    query, match = pair.query, pair.match
    pieces, stop = [], 0
    for piece in parts.pieces:
        start, stop = stop, stop + len(piece.path)
        of_query, of_match = (
            (float(track.seconds[first]), end_of(track.seconds, last, track.step))
            for track, first, last in zip((query, match), piece.path[0], piece.path[-1], strict=True)
        )
        pieces.append(Piece(start, stop, of_query, of_match, piece.cost, piece.random))
    return Alignment(
        recipe=pair.recipe,
        path=np.concatenate([piece.path for piece in parts.pieces]),
        query_seconds=query.seconds,
        match_seconds=match.seconds,
        query_frames=query.frames,
        match_frames=match.frames,
        query_motion=pair.motion[0],
        match_motion=pair.motion[1],
        query_step=query.step,
        match_step=match.step,
        dtw_cost=parts.cost,
        random_cost=parts.random,
        pieces=tuple(pieces),
        coverage=parts.coverage,
    )
