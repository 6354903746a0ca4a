"""DTW and DRAQ of many cost matrices of any sizes, LANES abreast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.kernels import lanes
from seasync.align.matrix import Path, Solved, checked, solve_rows
from seasync.encoding import Floats

# Larger matrices are solved one by one: abreast, they would fall out of the cache.
_LARGEST = 300_000
# Fewer than this are solved faster one by one.
_FEWEST = 3


def dtw_many(costs: Sequence[ArrayLike]) -> list[tuple[Path, float]]:
    """`dtw` of every matrix: the same results, many times faster for up to a few hundred rows each."""
    return [(solved.path, solved.cost) for solved in solve_many([checked(cost) for cost in costs])]


def solve_many(costs: Sequence[Floats]) -> list[Solved]:
    """Solve cost matrices (float32, finite)."""
    out: dict[int, Solved] = {}
    for block in lane_blocks([cost.shape for cost in costs]):
        abreast = Abreast([costs[k].shape for k in block])
        for lane, k in enumerate(block):
            abreast.plane(lane)[:] = costs[k]
        out |= zip(block, abreast.solve(), strict=True)
    return [out[k] if k in out else solve_rows([(0, cost)], *cost.shape) for k, cost in enumerate(costs)]


def lane_blocks(sizes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of the matrices worth solving abreast, in blocks of like sizes."""
    small = [k for k, (n, m) in enumerate(sizes) if n * m <= _LARGEST]
    small.sort(key=lambda k: (sizes[k][1], sizes[k][0]))
    for start in range(0, len(small), lanes.LANES):
        if len(block := small[start : start + lanes.LANES]) >= _FEWEST:
            yield block


class Abreast:
    """Up to LANES cost matrices of the given sizes: write each into its `plane`, then `solve`."""

    def __init__(self, sizes: Sequence[tuple[int, ...]]) -> None:
        self.sizes = sizes
        self.n, self.m = max(n for n, _ in sizes), max(m for _, m in sizes)
        self.rows = np.zeros(lanes.LANES, np.int64)
        self.columns = np.zeros(lanes.LANES, np.int64)
        self.rows[: len(sizes)], self.columns[: len(sizes)] = zip(*sizes, strict=True)
        self.planes = np.zeros((lanes.LANES, self.n, self.m), np.float32)

    def plane(self, lane: int) -> Floats:
        """The matrix of one lane, (n, m), to be written."""
        n, m = self.sizes[lane]
        return self.planes[lane, :n, :m]

    def _totals(self, moves: NDArray[np.uint8]) -> Floats:
        totals = np.zeros((2, lanes.LANES), np.float32)
        lanes.solve(self.planes, self.rows, self.columns, totals, moves, True)
        return totals

    def scores(self) -> Floats:
        """DTW cost and mean cost of random paths, (2, lanes)."""
        return self._totals(np.empty((0, 0), np.uint8))[:, : len(self.sizes)]

    def solve(self) -> list[Solved]:
        """Path, cost and mean cost of random paths of every lane."""
        moves = np.empty((self.n, self.m * lanes.LANES), np.uint8)
        totals = self._totals(moves)
        return [
            Solved(lanes.trace(moves, lane, n, m), float(totals[0, lane]), float(totals[1, lane]))
            for lane, (n, m) in enumerate(self.sizes)
        ]
