"""DTW and DRAQ of one cost matrix.

A path runs from (0, 0) to (n − 1, m − 1) in steps (1, 1), (1, 0) and (0, 1); its cost is the plain sum along
it. Among equally cheap ways back from the end, the diagonal is taken, then (1, 0), then (0, 1).
DRAQ is that cost over the mean cost of random paths: computed exactly, unless a number of paths is given.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.alignment import kernels
from seasync.alignment.judge import draq_of
from seasync.encoding import Floats
from seasync.errors import FeatureError

Path = NDArray[np.int32]
Cells = Sequence[tuple[int, int]]
_MOVES_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class SolvedPath:
    """A solved cost matrix.

    Attributes
    ----------
    path : numpy.ndarray [shape=(L, 2)], int32
        The cheapest path.
    cost : float
        Its cost, without penalties.
    random : float
        The mean cost of random paths.
    """

    path: Path
    cost: float
    random: float


def dtw(
    cost: ArrayLike, *, penalty: float = 0.0, band: float | None = None, anchors: Cells = ()
) -> tuple[Path, float]:
    """Find the cheapest path through a cost matrix.

    Parameters
    ----------
    cost : array_like [shape=(n, m)]
    penalty : float
        Added for every step that is not diagonal while choosing; the returned cost is without it.
    band : float, optional
        Keep within this share of either side from the straight line between the ends (Sakoe-Chiba).
    anchors : sequence of (int, int)
        Cells that the path must pass through.

    Returns
    -------
    numpy.ndarray [shape=(L, 2)], int32
        The path, from (0, 0) to (n − 1, m − 1).
    float
        Its cost.

    Raises
    ------
    FeatureError
        If the matrix is empty or holds NaN or infinity, or no path satisfies the band and the anchors.

    Examples
    --------
    >>> dtw([[0, 1], [1, 0], [1, 0]])[0].tolist()
    [[0, 0], [1, 1], [2, 1]]
    """
    solved = solve_whole(check_cost(cost), penalty=penalty, band=band, anchors=anchors)
    return solved.path, solved.cost


def random_cost(cost: ArrayLike, *, paths: int | None = None, seed: int = 0) -> float:
    """Compute the mean cost of random paths through a cost matrix.

    A random path starts at the last cell. At row i and column j, counted from 1, it goes to row i − 1 with
    probability i / (i + j), independently to column j − 1 with j / (i + j), and draws again if it would stay.

    Parameters
    ----------
    cost : array_like [shape=(n, m)]
    paths : int, optional
        Draw that many paths, as the paper does. Default: the exact mean over all of them.
    seed : int
        Seed for `paths`.

    Returns
    -------
    float
    """
    matrix = check_cost(cost)
    if paths is not None:
        if paths < 1:
            raise FeatureError(f"paths: expected a positive number or None, got {paths}")
        require_finite(float(matrix.sum()))
        return _mean_of_drawn(matrix, paths, seed)
    return solve_whole(matrix).random


def _mean_of_drawn(cost: Floats, paths: int, seed: int) -> float:
    """The mean cost of a number of random paths, which go on side by side."""
    rng, total = np.random.default_rng(seed % (1 << 64)), 0.0
    i, j = (np.full(paths, size - 1) for size in cost.shape)
    while len(i):
        total += float(cost[i, j].sum(dtype=np.float64))
        going = (i > 0) | (j > 0)
        i, j = i[going], j[going]
        # Where one side is at its first cell, the other one goes on.
        up, left = np.where(i > 0, i + 1.0, 0), np.where(j > 0, j + 1.0, 0)
        drawn = rng.random(len(i)) * (up * up + up * left + left * left)
        i, j = i - (drawn < up * (up + left)), j - (drawn >= up * up)
    return total / paths


def draq(cost: ArrayLike, *, paths: int | None = None, seed: int = 0) -> float:
    """Compute DRAQ of a cost matrix: the cost of the cheapest path over the mean cost of random ones.

    Parameters
    ----------
    cost : array_like [shape=(n, m)]
    paths, seed
        As in `random_cost`.

    Returns
    -------
    float
        0 is perfect, 1 is no better than chance; 1 if all paths cost nothing.
    """
    matrix = check_cost(cost)
    solved = solve_whole(matrix)
    mean = solved.random if paths is None else random_cost(matrix, paths=paths, seed=seed)
    return draq_of(solved.cost, mean)


def disordered(cost: Floats) -> tuple[Floats, Floats]:
    """A cost matrix, shape (n, m), with the match played backwards, and begun half-way."""
    backwards = np.ascontiguousarray(cost[:, ::-1])
    return backwards, np.roll(cost, cost.shape[1] // 2, axis=1)


def disordered_cost(cost: ArrayLike) -> float:
    """Find how cheap a path gets when the order of events cannot be right.

    A random path is easy to beat. The cheapest path through a match that is played backwards, or begun
    half-way, has the same frames to choose from and the same freedom; only the order is wrong.

    Parameters
    ----------
    cost : array_like [shape=(n, m)]

    Returns
    -------
    float
        Mean cost of the cheapest paths through the match backwards, and begun half-way.

    Examples
    --------
    >>> disordered_cost([[0, 1], [1, 0]])
    2.0
    """
    return float(np.mean([solve_whole(other).cost for other in disordered(check_cost(cost))]))


def check_cost(cost: ArrayLike) -> Floats:
    """Return `cost` as a contiguous float32 matrix, unless it is empty or not two-dimensional."""
    matrix = np.ascontiguousarray(cost, np.float32)
    if matrix.ndim != 2 or not matrix.size:
        raise FeatureError(f"cost: expected a matrix (n, m) with at least one cell, got {matrix.shape = }")
    return matrix


def require_finite(total: float) -> float:
    """Return `total`, to which every cell contributes, unless one of them is NaN or infinite."""
    if not math.isfinite(total):
        raise FeatureError("cost: holds NaN or infinity, so no path has a meaningful cost")
    return total


def solve_whole(
    cost: Floats, *, penalty: float = 0.0, band: float | None = None, anchors: Cells = ()
) -> SolvedPath:
    """Solve a float32 matrix, shape (n, m), that `check_cost` has seen."""
    return solve_rows([(0, cost)], *cost.shape, penalty=penalty, band=band, anchors=anchors)


def solve_rows(
    blocks: Iterable[tuple[int, Floats]],
    n: int,
    m: int,
    *,
    penalty: float = 0.0,
    band: float | None = None,
    anchors: Cells = (),
) -> SolvedPath:
    """Solve a matrix of shape (n, m) that arrives in row blocks (first row, costs of shape (k, m)).

    It needs two bits of memory for each of the n × m cells, besides the current block.
    """
    if n * m // 4 > _MOVES_BYTES:
        raise FeatureError(
            f"aligning {n} with {m} samples takes {n * m >> 22} MB for the path alone: "
            "align shorter spans, or sample at a lower rate"
        )
    limits, held = _band_limits(n, m, band), _anchor_columns(n, m, anchors)
    moves = np.empty((n, (m + 3) // 4), np.uint8)
    values, means = np.full(m, -np.inf, np.float32), np.zeros(m, np.float32)
    for first, costs in blocks:
        kernels.solve_rows(costs, first, penalty, limits, held, values, means, moves)
    random = require_finite(float(means[-1]))
    if not np.isfinite(values[-1]):
        raise FeatureError(
            f"no path passes {list(anchors)} within {band = }: widen the band or remove anchors"
        )
    path = kernels.trace_rows(moves, m).copy()
    cost = -float(values[-1])
    if penalty:
        cost -= penalty * int((np.diff(path, axis=0).sum(1) == 1).sum())
    return SolvedPath(path, cost, random)


def _band_limits(n: int, m: int, band: float | None) -> NDArray[np.int32]:
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


def _anchor_columns(n: int, m: int, anchors: Cells) -> NDArray[np.int32]:
    """First and last column the path must pass in each row, −1 for none, (2, n)."""
    out = np.full((2, n), -1, np.int32)
    for i, j in sorted(anchors):
        if not (0 <= i < n and 0 <= j < m):
            raise FeatureError(f"anchor ({i}, {j}) lies outside the {n} × {m} matrix")
        out[0, i] = j if out[0, i] < 0 else out[0, i]
        out[1, i] = j
    return out
