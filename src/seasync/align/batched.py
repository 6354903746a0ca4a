"""DTW and DRAQ of many cost matrices of any sizes, solved LANES at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.kernels import lanes
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
    for start in range(0, len(small), lanes.LANES):
        if len(block := small[start : start + lanes.LANES]) >= _FEWEST:
            yield block


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
    """

    def __init__(self, costs: Sequence[Floats]) -> None:
        sizes = [cost.shape for cost in costs]
        self.count = len(costs)
        self.rows, self.columns = np.zeros((2, lanes.LANES), np.int64)
        self.rows[: self.count], self.columns[: self.count] = zip(*sizes, strict=True)
        self.n, self.m = int(self.rows.max()), int(self.columns.max())
        self.planes = scratch("planes", np.float32, lanes.LANES, self.n, self.m)
        if len(set(sizes)) == 1:
            np.stack(costs, out=self.planes[: self.count])
        else:
            self.planes[: self.count] = 0.0
            for plane, cost in zip(self.planes, costs, strict=False):
                plane[: cost.shape[0], : cost.shape[1]] = cost

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
        lanes.solve(self.planes, self.rows, self.columns, totals, moves)
        require_finite(float(totals[1].sum()))
        pairs: list[list[float]] = totals.T[: self.count].tolist()
        return pairs
