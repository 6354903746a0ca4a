"""The cuts between pieces in another order, moved to where the match fits best.

The costs around a cut are wrong: there, change is measured from one piece to the next, which was filmed at
another time. With the match put together in the query's order, they are right, unless the cut is at the wrong
place. So the cuts are moved as long as the whole path through that match gets cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from seasync.align.cost_pair import CostPair
from seasync.align.edits import edited, pieces_of
from seasync.align.matrix import Path, SolvedPath, solve_whole
from seasync.align.pieces import Pieces, measured
from seasync.align.prepare import prepare
from seasync.align.prices import JUMP_IN_ANY_ORDER, Prices
from seasync.encoding import Encoding, Floats, Indices

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
