"""Cost matrices from one Gram matrix: whole, or row block by row block."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from seasync.align.kernels import cosines as kernels
from seasync.align.kernels.products import products
from seasync.align.prepare import PreparedClip, PreparedStream, prepare, shared_streams
from seasync.align.recipe import MOTION, Recipe
from seasync.encoding import MIRRORS, Encoding, Floats

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
        self.shape = len(query), len(match)
        pairs = [(a, b) for a, b in shared_streams(query, match) if not a.still and not b.still]
        self.moving = bool(pairs)
        self.streams = [_StreamPair(a, b, recipe.context) for a, b in pairs]
        self.motion = _motion([a for a, _ in pairs], len(query)), _motion([b for _, b in pairs], len(match))

    @property
    def frames(self) -> tuple[int, int]:
        """Sampled frames of the leading stream of the query and of the match."""
        return self.query.streams[0].length, self.match.streams[0].length

    @property
    def factors(self) -> tuple[int, int] | None:
        """Grid points from one frame to the next in query and match; None if other streams count."""
        leading = self.query.streams[0], self.match.streams[0]
        if not self.moving or [(pair.query, pair.match) for pair in self.streams] == [leading]:
            return self.query.factor, self.match.factor
        return None

    def mirrored(self) -> CostPair | None:
        """The pair with the match seen in a mirror; None if no stream has a left and a right."""
        if not any(pair.match.name in MIRRORS for pair in self.streams):
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
        out[:] = 0.0
        for pair in self.streams:
            pair.add(first, out)
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
        only: Floats = streams[0].grid[2]
        return only
    mean: Floats = np.mean([stream.grid[2] for stream in streams], axis=0, dtype=np.float32)
    return mean


def _products(rows: Floats, others: Floats) -> Floats:
    """The product rows (k, d) · othersᵀ (d, m)."""
    out = np.empty((len(rows), len(others)), np.float32)
    products(rows, others, out)
    return out


class _StreamPair:
    """One stream of both clips, and the state that one block of rows hands to the next."""

    def __init__(self, query: PreparedStream, match: PreparedStream, context: bool) -> None:
        self.query, self.match, self.context = query, match, context

    def add(self, first: int, out: Floats) -> None:
        """Add the cosines of the grid rows from `first` on to `out`, shape (k, m), from one Gram block."""
        if first == 0:
            self.done = np.full(1, -1, np.int64)
            self.ring = np.empty((2, self.match.length + 1), np.float32)
            self.sums = np.zeros(self.match.length + 2 if self.context else 0, np.float64)
        query, match, n = self.query, self.match, self.query.length
        last = query.lower[first + len(out) - 1]
        frames = slice(max(0, int(self.done[0])), min(n, int(last) + 2))
        links = query.links[:, frames]
        low, high = min(frames.start, int(links[1].min())), max(frames.stop, int(links[0].max()) + 1)
        if self.context:
            extras = slice(n, len(query.rows))
        elif len(query.rows) > n:
            extras = slice(int(links[2, 0]), int(links[2, -1]) + 1)
        else:
            extras = slice(n, n)
        gram = _products(query.rows[low:high], match.rows)
        extra = _products(query.rows[extras], match.rows)
        kernels.add_cosines(
            gram, low, extra, extras.start - n, query.sides, match.sides,
            self.context, self.done, self.ring, self.sums, first, out,
        )  # fmt: skip
