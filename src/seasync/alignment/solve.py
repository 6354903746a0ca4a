"""Aligning encodings: `solve` solves any number of pairs; everything else asks it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial as bind
from itertools import pairwise
from typing import Literal

import numpy as np

from seasync.alignment.costs import BatchedCosts, CostPair, StoredMatches, batch_blocks, in_threads
from seasync.alignment.judge import Scores, likelihood, nothing_moves, product_of, shipped_calibration
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Cells, Path, SolvedPath, random_cost, solve_rows
from seasync.alignment.partial import Flags, choose_pieces, rejoin_scenes, score_batch, score_pair
from seasync.alignment.prepare import Grid, PreparedClip, prepare
from seasync.alignment.recipe import MOTION, Recipe
from seasync.alignment.result import Alignment, Piece
from seasync.encoding import Encoding, EncodingBatch, Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial

Clips = tuple[PreparedClip, PreparedClip]
Moments = Sequence[tuple[float, float]]
Keep = Literal["scores", "paths", "costs"]


def align_encodings(
    query: Encoding | PreparedClip,
    match: Encoding | PreparedClip,
    *,
    recipe: Recipe = MOTION,
    anchors: Moments = (),
    band: float | None = None,
    paths: int | None = None,
    seed: int = 0,
    partial: Partial | None = None,
    order: Order | None = None,
) -> Alignment:
    """Align two encodings of the same encoder.

    If a stream distinguishes left from right (pose), the match is also tried as seen in a mirror. The
    mirrored one is taken if its score is better and its path clearly cheaper.

    Parameters
    ----------
    query, match : Encoding
        The clips to align.
    recipe : Recipe
        How to compare frames, and what may be left out.
    anchors : sequence of (float, float)
        Pairs of moments (query seconds, match seconds) that must correspond. They may cross only if
        `order` is "any".
    band : float, optional
        Keep the path within this share of the length from the straight line between the ends.
    paths : int, optional
        Draw that many random paths for DRAQ instead of computing their exact mean.
    seed : int
        Seed for `paths`.
    partial : {"auto", "never", "always"}, optional
    order : {"same", "any"}, optional
        As in `Recipe`. Default: the recipe's.

    Returns
    -------
    Alignment
        With its cost matrix, unless the clips are too long to keep it.

    Raises
    ------
    FeatureError
        If the encodings do not fit together, or no path satisfies the anchors and the band.
    """
    asked = _check(recipe.asked(partial=partial, order=order), banded=band is not None)
    crossing = crossing_anchors(anchors)
    if crossing and asked.order == "same":
        raise FeatureError(f"{crossing}: remove one of them, or allow any order (order 'any')")
    asked = replace(asked, partial="always") if crossing else asked

    def solve_one(pair: CostPair) -> Scores:
        cost = pair.matrix_unless_large()
        if crossing and (cost is None or not pair.moving):
            why = "the clips are too long" if cost is None else "nothing moves there"
            raise FeatureError(f"{crossing}, and {why}: remove one of them")
        if paths is not None and cost is None:
            raise FeatureError(
                f"the clips are too long to draw {paths} paths: leave paths out for their exact mean"
            )
        random = bind(random_cost, paths=paths, seed=seed)
        cells = [_nearest_cell(pair, *moments) for moments in anchors]
        whole = _solve_whole(pair, cost, band=band, anchors=() if crossing else cells)
        if paths is not None and cost is not None and pair.moving:
            whole = replace(whole, random=random(cost))
        return _solve_in_part(pair, cost, whole, asked, keep="costs", random=random, anchors=cells)

    pairs, mirrored = _with_mirrored([(prepare(query, asked), prepare(match, asked))], asked)
    scores = Scores.joined([solve_one(pair) for pair in pairs], [[k] for k in range(len(pairs))])
    [best] = _choose_sides(scores, mirrored, 1, asked)
    return replace(as_alignment(pairs[best], scores, best, asked), anchors=tuple(anchors))


def align_many(
    query: Encoding | PreparedClip,
    matches: Sequence[Encoding | PreparedClip],
    *,
    recipe: Recipe = MOTION,
    partial: Partial | None = None,
    order: Order | None = None,
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
    asked = recipe.asked(partial=partial, order=order)
    prepared = prepare(query, asked)
    return align_pairs([(prepared, match) for match in _prepare_all(matches, asked)], asked)


def align_pairs(clips: Sequence[Clips], recipe: Recipe, *, keep: Keep = "paths") -> list[Alignment]:
    """Align many pairs of prepared clips (query, match); with their cost matrices if `keep` is "costs"."""
    pairs, scores = solve(clips, recipe, keep=keep)
    return [as_alignment(pair, scores, k, recipe) for k, pair in enumerate(pairs)]


def score_many(
    query: Encoding | PreparedClip,
    matches: Sequence[Encoding | PreparedClip],
    *,
    recipe: Recipe = MOTION,
    partial: Partial | None = "never",
) -> Scores:
    """Score one query against every match without tracing paths, which is faster than `align_many`.

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
    asked = _check(recipe.asked(partial=partial))
    prepared = prepare(query, asked)
    stored = None
    if isinstance(matches, EncodingBatch) and not (_rejoins(asked) and prepared.uninterrupted is not None):
        stored = StoredMatches.of(prepared, matches, asked)
    plain, others = stored.blocks() if stored else ([], list(range(len(matches))))
    lengths = {k: len(matches[k].seconds) for k in others}  # those of stored clips are not needed
    blocks = plain + _blocks_of(lengths, others)

    def score(at: int) -> Scores:
        # A thread prepares and solves one block after the other, so that it works on what its cache holds.
        if stored and at < len(plain):
            costs, moving = stored.costs(blocks[at])
            return _score_lanes(costs, moving, asked, keep="scores")
        clips = [(prepared, prepare(matches[k], asked)) for k in blocks[at]]
        return _solve_here(clips, asked, keep="scores")[1]

    scores = Scores.joined(in_threads(score, range(len(blocks))), blocks)
    span = float(prepared.lead.seconds[-1] - prepared.lead.seconds[0])
    return replace(scores, query_span=span)


