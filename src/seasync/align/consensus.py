"""The way from a clip to another also leads through others: what most ways say is nearer to the truth."""

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

Way = tuple[Warp, Warp]  # from the query to a helper, and on to the match
HELPERS = 9  # other matches that the way to one leads through
FEWEST = 2  # of them that must be there at a moment; the path stays as it is where fewer are


def apply_consensus(
    alignments: Sequence[Alignment], matches: Sequence[Encoding], *, partial: Partial = "auto"
) -> list[Alignment]:
    """`alignments` of one query with `matches`, each moved to where most ways lead.

    A moment of the query goes to the median of its partner in the match and of the partners of its partners
    in up to nine other matches, of those that align. Ends of pieces, costs and scores stay as they were.
    """
    helpers = [n for n, alignment in enumerate(alignments) if alignment.alignable][: HELPERS + 1]
    ways: list[list[Way]] = [[] for _ in matches]
    for helper, onward in zip(helpers, _onward(helpers, matches, alignments, partial), strict=True):
        there = alignments[helper].warp()
        for n, alignment in onward.items():
            if alignment.alignable and len(ways[n]) < HELPERS:
                ways[n].append((there, alignment.warp()))
    return [_moved(*pair) for pair in zip(alignments, ways, strict=True)]


def disagreement(query: Encoding, matches: Sequence[Encoding], *, recipe: Recipe = MOTION) -> float:
    """How far the query's partners in at least three matches are from where the ways through the other
    matches lead: the mean in milliseconds, weighed by what moves.

    It needs no labels: features that align better disagree less. Only those that know nothing but the place
    in the clip agree with each other without being right.
    """
    if len(matches) <= FEWEST:
        raise FeatureError(f"expected three matches or more to compare the ways between, got {len(matches)}")
    there = align_many(query, matches, recipe=recipe, partial="never")
    warps, everyone = [alignment.warp() for alignment in there], range(len(matches))
    onward = [
        {n: alignment.warp() for n, alignment in ways.items()}
        for ways in _onward(everyone, matches, there, "never")
    ]
    apart = []
    for n, alignment in enumerate(there):
        ways = [(warps[helper], onward[helper][n]) for helper in everyone if helper != n]
        led = np.median(_led(alignment.query_seconds, ways[:HELPERS]), axis=0)
        gaps = np.abs(warps[n].at(alignment.query_seconds) - led)
        apart.append(1000 * np.average(gaps, weights=alignment.query_motion))
    return float(np.mean(apart))


def _onward(
    helpers: Sequence[int], matches: Sequence[Encoding], alignments: Sequence[Alignment], partial: Partial
) -> Iterator[dict[int, Alignment]]:
    """From each of the helpers among the matches to all the others, by their numbers."""
    for helper in helpers:
        others = [n for n in range(len(matches)) if n != helper]
        chosen = [matches[n] for n in others]
        found = align_many(matches[helper], chosen, recipe=alignments[helper].recipe, partial=partial)
        yield dict(zip(others, found, strict=True))


def _moved(alignment: Alignment, ways: Sequence[Way]) -> Alignment:
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


def _medians(moments: Seconds, own: Warp, ways: Sequence[Way]) -> Seconds:
    """Where most ways lead from `moments` (N,), never backwards."""
    direct = own.at(moments)
    found = np.stack([direct, *_led(moments, ways)])
    known = np.isfinite(found).sum(0) > FEWEST
    return np.maximum.accumulate(np.where(known, np.nanmedian(found, axis=0), direct))


def _led(moments: Seconds, ways: Sequence[Way]) -> list[Seconds]:
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
