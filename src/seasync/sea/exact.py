"""Exact search of clip vectors: what small seas use, and what is left when a large one has no index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from seasync.align.kernels.products import dots
from seasync.align.threads import in_threads
from seasync.encoding import Floats
from seasync.sea.found import Found, RowIds
from seasync.sea.index import EXACT_UP_TO, standard_of
from seasync.sea.rows import matrix
from seasync.similarity import best, clip_vectors

if TYPE_CHECKING:
    from seasync.sea.snapshot import Snapshot

CHUNK = 16_384  # clips read at once
QUERIES = 256  # queries compared with a chunk at once
PIECE = 2048  # clips that a thread compares with one query before it takes more


class Exact:
    """Search over all clip vectors of a snapshot, standardized on the set as it is.

    Up to 50,000 clips their vectors stay in memory (3 KB each at 768 dimensions); of more, each call
    reads them.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.standard = standard_of(snapshot)
        self._kept: tuple[RowIds, Floats] | None = None
        if 0 < len(snapshot) <= EXACT_UP_TO:
            ids, vectors = zip(*self._read(snapshot, None), strict=True)
            self._kept = np.concatenate(ids), np.concatenate(vectors)
            self._by_id = np.argsort(self._kept[0])

    def nearest(self, snapshot: Snapshot, vectors: Floats, k: int, where: str | None = None) -> list[Found]:
        """The k nearest to each of `vectors` (Q, D)."""
        none = np.empty((0, vectors.shape[1]), np.float32)
        found = [Found(np.empty(0, np.uint64), np.empty(0, np.float32), none) for _ in vectors]
        for ids, chunk in self._chunks(snapshot, where):
            for first in range(0, len(vectors), QUERIES):
                for n, alike in enumerate(_similarities(vectors[first : first + QUERIES], chunk), first):
                    top = best(alike, k)
                    both = found[n].joined(Found(ids[top], alike[top], chunk[top]))
                    found[n] = both.only(best(both.similarity, k))
        return found

    def of(self, snapshot: Snapshot, rows: RowIds) -> Floats:
        """The clip vectors of these rows, shape (N, D)."""
        if self._kept is not None:
            ids, vectors = self._kept
            return np.asarray(vectors[self._by_id[np.searchsorted(ids, rows, sorter=self._by_id)]])
        table = snapshot.take(rows, ["mean", "trajectory"])
        return clip_vectors(matrix(table["mean"]), matrix(table["trajectory"]), self.standard)

    def _chunks(self, snapshot: Snapshot, where: str | None) -> Iterator[tuple[RowIds, Floats]]:
        if self._kept is None:
            yield from self._read(snapshot, where)
        elif where is None:
            yield self._kept
        else:
            ids, vectors = self._kept
            allowed = np.isin(ids, snapshot.table([], where)["_rowid"].to_numpy())
            yield ids[allowed], vectors[allowed]

    def _read(self, snapshot: Snapshot, where: str | None) -> Iterator[tuple[RowIds, Floats]]:
        batches = snapshot.dataset.scanner(
            columns=["mean", "trajectory"], filter=where, with_row_id=True, batch_size=CHUNK
        ).to_batches()
        for batch in batches:
            vectors = clip_vectors(matrix(batch["mean"]), matrix(batch["trajectory"]), self.standard)
            yield batch["_rowid"].to_numpy(), vectors


def _similarities(vectors: Floats, chunk: Floats) -> Floats:
    """The product vectors (Q, D) · chunkᵀ (D, N).

    For one query it is computed here: the threads of BLAS go on spinning for 20 ms after a product, which
    delays all that follows.
    """
    if len(vectors) > 1:
        return np.asarray(vectors @ chunk.T)
    out = np.empty((1, len(chunk)), np.float32)
    parts = [slice(first, first + PIECE) for first in range(0, len(chunk), PIECE)]
    in_threads(lambda part: dots(vectors[0], chunk[part], out[0, part]), parts)
    return out
