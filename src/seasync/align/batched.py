"""DTW and DRAQ of many cost matrices of any sizes, solved LANES at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.cost_pair import CostPair
from seasync.align.kernels import lanes
from seasync.align.kernels.disordered import disordered as disordered_totals
from seasync.align.kernels.lane_costs import fill_pairs, lane_costs
from seasync.align.kernels.vectors import LANES
from seasync.align.matrix import Path, SolvedPath, check_cost, require_finite, solve_whole
from seasync.align.scores import draq_ratio
from seasync.encoding import Floats

# Longer sides are solved one by one. A batch is eleven times as fast even at 1,024, but a thread keeps its
# working memory: up to 65 MB at this length, which is 34 s on a grid of 15 points per second.
LONGEST = 512
# Fewer than this are solved faster one by one.
_FEWEST = 3
# Working memory that each thread keeps: touching fresh memory would take longer than solving.
_scratch = threading.local()
_NO_MOVES = np.empty((0, 0), np.uint8)


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
    matrices = [check_cost(cost) for cost in costs]
    out: dict[int, SolvedPath] = {}
    for block in batch_blocks([matrix.shape for matrix in matrices]):
        out |= zip(block, BatchedCosts([matrices[k] for k in block]).solve(), strict=True)
    found = [out[k] if k in out else solve_whole(matrix) for k, matrix in enumerate(matrices)]
    return [(solved.path, solved.cost) for solved in found]


def draq_many(costs: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Solve `draq` for every matrix. No paths are traced, so this is faster than `dtw_many`.

    Parameters
    ----------
    costs : sequence of array_like [shape=(n_b, m_b)], length B

    Returns
    -------
    numpy.ndarray [shape=(B,)], float64
    """
    return draq_ratio(*_totals_many(costs))


def _totals_many(costs: Sequence[ArrayLike]) -> NDArray[np.float64]:
    """Cost of the cheapest path and mean cost of random paths of every matrix, shape (2, B)."""
    matrices = [check_cost(cost) for cost in costs]
    out = np.full((2, len(costs)), np.nan)
    for block in batch_blocks([matrix.shape for matrix in matrices]):
        places = _places([matrices[k] for k in block])
        totals = np.zeros((2, LANES), np.float32)
        lanes.score_matrices(*places, _shares(*places[1:].max(1).tolist()), totals)
        require_finite(float(totals[1].sum()))
        out[:, block] = totals[:, : len(block)]
    for k in np.flatnonzero(np.isnan(out[1])):
        solved = solve_whole(matrices[k])
        out[:, k] = solved.cost, solved.random
    return out


