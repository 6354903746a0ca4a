"""Lance's vector index over a large sea. It is derived from the record and can be built again at any time.

An index has a column of clip vectors of its own, standardized by the clips at the time of the build. A new
index is built beside the old one and replaces it in one commit; readers see one or the other. Rows written
later carry vectors of the same standard. Search compares with them one by one until the next build.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seasync.alignment.costs import in_threads
from seasync.alignment.kernels import dots
from seasync.encoding import Floats
from seasync.errors import SeaError
from seasync.files.store import plain
from seasync.options import IndexKind, expect
from seasync.ranking import Standard, best, clip_vectors
from seasync.sea.rows import CHECKSUMS, matrix, vectors_column

if TYPE_CHECKING:
    from seasync.sea.ray import Cluster
    from seasync.sea.record import Record
    from seasync.sea.snapshot import Snapshot


# What a search by clip vector gives: the nearest clips of one query.


RowIds = NDArray[np.uint64]


class Found(NamedTuple):
    """The clips nearest to one query, best first.

    Attributes
    ----------
    rows : numpy.ndarray [shape=(N,)], uint64
        Their row ids.
    similarity : numpy.ndarray [shape=(N,)]
        Similarity of their clip vectors to the query's.
    vectors : numpy.ndarray [shape=(N, D)], float32
        Their clip vectors. The search reads them anyway, and ranking compares them with each other.
    """

    rows: RowIds
    similarity: Floats
    vectors: Floats

    def only(self, chosen: NDArray[Any]) -> Found:
        """Those at the given positions, or where the given booleans are true."""
        return Found(self.rows[chosen], self.similarity[chosen], self.vectors[chosen])

    def joined(self, other: Found) -> Found:
        """These, then those of `other`."""
        both = (np.concatenate([getattr(self, part), getattr(other, part)]) for part in self._fields)
        return Found(*both)


INDEX = "seasync.index"
KINDS = {"ivf_rq": "IVF_RQ", "ivf_pq": "IVF_PQ"}
EXACT_UP_TO = 50_000
STALE_SHARE = 0.2
STALE_DRIFT = 0.1
SAMPLE_ROWS = 20_000  # tell how far a large sea has drifted
# Partitions looked into, and for each row asked for, rows whose exact distance is read; twice as many of both
# for a query by the mean alone, which partitions separate less.
PROBES = 48
REFINE = {"ivf_rq": 1, "ivf_pq": 10}


@dataclass(frozen=True, eq=False)
class Index:
    """The index in use: its kind, the column it covers, and the standard of the vectors in it."""

    kind: str
    column: str
    standard: Standard

    @classmethod
    def from_json(cls, text: str) -> Index:
        fields = json.loads(text)
        mean, std = (
            np.frombuffer(base64.b64decode(fields[name]), np.float32).copy() for name in ("mean", "std")
        )
        return cls(fields["kind"], fields["column"], Standard(mean, std))

    def to_json(self) -> str:
        mean, std = (
            base64.b64encode(values.tobytes()).decode() for values in (self.standard.mean, self.standard.std)
        )
        return json.dumps({"kind": self.kind, "column": self.column, "mean": mean, "std": std})

    def with_vectors(self, table: pa.Table) -> pa.Table:
        """The same rows with this index's column."""
        vectors = clip_vectors(matrix(table["mean"]), matrix(table["trajectory"]), self.standard)
        return table.append_column(self.column, vectors_column(vectors))

    def nearest(self, snapshot: Snapshot, vectors: Floats, k: int, where: str | None = None) -> list[Found]:
        """About the k nearest to each of `vectors` (Q, D)."""

        def one(vector: Floats) -> Found:
            effort = 1 if vector[len(self.standard.mean) :].any() else 2
            asked = {"column": self.column, "q": vector, "k": k, "metric": "dot"}
            asked |= {"nprobes": effort * PROBES, "refine_factor": effort * REFINE[self.kind]}
            columns, prefilter = ["_distance", self.column], where is not None
            scanner = snapshot.dataset.scanner(
                columns=columns, filter=where, prefilter=prefilter, with_row_id=True, nearest=asked
            )
            found = scanner.to_table()
            similarity = 1 - found["_distance"].to_numpy()
            return Found(found["_rowid"].to_numpy(), similarity, matrix(found[self.column]))

        return in_threads(one, list(vectors))

    def of(self, snapshot: Snapshot, rows: RowIds) -> Floats:
        """The clip vectors of these rows, shape (N, D)."""
        return matrix(snapshot.take(rows, [self.column])[self.column])

    def prewarm(self, snapshot: Snapshot) -> None:
        """Read the index into memory, so that the first query does not wait for it."""
        for index in snapshot.dataset.describe_indices():
            if index.field_names == [self.column] and index.num_rows_indexed:  # else it has no files
                snapshot.dataset.prewarm_index(index.name)

    def unindexed_rows(self, snapshot: Snapshot) -> int:
        """How many rows were written after the index was built."""
        there = snapshot.dataset.describe_indices()
        indexed = sum(index.num_rows_indexed for index in there if index.field_names == [self.column])
        return max(0, len(snapshot) - int(indexed))


