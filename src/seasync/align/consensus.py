"""Consensus: correct an alignment of two clips by the detours through other clips."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.align.alignment import Alignment, Piece
from seasync.align.recipe import MOTION, Recipe
from seasync.align.solve import align_many
from seasync.align.warp import Warp
from seasync.encoding import Encoding, Seconds
from seasync.errors import FeatureError
from seasync.options import Partial

Detour = tuple[Warp, Warp]  # from the query to a helper, and from there to the match
HELPERS = 9  # other matches that detours lead through
FEWEST = 2  # detours that must be defined at a moment; with fewer, the path stays as it is
DIRECT = 3  # how many detours the direct way outweighs
_WORSE = 0.05  # how much higher DRAQ on a detour may be than on the direct way


def apply_consensus(
    alignments: Sequence[Alignment], matches: Sequence[Encoding], *, partial: Partial = "auto"
) -> list[Alignment]:
    """Let the alignments of one query correct each other.

    A moment of the query moves to the median of its partner in the match, counted three times, and of where
    up to nine detours through its partners in other matches lead. A detour counts if both of its ways align,
    or if their DRAQ is hardly higher than that of the direct way: where nothing fits well, many mediocre
    ways together are still better than one. Ends of pieces, costs and scores stay the same.

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
    detours: list[list[Detour]] = [[] for _ in matches]
    onwards = _onward_alignments(helpers, matches, alignments, partial)
    for helper, onward in zip(helpers, onwards, strict=True):
        there = alignments[helper].warp()
        for n, alignment in onward.items():
            direct = alignments[n].draq
            both = _helps(alignments[helper], direct) and _helps(alignment, direct)
            if both and len(detours[n]) < HELPERS:
                detours[n].append((there, alignment.warp()))
    return [_corrected(*pair) for pair in zip(alignments, detours, strict=True)]


def _helps(alignment: Alignment, direct_draq: float) -> bool:
    """Whether a way is good enough to correct a direct one of that DRAQ."""
    return alignment.alignable or alignment.draq <= direct_draq + _WORSE


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
    warps, helpers = [alignment.warp() for alignment in there], range(len(matches))
    onward = [
        {n: alignment.warp() for n, alignment in found.items()}
        for found in _onward_alignments(helpers, matches, there, "never")
    ]
    apart = []
    for n, alignment in enumerate(there):
        detours = [(warps[helper], onward[helper][n]) for helper in helpers if helper != n]
        reached = np.median(_follow(alignment.query_seconds, detours[:HELPERS]), axis=0)
        gaps = np.abs(warps[n].at(alignment.query_seconds) - reached)
        apart.append(1000 * np.average(gaps, weights=alignment.query_motion))
    return float(np.mean(apart))


def _onward_alignments(
    helpers: Sequence[int], matches: Sequence[Encoding], alignments: Sequence[Alignment], partial: Partial
) -> Iterator[dict[int, Alignment]]:
    """Alignments of each helper with all other matches, by their numbers."""
    for helper in helpers:
        others = [n for n in range(len(matches)) if n != helper]
        chosen = [matches[n] for n in others]
        found = align_many(matches[helper], chosen, recipe=alignments[helper].recipe, partial=partial)
        yield dict(zip(others, found, strict=True))


def _corrected(alignment: Alignment, detours: Sequence[Detour]) -> Alignment:
    """The alignment with its paths moved to the medians of direct partners and detours."""
    if len(detours) < FEWEST:
        return alignment
    own, paths, pieces, stop = alignment.warp(), [], [], 0
    for piece in alignment.pieces:
        cells = alignment.path[piece.start : piece.stop]
        rows = np.unique(cells[:, 0])
        partners = _medians(alignment.query_seconds[rows], own, detours)
        places = np.interp(partners, alignment.match_seconds, np.arange(len(alignment.match_seconds)))
        paths.append(_path(rows, places, int(cells[0, 1]), int(cells[-1, 1])))
        start, stop = stop, stop + len(paths[-1])
        pieces.append(replace(piece, start=start, stop=stop))
    return replace(alignment, path=np.concatenate(paths), pieces=tuple[Piece, ...](pieces))


def _medians(moments: Seconds, own: Warp, detours: Sequence[Detour]) -> Seconds:
    """The median partner of each moment, shape (N,), never decreasing."""
    direct = own.at(moments)
    found = np.stack([*[direct] * DIRECT, *_follow(moments, detours)])
    known = np.isfinite(found).sum(0) >= DIRECT + FEWEST
    return np.maximum.accumulate(np.where(known, np.nanmedian(found, axis=0), direct))


def _follow(moments: Seconds, detours: Sequence[Detour]) -> list[Seconds]:
    """Where each detour leads from `moments`, shape (N,); NaN where it is not defined."""
    found = []
    for first, second in detours:
        between = first.at(moments)
        there = first.covers(moments) & second.covers(between)
        found.append(np.where(there, second.at(between), np.nan))
    return found


def _path(rows: NDArray[np.int32], places: Seconds, first: int, last: int) -> NDArray[np.int32]:
    """Cells, shape (L, 2), from column `first` to `last` in unit steps, centered on each row's place.

    A row reaches half-way to the places before and after it.
    """
    edges = np.clip((places[1:] + places[:-1]) / 2, first, last)
    cells, at = [], first
    for row, low, high in zip(rows.tolist(), [first, *edges], [*edges, last], strict=True):
        begin = min(max(int(np.ceil(low)), at), at + 1)
        at = max(int(np.floor(high)), begin)
        cells += [(row, column) for column in range(begin, at + 1)]
    return np.array(cells, np.int32)
