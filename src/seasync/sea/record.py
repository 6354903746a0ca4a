"""The record of a sea: one Lance dataset, at a local path or a URI.

A `Record` hands out the latest `Snapshot` to read from, and does the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError
from seasync.files import Location, Place, is_uri
from seasync.files.objects import storage_options as environment_options
from seasync.sea import folder_lock, writers
from seasync.sea import rows as layout
from seasync.sea.commit import Appender, create_dataset, remove_doubled, write_fragments
from seasync.sea.migrations import facts_of, migrate
from seasync.sea.rows import Row, SeaFacts
from seasync.sea.snapshot import Snapshot, plain_errors

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

METADATA_CACHE_BYTES = 256 << 20
NOT_THERE = "was not found"  # Lance, about a dataset


class Record:
    """A sea's record: opened at `uri`, created by the first rows written to it.

    Parameters
    ----------
    uri
        A folder, or a URI such as ``s3://bucket/footage.sea``.
    storage_options
        Credentials and other options for object storage, as Lance takes them. They add to those of the
        environment (see `seasync.files.objects`).
    """

    def __init__(self, uri: Place, *, storage_options: Mapping[str, str] | None = None) -> None:
        place = Location(uri)
        self.uri = str(place.path) if place.is_local else place.text
        self.storage_options = {} if place.is_local else environment_options(storage_options)
        self._snapshot: Snapshot | None = None
        self._writer: writers.Writer | None = None

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
            return any((self.folder / "_versions").glob("[0-9]*.manifest"))
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
        if not (folder / folder_lock.NAME).exists() and not self.exists():
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
        import lance

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
            with plain_errors(self.uri):
                options = self.storage_options or None
                dataset = lance.dataset(self.uri, storage_options=options, session=session)
                facts_of(dataset)  # raises if it is not a sea that this version reads
        except SeaError as error:
            if self.folder is None and NOT_THERE in str(error):
                raise SeaError(missing) from error
            raise
        return dataset

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
            with folder_lock.writing(self.folder, wait=wait, waiting=waiting):
                self._migrate()
                yield
            return
        if self._is_old():
            with self._announced(alone=True, wait=wait, waiting=waiting):
                self._migrate()
        with self._announced(alone=alone, wait=wait, waiting=waiting):
            yield

    @contextmanager
    def _announced(self, *, alone: bool, wait: bool, waiting: Callable[[], None] | None) -> Iterator[None]:
        with writers.writing(
            self.uri,
            self.storage_options,
            alone=alone,
            wait=wait,
            waiting=waiting,
            repair=self._remove_doubled,
        ) as self._writer:
            try:
                yield
            finally:
                self._writer = None

    def _remove_doubled(self) -> None:
        if self.exists():
            with plain_errors(self.uri):
                remove_doubled(self.open())

    def _is_old(self) -> bool:
        return self.exists() and self.snapshot().facts.format < layout.FORMAT

    def _migrate(self) -> None:
        if self._is_old():
            with plain_errors(self.uri):
                migrate(self.open())

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

    def create(self, table: pa.Table) -> bool:
        """Begin the sea with these rows, in one commit; false if another writer has begun it meanwhile."""
        with plain_errors(self.uri):
            return create_dataset(table, self.uri, self.storage_options)

    def write_fragments(self, table: pa.Table) -> tuple[list[Any], list[str]]:
        """Store rows without committing them: their fragments, and the ids of their clips."""
        snapshot = self.snapshot()
        if snapshot.moves:
            files = [[snapshot.stored_path(file) for file in table["file"].to_pylist()]]
            table = table.set_column(table.column_names.index("file"), table.schema.field("file"), files)
        if snapshot.index:
            table = snapshot.index.with_vectors(table)
        with plain_errors(self.uri):
            return write_fragments(table, self.open()), table["id"].to_pylist()

    def put_metadata(self, values: Mapping[str, str]) -> None:
        """Change entries of the record's metadata, in one commit."""
        with plain_errors(self.uri):
            self.open().update_schema_metadata(dict(values))
