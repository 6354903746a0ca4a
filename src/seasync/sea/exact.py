"""Exact search of clip vectors: what small seas use, and what is left when a large one has no index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from seasync.encoding import Floats
from seasync.sea.index import EXACT_UP_TO, standard_of
from seasync.sea.rows import matrix
from seasync.similarity import best, clip_vectors

if TYPE_CHECKING:
    from seasync.sea.snapshot import RowIds, Snapshot

CHUNK = 16_384  # clips read at once
QUERIES = 256  # queries compared with a chunk at once


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

    def nearest(
        self, snapshot: Snapshot, vectors: Floats, k: int, where: str | None = None
    ) -> list[tuple[RowIds, Floats]]:
        """Row ids and similarities of the k nearest to each of `vectors` (Q, D), best first."""
        found = [(np.empty(0, np.uint64), np.empty(0, np.float32)) for _ in vectors]
        for ids, chunk in self._chunks(snapshot, where):
            for first in range(0, len(vectors), QUERIES):
                for n, similarities in enumerate(vectors[first : first + QUERIES] @ chunk.T, first):
                    kept_ids, kept = found[n]
                    all_ids, merged = np.concatenate([kept_ids, ids]), np.concatenate([kept, similarities])
                    top = best(merged, k)
                    found[n] = all_ids[top], merged[top]
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