def solve(clips: Sequence[Clips], recipe: Recipe, *, keep: Keep) -> tuple[list[CostPair], Scores]:
    """Solve every pair of clips: whole, or in part where the recipe wants it so.

    Parameters
    ----------
    clips : sequence of (PreparedClip, PreparedClip), length B
    recipe : Recipe
    keep : {"scores", "paths", "costs"}
        Compute scores alone, the paths as well, or also keep the cost matrices.

    Returns
    -------
    list of CostPair, length B
        The pairs; of mirrored ones the side that fits better.
    Scores
    """
    asked = _check(recipe)
    blocks = _blocks_of([max(map(len, pair)) for pair in clips], range(len(clips)))
    parts = in_threads(lambda block: _solve_here([clips[k] for k in block], asked, keep=keep), blocks)
    pairs: dict[int, CostPair] = {}
    for block, (own, _) in zip(blocks, parts, strict=True):
        pairs |= zip(block, own, strict=True)
    return [pairs[k] for k in range(len(clips))], Scores.joined([scores for _, scores in parts], blocks)


def _solve_here(clips: Sequence[Clips], recipe: Recipe, *, keep: Keep) -> tuple[list[CostPair], Scores]:
    """`solve` in this thread."""
    pairs, mirrored = _with_mirrored(clips, recipe)
    in_lanes = not recipe.penalty and recipe.order == "same"
    plain = [k for k, pair in enumerate(pairs) if in_lanes and not (_rejoins(recipe) and pair.is_interrupted)]
    blocks = [[plain[k] for k in block] for block in batch_blocks([pairs[k].shape for k in plain])]
    parts = []
    for block in blocks:
        some = [pairs[k] for k in block]
        moving = np.array([pair.moving for pair in some])
        parts.append(_score_lanes(BatchedCosts.of_pairs(some), moving, recipe, keep=keep))
    for k in sorted(set(range(len(pairs))).difference(*blocks)):
        cost = pairs[k].matrix_unless_large()
        parts.append(_solve_in_part(pairs[k], cost, _solve_whole(pairs[k], cost), recipe, keep=keep))
        blocks.append([k])
    scores = Scores.joined(parts, blocks)
    if not mirrored:
        return pairs, scores
    best = _choose_sides(scores, mirrored, len(clips), recipe)
    return [pairs[k] for k in best], scores.only(best)


