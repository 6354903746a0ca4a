"""Pieces in another order: rearrange stretches of the match so that the best path gains more.

A hill climb: exchange the two neighboring stretches of the match whose exchange gains most, wherever they
begin and end, then move the cuts between all stretches to where they gain most; repeat while that helps.
Walls between the stretches make paths pay for a jump there. In the best order, as in the given one, clips
correspond as a whole unless leaving something out is clearly better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.costs import CostPair
from seasync.alignment.matrix import Cells, Path, SolvedPath, solve_whole
from seasync.alignment.prepare import PreparedClip, prepare
from seasync.alignment.prices import JUMP_IN_ANY_ORDER, Pieces, Prices, best_pieces, measured
from seasync.alignment.recipe import Recipe
from seasync.encoding import Encoding, Floats, Indices, Stream
from seasync.errors import FeatureError

Layout = list[tuple[int, int]]  # stretches of columns (first, last exclusive) in their new order

_WALL = 1e9  # what a cell costs that no path enters
_POINTS = 128  # samples of either clip that the search for exchanges looks at
_MARKS = 12  # equal parts of the match: stretches start as runs of them, before the cuts move
_ROUNDS = 5


def best_pieces_in_any_order(
    cost: Floats, prices: Prices, anchors: Cells = (), *, whole: bool = False
) -> tuple[float, list[Path]]:
    """Find the best path with jumps, with the match's stretches in any order.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], float32
    prices : Prices
    anchors : sequence of (int, int)
        Cells that it must pass, in any order in the match.
    whole : bool
        Leave something out only where that is clearly better. With anchors, it is always allowed.

    Returns
    -------
    float
        What the path gains at best.
    list of numpy.ndarray [shape=(L, 2)]
        Its pieces, in the query's order.

    Raises
    ------
    FeatureError
        If no order was found that passes all anchors.
    """
    matrix = _Rearrangeable(cost, prices, anchors)
    layout = _best_layout(cost, prices, anchors, matrix)
    gain, pieces = matrix.path(layout)
    if not anchors:
        return gain, _whole_pieces(cost, prices, layout, gain) or pieces if whole else pieces
    passed = {(i, j) for piece in pieces for i, j in piece.tolist()}
    if not passed.issuperset(anchors):
        raise FeatureError("no order of the match's stretches passes through all anchors: remove one of them")
    return prices.gain(cost, pieces), pieces


def _best_layout(cost: Floats, prices: Prices, anchors: Cells, matrix: _Rearrangeable) -> Layout:
    """The order of stretches that gains most: sought among few samples, then moved to the best cuts."""
    factor = -(-max(cost.shape) // _POINTS)
    coarse = np.ascontiguousarray(cost[::factor, ::factor])
    near_anchors = [(i // factor, j // factor) for i, j in anchors]
    coarse_prices = Prices.of(coarse, prices.share, prices.jump_share)
    layout = _climb(_Rearrangeable(coarse, coarse_prices, near_anchors))
    if factor == 1:
        return layout
    scaled = [(factor * first, min(factor * last, cost.shape[1])) for first, last in layout]
    return _move_cuts(scaled, matrix, factor)[0]


def _whole_pieces(cost: Floats, prices: Prices, layout: Layout, gain: float) -> list[Path]:
    """The path from end to end through the rearranged match, cut where stretches meet.

    Empty if leaving something out, which gains `gain`, is clearly better, or if nothing is rearranged.
    """
    if len(layout) == 1:
        return []
    columns: Indices = np.concatenate([np.arange(*run) for run in layout])
    solved = solve_whole(cost.take(columns, axis=1))
    jumps = float(prices.jump) * (len(layout) - 1)
    if prices.better(gain + jumps, solved.cost):
        return []
    pieces: list[Path] = []
    for part in np.split(solved.path, _first_cells(solved.path, layout)):
        # A row on both sides of a cut belongs to the piece before it.
        new = part[part[:, 0] > pieces[-1][-1, 0]] if pieces else part
        if len(new):
            pieces.append(np.stack([new[:, 0], columns[new[:, 1]].astype(np.int32)], axis=1))
    return pieces


def _first_cells(path: Path, layout: Layout) -> Indices:
    """Where on a path through the rearranged match each stretch but the first begins."""
    ends = np.cumsum([last - first for first, last in layout])[:-1]
    return np.searchsorted(path[:, 1], ends)


class _Rearrangeable:
    """A cost matrix whose columns can be rearranged in stretches. Anchors get a reward above all else."""

    def __init__(self, cost: Floats, prices: Prices, anchors: Cells) -> None:
        self.width, self.prices = cost.shape[1], prices
        # One more column, the wall.
        self.cost = np.pad(cost, ((0, 0), (0, 1)), constant_values=_WALL)
        for cell in set(anchors):
            self.cost[cell] = -prices.anchor
        marks = np.linspace(0, self.width, _MARKS + 1).astype(int).tolist()
        self.marks = sorted({*marks, *(column for _, column in anchors)})
        self.columns = np.append(prices.columns, np.float32(0))

    def path(self, layout: Layout) -> tuple[float, list[Path]]:
        columns = np.concatenate([np.append(np.arange(*run), self.width) for run in layout])[:-1]
        there = replace(self.prices, columns=self.columns[columns])
        gain, pieces = best_pieces(self.cost.take(columns, axis=1), there)
        for piece in pieces:
            piece[:, 1] = columns[piece[:, 1]]
        return gain, pieces

    def gain(self, layout: Layout) -> float:
        return self.path(layout)[0]


def _climb(matrix: _Rearrangeable) -> Layout:
    """Exchange stretches and move cuts while that gains."""
    layout: Layout = [(0, matrix.width)]
    gain = matrix.gain(layout)
    for _ in range(_ROUNDS):
        exchanged = [_exchange(layout, *cuts) for cuts in combinations(matrix.marks, 3)]
        if not exchanged:
            break
        tried, better = _move_cuts(max(exchanged, key=matrix.gain), matrix, matrix.width // _MARKS)
        if better <= gain:
            break
        layout, gain = tried, better
    return layout


def _move_cuts(layout: Layout, matrix: _Rearrangeable, step: int) -> tuple[Layout, float]:
    """Move the cuts while that gains, by `step` columns and then by fewer; the layout and its gain."""
    gain = matrix.gain(layout)
    while step:
        shifts = [(cut, by) for cut, _ in layout if cut for by in (-step, step)]
        tried = [[(a + by * (a == cut), b + by * (b == cut)) for a, b in layout] for cut, by in shifts]
        valid = [(matrix.gain(other), other) for other in tried if all(a < b for a, b in other)]
        best, moved = max(valid, default=(gain, layout))
        if best > gain:
            layout, gain = moved, best
        else:
            step //= 2
    return layout, gain


def _exchange(layout: Layout, first: int, middle: int, last: int) -> Layout:
    """Put columns `middle`–`last` of the layout before columns `first`–`middle`."""
    columns: Indices = np.concatenate([np.arange(*run) for run in layout])
    columns = np.concatenate([columns[:first], columns[middle:last], columns[first:middle], columns[last:]])
    runs = np.split(columns, np.flatnonzero(np.diff(columns) != 1) + 1)
    return [(int(run[0]), int(run[-1]) + 1) for run in runs]


# Clips put together of samples of another clip, and paths through them.


def edited(clip: PreparedClip, samples: Indices, recipe: Recipe) -> tuple[PreparedClip, NDArray[np.int32]]:
    """Prepare some samples of a clip with one stream, in the order given, as if they had been filmed so.

    Parameters
    ----------
    clip : PreparedClip
    samples : numpy.ndarray [shape=(T,)]
        Samples of its leading stream. Where one does not follow the one before it in the clip, it comes a
        sampling step later, and no shot begins there.
    recipe : Recipe

    Returns
    -------
    PreparedClip
        With n grid points.
    numpy.ndarray [shape=(n,)]
        The grid point of the clip that each of them is.
    """
    lead = clip.lead
    joints = np.diff(samples, prepend=samples[0] - 1) != 1
    original = lead.seconds[samples]
    steps = np.where(joints, clip.step, np.diff(original, prepend=original[0]))
    seconds = original[0] + np.cumsum(steps) - steps[0]
    begins = np.isin(samples, lead.shots) & ~joints
    begins[0] = True
    stream = Stream(
        lead.name,
        seconds,
        np.arange(len(samples)),
        lead.features[samples],
        np.flatnonzero(begins),
        lead.found,
    )
    made = prepare(Encoding(clip.encoder, (stream,), clip.mean, clip.trajectory), recipe)
    # The sample at or before each grid point; times are rounded.
    sample = np.maximum(np.searchsorted(seconds, made.seconds + clip.step / 4) - 1, 0)
    wanted = made.seconds + (original - seconds)[sample]
    middles = (clip.seconds[1:] + clip.seconds[:-1]) / 2
    return made, np.searchsorted(middles, wanted).astype(np.int32)


def pieces_of(path: Path, pieces: list[Path]) -> None:
    """Append the stretches of a path (L, 2) between its jumps to `pieces`, which come before it.

    A frame on both sides of a jump belongs to the piece before it.
    """
    moves = np.diff(path, axis=0)
    path = path[np.append(True, moves.any(1))]  # two grid points may be one of the clip
    moves = np.diff(path, axis=0)
    for part in np.split(path, np.flatnonzero(((moves < 0) | (moves > 1)).any(1)) + 1):
        new = part
        if pieces:
            row, column = pieces[-1][-1]
            new = part[(part[:, 0] > row) & (part[:, 1] != column)]
        if len(new):
            pieces.append(new)


# The cuts between pieces in another order, moved to where the match fits best.


Runs = list[tuple[int, int]]  # samples of the match (first, last exclusive), in the query's order

_WHOLE = 0.98  # coverage of clips that correspond as a whole, but for frames at the cuts
_FARTHEST = 4  # samples that a cut is moved at a time, at first


def with_moved_cuts(
    pair: CostPair,
    cost: Floats,
    whole: SolvedPath,
    found: Pieces,
    share: float,
    random: Callable[[Floats], float],
) -> Pieces:
    """Move the cuts of clips that correspond as a whole, in another order.

    Parameters
    ----------
    pair : CostPair
    cost : numpy.ndarray [shape=(n, m)]
        Its cost matrix.
    whole : SolvedPath
        Its path from end to end, in the given order.
    found : Pieces
        Its pieces in any order.
    share : float
        What leaving a frame out costs, as a share of its random price.
    random : callable
        Gives the mean cost of random paths through a box around a piece.

    Returns
    -------
    Pieces
        Measured by the pair's own costs. They are `found` if the clips correspond in one piece or in part,
        or if several streams would have to be put together.
    """
    clips = pair.query, pair.match
    if len(found.pieces) == 1 or min(found.coverage) < _WHOLE or max(len(c.streams) for c in clips) > 1:
        return found
    runs = _runs(found, pair)
    if len(set(runs)) < len(runs):  # pieces shorter than a sample
        return found
    samples = _samples(_best_runs(pair, runs))
    match, columns = edited(pair.match, samples, pair.recipe)
    path = solve_whole(CostPair(pair.query, match, pair.recipe).matrix()).path
    pieces: list[Path] = []
    pieces_of(np.stack([path[:, 0], columns[path[:, 1]]], axis=1), pieces)
    return measured(cost, Prices.of(cost, share, JUMP_IN_ANY_ORDER), pieces, whole, random)


def _runs(found: Pieces, pair: CostPair) -> Runs:
    """The samples of the match that belong to each piece; all of them belong to one."""
    lead, step = pair.match.lead, pair.match.step
    firsts = pair.match.seconds[[piece.path[0, 1] for piece in found.pieces]]
    starts = np.searchsorted(lead.seconds, firsts - step / 4)
    starts[np.argmin(starts)] = 0
    ordered = np.append(np.sort(starts), len(lead.seconds))
    return [(int(start), int(ordered[np.searchsorted(ordered, start, side="right")])) for start in starts]


def _samples(runs: Runs) -> Indices:
    return np.concatenate([np.arange(*run) for run in runs])


def _best_runs(pair: CostPair, runs: Runs) -> Runs:
    """Move the cuts while that makes the whole path cheaper, by several samples and then by fewer."""
    recipe = replace(pair.recipe, grid_fps=None)
    asked = pair.query
    query = prepare(Encoding(asked.encoder, (asked.lead,), asked.mean, asked.trajectory), recipe)

    def cost_of(tried: Runs) -> float:
        match, _ = edited(pair.match, _samples(tried), recipe)
        return solve_whole(CostPair(query, match, recipe).matrix()).cost

    best, step = cost_of(runs), _FARTHEST
    while step:
        shifts = [(cut, by) for cut, _ in runs if cut for by in (-step, step)]
        tried = [[(a + by * (a == cut), b + by * (b == cut)) for a, b in runs] for cut, by in shifts]
        valid = [(cost_of(other), other) for other in tried if all(a < b for a, b in other)]
        cheapest, moved = min(valid, default=(best, runs))
        if cheapest < best:
            best, runs = cheapest, moved
        else:
            step //= 2
    return runs
