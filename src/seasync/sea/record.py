"""The record of a sea: one Lance dataset, at a local path or a URI.

A `Record` hands out the latest `Snapshot` to read from, and does the writing. Rows are written into fragments
anywhere, and an `Appender` commits them once.
"""

import json
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.compute as pc

from seasync.errors import SeaError
from seasync.files import Location, Place, is_uri, store
from seasync.sea import writers
from seasync.sea.checksums import with_checksums, with_entry_checksums
from seasync.sea.disk import DatasetFolder
from seasync.sea.rows import CHECKSUMS, FACTS, FORMAT, LATER_COLUMNS, SEALING, Row, SeaFacts, to_table
from seasync.sea.snapshot import DAMAGED, DELETIONS, Snapshot, one_of, plain_errors

METADATA_CACHE_BYTES = 256 << 20
NOT_THERE = "was not found"  # Lance, about a dataset
KEY = "seasync.commit"
ROW_ID_BITS = 32  # a row id is the fragment's number and the row's place in it


class Record:
    """A sea's record: opened at `uri`, created by the first rows written to it.

    Parameters
    ----------
    uri
        A folder, or a URI such as ``s3://bucket/footage.sea``.
    storage_options
        Credentials and other options for object storage, as Lance takes them. They add to those of the
        environment (see `seasync.files.store`).
    """

    def __init__(self, uri: Place, *, storage_options: Mapping[str, str] | None = None) -> None:
        place = Location(uri)
        self.uri = str(place.path) if place.is_local else place.text
        self.storage_options = {} if place.is_local else store.storage_options(storage_options)
        self._snapshot: Snapshot | None = None
        self._disk = DatasetFolder(Path(self.uri)) if place.is_local else None
        self._writer: writers.SharedWriter | None = None

    def __repr__(self) -> str:
        return f"Record({self.uri!r}, {len(self)} clips)"

    def __len__(self) -> int:
        return len(self.snapshot()) if self.exists() else 0

    @property
    def folder(self) -> Path | None:
        """The folder of the record; None on object storage."""
        return None if is_uri(self.uri) else Path(self.uri)

    def exists(self) -> bool:
        """Whether anything has been written here."""
        if self.folder is not None:
            # By number: a copy that was killed leaves a part of one, under another name.
            manifests = (self.folder / "_versions").glob
            if any(manifests("[0-9]*.manifest")) and self._snapshot is None:
                self._drop_torn_commit()
            return any(manifests("[0-9]*.manifest"))
        try:
            self.snapshot()
        except SeaError as error:
            if not any(sign in str(error) for sign in (NOT_THERE, "no sea here")):
                raise
            return False
        return True

    def check_can_begin(self) -> None:
        """Raise SeaError if a new sea would begin in a folder that holds other things."""
        folder = self.folder
        if folder is None or not folder.exists():
            return
        is_folder = folder.is_dir()
        if is_folder and all(each.name.startswith(".") for each in folder.iterdir()):
            return
        # Asked last: another process may begin this sea, or finish its first `add`, while we look.
        # A lock file also remains of an `add` that was killed before its first commit.
        if not (folder / writers.LOCK_NAME).exists() and not self.exists():
            what = "a folder with other things in it" if is_folder else "a file"
            raise SeaError(
                f"{self.uri}: {what}, not a sea; name a new place, such as {folder / 'footage.sea'}"
            )

    def snapshot(self) -> Snapshot:
        """The record as it stands now."""
        latest = self._snapshot
        with plain_errors(self.uri):
            if latest is not None and latest.dataset.latest_version == latest.version:
                return latest
        self._snapshot = Snapshot(self.open())
        return self._snapshot

    def open(self) -> lance.LanceDataset:
        """The Lance dataset. No snapshot shares it, because writes move it on."""
        missing = f"{self.uri}: no sea here; make one with `seasync add PATH --sea {self.uri}`"
        if self.folder is not None and not self.exists():
            raise SeaError(missing)
        # Unless told otherwise, Lance keeps up to 1 GB about the files of all versions that were open.
        session = (
            self._snapshot.dataset.session()
            if self._snapshot
            else lance.Session(metadata_cache_size_bytes=METADATA_CACHE_BYTES)
        )
        try:
            return self._opened(session)
        except SeaError as error:
            if self.folder is None and NOT_THERE in str(error):
                raise SeaError(missing) from error
            if not self._drop_torn_commit():
                raise
        return self.open()

    def _opened(self, session: Any) -> lance.LanceDataset:
        with plain_errors(self.uri):
            options = self.storage_options or None
            dataset = lance.dataset(self.uri, storage_options=options, session=session)
            facts_of(dataset)  # raises if it is not a sea that this version reads
        return dataset

    def _drop_torn_commit(self) -> bool:
        if self._disk is None or self.folder is None:
            return False
        with suppress(OSError, SeaError):
            if self._disk.is_torn():
                with writers.lock_folder(self.folder, wait=False):
                    return self._disk.drop_torn_commit()
        return False

    def sync(self) -> None:
        """Bring what was written to the disk. At a URI the store has it already."""
        if self._disk is not None:
            with plain_errors(self.uri):
                self._disk.sync()

    @contextmanager
    def writing(
        self, *, alone: bool = False, wait: bool = True, waiting: Callable[[], None] | None = None
    ) -> Iterator[None]:
        """Hold the right to write: exclusive in a folder; at a URI shared by those who add, unless `alone`.

        Raises
        ------
        Busy
            If others are writing and `wait` is false.
        """
        if self.folder is not None:
            with writers.lock_folder(self.folder, wait=wait, waiting=waiting):
                self._migrate()
                yield
                self._note_deletions()
                self.sync()
            return
        place = self.uri, self.storage_options, self._remove_doubled
        if self._is_old():
            with writers.writing(*place, alone=True, wait=wait, waiting=waiting):
                self._migrate()
        with writers.writing(*place, alone=alone, wait=wait, waiting=waiting) as self._writer:
            try:
                yield
                self._note_deletions()
            finally:
                self._writer = None

    def _note_deletions(self) -> None:
        """Keep a checksum of each file that says which rows are deleted."""
        if not self.exists():
            return
        snapshot = self.snapshot()
        known, there = snapshot.deletions, self.deletion_files()
        if new := there - known.keys():
            sums = known | {name: self.checksum_of(name) for name in new}
            self.put_metadata({DELETIONS: json.dumps({name: sums[name] for name in sorted(there)})})

    def deletion_files(self) -> set[str]:
        """The files that say which rows are deleted, by their names in the sea."""
        with plain_errors(self.uri):
            found = (fragment.deletion_file() for fragment in self.snapshot().dataset.get_fragments())
            return {name for name in found if name}

    def checksum_of(self, name: str) -> int:
        """The checksum of a file of the sea; 0 if it is not there."""
        content = store.read(f"{Location(self.uri).uri.rstrip('/')}/{name}", self.storage_options)
        return 0 if content is None else zlib.crc32(content)

    def _remove_doubled(self) -> None:
        if self.exists():
            with plain_errors(self.uri):
                remove_doubled(self.open())

    def _is_old(self) -> bool:
        """Whether the sea has an older format, or was left in the middle of being sealed."""
        if not self.exists():
            return False
        snapshot = self.snapshot()
        return snapshot.facts.format < FORMAT or CHECKSUMS not in snapshot.dataset.schema.names

    def _migrate(self) -> None:
        if self._is_old():
            with plain_errors(self.uri):
                migrate(self.open())
                if SEALING in (dataset := self.open()).schema.names:
                    dataset.alter_columns({"path": SEALING, "name": CHECKSUMS})

    def check_still_writer(self) -> None:
        """Raise SeaError if other writers may take this one for dead."""
        if self._writer:
            self._writer.check()

    def has_other_writers(self) -> bool:
        """Whether someone else writes at this moment; only asked while `writing`."""
        return bool(self._writer and self._writer.others())

    def append(self, rows: Sequence[Row], facts: SeaFacts, *, frame_features: bool = True) -> int:
        """Write rows in one commit; readers see all of them or none. Returns how many are new."""
        return Appender(self).append(rows, facts, frame_features=frame_features)

    def write_fragments(self, table: pa.Table) -> list[Any]:
        """Put rows into files of the dataset. Nobody sees them until their fragments are committed."""
        snapshot = self.snapshot()
        if snapshot.moves:
            files = [[snapshot.stored_path(file) for file in table["file"].to_pylist()]]
            table = table.set_column(table.column_names.index("file"), table.schema.field("file"), files)
        table = with_checksums(table, snapshot.facts)
        if snapshot.index:
            table = snapshot.index.with_vectors(table)
        with plain_errors(self.uri):
            return list(lance.fragment.write_fragments(table, self.open()))

    def put_metadata(self, values: Mapping[str, str]) -> None:
        """Change entries of the record's metadata, in one commit."""
        self.sync()
        with plain_errors(self.uri):
            self.open().update_schema_metadata(with_entry_checksums(values))


