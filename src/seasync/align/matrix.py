"""DTW and DRAQ of one cost matrix.

A path runs from (0, 0) to (n − 1, m − 1) in steps (1, 1), (1, 0) and (0, 1); its cost is the plain sum along
it. Among equally cheap ways back from the end, the diagonal is taken, then (1, 0), then (0, 1).
DRAQ is that cost over the mean cost of random paths: computed exactly, unless a number of paths is given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.kernels import single
from seasync.align.scores import draq_ratio
from seasync.encoding import Floats
from seasync.errors import FeatureError

Path = NDArray[np.int32]
Cells = Sequence[tuple[int, int]]
_MOVES_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class Solved:
    """The cheapest path (L, 2), its cost without penalties, and the exact mean cost of random paths."""

    path: Path
    cost: float
    random: float


def dtw(
    cost: ArrayLike, *, penalty: float = 0.0, band: float | None = None, anchors: Cells = ()
) -> tuple[Path, float]:
    """The cheapest path (L, 2) through cost (n, m), and its cost.

    penalty  added for every step that is not diagonal, while choosing; the cost returned is without it
    band     keep within this share of either side from the straight line between the ends (Sakoe-Chiba)
    anchors  cells (i, j) that the path must pass through

    >>> dtw([[0, 1], [1, 0], [1, 0]])[0].tolist()
    [[0, 0], [1, 1], [2, 1]]
    """
    solved = solve_whole(checked(cost), penalty=penalty, band=band, anchors=anchors)
    return solved.path, solved.cost


def random_cost(cost: ArrayLike, *, paths: int | None = None, seed: int = 0) -> float:
    """The mean cost of random paths through cost (n, m): exact, or of that many drawn paths.

    A random path starts at the last cell; at row i and column j, counted from 1, it goes to row i − 1 with
    probability i / (i + j), independently to column j − 1 with j / (i + j), and draws again if it would stay.
    """
    matrix = checked(cost)
    if paths is not None:
        if paths < 1:
            raise FeatureError(f"paths: expected a positive number or None, got {paths}")
        finite(float(matrix.sum()))
        return float(single.sampled_random_cost(matrix, paths, seed))
    return solve_whole(matrix).random


def draq(cost: ArrayLike, *, paths: int | None = None, seed: int = 0) -> float:
    """Cost of the cheapest path over the mean cost of random ones; 1 where all paths cost nothing."""
    matrix = checked(cost)
    solved = solve_whole(matrix)
    mean = solved.random if paths is None else random_cost(matrix, paths=paths, seed=seed)
    return float(draq_ratio(solved.cost, mean))


def checked(cost: ArrayLike) -> Floats:
    """`cost` as a contiguous float32 matrix, refused if it is empty or not two-dimensional."""
    matrix = np.ascontiguousarray(cost, np.float32)
    if matrix.ndim != 2 or not matrix.size:
        raise FeatureError(f"cost: expected a matrix (n, m) with at least one cell, got {matrix.shape = }")
    return matrix


def finite(total: float) -> float:
    """`total`, to which every cell contributes, refused if one is NaN or infinite."""
    if not math.isfinite(total):
        raise FeatureError("cost: holds NaN or infinity; a path's cost would mean nothing")
    return total


def solve_whole(
    cost: Floats, *, penalty: float = 0.0, band: float | None = None, anchors: Cells = ()
) -> Solved:
    """Solve a matrix (n, m), float32 and finite."""
    return solve_rows([(0, cost)], *cost.shape, penalty=penalty, band=band, anchors=anchors)


def solve_rows(
    blocks: Iterable[tuple[int, Floats]],
    n: int,
    m: int,
    *,
    penalty: float = 0.0,
    band: float | None = None,
    anchors: Cells = (),
) -> Solved:
    """Solve a matrix (n, m) that comes in row blocks (first row, costs (k, m)).

    Memory: two bits for each of the n × m cells, besides the block at hand.
    """
    if n * m // 4 > _MOVES_BYTES:
        raise FeatureError(
            f"aligning {n} with {m} samples takes {n * m >> 22} MB for the path alone: "
            "align shorter spans, or sample at a lower rate"
        )
    corridor, held = _corridor(n, m, band), _held(n, m, anchors)
    moves = np.empty((n, (m + 3) // 4), np.uint8)
    totals = np.full(m + 1, np.inf, np.float32)
    totals[0] = 0.0
    means = np.zeros(m + 1, np.float32)
    for first, costs in blocks:
        single.advance(costs, first, np.float32(penalty), corridor, held, totals, means, moves)
    random = finite(float(means[m]))
    if not np.isfinite(totals[m]):
        raise FeatureError(f"no path passes {list(anchors)} within {band = }: widen the band or drop anchors")
    path = single.trace(moves, n, m)
    cost = float(totals[m])
    if penalty:
        cost -= penalty * int((np.diff(path, axis=0).sum(1) == 1).sum())
    return Solved(path, cost, random)


def _corridor(n: int, m: int, band: float | None) -> NDArray[np.int32]:
    """First and last column allowed in each row, (2, n)."""
    out = np.zeros((2, n), np.int32)
    out[1] = m - 1
    if band is None or n == 1 or m == 1:
        return out
    if not band >= 0:
        raise FeatureError(f"band: expected a share of the length, 0 or more, got {band}")
    # Never narrower than one step of either clip, so that a path exists.
    width = max(band, 1 / (n - 1), 1 / (m - 1))
    line = np.arange(n) / (n - 1)
    out[0] = np.ceil((line - width) * (m - 1) - 1e-9).clip(0)
    out[1] = np.floor((line + width) * (m - 1) + 1e-9).clip(max=m - 1)
    return out


def _held(n: int, m: int, anchors: Cells) -> NDArray[np.int32]:
    """First and last column the path must pass in each row, −1 for none, (2, n)."""
    out = np.full((2, n), -1, np.int32)
    for i, j in sorted(anchors):
        if not (0 <= i < n and 0 <= j < m):
            raise FeatureError(f"anchor ({i}, {j}) lies outside the {n} × {m} matrix")
        out[0, i] = j if out[0, i] < 0 else out[0, i]
        out[1, i] = j
    return out
