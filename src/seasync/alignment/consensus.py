"""Consensus: correct an alignment of two clips by the detours through other clips."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.costs import CostPair
from seasync.alignment.judge import Verdict, draq_of, likelihood
from seasync.alignment.prepare import PreparedClip, prepare
from seasync.alignment.prices import Pieces
from seasync.alignment.recipe import MOTION, Recipe
from seasync.alignment.result import Alignment, Piece
from seasync.alignment.solve import align_many, as_alignment, solve_pairs
from seasync.alignment.warp import Warp
from seasync.encoding import Encoding, Indices, Seconds
from seasync.errors import FeatureError
from seasync.options import Partial, Side

# Ways from clip to clip, and where two of them lead one after the other.


@dataclass(frozen=True, eq=False)
class DirectWay:
    """The way that an alignment describes."""

    alignment: Alignment
    _read: dict[Side, Warp] = field(default_factory=dict)

    def map_of(self, side: Side) -> Warp:
        """The map of time that keeps this side."""
        if side not in self._read:
            self._read[side] = self.alignment.warp(side)
        return self._read[side]

    def at(self, moments: Seconds) -> Seconds:
        """Where the way leads from moments of the query, shape (N,)."""
        return self.map_of("query").at(moments)


@dataclass(frozen=True, eq=False)
class SolvedWay:
    """The way between two clips whose pair is solved."""

    pair: CostPair
    found: Pieces

    @cached_property
    def draq(self) -> float:
        """DRAQ of the way."""
        return draq_of(self.found.cost, self.found.random)

    @cached_property
    def alignable(self) -> bool:
        """Whether the clips correspond."""
        found, pair = self.found, self.pair
        likely = likelihood(pair.query, pair.match, min(found.score, found.whole_draq), pair.recipe)
        whole = len(found.pieces) == 1 and min(found.coverage) == 1
        return Verdict(self.draq, found.coverage, whole, pair.recipe, likely).alignable

    def map_of(self, side: Side) -> Warp:
        """The map of time that keeps this side."""
        return as_alignment(self.pair, self.found).warp(side)


def onward_ways(
    helpers: Sequence[int],
    matches: Sequence[Encoding | PreparedClip],
    recipe: Recipe,
    partial: Partial,
) -> dict[tuple[int, int], tuple[SolvedWay, Side]]:
    """The way from each helper to all other matches, by their numbers, and the side it keeps.

    A pair is aligned once: the way back is the same path, read from the other side.
    """
    clips = [prepare(match, recipe) for match in matches]
    chosen = [(h, n) for h in helpers for n in range(len(clips)) if n != h and (n > h or n not in helpers)]
    solved = solve_pairs([(clips[h], clips[n]) for h, n in chosen], recipe=recipe, partial=partial)
    ways: dict[tuple[int, int], tuple[SolvedWay, Side]] = {}
    for (h, n), each in zip(chosen, solved, strict=True):
        way = SolvedWay(*each)
        ways |= {(h, n): (way, "query"), (n, h): (way, "match")}
    return ways


def follow(moments: Seconds, first: DirectWay, side: Side, second: SolvedWay, onward_side: Side) -> Seconds:
    """Where a detour leads from `moments`, shape (N,), increasing; NaN where it is not defined."""
    there, onward = first.map_of(side), second.map_of(onward_side)
    between = there.at(moments)
    defined = there.covers(moments) & onward.covers(between)
    return np.where(defined, onward.at(between), np.nan)


def medians(direct: Seconds, reached: Seconds, weight: int, fewest: int) -> Seconds:
    """The median of direct (N,), counted `weight` times, and of reached (R, N); it never decreases.

    NaN does not count; where fewer than `fewest` of reached are numbers, it is direct.
    """
    found = np.nanmedian([*[direct] * weight, *reached], axis=0)
    enough = np.isfinite(reached).sum(0) >= fewest
    return np.maximum.accumulate(np.where(enough, found, direct))


def cells_around(rows: Indices, places: Seconds, left: int, right: int) -> NDArray[np.int32]:
    """Cells (L, 2) from column `left` to `right` in unit steps, centered on each row's place."""
    ends = np.append(np.clip((places[1:] + places[:-1]) / 2, left, right), right)
    column, low, cells = left, float(left), []
    for row, high in zip(rows.tolist(), ends.tolist(), strict=True):
        begin = min(max(math.ceil(low), column), column + 1)
        column, low = max(math.floor(high), begin), high
        cells += [(row, each) for each in range(begin, column + 1)]
    return np.array(cells, np.int32)


