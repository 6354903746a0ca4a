"""The record of a sea: one Lance dataset, at a local path or a URI.

A `Snapshot` is the record as it stands at one version: reads of one search go to one snapshot, so that they
agree whatever is written meanwhile. A `Record` hands out the latest snapshot and does the writing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoding import Encoding, Floats
from seasync.errors import SeaError
from seasync.files import is_uri
from seasync.files.objects import explained
from seasync.files.objects import storage_options as environment_options
from seasync.sea import lock, writers
from seasync.sea import rows as layout
from seasync.sea.commit import Appender, write_fragments
from seasync.sea.index import INDEX, Index
from seasync.sea.migrations import migrate
from seasync.sea.rows import About, Row
from seasync.similarity import clip_vectors, query_vector

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from seasync.align import Recipe
    from seasync.sea.exact import Exact

RowIds = NDArray[np.uint64]
MOVED = "seasync.moved"
SMALL_FRAGMENT_ROWS = 4096
OLD = timedelta(hours=1)


def placed(file: str, moved: Sequence[tuple[str, str]]) -> str:
    """Where a file is after its folders have moved, one after the other."""
    for old, new in moved:
        if file.startswith(old.rstrip("/\\") + os.sep):
            file = new + file[len(old.rstrip("/\\")) :]
    return file


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

    def expect_condition(self, where: str) -> None:
        """Raise SeaError if `where` is none on the record's columns."""
        try:
            self.dataset.scanner(columns=[], filter=where, with_row_id=True).explain_plan()
        except ValueError as error:
            names = self.dataset.schema.names
            columns = ", ".join(names[: names.index("mean")])
            raise SeaError(
                f"where {where!r}: expected a condition on {columns}, such as "
                "\"duration < 10 AND label = 'dive'\""
            ) from error

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
            Clip(self._place(row["file"]), row["start"], row["end"], row["label"], row["id"])
            for row in table.select(layout.CLIP_COLUMNS).to_pylist()
        ]

    def noted(self, file: str) -> str:
        """How a file is noted down: before its name how many moves were before it came, if they matter."""
        return file if placed(file, self.moved) == file else f"{len(self.moved)}:{file}"

    def _place(self, noted: str) -> str:
        count, _, file = noted.partition(":")
        return placed(file, self.moved[int(count) :]) if count.isdecimal() else placed(noted, self.moved)

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

    @cached_property
    def has_parts(self) -> bool:
        """Whether any clips are parts of one film."""
        return len(self.table([], "parts > 1", limit=1)) > 0

    def similarities(self, query: Encoding, row_ids: RowIds, *, trajectory: bool) -> Floats:
        """Of the query's clip vector with those of these rows."""
        table = self.take(row_ids, ["mean", "trajectory"])
        standard = self.vectors.standard
        vectors = clip_vectors(layout.matrix(table["mean"]), layout.matrix(table["trajectory"]), standard)
        return np.asarray(vectors @ query_vector(query, standard, trajectory=trajectory))