def batch_blocks(sizes: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Indices of the matrices that are faster to solve in a batch, in blocks of similar sizes."""
    small = sorted((m, n, k) for k, (n, m) in enumerate(sizes) if max(n, m) <= LONGEST)
    count = -(-len(small) // LANES)  # of about equal size, so that threads finish together
    for at in range(count):
        block = [k for _, _, k in small[at * len(small) // count : (at + 1) * len(small) // count]]
        if len(block) >= _FEWEST:
            yield block


def scratch(name: str, dtype: type[np.generic], *shape: int) -> NDArray[Any]:
    """This thread's working array of that name; it still holds what was there before."""
    size = math.prod(shape)
    array: NDArray[Any] | None = getattr(_scratch, name, None)
    if array is None or array.size < size:
        array = np.zeros(size, dtype)
        setattr(_scratch, name, array)
    return array[:size].reshape(shape)


@lru_cache(maxsize=1)
def _share_table(size: int) -> Floats:
    return np.asarray(lanes.share_table(size))


def _shares(n: int, m: int) -> Floats:
    """How often random paths leave each cell which way: a table for matrices of at least n × m."""
    return _share_table(-(-max(n, m, LONGEST) // 128) * 128)


def _places(costs: Sequence[Floats]) -> NDArray[np.int64]:
    """Addresses, rows and columns of up to LANES contiguous matrices, shape (3, LANES); zero beyond."""
    out = np.empty((3, LANES), np.int64)
    lanes.find_matrices((*costs, *[costs[0]] * (LANES - len(costs))), out)
    out[:, len(costs) :] = 0
    return out


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
        places = _places(costs)
        self._begin(len(costs), places[1:])
        lanes.interleave_all(*places, self.cells)

    @classmethod
    def of_pairs(cls, pairs: Sequence[CostPair]) -> BatchedCosts:
        """The cost matrices of pairs of one recipe, at most LANES, made where the kernels read them."""
        factors = {pair.factors for pair in pairs}
        if len(factors) > 1 or None in factors:
            return cls([pair.matrix() for pair in pairs])
        recipe, sizes = pairs[0].recipe, np.zeros((2, LANES), np.int64)
        sizes[:, : len(pairs)] = np.transpose([pair.shape for pair in pairs])
        frames = np.array([pair.frames for pair in pairs]).max(0).tolist()

        sides = [(pair.query.streams[0].arrays, pair.match.streams[0].arrays) for pair in pairs]
        queries, matches = zip(*sides, *[sides[0]] * (LANES - len(sides)), strict=True)
        moving = np.array([pair.moving for pair in pairs])

        def fill(planes: Floats, *both: Floats) -> None:
            fill_pairs(queries, matches, moving, recipe.stillness, recipe.context, planes, *both)

        return cls.filled(fill, len(pairs), sizes, frames, np.array(*factors), recipe.power)

    @classmethod
    def filled(
        cls,
        fill: Callable[[Floats, Floats, Floats], None],
        count: int,
        sizes: NDArray[np.int64],
        frames: Sequence[int],
        factors: NDArray[np.int64],
        power: float,
    ) -> BatchedCosts:
        """The cost matrices of pairs whose products `fill` writes; see `lane_costs` for its arguments.

        Parameters
        ----------
        fill : callable
            Takes planes, query and match, and writes them.
        count : int
            How many pairs, at most LANES.
        sizes : numpy.ndarray [shape=(2, LANES)]
            Grid points of each query and match, zero beyond `count`.
        frames : (int, int)
            Frames of the longest query and of the longest match.
        factors : numpy.ndarray [shape=(2,)]
            Grid points from one frame to the next, of the queries and of the matches.
        power : float
            See `Recipe`.
        """
        self = cls.__new__(cls)
        self._begin(count, sizes)
        planes = scratch("planes", np.float32, LANES, frames[0], frames[1] + 1)
        sides = (
            scratch("query", np.float32, 3, self.n, LANES),
            scratch("match", np.float32, 3, self.m, LANES),
        )
        fill(planes, *sides)
        lane_costs(planes, factors, self.rows, self.columns, *sides, np.float32(power), self.cells)
        return self

    def _begin(self, count: int, sizes: NDArray[np.int64]) -> None:
        self.count, (self.rows, self.columns) = count, sizes
        self.n, self.m = sizes.max(1).tolist()
        self.cells = scratch("cells", np.float32, self.n, self.m * LANES)

    def matrix(self, lane: int) -> Floats:
        """A copy of one of the matrices."""
        out = np.empty((self.rows[lane], self.columns[lane]), np.float32)
        lanes.matrix_of(self.cells, lane, out)
        return out

    def disordered(self) -> NDArray[np.float64]:
        """The `disordered_cost` of every matrix, shape (B,)."""
        totals = np.empty((2, LANES), np.float32)
        disordered_totals(self.cells, self.rows, self.columns, totals)
        return np.asarray(totals[:, : self.count].mean(0, dtype=np.float64))

    def box_costs(self, boxes: NDArray[np.int64], *, contrast: bool) -> NDArray[np.float64]:
        """`random_cost` and, with `contrast`, `disordered_cost` of parts of the matrices, shape (2, P).

        boxes (P, 5): lane, first row, first column, number of rows and of columns of each.
        """
        out = np.zeros((2, len(boxes)))
        order = np.argsort(boxes[:, 4])
        for first in range(0, len(boxes), LANES):
            block = order[first : first + LANES]
            where = np.zeros((5, LANES), np.int64)
            where[:, : len(block)] = boxes[block].T
            (n, m), sizes = where[3:].max(1).tolist(), where[3:]
            cells, totals = scratch("boxes", np.float32, n, m * LANES), np.zeros((2, LANES), np.float32)
            lanes.take_boxes(self.cells, *where, cells)
            lanes.solve(cells, *sizes, _shares(n, m), totals, _NO_MOVES)
            out[0, block] = totals[1, : len(block)]
            if contrast:
                disordered_totals(cells, *sizes, totals)
                out[1, block] = totals[:, : len(block)].mean(0, dtype=np.float64)
        return out

    def totals(self, moves: NDArray[np.uint8] = _NO_MOVES) -> NDArray[np.float64]:
        """Cost of the cheapest path and mean cost of random paths of every matrix, shape (2, B).

        The moves of the paths are written into `moves`, unless it is empty.
        """
        totals = np.zeros((2, LANES), np.float32)
        lanes.solve(self.cells, self.rows, self.columns, _shares(self.n, self.m), totals, moves)
        require_finite(float(totals[1].sum()))
        return totals[:, : self.count].astype(np.float64)

    def solve(self) -> list[SolvedPath]:
        """Path, cost and mean cost of random paths of every matrix."""
        moves = scratch("moves", np.uint8, self.n, self.m * LANES)
        totals = self.totals(moves).T.tolist()
        paths = np.empty((LANES, self.n + self.m - 1, 2), np.int32)
        lengths = np.empty(LANES, np.int64)
        lanes.trace(moves, self.rows, self.columns, paths, lengths)
        found = (path[-length:].copy() for path, length in zip(paths, lengths, strict=True))
        return [SolvedPath(path, cost, random) for path, (cost, random) in zip(found, totals, strict=False)]
