"""DTW and DRAQ of many cost matrices of any sizes, LANES abreast."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.kernels import lanes
from seasync.align.matrix import Path, Solved, checked, finite, solve_whole
from seasync.encoding import Floats

# Longer sides are solved one by one: abreast, they would fall out of the cache.
_LONGEST = 384
# Fewer than this are solved faster one by one.
_FEWEST = 3
# Room to work in, kept by each thread: touching fresh memory would take longer than solving.
_room = threading.local()


def dtw_many(costs: Sequence[ArrayLike]) -> list[tuple[Path, float]]:
    """`dtw` of every matrix: the same results, many times faster for up to a few hundred rows each."""
    matrices = [checked(cost) for cost in costs]
    out: dict[int, Solved] = {}
    for block, abreast in _filled(matrices):
        out |= zip(block, abreast.solve(), strict=True)
    solved = (out[k] if k in out else solve_whole(matrix) for k, matrix in enumerate(matrices))
    return [(each.path, each.cost) for each in solved]


def draq_many(costs: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """`draq` of every matrix, (B,): the same results; no paths are kept, which is faster still."""
    matrices = [checked(cost) for cost in costs]
    totals = np.full((2, len(matrices)), np.nan)
    for block, abreast in _filled(matrices):
        totals[:, block] = abreast.scores()
    for k in np.flatnonzero(np.isnan(totals[0])).tolist():
        solved = solve_whole(matrices[k])
        totals[:, k] = solved.cost, solved.random
    return ratios(*totals)


def _filled(costs: Sequence[Floats]) -> Iterator[tuple[list[int], Abreast]]:
    for block in lane_blocks([cost.shape for cost in costs]):
        abreast = Abreast([costs[k].shape for k in block])
        abreast.fill([costs[k] for k in block])
        yield block, abreast


def ratios(costs: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """costs / means, and 1 where there is nothing to compare; (B,) each."""
    return np.divide(costs, means, out=np.ones(len(costs)), where=means > 0)


def lane_blocks(sizes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of the matrices worth solving abreast, in blocks of like sizes."""
    small = [k for k, size in enumerate(sizes) if max(size) <= _LONGEST]
    small.sort(key=lambda k: (sizes[k][1], sizes[k][0]))
    for start in range(0, len(small), lanes.LANES):
        if len(block := small[start : start + lanes.LANES]) >= _FEWEST:
            yield block


def _reserve(name: str, dtype: type[np.generic], *shape: int) -> NDArray[Any]:
    """This thread's room of that name, as large as needed; what was there before is still in it."""
    size = math.prod(shape)
    room: NDArray[Any] | None = getattr(_room, name, None)
    if room is None or room.size < size:
        room = np.zeros(size, dtype)
        setattr(_room, name, room)
    return room[:size].reshape(shape)


class Abreast:
    """Up to LANES cost matrices of the given sizes: `fill` them, then `solve`.

    A thread has room for one of them at a time.
    """

    def __init__(self, sizes: Sequence[tuple[int, ...]]) -> None:
        self.sizes = sizes
        self.n, self.m = max(n for n, _ in sizes), max(m for _, m in sizes)
        self.rows = np.zeros(lanes.LANES, np.int64)
        self.columns = np.zeros(lanes.LANES, np.int64)
        self.rows[: len(sizes)], self.columns[: len(sizes)] = zip(*sizes, strict=True)
        self.planes = _reserve("planes", np.float32, lanes.LANES, self.n, self.m)

    def fill(self, costs: Sequence[Floats]) -> None:
        """Write the lanes' matrices."""
        if len(set(self.sizes)) == 1:
            np.stack(costs, out=self.planes[: len(costs)])
        else:
            for plane, cost in zip(self.planes, costs, strict=False):
                plane[: cost.shape[0], : cost.shape[1]] = cost

    def _totals(self, moves: NDArray[np.uint8]) -> Floats:
        totals = np.zeros((2, lanes.LANES), np.float32)
        lanes.solve(self.planes, self.rows, self.columns, totals, moves)
        finite(float(totals[1].sum()))
        return totals

    def scores(self) -> Floats:
        """DTW cost and mean cost of random paths, (2, lanes)."""
        return self._totals(np.empty((0, 0), np.uint8))[:, : len(self.sizes)]

    def solve(self) -> list[Solved]:
        """Path, cost and mean cost of random paths of every lane."""
        moves = _reserve("moves", np.uint8, self.n, self.m * lanes.LANES)
        totals = self._totals(moves).tolist()
        paths = np.empty((lanes.LANES, self.n + self.m - 1, 2), np.int32)
        lengths = np.empty(lanes.LANES, np.int64)
        lanes.trace(moves, self.rows, self.columns, paths, lengths)
        ends = lengths[: len(self.sizes)].tolist()
        return [Solved(paths[k, -end:].copy(), totals[0][k], totals[1][k]) for k, end in enumerate(ends)]
