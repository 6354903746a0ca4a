"""The way from a clip to another also leads through others: what most ways say is nearer to the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.align.alignment import Alignment, Piece
from seasync.align.partial import Partial
from seasync.align.recipe import MOTION, Recipe
from seasync.align.solve import align_many
from seasync.align.warp import Warp
from seasync.encoding import Encoding, Seconds

HELPERS = 9  # other matches that the way to one leads through
FEWEST = 2  # of them that must be there at a moment; the path stays as it is where fewer are


def agreed(
    alignments: Sequence[Alignment], matches: Sequence[Encoding], *, partial: Partial = "auto"
) -> list[Alignment]:
    """`alignments` of one query with `matches`, each moved to where most ways lead.

    A moment of the query goes to the median of its partner in the match and of the partners of its partners
    in up to nine other matches, of those that align. Ends of pieces, costs and scores stay as they were.
    """
    there = [alignment.warp() for alignment in alignments]
    good = [n for n, alignment in enumerate(alignments) if alignment.alignable][: HELPERS + 1]
    ways: dict[int, list[tuple[Warp, Warp]]] = {n: [] for n in range(len(matches))}
    for helper in good:
        others = [n for n in ways if n != helper]
        recipe = alignments[helper].recipe
        onward = align_many(matches[helper], [matches[n] for n in others], recipe=recipe, partial=partial)
        for n, alignment in zip(others, onward, strict=True):
            if alignment.alignable and len(ways[n]) < HELPERS:
                ways[n].append((there[helper], alignment.warp()))
    return [_moved(alignment, ways[n]) for n, alignment in enumerate(alignments)]


def disagreements(
    clips: Sequence[Encoding], nearest: Sequence[Sequence[int]], *, recipe: Recipe = MOTION
) -> NDArray[np.float64]:
    """Of each clip (N,), how far its partners in its nearest clips are from where the ways through the others
    lead: milliseconds, weighed by what moves.

    Needs no labels, and tells which features align better nearly as well as labels do; only features that
    know nothing but the place in the clip agree with each other without being right. All pairs are aligned.

    nearest  the numbers of at least three clips to compare each one with
    """
    there = [align_many(clip, clips, recipe=recipe, partial="never") for clip in clips]
    warps = [[alignment.warp() for alignment in row] for row in there]
    errors = []
    for at, others in enumerate(nearest):
        for match in others:
            ways = [(warps[at][helper], warps[helper][match]) for helper in others if helper != match]
            moments, weights = there[at][match].query_seconds, there[at][match].query_motion
            apart = np.abs(warps[at][match].at(moments) - np.median(_led(moments, ways[:HELPERS]), axis=0))
            errors.append(1000 * np.average(apart, weights=weights))
    return np.asarray(np.reshape(errors, (len(nearest), -1)).mean(1))


def _moved(alignment: Alignment, ways: Sequence[tuple[Warp, Warp]]) -> Alignment:
    """`alignment`, its pieces' paths through the medians of its own partners and those by the other ways."""
    if len(ways) < FEWEST:
        return alignment
    own, paths, pieces, stop = alignment.warp(), [], [], 0
    for piece in alignment.pieces:
        cells = alignment.path[piece.start : piece.stop]
        rows = np.unique(cells[:, 0])
        partners = _medians(alignment.query_seconds[rows], own, ways)
        places = np.interp(partners, alignment.match_seconds, np.arange(len(alignment.match_seconds)))
        paths.append(_path(rows, places, int(cells[0, 1]), int(cells[-1, 1])))
        start, stop = stop, stop + len(paths[-1])
        pieces.append(replace(piece, start=start, stop=stop))
    return replace(alignment, path=np.concatenate(paths), pieces=tuple[Piece, ...](pieces))


def _medians(moments: Seconds, own: Warp, ways: Sequence[tuple[Warp, Warp]]) -> Seconds:
    """Where most ways lead from `moments` (N,), never backwards."""
    direct = own.at(moments)
    found = np.stack([direct, *_led(moments, ways)])
    known = np.isfinite(found).sum(0) > FEWEST
    return np.maximum.accumulate(np.where(known, np.nanmedian(found, axis=0), direct))


def _led(moments: Seconds, ways: Sequence[tuple[Warp, Warp]]) -> list[Seconds]:
    """Where each way leads from `moments` (N,); NaN where it does not."""
    found = []
    for first, second in ways:
        between = first.at(moments)
        there = first.covers(moments) & second.covers(between)
        found.append(np.where(there, second.at(between), np.nan))
    return found


def _path(rows: NDArray[np.int32], places: Seconds, first: int, last: int) -> NDArray[np.int32]:
    """Cells (L, 2) from column `first` to `last`, a step at a time: the mean of a row's columns is its place.

    A row reaches half-way to the places before and after it.
    """
    edges = np.clip((places[1:] + places[:-1]) / 2, first, last)
    cells, at = [], first
    for row, low, high in zip(rows.tolist(), [first, *edges], [*edges, last], strict=True):
        begin = min(max(int(np.ceil(low)), at), at + 1)
        at = max(int(np.floor(high)), begin)
        cells += [(row, column) for column in range(begin, at + 1)]
    return np.array(cells, np.int32)
