"""Cost matrices from one Gram matrix: whole, or row block by row block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seasync.align.kernels import cost as kernels
from seasync.align.recipe import MOTION, Recipe
from seasync.align.track import Strand, Track, prepare, shared
from seasync.encoding import MIRRORS, Encoding, Floats

# Cells of cost computed at a time: 16 MB.
_BLOCK = 1 << 22
# Multiplications of a product that BLAS leaves to one thread.
_SLICE = 1 << 18


def cost_matrix(query: Encoding, match: Encoding, *, recipe: Recipe = MOTION) -> Floats:
    """The cost of pairing each grid point of the query with each of the match, (n, m) float32.

    All ones if one of the clips is motionless: there is nothing to prefer one pair by.
    """
    return CostPair(prepare(query, recipe), prepare(match, recipe), recipe).matrix()


class CostPair:
    """Costs of one pair of clips. shape (n, m); motion (n,), (m,); moving: neither is motionless."""

    def __init__(self, query: Track, match: Track, recipe: Recipe) -> None:
        self.recipe = recipe
        self.query, self.match = query, match
        self.shape = len(query), len(match)
        pairs = [(a, b) for a, b in shared(query, match) if not a.still and not b.still]
        self.moving = bool(pairs)
        self.strands = [_StrandPair(a, b, recipe.context) for a, b in pairs]
        self.motion = _motion([a for a, _ in pairs], len(query)), _motion([b for _, b in pairs], len(match))

    def mirrored(self) -> CostPair | None:
        """The query with the match seen in a mirror; None if no stream that counts tells left from right."""
        if not any(pair.match.name in MIRRORS for pair in self.strands):
            return None
        return CostPair(self.query, self.match.mirrored(), self.recipe)

    def matrix(self) -> Floats:
        """All costs, (n, m) float32."""
        out = np.empty(self.shape, np.float32)
        self.rows(0, out)
        return out

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """(first row, costs (k, m)) block after block, bounded in memory; a block lives until the next."""
        n, m = self.shape
        buffer = np.empty((max(1, min(n, _BLOCK // m)), m), np.float32)
        for first in range(0, n, len(buffer)):
            block = buffer[: n - first]
            self.rows(first, block)
            yield first, block

    def rows(self, first: int, out: Floats) -> None:
        """Write the costs of the rows from `first` on into out (k, m); ask for rows in order, from 0."""
        if not self.moving:
            out[:] = 1.0
            return
        out[:] = 0.0
        for pair in self.strands:
            pair.add(first, out)
        kernels.finish_costs(
            out,
            len(self.strands),
            self.recipe.power,
            self.recipe.stillness,
            self.motion[0][first : first + len(out)],
            self.motion[1],
        )


def _motion(strands: list[Strand], length: int) -> Floats:
    """How much moves at each grid point, the mean of all strands, (length,)."""
    if not strands:
        return np.ones(length, np.float32)
    if len(strands) == 1:
        only: Floats = strands[0].grid[2]
        return only
    mean: Floats = np.mean([strand.grid[2] for strand in strands], axis=0, dtype=np.float32)
    return mean


def _products(rows: Floats, others: Floats) -> Floats:
    """rows (k, d) · othersᵀ (d, m), in slices too small for BLAS to spread over threads.

    Threads that share a small product wait for each other longer than they work; on a busy machine, for ever.
    """
    (count, width), height = rows.shape, max(4, _SLICE // others.size)
    out = np.empty((count, len(others)), np.float32)
    if others.size > _SLICE // 2:
        return np.matmul(rows, others.T, out=out)
    whole = count // height * height
    np.matmul(
        rows[:whole].reshape(-1, height, width), others.T, out=out[:whole].reshape(-1, height, len(others))
    )
    np.matmul(rows[whole:], others.T, out=out[whole:])
    return out


class _StrandPair:
    """One stream of both clips, and what one block of rows hands to the next."""

    def __init__(self, query: Strand, match: Strand, context: bool) -> None:
        self.query, self.match, self.context = query, match, context
        self.done = np.empty(1, np.int64)
        self.ring = np.empty((2, match.length + 1), np.float32)
        self.sums = np.empty(match.length + 2 if context else 0, np.float64)

    def add(self, first: int, out: Floats) -> None:
        """Add the cosines of grid rows first … to out (k, m): one Gram block of the frames they touch."""
        if first == 0:
            self.done[0] = -1
            self.sums[:] = 0.0
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
