"""DTW and DRAQ of many cost matrices of any sizes, LANES abreast."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.kernels import lanes
from seasync.align.matrix import Path, Solved, checked, finite, solve_whole
from seasync.align.scores import draq_ratio
from seasync.encoding import Floats

# Longer sides are solved one by one: abreast, they would fall out of the cache.
_LONGEST = 384
# Fewer than this are solved faster one by one.
_FEWEST = 3
# Room to work in, kept by each thread: touching fresh memory would take longer than solving.
_room = threading.local()
_NO_PATH = np.empty((0, 2), np.int32)


def dtw_many(costs: Sequence[ArrayLike]) -> list[tuple[Path, float]]:
    """`dtw` of every matrix: the same results, many times faster for up to a few hundred rows each."""
    return [(solved.path, solved.cost) for solved in _solve_many(costs, Abreast.solve)]


def draq_many(costs: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """`draq` of every matrix, (B,): the same results; no paths are kept, which is faster still."""
    solved = _solve_many(costs, Abreast.scores)
    totals = np.array([(each.cost, each.random) for each in solved]).reshape(-1, 2)
    return draq_ratio(*totals.T)


def random_cost_many(costs: Sequence[ArrayLike]) -> list[float]:
    """`random_cost` of every matrix, exact."""
    return [solved.random for solved in _solve_many(costs, Abreast.scores)]


def _solve_many(costs: Sequence[ArrayLike], solve: Callable[[Abreast], list[Solved]]) -> list[Solved]:
    matrices = [checked(cost) for cost in costs]
    out: dict[int, Solved] = {}
    for block in lane_blocks([matrix.shape for matrix in matrices]):
        out |= zip(block, solve(Abreast([matrices[k] for k in block])), strict=True)
    return [out[k] if k in out else solve_whole(matrix) for k, matrix in enumerate(matrices)]


def lane_blocks(sizes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of the matrices worth solving abreast, in blocks of like sizes."""
    small = [k for k, size in enumerate(sizes) if max(size) <= _LONGEST]
    small.sort(key=lambda k: (sizes[k][1], sizes[k][0]))
    for start in range(0, len(small), lanes.LANES):
        if len(block := small[start : start + lanes.LANES]) >= _FEWEST:
            yield block


def reserve(name: str, dtype: type[np.generic], *shape: int) -> NDArray[Any]:
    """This thread's room of that name, as large as needed; what was there before is still in it."""
    size = math.prod(shape)
    room: NDArray[Any] | None = getattr(_room, name, None)
    if room is None or room.size < size:
        room = np.zeros(size, dtype)
        setattr(_room, name, room)
    return room[:size].reshape(shape)


class Abreast:
    """Up to LANES cost matrices (float32), side by side; a thread has room for one such block at a time."""

    def __init__(self, costs: Sequence[Floats]) -> None:
        sizes = [cost.shape for cost in costs]
        self.count = len(costs)
        self.rows, self.columns = np.zeros((2, lanes.LANES), np.int64)
        self.rows[: self.count], self.columns[: self.count] = zip(*sizes, strict=True)
        self.n, self.m = int(self.rows.max()), int(self.columns.max())
        self.planes = reserve("planes", np.float32, lanes.LANES, self.n, self.m)
        if len(set(sizes)) == 1:
            np.stack(costs, out=self.planes[: self.count])
        else:
            self.planes[: self.count] = 0.0
            for plane, cost in zip(self.planes, costs, strict=False):
                plane[: cost.shape[0], : cost.shape[1]] = cost

    def scores(self) -> list[Solved]:
        """Cost and mean cost of random paths of every lane, without the path."""
        totals = self._totals(np.empty((0, 0), np.uint8))
        return [Solved(_NO_PATH, cost, random) for cost, random in totals]

    def solve(self) -> list[Solved]:
        """Path, cost and mean cost of random paths of every lane."""
        moves = reserve("moves", np.uint8, self.n, self.m * lanes.LANES)
        totals = self._totals(moves)
        paths = np.empty((lanes.LANES, self.n + self.m - 1, 2), np.int32)
        lengths = np.empty(lanes.LANES, np.int64)
        lanes.trace(moves, self.rows, self.columns, paths, lengths)
        found = (path[-length:].copy() for path, length in zip(paths, lengths, strict=True))
        return [Solved(path, cost, random) for path, (cost, random) in zip(found, totals, strict=False)]

    def _totals(self, moves: NDArray[np.uint8]) -> list[list[float]]:
        totals = np.zeros((2, lanes.LANES), np.float32)
        lanes.solve(self.planes, self.rows, self.columns, totals, moves)
        finite(float(totals[1].sum()))
        pairs: list[list[float]] = totals.T[: self.count].tolist()
        return pairs
