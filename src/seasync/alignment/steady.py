"""Steadier paths where the order of the frames says little.

If a match fits about as well backwards, many paths cost nearly the same, and the cheapest of them bends by
chance. Then the steadiest one that costs hardly more is taken: the one nearest to a pace at which equal
shares of time and of movement pass in both clips. How much more it may cost depends on how well the match
fits with its order broken, so nothing changes where the order counts.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.costs import CostPair
from seasync.alignment.judge import draq_ratio, order_doubt
from seasync.alignment.matrix import Cells, Path, SolvedPath, disordered_cost, solve_whole
from seasync.alignment.prices import Pieces
from seasync.encoding import Floats

# What a steady path may cost more where the order says nothing, as a share of the geometric mean of what the
# cheapest path and random ones cost.
_MORE = 0.1
# A path with a lower DRAQ is not looked at. Of 3,000 pairs of one movement, the order of none of these is in
# doubt.
_LOWEST_DRAQ = 0.45
# By how much the correlation of the amounts of movement along the path may fall. A swing that is paired with
# a swing shows in it, even if the frames themselves do not fit.
_LESS_ALIKE = 0.1
_TIME = 0.5  # share of time in the steady pace; the rest is movement
_LARGEST = 1 << 22  # cells of a matrix that is solved again
_TRIES = 8
_STIFFEST = 12.0  # logarithm to base 2 of the highest price, in mean costs


def steadied(
    pair: CostPair, found: Pieces, cost: Floats | None, *, band: float | None = None, anchors: Cells = ()
) -> Pieces:
    """Take a steadier path where a pair is aligned as a whole and its order says little.

    DRAQ stays what it is: that of the cheapest path.

    Parameters
    ----------
    pair : CostPair
    found : Pieces
        How the pair is solved.
    cost : numpy.ndarray [shape=(n, m)], optional
        The pair's cost matrix; computed where it is needed if it is None.
    band, anchors
        As in `dtw`.
    """
    whole = found.pieces[0]
    if not pair.recipe.steady or not pair.moving or len(found.pieces) > 1 or found.coverage != (1.0, 1.0):
        return found
    if math.prod(pair.shape) > _LARGEST or draq_ratio(whole.cost, whole.random) < _LOWEST_DRAQ:
        return found
    matrix = pair.matrix() if cost is None else cost
    doubt = float(order_doubt(whole.cost, disordered_cost(matrix)))
    if doubt == 0:
        return found
    more = _MORE * doubt * math.sqrt(whole.cost * whole.random)
    steady = steadiest_path(matrix, whole, more, pair.motion, band=band, anchors=anchors)
    if _alike(steady, *pair.motion) < _alike(whole.path, *pair.motion) - _LESS_ALIKE:
        return found
    return replace(found, pieces=[replace(whole, path=steady)])


def steadiest_path(
    cost: Floats,
    whole: SolvedPath,
    more: float,
    motion: tuple[Floats, Floats],
    *,
    band: float | None = None,
    anchors: Cells = (),
) -> Path:
    """Find the path nearest to a steady pace among those that cost little more than the cheapest.

    Being off the steady pace has a price. A bisection finds the highest price at which the path is still
    cheap enough.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], float32
    whole : SolvedPath
        The cheapest path.
    more : float
        What the path may cost more than that.
    motion : (numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)])
        How much moves at each grid point.
    band, anchors
        As in `dtw`.

    Returns
    -------
    numpy.ndarray [shape=(L, 2)], int32
    """
    query, match = map(_progress, motion)
    off = cost.mean() * (query[:, None] - match).astype(np.float32) ** 2
    best, low, high = whole.path, -_STIFFEST, _STIFFEST
    for _ in range(_TRIES):
        middle = (low + high) / 2
        priced = cost + np.float32(2**middle) * off
        path = solve_whole(priced, band=band, anchors=anchors).path
        if cost[path[:, 0], path[:, 1]].sum(dtype=np.float64) <= whole.cost + more:
            best, low = path, middle
        else:
            high = middle
    return best


def _progress(motion: Floats) -> NDArray[np.float64]:
    """How much of a clip has passed at each grid point, from 0 to 1, shape (n,)."""
    if len(motion) == 1:
        return np.zeros(1)
    passing = _TIME + (1 - _TIME) * motion.astype(np.float64)
    steps = np.cumsum((passing[1:] + passing[:-1]) / 2)
    return np.concatenate([[0.0], steps / steps[-1]])


def _alike(path: Path, query: Floats, match: Floats) -> float:
    """The correlation of the amounts of movement along a path; 0 if one of them never changes."""
    one, other = query[path[:, 0]].astype(np.float64), match[path[:, 1]].astype(np.float64)
    one, other = one - one.mean(), other - other.mean()
    scale = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / scale if scale > 0 else 0.0