class Record:
    """A sea's record: opened at `uri`, made by the first rows written to it.

    storage_options  credentials and such, for object storage, as Lance takes them, on top of those of the
                     environment (see `seasync.files.objects`)
    """

    def __init__(self, uri: str | Path, *, storage_options: Mapping[str, str] | None = None) -> None:
        self.uri = str(uri)
        self.storage_options = environment_options(storage_options) if is_uri(uri) else {}
        self._snapshot: Snapshot | None = None
        self._writer: writers.Writer | None = None
        self._appender = Appender(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r}, {len(self)} clips)"

    def __len__(self) -> int:
        return len(self.snapshot()) if self.exists() else 0

    @property
    def folder(self) -> Path | None:
        """Where the record lies on disk; None on object storage."""
        return None if is_uri(self.uri) else Path(self.uri)

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

    def expect_room(self) -> None:
        """Raise SeaError if a new sea would begin among other things. What an add that was killed has left is
        known by its lock."""
        folder = self.folder
        if folder is None or not folder.exists() or (folder / lock.NAME).exists():
            return
        if not folder.is_dir() or any(not each.name.startswith(".") for each in folder.iterdir()):
            what = "a folder with other things in it" if folder.is_dir() else "a file"
            raise SeaError(
                f"{self.uri}: {what}, not a sea; name a new place, such as {folder / 'footage.sea'}"
            )

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

    @contextmanager
    def writing(
        self, *, alone: bool = False, wait: bool = True, waiting: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Be the only writer, in a folder; at a URI one of those who add, or with `alone` the only one.

        Raises
        ------
        Busy
            If that cannot be had at once and `wait` is false.
        """
        if self.folder is not None:
            with lock.writing(self.folder, wait=wait, waiting=waiting):
                yield
            return
        with writers.writing(
            self.uri, self.storage_options, alone=alone, wait=wait, waiting=waiting
        ) as self._writer:
            try:
                yield
            finally:
                self._writer = None

    def check_writing(self) -> None:
        """Raise SeaError if other writers may take this one for dead."""
        if self._writer:
            self._writer.check()

    def append(self, rows: Sequence[Row], about: About, *, frame_features: bool = True) -> int:
        """Write rows in one commit: all of them are seen from then on, or none. How many were new: at a URI
        another writer may have brought the same clips meanwhile."""
        table = layout.to_table(rows, about, frame_features=frame_features)
        if not self.exists() and self.create(table):
            return len(rows)
        return self.append_fragments(*self.written(table))

    def create(self, table: pa.Table) -> bool:
        """Begin the sea with these rows, in one commit; false if another writer has begun it meanwhile."""
        import lance

        try:
            with plain_errors(self.uri):
                lance.write_dataset(table, self.uri, storage_options=self.storage_options or None)
        except SeaError as error:
            if self.folder is None and "already exists" in str(error):
                return False
            raise
        self._appender.looked = 1
        return True

    def written(self, table: pa.Table) -> tuple[list[Any], list[str]]:
        """Fragments that hold these rows, on storage but not in the record yet, and their clips' ids."""
        snapshot = self.snapshot()
        if snapshot.moved:
            files = [[snapshot.noted(file) for file in table["file"].to_pylist()]]
            table = table.set_column(table.column_names.index("file"), table.schema.field("file"), files)
        if snapshot.index:
            table = snapshot.index.with_vectors(table)
        with plain_errors(self.uri):
            return write_fragments(table, self.open()), table["id"].to_pylist()

    def append_fragments(self, fragments: Sequence[Any], ids: Sequence[str]) -> int:
        """Commit fragments; how many of their clips are new."""
        with plain_errors(self.uri):
            return self._appender.append(self.open(), fragments, ids)

    def has_looked(self) -> None:
        """Say that what is in the record now is left out of what will be appended."""
        self._appender.looked = self.snapshot().version if self.exists() else 0

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

    def tidy(self, *, sweep: bool = False) -> None:
        """Join the small fragments that many commits leave; delete what no version of the last hour uses.

        sweep  delete also what no version uses at all; only for one who is alone
        """
        with plain_errors(self.uri):
            dataset = self.open()
            small = sum(f.count_rows() < SMALL_FRAGMENT_ROWS for f in dataset.get_fragments())
            if small > 8 and not (self._writer and self._writer.others()):
                dataset.optimize.compact_files(target_rows_per_fragment=SMALL_FRAGMENT_ROWS)
            dataset.cleanup_old_versions(older_than=OLD, delete_unverified=sweep)

    def sweep(self) -> int:
        """Delete files that no version uses, such as those of an add that was killed; how many bytes.

        Raises
        ------
        Busy
            If anyone is writing: what they have written and not committed yet is used by no version either.
        """
        with self.writing(alone=True, wait=False), plain_errors(self.uri):
            stats = self.open().cleanup_old_versions(older_than=OLD, delete_unverified=True)
        return int(stats.bytes_removed)

    def upkeep(self, *, sweep: bool = False) -> None:
        """What is due after an add, unless others are at work: then the last of them does it.

        sweep  delete also what no version uses
        """
        from seasync.sea import index

        with suppress(lock.Busy), self.writing(alone=True, wait=False):
            self.tidy(sweep=sweep)
            if index.is_due(self.snapshot()):
                index.build(self)


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
        raise SeaError(f"{uri}: {explained(str(error))}") from error
