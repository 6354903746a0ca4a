"""The record of a sea: one Lance dataset, at a local path or a URI.

A `Snapshot` is the record as it stands at one version: reads of one search go to one snapshot, so that they
agree whatever is written meanwhile. A `Record` hands out the latest snapshot and does the writing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoding import Encoding, Floats
from seasync.errors import SeaError
from seasync.sea import rows as layout
from seasync.sea.index import INDEX, Index
from seasync.sea.lock import writing
from seasync.sea.migrations import migrate
from seasync.sea.rows import About, Row
from seasync.sea.vectors import clip_vectors, query_vector

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from seasync.align import Recipe
    from seasync.sea.exact import Exact

RowIds = NDArray[np.uint64]
MOVED = "seasync.moved"
SMALL_FRAGMENT_ROWS = 4096
OLD = timedelta(hours=1)


class Snapshot:
    """The record at one version. Rows are known by row ids, which belong to this version alone.

    by_chance  what was found out about random pairs, by recipe
    """

    def __init__(self, dataset: lance.LanceDataset) -> None:
        self.dataset = dataset
        metadata = {key.decode(): value.decode() for key, value in dataset.schema.metadata.items()}
        self.about = About.from_json(metadata[layout.ABOUT])
        self.index = Index.from_json(metadata[INDEX]) if metadata.get(INDEX) else None
        self.metadata = metadata
        self.by_chance: dict[Recipe, NDArray[np.float64]] = {}
        self.moved: tuple[tuple[str, str], ...] = tuple(map(tuple, json.loads(metadata.get(MOVED) or "[]")))

    @property
    def version(self) -> int:
        return int(self.dataset.version)

    def __len__(self) -> int:
        return int(self.dataset.count_rows())

    def table(
        self, columns: Sequence[str], where: str | None = None, *, limit: int | None = None
    ) -> pa.Table:
        """These columns (and _rowid) of the rows that fulfil the SQL condition `where`."""
        with plain_errors(self.dataset.uri):
            scanner = self.dataset.scanner(
                columns=list(columns), filter=where, limit=limit, with_row_id=True, scan_in_order=True
            )
            return scanner.to_table()

    def take(self, row_ids: Sequence[int] | RowIds, columns: Sequence[str]) -> pa.Table:
        """These columns of these rows, in the order asked for."""
        with plain_errors(self.dataset.uri):
            return self.dataset._take_rows(np.asarray(row_ids, np.uint64).tolist(), columns=list(columns))

    def clips(self, where: str | None = None, *, limit: int | None = None) -> list[Clip]:
        """The clips that fulfil the condition, in the order they were added."""
        return self.clips_of(self.table(layout.CLIP_COLUMNS, where, limit=limit))

    def clips_of(self, table: pa.Table) -> list[Clip]:
        """The clips of rows read with `CLIP_COLUMNS`, where their files lie now."""
        return [
            Clip(self.placed(row["file"], self.moved), row["start"], row["end"], row["label"], row["id"])
            for row in table.select(layout.CLIP_COLUMNS).to_pylist()
        ]

    @staticmethod
    def placed(file: str, moved: Sequence[tuple[str, str]]) -> str:
        """Where a file is after its folders have moved, one after the other."""
        for old, new in moved:
            if file.startswith(old.rstrip("/\\") + os.sep):
                file = new + file[len(old.rstrip("/\\")) :]
        return file

    def encodings(self, row_ids: Sequence[int] | RowIds, *, vectors: bool = True) -> list[Encoding | None]:
        """What is kept of these clips' encodings; None for one that keeps its clip vector only.

        vectors  false leaves mean and trajectory empty: an alignment does not need them, and they take time
        """
        columns = [*layout.stream_columns(self.about), *(["mean", "trajectory"] if vectors else [])]
        return layout.encodings(self.take(row_ids, columns), self.about)

    @cached_property
    def vectors(self) -> Index | Exact:
        """What finds clip vectors: the index, or exact search."""
        from seasync.sea.exact import Exact

        return self.index or Exact(self)

    def similarities(self, query: Encoding, row_ids: RowIds, *, trajectory: bool) -> Floats:
        """Of the query's clip vector with those of these rows."""
        table, standard = self.take(row_ids, ["mean", "trajectory"]), self.vectors.standard
        vectors = clip_vectors(layout.matrix(table["mean"]), layout.matrix(table["trajectory"]), standard)
        return np.asarray(vectors @ query_vector(query, standard, trajectory=trajectory))