HELPERS = 9  # other matches that detours lead through
FEWEST = 2  # detours that must be defined at a moment; with fewer, the path stays as it is
DIRECT = 3  # how many detours the direct way outweighs
_WORSE = 0.05  # how much higher DRAQ on a detour may be than on the direct way


def apply_consensus(
    alignments: Sequence[Alignment],
    matches: Sequence[Encoding | PreparedClip],
    *,
    partial: Partial = "auto",
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
    partial : {"auto", "never", "always"}
        How the matches are aligned with each other.

    Returns
    -------
    list of Alignment, length B
    """
    worst = max((alignment.draq for alignment in alignments), default=0.0)
    helpers = [n for n, alignment in enumerate(alignments) if _helps(alignment, worst)][: HELPERS + 1]
    onward = onward_ways(helpers, matches, alignments[0].recipe, partial) if helpers else {}
    ways = [DirectWay(alignment) for alignment in alignments]
    reached: list[list[Seconds]] = [[] for _ in matches]
    for helper in helpers:
        for n, alignment in enumerate(alignments):
            if n == helper or len(reached[n]) == HELPERS:
                continue
            onward_way, side = onward[helper, n]
            if _helps(alignments[helper], alignment.draq) and _helps(onward_way, alignment.draq):
                reached[n].append(follow(alignment.query_seconds, ways[helper], "query", onward_way, side))
    return [_corrected(*pair) for pair in zip(ways, reached, strict=True)]


def _helps(way: Alignment | SolvedWay, direct_draq: float) -> bool:
    """Whether a way is good enough to correct a direct one of that DRAQ."""
    return way.draq <= direct_draq + _WORSE or way.alignable


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
    there = align_many(query, matches, recipe=recipe, partial="never")
    ways, helpers = [DirectWay(alignment) for alignment in there], range(len(matches))
    onward = onward_ways(helpers, matches, recipe, "never")
    apart = []
    for n, alignment in enumerate(there):
        moments, others = alignment.query_seconds, [helper for helper in helpers if helper != n][:HELPERS]
        detours = [follow(moments, ways[helper], "query", *onward[helper, n]) for helper in others]
        gaps = np.abs(alignment.warp().at(moments) - np.median(detours, axis=0))
        apart.append(1000 * np.average(gaps, weights=alignment.query_motion))
    return float(np.mean(apart))


def _corrected(way: DirectWay, reached: Sequence[Seconds]) -> Alignment:
    """The alignment with its paths moved to the medians of direct partners and of where detours lead."""
    alignment = way.alignment
    if len(reached) < FEWEST:
        return alignment
    detours, paths, pieces, stop = np.stack(reached), [], [], 0
    grid = np.arange(len(alignment.match_seconds))
    for piece in alignment.pieces:
        (first, left), (last, right) = alignment.path[[piece.start, piece.stop - 1]].tolist()
        rows = np.arange(first, last + 1)  # a path without jumps leaves none out
        direct = way.at(alignment.query_seconds[first : last + 1])
        partners = medians(direct, detours[:, first : last + 1], DIRECT, FEWEST)
        places = np.interp(partners, alignment.match_seconds, grid)
        paths.append(cells_around(rows, places, left, right))
        start, stop = stop, stop + len(paths[-1])
        pieces.append(replace(piece, start=start, stop=stop))
    return _recosted(replace(alignment, path=np.concatenate(paths), pieces=tuple[Piece, ...](pieces)))


def _recosted(moved: Alignment) -> Alignment:
    """An alignment whose path was moved, with the costs of that path."""
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