def _score_lanes(batch: BatchedCosts, moving: Flags, recipe: Recipe, *, keep: Keep) -> Scores:
    contrast = _needs_contrast(recipe, keep)
    scores = score_batch(batch, moving, recipe, paths=keep != "scores", contrast=contrast)
    if keep != "costs":
        return scores
    return replace(scores, costs=tuple(batch.matrix(lane) for lane in range(batch.count)))


def _solve_in_part(
    pair: CostPair,
    cost: Floats | None,
    whole: SolvedPath,
    recipe: Recipe,
    *,
    keep: Keep,
    random: Callable[[Floats], float] = random_cost,
    anchors: Cells = (),
) -> Scores:
    """Scores and path of one pair whose path as a whole is known."""
    pieces: list[Path] = []
    if cost is not None and pair.moving and pair.is_interrupted and _rejoins(recipe) and not anchors:
        pieces = rejoin_scenes(cost, whole, recipe, *pair.uninterrupted)
    if pair.moving and not pieces:
        pieces = choose_pieces(cost, whole, recipe, anchors)
    scores = score_pair(cost, whole, pieces, recipe, random, contrast=_needs_contrast(recipe, keep))
    paths = () if keep == "scores" else scores.paths
    return replace(scores, paths=paths, costs=(cost,) if keep == "costs" else ())


def _solve_whole(
    pair: CostPair, matrix: Floats | None, *, band: float | None = None, anchors: Cells = ()
) -> SolvedPath:
    """The pair's path from end to end, through its matrix or through rows computed as they are needed."""
    penalty = pair.recipe.penalty
    if penalty:
        blocks = pair.blocks() if matrix is None else [(0, matrix)]
        penalty *= sum(float(block.sum(dtype=np.float64)) for _, block in blocks) / np.prod(pair.shape)
    blocks = pair.blocks() if matrix is None else [(0, matrix)]
    solved = solve_rows(blocks, *pair.shape, penalty=penalty, band=band, anchors=anchors)
    # Nothing distinguishes a good path of a motionless pair from a bad one: its DRAQ is 1.
    return solved if pair.moving else replace(solved, random=solved.cost)


def _rejoins(recipe: Recipe) -> bool:
    """Whether what interrupts a scene may be left out."""
    return recipe.takes_apart and recipe.order == "same"


def _needs_contrast(recipe: Recipe, keep: Keep) -> bool:
    """Whether the contrast is asked for: it belongs to the order of candidates."""
    return keep == "scores" and recipe.rerank == "order"


def _check(recipe: Recipe, *, banded: bool = False) -> Recipe:
    """The recipe, with nothing left out where there is a band.

    Raises
    ------
    FeatureError
        If what is asked for contradicts itself.
    """
    if banded and (recipe.partial == "always" or recipe.order == "any"):
        raise FeatureError(
            "a band works only with whole clips: leave out band, or leave out partial and order"
        )
    if recipe.order == "any" and recipe.partial == "never":
        raise FeatureError("order='any' takes clips apart: it needs partial='auto' or 'always'")
    return replace(recipe, partial="never") if banded else recipe


# Which pairs are solved together.


def _prepare_all(clips: Sequence[Encoding | PreparedClip], recipe: Recipe) -> list[PreparedClip]:
    """All clips prepared, a few of them in each thread at a time."""
    parts = [clips[first : first + LANES] for first in range(0, len(clips), LANES)]
    done = in_threads(lambda part: [prepare(clip, recipe) for clip in part], parts)
    return [clip for part in done for clip in part]


