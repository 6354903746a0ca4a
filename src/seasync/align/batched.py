"""DTW and DRAQ of many cost matrices of any sizes, solved LANES at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.cost_pair import CostPair
from seasync.align.kernels import lanes
from seasync.align.kernels.lane_costs import lane_costs, put_side
from seasync.align.matrix import Path, SolvedPath, check_cost, disordered, require_finite, solve_whole
from seasync.align.scores import draq_ratio
from seasync.encoding import Floats

# Longer sides are solved one by one: in a batch, they would fall out of the cache.
_LONGEST = 384
# Fewer than this are solved faster one by one.
_FEWEST = 3
# Working memory that each thread keeps: touching fresh memory would take longer than solving.
_scratch = threading.local()
_NO_PATH = np.empty((0, 2), np.int32)


def dtw_many(costs: Sequence[ArrayLike]) -> list[tuple[Path, float]]:
    """Solve `dtw` for every matrix.

    The results are those of `dtw`; for up to a few hundred rows each, this is many times faster.

    Parameters
    ----------
    costs : sequence of array_like [shape=(n_b, m_b)], length B

    Returns
    -------
    list of (numpy.ndarray [shape=(L_b, 2)], float), length B
        The cheapest path of each, and its cost.

    Raises
    ------
    FeatureError
        If a matrix is empty or holds NaN or infinity.
    """
    return [(solved.path, solved.cost) for solved in _solve_many(costs, BatchedCosts.solve)]


def draq_many(costs: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Solve `draq` for every matrix. No paths are traced, so this is faster than `dtw_many`.

    Parameters
    ----------
    costs : sequence of array_like [shape=(n_b, m_b)], length B

    Returns
    -------
    numpy.ndarray [shape=(B,)], float64
    """
    solved = _solve_many(costs, BatchedCosts.scores)
    totals = np.array([(each.cost, each.random) for each in solved]).reshape(-1, 2)
    return draq_ratio(*totals.T)


def random_cost_many(costs: Sequence[ArrayLike]) -> list[float]:
    """The exact `random_cost` of every matrix."""
    return [solved.random for solved in _solve_many(costs, BatchedCosts.scores)]


def disordered_cost_many(costs: Sequence[Floats]) -> NDArray[np.float64]:
    """The `disordered_cost` of every matrix, shape (B,)."""
    others = [other for cost in costs for other in disordered(cost)]
    totals = np.array([solved.cost for solved in _solve_many(others, BatchedCosts.scores)])
    return np.asarray(totals.reshape(-1, 2).mean(1))


def _solve_many(
    costs: Sequence[ArrayLike], solve: Callable[[BatchedCosts], list[SolvedPath]]
) -> list[SolvedPath]:
    matrices = [check_cost(cost) for cost in costs]
    out: dict[int, SolvedPath] = {}
    for block in batch_blocks([matrix.shape for matrix in matrices]):
        out |= zip(block, solve(BatchedCosts([matrices[k] for k in block])), strict=True)
    return [out[k] if k in out else solve_whole(matrix) for k, matrix in enumerate(matrices)]


