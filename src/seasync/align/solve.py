"""Aligning encodings: one pair, or one query with many matches at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seasync.align.alignment import Alignment, Piece
from seasync.align.batch import Abreast, lane_blocks, ratios
from seasync.align.cost import CostPair
from seasync.align.matrix import Cells, Solved, random_cost, solve_rows
from seasync.align.recipe import MOTION, Recipe
from seasync.align.track import prepare
from seasync.encoding import Encoding, Floats
from seasync.errors import FeatureError

Moments = Sequence[tuple[float, float]]
# A cost matrix of up to this many cells (256 MB) is kept whole; a larger one is computed block by block.
_WHOLE = 1 << 26


@dataclass(frozen=True, eq=False)
class Scores:
    """Of one query with B matches: draq, dtw_cost and random_cost, (B,) float64 each."""

    draq: NDArray[np.float64]
    dtw_cost: NDArray[np.float64]
    random_cost: NDArray[np.float64]


def align_encodings(
    query: Encoding,
    match: Encoding,
    *,
    recipe: Recipe = MOTION,
    anchors: Moments = (),
    band: float | None = None,
    paths: int | None = None,
    seed: int = 0,
) -> Alignment:
    """Align two encodings of one encoder.

    Where a stream tells left from right (pose), the match is also seen in a mirror, and the lower DRAQ wins.

    anchors      pairs of moments (query seconds, match seconds) that must correspond
    band         keep within this share of the length from the straight line between the ends
    paths, seed  draw that many random paths for DRAQ instead of computing their exact mean
    """
    pairs, _ = _pairs(query, [match], recipe)
    found = [_align(pair, anchors=anchors, band=band, paths=paths, seed=seed) for pair in pairs]
    return min(found, key=lambda alignment: alignment.draq)


def align_many(query: Encoding, matches: Sequence[Encoding], *, recipe: Recipe = MOTION) -> list[Alignment]:
    """`align_encodings` of the query with every match: the same results, faster together."""
    pairs, twins = _pairs(query, matches, recipe)
    out: dict[int, Alignment] = {}
    for block, abreast in _abreast(pairs, recipe):
        for k, solved in zip(block, abreast.solve(), strict=True):
            out[k] = _alignment(pairs[k], solved)
    found = [out[k] if k in out else _align(pair) for k, pair in enumerate(pairs)]
    for k, twin in twins.items():
        if found[twin].draq < found[k].draq:
            found[k] = found[twin]
    return found[: len(matches)]


def score_many(query: Encoding, matches: Sequence[Encoding], *, recipe: Recipe = MOTION) -> Scores:
    """DRAQ of the query with every match, without paths."""
    pairs, twins = _pairs(query, matches, recipe)
    costs = np.empty((2, len(pairs)))
    done: set[int] = set()
    for block, abreast in _abreast(pairs, recipe):
        costs[:, block] = abreast.scores()
        done.update(block)
    for k, pair in enumerate(pairs):
        if k not in done:
            solved = _solve(pair)
            costs[:, k] = solved.cost, solved.random
        if not pair.moving:
            costs[1, k] = costs[0, k]
    ratio = ratios(*costs)
    best = [min(k, twins.get(k, k), key=ratio.item) for k in range(len(matches))]
    return Scores(ratio[best], costs[0, best], costs[1, best])


def _pairs(
    query: Encoding, matches: Sequence[Encoding], recipe: Recipe
) -> tuple[list[CostPair], dict[int, int]]:
    """The query with every match, then with mirrored ones; and by match, where its mirrored pair is."""
    one = prepare(query, recipe)
    pairs = [CostPair(one, prepare(match, recipe), recipe) for match in matches]
    twins = {k: twin for k, pair in enumerate(pairs) if (twin := pair.mirrored())}
    return [*pairs, *twins.values()], {k: len(pairs) + at for at, k in enumerate(twins)}


def _abreast(pairs: list[CostPair], recipe: Recipe) -> Iterator[tuple[list[int], Abreast]]:
    """Indices of pairs that are solved abreast, with their costs written; a penalty is for single pairs."""
    if recipe.penalty:
        return
    for block in lane_blocks([pair.shape for pair in pairs]):
        abreast = Abreast([pairs[k].shape for k in block])
        abreast.fill([pairs[k].matrix() for k in block])
        yield block, abreast


def _align(
    pair: CostPair,
    *,
    anchors: Moments = (),
    band: float | None = None,
    paths: int | None = None,
    seed: int = 0,
) -> Alignment:
    cells = [_cell(pair, *moments) for moments in anchors]
    matrix = pair.matrix() if pair.shape[0] * pair.shape[1] <= _WHOLE else None
    solved = _solve(pair, matrix, band=band, anchors=cells)
    if paths is not None and pair.moving:
        if matrix is None:
            raise FeatureError(
                f"paths: drawing paths needs the whole {pair.shape[0]} × {pair.shape[1]} matrix; "
                "leave paths out, and their mean is computed exactly"
            )
        solved = replace(solved, random=random_cost(matrix, paths=paths, seed=seed))
    return _alignment(pair, solved, matrix)


def _solve(
    pair: CostPair, matrix: Floats | None = None, *, band: float | None = None, anchors: Cells = ()
) -> Solved:
    """The pair's path through its matrix, or through rows computed as they are needed."""
    penalty = pair.recipe.penalty
    if penalty:
        blocks = pair.blocks() if matrix is None else [(0, matrix)]
        penalty *= sum(float(block.sum(dtype=np.float64)) for _, block in blocks) / np.prod(pair.shape)
    blocks = pair.blocks() if matrix is None else [(0, matrix)]
    return solve_rows(blocks, *pair.shape, penalty=penalty, band=band, anchors=anchors)


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


def _alignment(pair: CostPair, solved: Solved, matrix: Floats | None = None) -> Alignment:
    query, match = pair.query, pair.match
    if not pair.moving:  # nothing to tell a good path from a bad one by
        solved = replace(solved, random=solved.cost)
    piece = Piece(
        0,
        len(solved.path),
        (float(query.seconds[0]), float(query.seconds[-1]) + query.step),
        (float(match.seconds[0]), float(match.seconds[-1]) + match.step),
        solved.cost,
        solved.random,
    )
    return Alignment(
        recipe=pair.recipe,
        path=solved.path,
        query_seconds=query.seconds,
        match_seconds=match.seconds,
        query_frames=query.frames,
        match_frames=match.frames,
        query_motion=pair.motion[0],
        match_motion=pair.motion[1],
        query_step=query.step,
        match_step=match.step,
        dtw_cost=solved.cost,
        random_cost=solved.random,
        pieces=(piece,),
        cost=matrix,
    )
