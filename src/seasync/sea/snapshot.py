"""The record of a sea as it stands at one version.

All reads of one search use one `Snapshot`, so they agree with each other whatever is written meanwhile.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from seasync.alignment import Recipe
from seasync.clip import Clip
from seasync.encoding import Encoding, EncodingBatch, Floats, Seconds
from seasync.errors import SeaError
from seasync.files import location, store
from seasync.ranking import COHORT, FEWEST, Cohort, query_vector
from seasync.sea import rows as layout
from seasync.sea.checksums import changed_columns
from seasync.sea.index import EXACT_UP_TO, INDEX, Exact, Index, RowIds
from seasync.sea.rows import ClipEntry, SeaFacts

Move = tuple[str, str]
MOVES = "seasync.moved"
DELETIONS = "seasync.deletions"  # checksums of the files that say which rows are deleted
DAMAGED = "what it says of itself is damaged; take it from a copy of the sea, or make the sea again"
WITH_FEATURES = "found_0 IS NOT NULL"  # the condition that a clip keeps frame features


def relocated(file: str, moves: Sequence[Move]) -> str:
    """The path of a file after its folders have moved, one after the other.

    Folders may move from one system to another. On Windows, case and the kind of slash make no difference.

    >>> relocated(r"C:\\Clips\\a\\1.mp4", [("c:/clips", "/mnt/clips")])
    '/mnt/clips/a/1.mp4'
    """
    for old, new in moves:
        root, target = (_with_slash(folder) for folder in (old, new))
        path = file.replace("/", "\\") if root.endswith("\\") else file
        start = path[: len(root)]
        if start == root or (root.endswith("\\") and start.lower() == root.lower()):
            file = target + path[len(root) :].replace(root[-1], target[-1])
    return file


def _with_slash(folder: str) -> str:
    """A folder with the slash of its system at its end, and no other slashes in it."""
    if location.is_of_windows(folder):
        return folder.replace("/", "\\").rstrip("\\") + "\\"
    return folder.rstrip("/") + "/"


class Snapshot:
    """The record at one version. Row ids belong to this version alone.

    Attributes
    ----------
    by_chance
        Scores of random pairs, by recipe; filled when first needed.
    deletions
        Checksums of the files that say which rows are deleted, by the files' names.
    moves
        Folders of footage that have moved, as pairs (old, new), in order.
    """

    def __init__(self, dataset: lance.LanceDataset) -> None:
        self.dataset = dataset
        self.by_chance: dict[Recipe, NDArray[np.float64]] = {}
        with plain_errors(dataset.uri):
            self.metadata = {key.decode(): value.decode() for key, value in dataset.schema.metadata.items()}
        try:
            self.facts = SeaFacts.from_json(self.metadata[layout.FACTS])
            self.index = Index.from_json(self.metadata[INDEX]) if self.metadata.get(INDEX) else None
            self.deletions: dict[str, int] = json.loads(self.metadata.get(DELETIONS) or "{}")
            self.moves: tuple[Move, ...] = tuple(map(tuple, json.loads(self.metadata.get(MOVES) or "[]")))
        except (ValueError, KeyError, TypeError) as error:
            raise SeaError(f"{dataset.uri}: {DAMAGED} ({error})") from error

    @property
    def version(self) -> int:
        return int(self.dataset.version)

    def __len__(self) -> int:
        with plain_errors(self.dataset.uri):
            return int(self.dataset.count_rows())

    @cached_property
    def without_checksums(self) -> int:
        """How many clips have no checksums: they were added by an earlier version."""
        if layout.CHECKSUMS not in self.dataset.schema.names:
            return len(self)
        with plain_errors(self.dataset.uri):
            return int(self.dataset.count_rows(filter=f"{layout.CHECKSUMS} IS NULL"))

    def table(
        self, columns: Sequence[str], where: str | None = None, *, limit: int | None = None
    ) -> pa.Table:
        """These columns (and _rowid) of the rows that fulfil the SQL condition `where`."""
        with plain_errors(self.dataset.uri):
            scanner = self.dataset.scanner(
                columns=self.stored(columns), filter=where, limit=limit, with_row_id=True, scan_in_order=True
            )
            return self.completed(scanner.to_table(), columns)

    def batches(
        self,
        columns: Sequence[str],
        *,
        where: str | None = None,
        with_row_id: bool = False,
        size: int | None = None,
    ) -> Iterator[pa.Table]:
        """These columns of all rows, or of those that fulfil `where`, a batch at a time."""
        with plain_errors(self.dataset.uri):
            scanner = self.dataset.scanner(
                columns=self.stored(columns), filter=where, with_row_id=with_row_id, batch_size=size
            )
            for batch in scanner.to_batches():
                yield self.completed(pa.table(batch), columns)

    def stored(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns that a sea of this format has."""
        missing = layout.LATER_COLUMNS.keys() - self.dataset.schema.names
        return [name for name in columns if name not in missing]

    def completed(self, table: pa.Table, columns: Sequence[str]) -> pa.Table:
        """The table with the columns that a sea of an older format does not have."""
        for name, kind in layout.LATER_COLUMNS.items():
            if name in columns and name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table), kind))
        return table

    def condition(self, where: str | None, label: str | None) -> str | None:
        """Both as one SQL condition.

        Raises
        ------
        SeaError
            If `where` is not a condition on the record's columns.
        """
        try:
            if where is not None:
                self.dataset.scanner(columns=[], filter=where, with_row_id=True).explain_plan()
        except ValueError as error:
            names = self.dataset.schema.names
            columns = ", ".join(names[: names.index("mean")])
            raise SeaError(
                f"where {where!r}: expected a condition on {columns}, such as "
                "\"duration < 10 AND label = 'dive'\""
            ) from error
        return all_of(where, None if label is None else f"label = {quoted(label)}")

    def take(self, row_ids: Sequence[int] | RowIds, columns: Sequence[str]) -> pa.Table:
        """These columns of these rows, in the order asked for."""
        with plain_errors(self.dataset.uri):
            rows = np.asarray(row_ids, np.uint64).tolist()
            return self.completed(self.dataset._take_rows(rows, columns=self.stored(columns)), columns)

    def clips(self, where: str | None = None, *, limit: int | None = None) -> list[Clip]:
        """The clips that fulfil the condition, in the order they were added."""
        return self.clips_of(self.table(layout.CLIP_COLUMNS, where, limit=limit))

    def entries(self, where: str | None = None, *, limit: int | None = None) -> list[ClipEntry]:
        """As `clips`, with all that the record keeps of them besides their encodings."""
        return self.entries_of(self.table(layout.ENTRY_COLUMNS, where, limit=limit))

    def clips_of(self, table: pa.Table) -> list[Clip]:
        """The clips of rows read with `CLIP_COLUMNS`, with the current paths of their files."""
        return [
            Clip(self.current_path(row["file"]), row["start"], row["end"], row["label"], row["id"])
            for row in table.select(layout.CLIP_COLUMNS).to_pylist()
        ]

    def entries_of(self, table: pa.Table) -> list[ClipEntry]:
        """The entries of rows read with `ENTRY_COLUMNS`."""
        names = set(layout.ENTRY_FIELDS) - {"tags"}
        return [
            ClipEntry(clip, tags=tuple(row["tags"] or ()), **{name: row[name] for name in names})
            for clip, row in zip(self.clips_of(table), table.to_pylist(), strict=True)
        ]

    def stored_path(self, file: str) -> str:
        """`file` as its row stores it: with the number of earlier moves in front, where these would match."""
        return file if relocated(file, self.moves) == file else f"{len(self.moves)}:{file}"

    def current_path(self, stored: str) -> str:
        """Where the file that a row stores as `stored` is now."""
        count, colon, file = stored.partition(":")
        if colon and count.isdecimal():
            return relocated(file, self.moves[int(count) :])
        return relocated(stored, self.moves)

    def stored_paths(self, file: str) -> set[str]:
        """All forms in which rows may store a file that is at the path `file` now."""
        paths, forms = {file}, {f"{len(self.moves)}:{file}"}
        for count, (old, new) in reversed(list(enumerate(self.moves))):
            paths |= {relocated(path, [(new, old)]) for path in paths}
            forms |= {f"{count}:{path}" for path in paths}
        return {form for form in forms | paths if self.current_path(form) == file}

    def encodings(
        self, row_ids: Sequence[int] | RowIds, *, vectors: bool = True, half: bool = False
    ) -> list[Encoding | None]:
        """The stored encodings of these clips; None for a clip that keeps its clip vector only.

        Without `vectors`, mean and trajectory stay empty: alignment does not need them, and reading them
        takes time. With `half`, features are not copied: they stay in half precision, good for alignment.
        """
        columns = [*layout.stream_columns(self.facts), *(["mean", "trajectory"] if vectors else [])]
        return layout.encodings(self._take_checked(row_ids, columns), self.facts, half=half)

    def _take_checked(self, row_ids: Sequence[int] | RowIds, columns: Sequence[str]) -> pa.Table:
        table = self.take(row_ids, [*columns, layout.CHECKSUMS])
        self.check(table, row_ids)
        return table

    def check(self, table: pa.Table, row_ids: Sequence[int] | RowIds) -> None:
        """Compare rows with the checksums that were read with them.

        Raises
        ------
        SeaError
            If a value is not as it was written.
        """
        for row, changed in changed_columns(table, self.facts).items():
            (clip,) = self.clips_of(self.take([row_ids[row]], layout.CLIP_COLUMNS))
            raise SeaError(
                f"{self.dataset.uri}: what is stored of clip {clip.id} is damaged ({', '.join(changed)}); "
                f"`seasync sea verify` lists such clips; run `seasync sea remove --clip {clip.id}`, then add "
                f"{clip.file} again"
            )

    def encoding_batch(self, row_ids: RowIds) -> EncodingBatch | None:
        """The stored encodings of these clips for scoring, in half precision and without clip vectors.

        None if one of them keeps its clip vector only, or if the clips have several streams.
        """
        if len(self.facts.streams) > 1 or not len(row_ids):
            return None
        rows = np.sort(row_ids)  # Lance reads in this order, and would copy the features into another one
        return layout.encoding_batch(
            self._take_checked(rows, layout.SCORED_COLUMNS),
            self.facts,
            np.searchsorted(rows, row_ids),
            lambda: layout.numbers_of(self._take_checked(rows, [layout.NUMBERS])),
        )

    @cached_property
    def vectors(self) -> Index | Exact:
        """Searches the clip vectors: the index, or exact search."""
        return self.index or Exact(self)

    @cached_property
    def cohort(self) -> Cohort | None:
        """The clips that tell how far others are from any clip of the sea: those with the lowest ids.

        Ids are digests, so this is a random choice that any version of the sea with these clips repeats. None
        if the sea has too few clips.
        """
        count = len(self)
        if count < FEWEST:
            return None
        # Of a large sea, read about four times as many ids as are needed.
        below = 16**8 * 4 * COHORT // count
        where = f"id < '{below:08x}'" if below < 16**8 else None
        table = self.table(["id"], where).sort_by("id").slice(0, COHORT)
        return Cohort(self.vectors.of(self, table["_rowid"].to_numpy()))

    @cached_property
    def clip_table(self) -> "ClipTable":
        """Finds clips by id, content and row."""
        return ClipTable(self)

    @cached_property
    def has_parts(self) -> bool:
        """Whether any clips are parts of one film."""
        return len(self.table([], "parts > 1", limit=1)) > 0

    def similarities(self, query: Encoding, row_ids: RowIds, *, trajectory: bool) -> Floats:
        """Similarities of the query's clip vector to those of these rows."""
        vectors = self.vectors.of(self, row_ids)
        return np.asarray(vectors @ query_vector(query, self.vectors.standard, trajectory=trajectory))


