"""How sure an alignment is, moment by moment.

A moment is sure if the path gets much more expensive as soon as it pairs the moment with another one, and
unsure where it can bend at little cost: where nothing moves, or where everything looks alike.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Floats, Indices, Seconds

if TYPE_CHECKING:
    from seasync.alignment.result import Alignment


_LARGEST = 1 << 22  # cells: 64 MB of totals


def partner_bounds(alignment: "Alignment") -> NDArray[np.float64] | None:
    """The earliest and the latest partner that each moment of the query could have.

    These are the partners on any path through the same pieces that is hardly more expensive than the cheapest
    one: by at most 3.5 % of the geometric mean of its cost and that of random paths. In nine of ten cases the
    true partner lies within; the partner that the alignment gives always does.

    Parameters
    ----------
    alignment : Alignment
        With its cost matrix.

    Returns
    -------
    numpy.ndarray [shape=(n, 2)], optional
        Seconds of the match for each grid point of the query; NaN where the alignment leaves it out. ``None``
        without a cost matrix, or if the clips are too long.
    """
    cost, bounds = alignment.cost, np.full((len(alignment.query_seconds), 2), np.nan)
    if cost is None or cost.size > _LARGEST:
        return None
    warp = alignment.warp(keep="query")
    for piece in alignment.pieces:
        (i, j), (k, last) = alignment.path[piece.start], alignment.path[piece.stop - 1]
        rows = slice(int(i), int(k) + 1)
        more = alignment.recipe.tolerance * math.sqrt(max(piece.random_cost * piece.dtw_cost, 0.0))
        seconds: Seconds = alignment.match_seconds[reachable_columns(cost[rows, j : last + 1], more) + j]
        partner = warp.at(alignment.query_seconds[rows])
        bounds[rows] = np.stack([np.minimum(seconds[0], partner), np.maximum(seconds[1], partner)], axis=1)
    return bounds


def reachable_columns(cost: Floats, more: float) -> Indices:
    """The first and last column in each row on a path that costs at most `more` than the cheapest, (2, n)."""
    ahead, back = _totals(cost), _totals(cost[::-1, ::-1])[::-1, ::-1]
    reached = ahead + back - cost <= ahead[-1, -1] + more + 1e-9
    return np.stack([reached.argmax(1), cost.shape[1] - 1 - reached[:, ::-1].argmax(1)])


def _totals(cost: Floats) -> NDArray[np.float64]:
    """The cost of the cheapest path from the first cell to each, (n, m)."""
    sums = np.cumsum(cost, axis=1, dtype=np.float64)
    out = np.empty(cost.shape)
    above = np.full(cost.shape[1] + 1, np.inf)
    above[0] = 0.0  # where all paths begin: diagonally before the first cell
    for row, to, before in zip(sums, out, sums - cost, strict=True):
        # A path enters the row at some cell, from above or diagonally, and goes right from there.
        entered = np.minimum(above[:-1], above[1:]) - before
        np.add(np.minimum.accumulate(entered), row, out=to)
        above[0], above[1:] = np.inf, to
    return out


def uncertainty_rows(alignment: "Alignment") -> list[tuple[float, float, float]] | None:
    """`partner_bounds` beside the query's seconds, where they are known."""
    if (bounds := partner_bounds(alignment)) is None:
        return None
    table = np.column_stack([alignment.query_seconds, bounds])[np.isfinite(bounds[:, 0])].round(6)
    return [(query, earliest, latest) for query, earliest, latest in table.tolist()]


def typical_width(alignment: "Alignment") -> float | None:
    """Half the width of `partner_bounds` at a typical moment, in seconds: the median, weighted by motion."""
    bounds = partner_bounds(alignment)
    if bounds is None:
        return None
    known = np.isfinite(bounds[:, 0])
    widths, motion = np.diff(bounds[known])[:, 0] / 2, alignment.query_motion[known].astype(np.float64)
    order = np.argsort(widths)
    reached = np.cumsum(motion[order])
    return float(widths[order][np.searchsorted(reached, reached[-1] / 2)])