def batch_blocks(sizes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of the matrices that are faster to solve in a batch, in blocks of similar sizes."""
    small = [k for k, size in enumerate(sizes) if max(size) <= _LONGEST]
    small.sort(key=lambda k: (sizes[k][1], sizes[k][0]))
    count = -(-len(small) // lanes.LANES)  # of about equal size, so that threads finish together
    for block in np.array_split(small, count) if count else []:
        if len(block) >= _FEWEST:
            yield block.tolist()


def scratch(name: str, dtype: type[np.generic], *shape: int) -> NDArray[Any]:
    """This thread's working array of that name; it still holds what was there before."""
    size = math.prod(shape)
    array: NDArray[Any] | None = getattr(_scratch, name, None)
    if array is None or array.size < size:
        array = np.zeros(size, dtype)
        setattr(_scratch, name, array)
    return array[:size].reshape(shape)


class BatchedCosts:
    """Up to LANES cost matrices side by side, so that the kernels can solve them together.

    A thread can hold one such batch at a time: its memory is used again by the next one.

    Parameters
    ----------
    costs : sequence of numpy.ndarray [shape=(n_b, m_b)], float32, at most LANES

    Attributes
    ----------
    cells : numpy.ndarray [shape=(n, m * LANES)], float32
        The matrices, the lane innermost; zero beyond each one's size.
    """

    def __init__(self, costs: Sequence[Floats]) -> None:
        self._begin([cost.shape for cost in costs])
        planes = scratch("planes", np.float32, lanes.LANES, self.n, self.m)
        for plane, cost in zip(planes, costs, strict=False):
            n, m = cost.shape
            plane[:n, :m] = cost
            plane[n:] = 0.0
            plane[:n, m:] = 0.0
        lanes.interleave_all(planes, self.cells)

    @classmethod
    def of_pairs(cls, pairs: Sequence[CostPair]) -> BatchedCosts:
        """The cost matrices of pairs of one recipe, at most LANES, made where the kernels read them."""
        factors = {pair.factors for pair in pairs}
        if len(factors) > 1 or None in factors:
            return cls([pair.matrix() for pair in pairs])
        self, recipe = cls.__new__(cls), pairs[0].recipe
        self._begin([pair.shape for pair in pairs])
        frames = np.array([pair.frames for pair in pairs]).max(0).tolist()
        planes = scratch("planes", np.float32, lanes.LANES, frames[0], frames[1] + 1)
        sides = [
            scratch("query", np.float32, 3, self.n, lanes.LANES),
            scratch("match", np.float32, 3, self.m, lanes.LANES),
        ]
        for lane, pair in enumerate(pairs):
            # Nothing moves: all costs are one.
            keep, half = (recipe.stillness, (1 - recipe.stillness) / 2) if pair.moving else (1.0, 0.0)
            put_side(pair.grids[0], lane, np.float32(keep), np.float32(half), sides[0])
            put_side(pair.grids[1], lane, np.float32(0), np.float32(half), sides[1])
            pair.write_products(planes[lane])
        factor = np.array(*factors)
        lane_costs(planes, factor, self.rows, self.columns, *sides, np.float32(recipe.power), self.cells)
        return self

    def _begin(self, sizes: Sequence[tuple[int, ...]]) -> None:
        self.count = len(sizes)
        self.rows, self.columns = np.zeros((2, lanes.LANES), np.int64)
        self.rows[: self.count], self.columns[: self.count] = zip(*sizes, strict=True)
        self.n, self.m = int(self.rows.max()), int(self.columns.max())
        self.cells = scratch("cells", np.float32, self.n, self.m * lanes.LANES)

    def matrix(self, lane: int) -> Floats:
        """A copy of one of the matrices."""
        out = np.empty((self.rows[lane], self.columns[lane]), np.float32)
        lanes.matrix_of(self.cells, lane, out)
        return out

    def disordered(self) -> NDArray[np.float64]:
        """The `disordered_cost` of every matrix, shape (B,); all must have the same number of rows."""
        totals = np.empty((2, lanes.LANES), np.float32)
        lanes.disordered(self.cells, self.columns, totals)
        return np.asarray(totals[:, : self.count].mean(0, dtype=np.float64))

    def scores(self) -> list[SolvedPath]:
        """Cost and mean cost of random paths of every matrix, without the path."""
        totals = self._totals(np.empty((0, 0), np.uint8))
        return [SolvedPath(_NO_PATH, cost, random) for cost, random in totals]

    def solve(self) -> list[SolvedPath]:
        """Path, cost and mean cost of random paths of every matrix."""
        moves = scratch("moves", np.uint8, self.n, self.m * lanes.LANES)
        totals = self._totals(moves)
        paths = np.empty((lanes.LANES, self.n + self.m - 1, 2), np.int32)
        lengths = np.empty(lanes.LANES, np.int64)
        lanes.trace(moves, self.rows, self.columns, paths, lengths)
        found = (path[-length:].copy() for path, length in zip(paths, lengths, strict=True))
        return [SolvedPath(path, cost, random) for path, (cost, random) in zip(found, totals, strict=False)]

    def _totals(self, moves: NDArray[np.uint8]) -> list[list[float]]:
        totals = np.zeros((2, lanes.LANES), np.float32)
        lanes.solve(self.cells, self.rows, self.columns, totals, moves)
        require_finite(float(totals[1].sum()))
        pairs: list[list[float]] = totals.T[: self.count].tolist()
        return pairs