class Record:
    """A sea's record: opened at `uri`, made by the first rows written to it.

    storage_options  credentials and such, for object storage, as Lance takes them
    """

    def __init__(self, uri: str | Path, *, storage_options: Mapping[str, str] | None = None) -> None:
        self.uri = str(uri)
        self.storage_options = dict(storage_options or {})
        self._snapshot: Snapshot | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r}, {len(self)} clips)"

    def __len__(self) -> int:
        return len(self.snapshot()) if self.exists() else 0

    @property
    def folder(self) -> Path | None:
        """Where the record lies on disk; None on object storage."""
        return None if "://" in self.uri else Path(self.uri)

    def exists(self) -> bool:
        """Whether anything has been written here."""
        if self.folder is not None:
            return any((self.folder / "_versions").glob("*.manifest"))
        try:
            self.snapshot()
        except SeaError as error:
            if "was not found" not in str(error):
                raise
            return False
        return True

    def snapshot(self) -> Snapshot:
        """The record as it stands now."""
        kept = self._snapshot
        with plain_errors(self.uri):
            if kept is not None and kept.dataset.latest_version == kept.version:
                return kept
        self._snapshot = Snapshot(self.open())
        return self._snapshot

    def open(self) -> lance.LanceDataset:
        """The Lance dataset, of the present format; not shared with any snapshot, since writes move it on."""
        import lance

        if self.folder is not None and not self.exists():
            raise SeaError(f"{self.uri}: no sea here; make one with `seasync add PATH --sea {self.uri}`")
        session = self._snapshot.dataset.session() if self._snapshot else None
        with plain_errors(self.uri):
            dataset = lance.dataset(self.uri, storage_options=self.storage_options or None, session=session)
            if layout.ABOUT.encode() not in (dataset.schema.metadata or {}):
                raise SeaError(
                    f"{self.uri}: a Lance dataset, but not a sea; expected one made by `seasync add`"
                )
            migrate(dataset)
        return dataset

    def writing(
        self, *, wait: bool = True, waiting: Callable[[], None] | None = None
    ) -> AbstractContextManager[None]:
        """Be the only writer on this machine; on object storage Lance's own commits keep writers apart."""
        return nullcontext() if self.folder is None else writing(self.folder, wait=wait, waiting=waiting)

    def append(self, rows: Sequence[Row], about: About, *, frame_features: bool = True) -> None:
        """Write rows in one commit: all of them are seen from then on, or none."""
        import lance

        table = layout.to_table(rows, about, frame_features=frame_features)
        snapshot = self.snapshot() if self.exists() else None
        if snapshot and snapshot.index:
            table = snapshot.index.with_vectors(table)
        with plain_errors(self.uri):
            lance.write_dataset(
                table,
                self.uri,
                mode="append" if snapshot else "create",
                storage_options=self.storage_options or None,
            )

    def remove(
        self,
        *,
        clips: Sequence[str] = (),
        files: Sequence[str | Path] = (),
        labels: Sequence[str] = (),
    ) -> int:
        """Take out clips by id (its first 8 digits or more), file or label; returns how many went."""
        if short := [clip for clip in clips if len(clip) < 8]:
            raise SeaError(f"{short[0]!r}: give at least 8 digits of a clip's id")
        gone = {str(file) if "://" in str(file) else str(Path(file).absolute()) for file in files}
        with self.writing(), plain_errors(self.uri):
            there = self.snapshot().clips()
            out = [
                str(clip.id)
                for clip in there
                if str(clip.id).startswith(tuple(clips)) or clip.file in gone or clip.label in labels
            ]
            if out:
                self.open().delete(f"id IN ({', '.join(map(quoted, out))})")
        return len(out)

    def put_metadata(self, values: Mapping[str, str]) -> None:
        """Change entries of the record's metadata, in one commit."""
        with plain_errors(self.uri):
            self.open().update_schema_metadata(dict(values))

    def tidy(self) -> None:
        """Join the small fragments that many commits leave; delete what no version of the last hour uses."""
        with plain_errors(self.uri):
            dataset = self.open()
            small = sum(f.count_rows() < SMALL_FRAGMENT_ROWS for f in dataset.get_fragments())
            if small > 8:
                dataset.optimize.compact_files(target_rows_per_fragment=SMALL_FRAGMENT_ROWS)
            dataset.cleanup_old_versions(older_than=OLD)


def both(*conditions: str | None) -> str | None:
    """All of the conditions that are given, as one."""
    return " AND ".join(f"({condition})" for condition in conditions if condition) or None


def quoted(text: str) -> str:
    """A string literal of the `where` language."""
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def plain_errors(uri: str) -> Iterator[None]:
    """Lance's errors as one line of ours, without the places in its source they come from."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        text = re.sub(r",? ?/\S+\.rs:\d+(:\d+)?", "", str(error)).replace("\n", " ")
        full = "No space left" in text
        hint = "; the disk is full, make room and run it again: what is in the sea is safe" if full else ""
        raise SeaError(f"{uri}: {text[:300]}{hint}") from error