def is_due(snapshot: Snapshot) -> bool:
    """Whether the sea is too large for exact search, or its index is out of date."""
    if snapshot.index is None:
        return len(snapshot) > EXACT_UP_TO
    if snapshot.index.unindexed_rows(snapshot) > STALE_SHARE * len(snapshot):
        return True
    return _standard_of_some(snapshot).drift_from(snapshot.index.standard) > STALE_DRIFT


def standard_of(snapshot: Snapshot) -> Standard:
    """Mean and standard deviation over all clips."""
    return Standard.of(matrix(batch["mean"]) for batch in snapshot.batches(["mean"]))


def _standard_of_some(snapshot: Snapshot) -> Standard:
    """An estimate to within a hundredth of a deviation that does not read all of a large sea."""
    if len(snapshot) <= SAMPLE_ROWS:
        return standard_of(snapshot)
    return Standard.of([matrix(snapshot.dataset.sample(SAMPLE_ROWS, columns=["mean"])["mean"])])


def build(record: Record, kind: IndexKind = "auto", on: Cluster | None = None) -> None:
    """Build the index; see `Sea.rebuild`."""
    snapshot = record.snapshot()
    expect("index", kind, IndexKind, SeaError)
    if kind == "auto":
        kind = "exact" if len(snapshot) <= EXACT_UP_TO else "ivf_rq"
    with plain(record.uri, SeaError):
        if kind == "exact":
            record.put_metadata({INDEX: ""})
        else:
            column = _free_name(snapshot)
            if on:
                from seasync.sea.ray import build_index

                with on.connected() as ray:
                    index = build_index(ray, on, record, kind, column, len(snapshot))
            else:
                index = _built(record, kind, column)
            record.open().create_scalar_index("content", "BTREE", replace=True)  # a query's own footage
            record.put_metadata({INDEX: index.to_json()})
        _drop_unused(record)


def _built(record: Record, kind: str, column: str) -> Index:
    snapshot, dataset = record.snapshot(), record.open()
    index = Index(kind, column, standard_of(snapshot))
    dataset.add_columns(vectors_of(index, dataset.schema), read_columns=["mean", "trajectory"])
    dimension = dataset.schema.field(index.column).type.list_size
    how = quantization(kind, dimension) | {"num_partitions": partitions(len(snapshot))}
    dataset.create_index(index.column, KINDS[kind], metric="dot", **how)
    return index


def partitions(rows: int) -> int:
    """How many partitions an index of so many rows has."""
    return max(1, int(np.sqrt(rows)))


def quantization(kind: str, dimension: int) -> dict[str, int]:
    """Lance's options for how finely an index of this kind stores vectors."""
    if kind == "ivf_rq":
        return {"num_bits": 5}
    # Equal parts of about eight values.
    return {"num_sub_vectors": next(n for n in range(max(1, dimension // 8), 0, -1) if dimension % n == 0)}


def vectors_of(index: Index, schema: pa.Schema) -> Any:
    """A function for Lance that computes the index's column from mean and trajectory."""
    width = sum(schema.field(name).type.list_size for name in ("mean", "trajectory"))
    column = pa.field(index.column, pa.list_(pa.float32(), width))

    def vectors(batch: pa.RecordBatch) -> pa.RecordBatch:
        table = index.with_vectors(pa.table(batch)).select([index.column])
        return table.combine_chunks().to_batches()[0]

    return lance.batch_udf(output_schema=pa.schema([column]))(vectors)


def _free_name(snapshot: Snapshot) -> str:
    taken = [int(name.removeprefix("vector_")) for name in snapshot.dataset.schema.names if _derived(name)]
    return f"vector_{max(taken, default=0) + 1}"


def _derived(name: str) -> bool:
    return name.startswith("vector_")


def _drop_unused(record: Record) -> None:
    """Delete columns and indices of earlier builds, and of builds that were interrupted."""
    snapshot = record.snapshot()
    kept = snapshot.index.column if snapshot.index else None
    unused = [name for name in snapshot.dataset.schema.names if _derived(name) and name != kept]
    if unused:
        dataset = record.open()
        for index in dataset.describe_indices():
            if set(index.field_names) & set(unused):
                dataset.drop_index(index.name)
        dataset.drop_columns(unused)


# Exact search of clip vectors: what small seas use, and what is left when a large one has no index.


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
            ids, vectors = zip(*self._read(snapshot, None, checked=True), strict=True)
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

    def _read(
        self, snapshot: Snapshot, where: str | None, *, checked: bool = False
    ) -> Iterator[tuple[RowIds, Floats]]:
        columns = ["mean", "trajectory", *([CHECKSUMS] if checked else [])]
        for batch in snapshot.batches(columns, where=where, with_row_id=True, size=CHUNK):
            if checked:
                snapshot.check(batch, batch["_rowid"].to_pylist())
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