def _blocks_of(sizes: Sequence[int] | Mapping[int, int], chosen: Iterable[int]) -> list[list[int]]:
    """The numbers that are chosen in blocks of similar size, up to LANES in each."""
    order = sorted(chosen, key=lambda k: sizes[k])
    count = -(-len(order) // LANES)  # of about equal size, so that threads finish together
    return [order[at * len(order) // count : (at + 1) * len(order) // count] for at in range(count)]


# Anchors: pairs of moments that must correspond.


def crossing_anchors(anchors: Moments) -> str:
    """Which two anchors come in different orders in the two clips, in words; empty if none do."""
    for (query, match), (later, earlier) in pairwise(sorted(anchors)):
        if earlier < match:
            return (
                f"anchors {query:g}={match:g} and {later:g}={earlier:g} cross, what is later in the query is "
                "earlier in the match"
            )
    return ""


def _nearest_cell(pair: CostPair, *moments: float) -> tuple[int, int]:
    """The grid cell nearest to an anchor, a moment (seconds) of the query and one of the match."""
    cell = []
    for name, track, seconds in zip(("query", "match"), (pair.query, pair.match), moments, strict=True):
        first, last = float(track.seconds[0]), float(track.seconds[-1]) + track.step
        if not first <= seconds <= last:
            raise FeatureError(f"anchor at {seconds} s: the {name} has only {first:.2f}–{last:.2f} s")
        cell.append(int(np.abs(track.seconds - seconds).argmin()))
    return cell[0], cell[1]


# Matches as a mirror would show them, where a stream distinguishes left from right.


def _with_mirrored(clips: Sequence[Clips], recipe: Recipe) -> tuple[list[CostPair], dict[int, int]]:
    """Every pair, then those with a mirrored match; and where each pair's mirrored one is."""
    pairs = [CostPair(query, match, recipe) for query, match in clips]
    mirrored = {k: other for k, pair in enumerate(pairs) if (other := pair.mirrored())}
    return [*pairs, *mirrored.values()], {k: len(pairs) + at for at, k in enumerate(mirrored)}


def _choose_sides(scores: Scores, mirrored: dict[int, int], count: int, recipe: Recipe) -> list[int]:
    """For each of `count` matches, the number of its better solution: as it is, or mirrored.

    Of two tries one is better by chance. A mirror that is right makes the path cheaper; one that is wrong may
    only make random paths more expensive, and so the score better.
    """

    def better(plain: int, other: int) -> int:
        cheaper = scores.whole_cost[other] < recipe.mirror_share * scores.whole_cost[plain]
        return other if cheaper and scores.score[other] < scores.score[plain] else plain

    return [better(k, mirrored.get(k, k)) for k in range(count)]


# Alignments of pairs that are solved.


def as_alignment(pair: CostPair, scores: Scores, k: int, recipe: Recipe) -> Alignment:
    """The alignment of the pair whose scores and path stand at place `k`."""
    query, match = pair.query, pair.match
    cost, random = float(scores.dtw_cost[k]), float(scores.random_cost[k])
    product = product_of(query, match, float(scores.best_score[k]))
    solved = [each for _, *each in scores.pieces.of(k)] or [[cost, random]]
    query_grid, match_grid = Grid(query.seconds, query.step), Grid(match.seconds, match.step)
    pieces, stop = [], 0
    for path, (along, chance) in zip(scores.paths[k], solved, strict=True):
        start, stop = stop, stop + len(path)
        (i, j), (last, right) = path[0], path[-1]
        of_query, of_match = query_grid.span(i, last), match_grid.span(j, right)
        pieces.append(Piece(start, stop, of_query, of_match, along, chance))
    return Alignment(
        recipe=recipe,
        path=np.concatenate(scores.paths[k]),
        query_seconds=query.seconds,
        match_seconds=match.seconds,
        query_frames=query.frames,
        match_frames=match.frames,
        query_motion=pair.motion[0],
        match_motion=pair.motion[1],
        query_step=query.step,
        match_step=match.step,
        dtw_cost=cost,
        random_cost=random,
        pieces=tuple(pieces),
        coverage=(float(scores.query_coverage[k]), float(scores.match_coverage[k])),
        product=product,
        likelihood=0.0
        if nothing_moves(query, match, recipe)
        else likelihood(product, shipped_calibration(query.encoder, recipe)),
        cost=scores.costs[k] if scores.costs else None,
        pair=pair,
    )