def create_dataset(
    table: pa.Table,
    uri: str,
    storage_options: Mapping[str, str] | None,
    *,
    before_commit: Callable[[], None] = lambda: None,
) -> bool:
    """Begin a dataset with these rows, in one commit; false if somebody else has begun it meanwhile.

    `lance.write_dataset` looks first and commits later: a dataset that another writer begins in between is
    overwritten, rows and all. A commit without retries overwrites no version that it has not read.
    """
    options = dict(storage_options) if storage_options else None
    try:
        begun = lance.fragment.write_fragments(
            table, uri, mode="create", return_transaction=True, storage_options=options
        )
        before_commit()
        lance.LanceDataset.commit(uri, begun, storage_options=options, max_retries=0)
    except (OSError, ValueError, RuntimeError):
        with suppress(OSError, ValueError, RuntimeError):
            lance.dataset(uri, storage_options=options)
            return False
        raise
    return True


class Appender:
    """Appends clips to a record, each once, from now on.

    Make one before you check which clips the record has: it trusts that what you append was not in the record
    at that moment, and looks for duplicates only among what others commit later.

    Each commit carries a key of its own: after an error it tells whether the commit went through.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._version = record.snapshot().version if record.exists() else 0  # after our own latest commit
        self._others = False  # whether others have committed since the beginning

    def append(self, rows: Sequence[Row], facts: SeaFacts, *, frame_features: bool = True) -> int:
        """Write rows in one commit; readers see all of them or none. Returns how many are new."""
        table = to_table(rows, facts, frame_features=frame_features)
        if not self._record.exists() and self.create(table):
            return len(rows)
        fragments, ids = self._record.write_fragments(table), table["id"].to_pylist()
        if there := self._added_by_others(ids):
            new = [n for n, clip in enumerate(ids) if clip not in there]
            if not new:
                return 0
            table = table.take(new)
            fragments, ids = self._record.write_fragments(table), table["id"].to_pylist()
        return self.append_fragments(fragments, ids)

    def _added_by_others(self, ids: Sequence[str]) -> set[str]:
        """Those of the clips that others have added meanwhile."""
        with plain_errors(self._record.uri):
            dataset = self._record.open()
            if not self._others and dataset.version == self._version:
                return set()
            found = dataset.scanner(columns=["id"], filter=one_of("id", ids)).to_table()
        return set(found["id"].to_pylist())

    def create(self, table: pa.Table) -> bool:
        """Begin the sea with these rows; false if another writer has begun it meanwhile."""
        facts = SeaFacts.from_json(table.schema.metadata[FACTS.encode()].decode())
        with plain_errors(self._record.uri):
            table = with_checksums(table, facts)
            place = self._record.uri, self._record.storage_options
            created = create_dataset(table, *place, before_commit=self._record.sync)
        if created:
            self._version = 1
            self._record.sync()
        return created

    def append_fragments(self, fragments: Sequence[Any], ids: Sequence[str]) -> int:
        """Commit fragments that hold the clips `ids`; returns how many of these are new.

        Raises
        ------
        SeaError
            If they do not hold that many rows, or cannot be committed.
        """
        rows = sum(fragment.physical_rows for fragment in fragments)
        if rows != len(ids):
            raise SeaError(
                f"{self._record.uri}: {rows} rows were written of {len(ids)}; nothing is committed"
            )
        self._record.check_still_writer()
        self._record.sync()  # first the rows, then the commit that names them
        with plain_errors(self._record.uri):
            dataset = self._record.open()
            before = dataset.version
            committed = self._commit(dataset, fragments)
            # Once true, always: clips that are still to come may be among those that others have added.
            self._others |= committed.version > before + 1 or before != self._version
            self._version = committed.version
            self._record.sync()
            return int(rows) - (_remove_duplicates(committed, fragments, ids) if self._others else 0)

    def _commit(self, dataset: Any, fragments: Sequence[Any]) -> Any:
        key, before = uuid.uuid4().hex, dataset.version
        operation = lance.LanceOperation.Append(list(fragments))
        append = lance.Transaction(before, operation, transaction_properties={KEY: key})
        try:
            return lance.LanceDataset.commit(dataset, append)
        except (OSError, ValueError, RuntimeError) as error:
            # The answer may have been lost on the way although the commit went through.
            now = self._record.open()
            for back, it in enumerate(now.get_transactions(max(1, now.version - before))):
                if it and (it.transaction_properties or {}).get(KEY) == key:
                    return now.checkout_version(now.version - back)
            raise SeaError(f"{self._record.uri}: {store.explained(str(error))}") from error


def _remove_duplicates(committed: Any, fragments: Sequence[Any], ids: Sequence[str]) -> int:
    """Delete those of the newly committed rows that an earlier commit has added; returns how many."""
    files = {file.path for fragment in fragments for file in fragment.files}
    own = [
        there.fragment_id
        for there in committed.get_fragments()
        if files & {file.path for file in there.metadata.files}
    ]
    found = committed.scanner(columns=["id"], filter=one_of("id", ids), with_row_id=True).to_table()
    pairs = zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True)
    twice = sorted({clip for clip, row in pairs if row >> ROW_ID_BITS not in own})
    if twice:
        mine = " OR ".join(
            f"(_rowid >= {n << ROW_ID_BITS} AND _rowid < {(n + 1) << ROW_ID_BITS})" for n in own
        )
        deleted = committed.delete(f"({mine}) AND {one_of('id', twice)}")["num_deleted_rows"]
        if deleted < len(twice):  # somebody has joined the fragments with others meanwhile
            remove_doubled(committed)
    return len(twice)


def remove_doubled(dataset: lance.LanceDataset) -> int:
    """Delete the later copies of clips that are there twice; returns how many clips were.

    A writer that is killed after its commit cannot take back what another one had added before.
    """
    found = 0
    while twice := _remove_copies(dataset):
        found = max(found, twice)
        dataset.checkout_latest()  # were they deleted, or did they get new numbers meanwhile?
    return found


def _remove_copies(dataset: lance.LanceDataset) -> int:
    """Delete the later copies that this version of the dataset has; returns of how many clips."""
    rows = dataset.scanner(columns=["id"], with_row_id=True).to_table()
    counted = rows.group_by("id").aggregate([("_rowid", "count"), ("_rowid", "min")])
    twice = counted.filter(pc.greater(counted["_rowid_count"], 1))
    if len(twice):
        theirs = rows.filter(pc.is_in(rows["id"], twice["id"].combine_chunks()))
        copies = set(theirs["_rowid"].to_pylist()) - set(twice["_rowid_min"].to_pylist())
        # The copies by their numbers, not all but the first: where others join fragments meanwhile, rows get
        # new numbers, and Lance asks again. Then it must find nothing rather than the first ones too.
        numbers = " OR ".join(f"_rowid = {row}" for row in sorted(copies))
        dataset.delete(f"{one_of('id', twice['id'].to_pylist())} AND ({numbers})")
    return len(twice)


Migration = Callable[[lance.LanceDataset], None]


def _add_column(name: str, dataset: lance.LanceDataset) -> None:
    """Clips that are there get no value; their checksums come from `seal`, which reads all they store."""
    if name not in dataset.schema.names:  # else an earlier try was interrupted after this step
        dataset.add_columns(pa.field(name, LATER_COLUMNS[name]))


MIGRATIONS: Mapping[int, Migration] = {
    number: partial(_add_column, name) for number, name in enumerate(("damage", CHECKSUMS), 1)
}
"""Format number → what brings a sea of that format to the next. Formats are never skipped."""


def facts_of(dataset: lance.LanceDataset) -> SeaFacts:
    """The facts of the sea in a dataset.

    Raises
    ------
    SeaError
        If the dataset is not a sea, or was made by a newer Seasync.
    """
    text = (dataset.schema.metadata or {}).get(FACTS.encode())
    if text is None:
        raise SeaError(f"{dataset.uri}: a Lance dataset, but not a sea; expected one made by `seasync add`")
    try:
        facts = SeaFacts.from_json(text.decode())
    except (ValueError, KeyError, TypeError) as error:
        raise SeaError(f"{dataset.uri}: {DAMAGED} ({error})") from error
    if facts.format > FORMAT:
        raise SeaError(
            f"{dataset.uri}: made by a newer Seasync (format {facts.format}, this one reads up to {FORMAT}); "
            "upgrade with `pip install -U seasync`"
        )
    return facts


def migrate(
    dataset: lance.LanceDataset, *, to: int = FORMAT, migrations: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Bring a sea to format `to`, step by step; each step is committed before the next.

    You must be the only writer. Interrupted, it continues with the step that was not finished.
    """
    facts = facts_of(dataset)
    for number in range(facts.format, to):
        migrations[number](dataset)
        dataset.update_schema_metadata({FACTS: replace(facts, format=number + 1).to_json()})