def all_of(*conditions: str | None) -> str | None:
    """The given conditions joined by AND; None if there are none."""
    return " AND ".join(f"({condition})" for condition in conditions if condition) or None


def quoted(text: str) -> str:
    """A string literal of the `where` language."""
    return "'" + text.replace("'", "''") + "'"


def one_of(column: str, values: Iterable[str]) -> str:
    """The condition that `column` has one of these values."""
    return f"{column} IN ({', '.join(map(quoted, values))})"


plain_errors = partial(store.plain, error=SeaError)
"""Turn Lance's errors into one-line SeaErrors, without places in Lance's source."""


COLUMNS = [*layout.CLIP_COLUMNS, "content"]


class ClipTable:
    """Finds clips by id, content and row: `COLUMNS` of all of them, with their row ids.

    Up to 50,000 clips they stay in memory (about 200 bytes each); of more, each call reads what it needs.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._kept: pa.Table | None = None
        if len(snapshot) <= EXACT_UP_TO:
            self._kept = snapshot.table(COLUMNS).combine_chunks()
            self._ids = self._kept["_rowid"].to_numpy()
            self._by_id = np.argsort(self._ids)

    def equal(self, snapshot: Snapshot, column: Literal["id", "content"], value: str) -> pa.Table:
        """The clips whose id or content is `value`, in the order they were added."""
        if self._kept is None:
            return snapshot.table(COLUMNS, f"{column} = {quoted(value)}")
        return self._kept.filter(pc.equal(self._kept[column], value))

    def take(self, snapshot: Snapshot, rows: RowIds, more: Sequence[str] = ()) -> pa.Table:
        """The clips of these rows, in the order asked for, and `more` columns of the record."""
        if self._kept is None:
            return snapshot.take(rows, [*COLUMNS, *more])
        table = self._kept.take(self._by_id[np.searchsorted(self._ids, rows, sorter=self._by_id)])
        if more:
            read = snapshot.take(rows, more)
            for name in more:
                table = table.append_column(name, read[name])
        return table


@dataclass(frozen=True, eq=False)
class StoredClips:
    """Clips that keep frame features, in the order they were added, for work on many of them at once.

    Attributes
    ----------
    clips : tuple of Clip
    ends : ndarray [shape=(N,)]
        When each clip's last frame ends, in seconds of its file.
    tags : tuple of tuple of str
    without_features : tuple of Clip
        Clips that keep only their clip vector.
    """

    snapshot: Snapshot
    clips: tuple[Clip, ...]
    ends: Seconds
    tags: tuple[tuple[str, ...], ...]
    without_features: tuple[Clip, ...]
    _rows: RowIds

    @classmethod
    def of(cls, snapshot: Snapshot, *, label: str | None = None, where: str | None = None) -> "StoredClips":
        """The clips of a snapshot that have this label and fulfil this condition."""
        asked = snapshot.condition(where, label)
        table = snapshot.table([*layout.CLIP_COLUMNS, "tags"], all_of(asked, WITH_FEATURES))
        clips = tuple(snapshot.clips_of(table))
        without = tuple(snapshot.clips(all_of(asked, f"NOT ({WITH_FEATURES})")))
        ends = np.array([clip.start for clip in clips]) + table["duration"].to_numpy()
        tags = tuple(tuple(row or ()) for row in table["tags"].to_pylist())
        return cls(snapshot, clips, ends, tags, without, table["_rowid"].to_numpy())

    def __len__(self) -> int:
        return len(self.clips)

    def encodings(self, numbers: Sequence[int]) -> list[Encoding]:
        """The encodings of clips by their numbers."""
        found = self.snapshot.encodings(self._rows[np.asarray(numbers, np.int64)])
        known = [encoding for encoding in found if encoding is not None]
        if len(known) != len(found):
            raise SeaError(
                f"{self.snapshot.dataset.uri}: frame features are missing; run `seasync sea verify`"
            )
        return known
