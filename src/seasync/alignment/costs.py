"""Cost matrices from one Gram matrix: whole, or row block by row block."""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.alignment import kernels
from seasync.alignment.judge import draq_ratio
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Path, SolvedPath, check_cost, require_finite, solve_whole
from seasync.alignment.prepare import JITTER, ORDINARY, PreparedClip, PreparedStream, prepare, shared_streams
from seasync.alignment.recipe import MOTION, Recipe
from seasync.encoding import MIRRORS, WINDOW, WINDOW_FPS, Encoding, EncodingBatch, Floats, Indices, Seconds

# Cells of cost computed at a time: 16 MB.
_BLOCK = 1 << 22
# A cost matrix of up to this many cells (256 MB) is kept whole; a larger one is computed block by block.
_WHOLE = 1 << 26


def cost_matrix(query: Encoding, match: Encoding, *, recipe: Recipe = MOTION) -> Floats:
    """Compute the cost of pairing each grid point of the query with each of the match.

    Parameters
    ----------
    query, match : Encoding
        Two encodings of the same encoder.
    recipe : Recipe

    Returns
    -------
    numpy.ndarray [shape=(n, m)], float32
        All ones if one of the clips is motionless: then nothing makes one pair better than another.

    Raises
    ------
    FeatureError
        If the encodings do not fit together.
    """
    return CostPair(prepare(query, recipe), prepare(match, recipe), recipe).matrix()


