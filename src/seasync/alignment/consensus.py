"""Consensus: correct an alignment of two clips by the detours through other clips."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial as partial_of

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.prepare import PreparedClip, prepare
from seasync.alignment.recipe import MOTION, Recipe
from seasync.alignment.result import Alignment, Piece
from seasync.alignment.solve import align_many, as_alignment, solve
from seasync.encoding import Encoding, Seconds
from seasync.errors import FeatureError

FEWEST = 2  # detours that must be defined at a moment; with fewer, the path stays as it is


def apply_consensus(
    alignments: Sequence[Alignment], matches: Sequence[Encoding | PreparedClip]
) -> list[Alignment]:
    """Let the alignments of one query correct each other.

    A moment of the query moves to the median of its partner in the match, counted three times, and of where
    up to nine detours through its partners in other matches lead. A detour counts if both of its ways align,
    or if their DRAQ is hardly higher than that of the direct way: where nothing fits well, many mediocre
    ways together are still better than one. Ends of pieces, DRAQ and verdict stay the same.

    Parameters
    ----------
    alignments : sequence of Alignment, length B
        The query aligned with each match.
    matches : sequence of Encoding, length B
        They are aligned with each other as the alignments' recipe says.

    Returns
    -------
    list of Alignment, length B
    """
    if not alignments:
        return []
    recipe, direct = alignments[0].recipe, [_Way.of(each) for each in alignments]
    worst = max(alignment.draq for alignment in alignments)
    helpers = [n for n, way in enumerate(direct) if way.helps(worst)][: recipe.helpers + 1]
    onward = _ways_between(helpers, matches, recipe)
    reached: list[list[Seconds]] = [[] for _ in matches]
    for helper in helpers:
        for n, alignment in enumerate(alignments):
            if n == helper or len(reached[n]) == recipe.helpers:
                continue
            there, way = direct[helper], onward[helper, n]
            if there.helps(alignment.draq) and way.helps(alignment.draq):
                reached[n].append(way.follow(there.partners))
    return [_correct(*each) for each in zip(alignments, direct, reached, strict=True)]


def disagreement(query: Encoding, matches: Sequence[Encoding], *, recipe: Recipe = MOTION) -> float:
    """Measure how far direct alignments are from the detours through other matches.

    It needs no labels: features that align better disagree less. Only features that know nothing but the
    position in the clip agree with each other without being right.

    Parameters
    ----------
    query : Encoding
    matches : sequence of Encoding, three or more
    recipe : Recipe

    Returns
    -------
    float
        Mean distance in milliseconds, weighted by motion.

    Raises
    ------
    FeatureError
        If there are fewer than three matches.
    """
    if len(matches) <= FEWEST:
        raise FeatureError(f"disagreement needs three matches or more, got {len(matches)}")
    whole, everyone = recipe.asked(partial="never"), range(len(matches))
    alignments = align_many(query, matches, recipe=whole)
    direct = [_Way.of(alignment) for alignment in alignments]
    onward = _ways_between(everyone, matches, whole)
    apart = []
    for n, (way, alignment) in enumerate(zip(direct, alignments, strict=True)):
        helpers = [helper for helper in everyone if helper != n][: recipe.helpers]
        detours = [onward[helper, n].follow(direct[helper].partners) for helper in helpers]
        gaps = np.abs(way.partners - np.median(detours, axis=0))
        apart.append(1000 * np.average(gaps, weights=alignment.query_motion))
    return float(np.mean(apart))


@dataclass(frozen=True, eq=False)
class _Way:
    """The way from one clip to another.

    path (L, 2): grid points of both; seconds: the times of their grids; aligns: whether the clips correspond.
    """

    path: NDArray[np.int32]
    seconds: tuple[Seconds, Seconds]
    draq: float
    recipe: Recipe
    aligns: Callable[[], bool]

    @classmethod
    def of(cls, alignment: Alignment) -> "_Way":
        """The way that an alignment describes."""
        one = alignment
        seconds = one.query_seconds, one.match_seconds
        return cls(one.path, seconds, one.draq, one.recipe, lambda: one.alignable)

    def back(self) -> "_Way":
        """The same path, read from the other side."""
        return replace(self, path=self.path[:, ::-1], seconds=self.seconds[::-1])

    @cached_property
    def partners(self) -> Seconds:
        """The partner of each grid point of the clip where the way begins, shape (n,); NaN where none is."""
        (points, others), (seconds, other_seconds) = self.path.T, self.seconds
        values, out = other_seconds[others], np.full(len(seconds), np.nan)
        if self.recipe.readout == "first":
            out[points[::-1]] = values[::-1]
            return out
        counts = np.bincount(points, minlength=len(out))
        np.divide(np.bincount(points, values, len(out)), counts, out=out, where=counts > 0)
        return out

    def helps(self, draq: float) -> bool:
        """Whether the way is good enough to correct a direct one of that DRAQ."""
        return self.draq <= draq + self.recipe.worse_detour or self.aligns()

    def follow(self, moments: Seconds) -> Seconds:
        """Where the way leads from moments of the clip where it begins, shape (N,); NaN if it does not."""
        return np.interp(moments, self.seconds[0], self.partners)


def _ways_between(
    helpers: Sequence[int], matches: Sequence[Encoding | PreparedClip], recipe: Recipe
) -> dict[tuple[int, int], _Way]:
    """The way from each helper to all other matches, by their numbers.

    A pair is aligned once: the way back is the same path, read from the other side.
    """
    clips = [prepare(match, recipe) for match in matches]
    chosen = [(h, n) for h in helpers for n in range(len(clips)) if n != h and (n > h or n not in helpers)]
    pairs, scores = solve([(clips[h], clips[n]) for h, n in chosen], recipe, keep="paths")
    draq, ways = scores.draq.tolist(), {}
    for k, ((h, n), pair) in enumerate(zip(chosen, pairs, strict=True)):
        seconds, path = (pair.query.seconds, pair.match.seconds), np.concatenate(scores.paths[k])
        aligns = partial_of(lambda at, pair: as_alignment(pair, scores, at, recipe).alignable, k, pair)
        ways[h, n] = _Way(path, seconds, draq[k], recipe, aligns)
        ways[n, h] = ways[h, n].back()
    return ways


def _correct(alignment: Alignment, way: _Way, detours: Sequence[Seconds]) -> Alignment:
    """Move the path of an alignment to the medians of its own partners and of where detours lead."""
    if len(detours) < FEWEST:
        return alignment
    partners, found = way.partners.copy(), np.array(detours)
    sure = np.isfinite(partners) & (np.isfinite(found).sum(0) >= FEWEST)
    direct = [partners[sure]] * alignment.recipe.direct_weight
    partners[sure] = np.nanmedian([*direct, *found[:, sure]], axis=0)
    grid, paths, pieces, stop = np.arange(len(alignment.match_seconds)), [], [], 0
    for piece in alignment.pieces:
        (first, left), (last, right) = alignment.path[[piece.start, piece.stop - 1]].tolist()
        rows = slice(first, last + 1)  # a path without jumps leaves none out
        places = np.interp(np.maximum.accumulate(partners[rows]), alignment.match_seconds, grid)
        paths.append(_path_through(places, first, left, right))
        start, stop = stop, stop + len(paths[-1])
        pieces.append(replace(piece, start=start, stop=stop))
    return _recost(replace(alignment, path=np.concatenate(paths), pieces=tuple[Piece, ...](pieces)))


def _path_through(places: Seconds, top: int, left: int, right: int) -> NDArray[np.int32]:
    """The path (L, 2) of unit steps from column `left` to `right` that is centered on each row's place.

    The first row is `top`. A row reaches half-way to the places before and after it.
    """
    ends = np.append(np.clip((places[1:] + places[:-1]) / 2, left, right), right)
    column, low, cells = left, float(left), []
    for row, high in enumerate(ends.tolist(), top):
        begin = min(max(math.ceil(low), column), column + 1)
        column, low = max(math.floor(high), begin), high
        cells += [(row, each) for each in range(begin, column + 1)]
    return np.array(cells, np.int32)


def _recost(moved: Alignment) -> Alignment:
    """Give an alignment whose path was moved the costs of that path."""
    if moved.cost is not None:
        costs = moved.cost[moved.path[:, 0], moved.path[:, 1]]
    elif moved.pair is not None:
        costs = moved.pair.along(moved.path)
    else:
        return moved
    pieces = tuple(
        replace(
            piece,
            dtw_cost=float(costs[piece.start : piece.stop].sum(dtype=np.float64)),
            cheapest_cost=piece.scored_cost,
        )
        for piece in moved.pieces
    )
    return replace(moved, pieces=pieces, dtw_cost=sum(piece.dtw_cost for piece in pieces))