class CostPair:
    """The costs of one pair of clips, computed when they are asked for.

    Attributes
    ----------
    query, match : PreparedClip
    recipe : Recipe
    shape : (int, int)
        Grid points of the query and of the match, (n, m).
    motion : (numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)])
        How much moves at each grid point, 1 on average.
    moving : bool
        Whether something moves in both clips.
    """

    def __init__(self, query: PreparedClip, match: PreparedClip, recipe: Recipe) -> None:
        self.recipe = recipe
        self.query, self.match = query, match
        self.shape = len(query.seconds), len(match.seconds)
        pairs = [(a, b) for a, b in shared_streams(query, match) if not a.still and not b.still]
        self.moving = bool(pairs)
        self.streams = pairs
        self._states: list[tuple[Indices, Floats, Seconds]] = []
        self.motion = (
            _motion([a for a, _ in pairs], self.shape[0]),
            _motion([b for _, b in pairs], self.shape[1]),
        )

    @property
    def is_interrupted(self) -> bool:
        """Whether a scene of one of the clips continues after something else."""
        return any(clip.uninterrupted is not None for clip in (self.query, self.match))

    @property
    def uninterrupted(self) -> tuple[Indices, Indices]:
        """Grid points of the query and of the match without what interrupts a scene."""
        kept = ((clip.uninterrupted, len(clip)) for clip in (self.query, self.match))
        query, match = (np.arange(n) if own is None else np.flatnonzero(own) for own, n in kept)
        return query, match

    @property
    def frames(self) -> tuple[int, int]:
        """Sampled frames of the leading stream of the query and of the match."""
        return self.query.streams[0].length, self.match.streams[0].length

    @property
    def factors(self) -> tuple[int, int] | None:
        """Grid points from one frame to the next in query and match; None if other streams count."""
        leading = self.query.streams[0], self.match.streams[0]
        if not self.moving or self.streams == [leading]:
            return self.query.factor, self.match.factor
        return None

    def mirrored(self) -> "CostPair | None":
        """The pair with the match seen in a mirror; None if no stream has a left and a right."""
        if not any(match.name in MIRRORS for _, match in self.streams):
            return None
        return CostPair(self.query, self.match.mirrored(), self.recipe)

    def matrix(self) -> Floats:
        """All costs, shape (n, m), float32."""
        out = np.empty(self.shape, np.float32)
        self.rows(0, out)
        return out

    def matrix_unless_large(self) -> Floats | None:
        """All costs, shape (n, m), or None if they are too many to keep."""
        return self.matrix() if math.prod(self.shape) <= _WHOLE else None

    def along(self, path: NDArray[np.int32]) -> Floats:
        """The costs of the cells of a path, shape (L, 2); they come in order of its rows."""
        return np.concatenate(
            [
                block[cells[:, 0] - first, cells[:, 1]]
                for first, block in self.blocks()
                if len(cells := path[(path[:, 0] >= first) & (path[:, 0] < first + len(block))])
            ]
        )

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield (first row, costs of shape (k, m)) in bounded memory; a block is valid until the next one."""
        n, m = self.shape
        buffer = np.empty((max(1, min(n, _BLOCK // m)), m), np.float32)
        for first in range(0, n, len(buffer)):
            block = buffer[: n - first]
            self.rows(first, block)
            yield first, block

    def rows(self, first: int, out: Floats) -> None:
        """Write the costs of the rows from `first` on into `out`, shape (k, m); ask in order, from row 0."""
        if not self.moving:
            out[:] = 1.0
            return
        if first == 0:
            others = [match.arrays for _, match in self.streams]
            self._states = [
                (np.full(1, -1), np.zeros((2, one.length + 1), np.float32), np.zeros(one.length + 2))
                for one in others
            ]
        for k, (query, match) in enumerate(self.streams):
            kernels.add_cosines(
                query.arrays, match.arrays, self.recipe.context, self._states[k], first, out, add=k > 0
            )
        kernels.finish_costs(
            out,
            len(self.streams),
            self.recipe.power,
            self.recipe.stillness,
            self.motion[0][first : first + len(out)],
            self.motion[1],
        )


def _motion(streams: list[PreparedStream], length: int) -> Floats:
    """How much moves at each grid point, the mean over the streams, shape (length,)."""
    if not streams:
        return np.ones(length, np.float32)
    if len(streams) == 1:
        only: Floats = streams[0].arrays.grid[2]
        return only
    mean: Floats = np.mean([stream.arrays.grid[2] for stream in streams], axis=0, dtype=np.float32)
    return mean


# DTW and DRAQ of many cost matrices of any sizes, solved LANES at a time.


# Longer sides are solved one by one. A batch is eleven times as fast even at 1,024, but a thread keeps its
# working memory: up to 65 MB at this length, which is 34 s on a grid of 15 points per second.
LONGEST = 512
# Fewer than this are solved faster one by one.
_FEWEST = 3
_NO_PATH = np.empty((0, 2), np.int32)
# Working memory that each thread keeps: touching fresh memory would take longer than solving.
_scratch = threading.local()


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
    solved = _solve_many(costs, lambda batch: map(SolvedPath, repeat(_NO_PATH), *batch.totals().tolist()))
    return draq_ratio([each.cost for each in solved], [each.random for each in solved])


def _solve_many(
    costs: Sequence[ArrayLike], solve: Callable[["BatchedCosts"], Iterable[SolvedPath]]
) -> list[SolvedPath]:
    """Every matrix solved: small ones side by side, by `solve`, and large ones one by one."""
    matrices = [check_cost(cost) for cost in costs]
    out: dict[int, SolvedPath] = {}
    for block in batch_blocks([matrix.shape for matrix in matrices]):
        out |= zip(block, solve(BatchedCosts([matrices[k] for k in block])), strict=True)
    return [out[k] if k in out else solve_whole(matrix) for k, matrix in enumerate(matrices)]


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
        whole = np.zeros(size * np.dtype(dtype).itemsize + 63, np.uint8)
        first = -whole.ctypes.data % 64  # where a line of the cache begins
        array = whole[first : first + size * np.dtype(dtype).itemsize].view(dtype)
        setattr(_scratch, name, array)
    return array[:size].reshape(shape)


def _sizes(matrices: Sequence[Floats]) -> Indices:
    """Rows and columns of up to LANES matrices, shape (2, LANES); zero beyond."""
    out = np.zeros((2, LANES), np.int64)
    out[:, : len(matrices)] = np.transpose([matrix.shape for matrix in matrices])
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
        self._begin(len(costs), _sizes(costs))
        kernels.interleave(costs, self.rows, self.columns, self.cells)

    @classmethod
    def of_pairs(cls, pairs: Sequence[CostPair]) -> "BatchedCosts":
        """The cost matrices of pairs of one recipe, at most LANES, made where the kernels read them."""
        factors, *others = {pair.factors for pair in pairs}
        if others or factors is None:
            return cls([pair.matrix() for pair in pairs])
        sizes = np.zeros((2, LANES), np.int64)
        sizes[:, : len(pairs)] = np.transpose([pair.shape for pair in pairs])
        recipe, (longest, other) = pairs[0].recipe, np.array([pair.frames for pair in pairs]).max(0).tolist()
        self = cls.__new__(cls)
        kernels.pair_costs(
            [pair.query.streams[0].arrays for pair in pairs],
            [pair.match.streams[0].arrays for pair in pairs],
            np.array([pair.moving for pair in pairs]),
            recipe.context,
            self.lay_out(len(pairs), sizes, (longest, other), factors, recipe),
        )
        return self

    def lay_out(
        self, count: int, sizes: Indices, frames: tuple[int, int], factors: tuple[int, int], recipe: Recipe
    ) -> kernels.Layout:
        """Where the costs of `count` pairs go; see `kernels.Layout`. sizes (2, LANES): rows and columns."""
        self._begin(count, sizes)
        planes = scratch("planes", np.float32, LANES, frames[0], frames[1] + 1)
        sides, numbers = (
            scratch("sides", np.float32, self.n + self.m, 3, LANES),
            (recipe.stillness, recipe.power),
        )
        return kernels.Layout(self.rows, self.columns, frames, factors, planes, sides, self.cells, *numbers)

    def _begin(self, count: int, sizes: NDArray[np.int64]) -> None:
        self.count, (self.rows, self.columns) = count, sizes
        self.n, self.m = sizes.max(1).tolist()
        self.cells = scratch("cells", np.float32, self.n, self.m * LANES)

    def matrix(self, lane: int) -> Floats:
        """A copy of one of the matrices."""
        cells = self.cells.reshape(self.n, self.m, LANES)
        return cells[: self.rows[lane], : self.columns[lane], lane].copy()

    def disordered(self) -> NDArray[np.float64]:
        """The `disordered_cost` of every matrix, shape (B,)."""
        totals = kernels.solve_disordered(self.cells, self.rows, self.columns)
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
            cells = scratch("boxes", np.float32, n, m * LANES)
            kernels.take_boxes(self.cells, where, cells)
            out[0, block] = kernels.solve_lanes(cells, *sizes)[1, : len(block)]
            if contrast:
                totals = kernels.solve_disordered(cells, *sizes)
                out[1, block] = totals[:, : len(block)].mean(0, dtype=np.float64)
        return out

    def totals(self, moves: NDArray[np.uint8] | None = None) -> NDArray[np.float64]:
        """Cost of the cheapest path and mean cost of random paths of every matrix, shape (2, B).

        The moves of the paths are written into `moves`.
        """
        totals = kernels.solve_lanes(self.cells, self.rows, self.columns, moves=moves)
        require_finite(float(totals[1].sum()))
        return totals[:, : self.count].astype(np.float64)

    def solve(self) -> list[SolvedPath]:
        """Path, cost and mean cost of random paths of every matrix."""
        moves = scratch("moves", np.uint8, self.n, self.m * LANES)
        totals = self.totals(moves).T.tolist()
        paths = kernels.trace_lanes(moves, self.rows, self.columns)
        return [SolvedPath(path, cost, random) for path, (cost, random) in zip(paths, totals, strict=False)]


# Cost matrices of one query with clips as a sea stores them, made without a step of Python for each.


@dataclass(frozen=True, eq=False)
class StoredMatches:
    """A query and the clips of a batch, and how each of these is prepared.

    Attributes
    ----------
    query : PreparedClip
    batch : EncodingBatch
    recipe : Recipe
    plans : numpy.ndarray [shape=(B, 5)]
    rates : numpy.ndarray [shape=(B,)]
        See `kernels.plan_clips`.
    """

    query: PreparedClip
    batch: EncodingBatch
    recipe: Recipe
    plans: Indices
    rates: Seconds

    @classmethod
    def of(cls, query: PreparedClip, batch: EncodingBatch, recipe: Recipe) -> "StoredMatches | None":
        """None if recipe, query or batch need more than one plain stream of both."""
        only = query.streams[0]
        if (
            not recipe.compares_change
            or recipe.grid_fps is None
            or recipe.context
            or recipe.penalty
            or len(query.streams) > 1
            or only.still
            or only.name in MIRRORS
            or len(query) > LONGEST
            or (query.encoder, only.name, only.arrays.width)
            != (batch.encoder, batch.name, batch.features.shape[1])
        ):
            return None
        plans, rates = kernels.plan_clips(
            batch.seconds,
            batch.frames_of,
            batch.shots_of,
            jitter=JITTER,
            ordinary=ORDINARY,
            window=WINDOW if recipe.windows else LONGEST,
            window_fps=WINDOW_FPS,
            grid_fps=recipe.grid_fps,
            longest=LONGEST,
        )
        return cls(query, batch, recipe, plans, rates)

    def blocks(self) -> tuple[list[list[int]], list[int]]:
        """Clips to be solved together, LANES at most and of similar length; and those that are not plain."""
        plain = self.plans[:, kernels.PLAIN] == 1
        chosen = np.flatnonzero(plain)
        found: list[list[int]] = []
        for factor in np.unique(self.plans[chosen, kernels.FACTOR]).tolist():
            same = chosen[self.plans[chosen, kernels.FACTOR] == factor]
            same = same[np.argsort(self.plans[same, kernels.POINTS], kind="stable")]
            found += [part.tolist() for part in np.array_split(same, -(-len(same) // LANES))]
        return found, np.flatnonzero(~plain).tolist()

    def costs(self, block: list[int]) -> tuple[BatchedCosts, NDArray[np.bool_]]:
        """The cost matrices of one block, and whether something moves in each clip."""
        chosen, only = np.array(block), self.query.streams[0]
        plans = self.plans[chosen]
        sizes = np.zeros((2, LANES), np.int64)
        sizes[0, : len(block)], sizes[1, : len(block)] = len(self.query), plans[:, kernels.POINTS]
        samples, factors = (
            int(plans[:, kernels.SAMPLES].max()),
            (self.query.factor, int(plans[0, kernels.FACTOR])),
        )
        costs, recipe = BatchedCosts.__new__(BatchedCosts), self.recipe
        moving = kernels.stored_costs(
            self.batch.features,
            self.batch.seconds,
            self.batch.frames_of,
            self.plans,
            self.rates,
            chosen,
            only.arrays,
            kernels.Settings(0, False, True, recipe.motion_cap, recipe.scale_floor),
            recipe.change_seconds or 0.0,
            costs.lay_out(len(block), sizes, (only.length, samples), factors, recipe),
        )
        return costs, moving


# Work on arrays in a few threads: the kernels let go of Python's lock while they compute.


Item = TypeVar("Item")
Result = TypeVar("Result")
_here = threading.local()


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`work` for every item, on all cores. It must not call `in_threads` itself."""
    if len(items) < 2 or (os.cpu_count() or 1) < 2 or getattr(_here, "alone", False):
        return [work(item) for item in items]
    return list(_pool(os.getpid()).map(work, items))


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Within it, `in_threads` works in the thread that calls it, because others keep the cores busy."""
    _here.alone = True
    try:
        yield
    finally:
        _here.alone = False


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that are kept, because starting them takes longer than their work; a fork needs its own."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="seasync-align")
