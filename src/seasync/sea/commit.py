"""Appending to the record: fragments are written anywhere, then committed once, and no clip comes in twice.

On object storage others may commit meanwhile. Lance lets appends pass each other, so a writer leaves out the
clips that others have added when it commits. Those that come in at the same moment it finds right
after, and removes its own copies again. If it dies before that, another writer removes them: the next, or one
that is still at work.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError
from seasync.files.objects import explained
from seasync.sea.rows import Row, SeaFacts, to_table
from seasync.sea.snapshot import one_of, plain_errors

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from seasync.sea.record import Record

KEY = "seasync.commit"
ROW_ID_BITS = 32  # a row id is the fragment's number and the row's place in it


def write_fragments(table: pa.Table, dataset: lance.LanceDataset) -> list[Any]:
    """Put rows into files of the dataset. Nobody sees them until their fragments are committed."""
    from lance.fragment import write_fragments

    return list(write_fragments(table, dataset))


def create_dataset(table: pa.Table, uri: str, storage_options: Mapping[str, str] | None) -> bool:
    """Begin a dataset with these rows, in one commit; false if somebody else has begun it meanwhile.

    `lance.write_dataset` looks first and commits later: a dataset that another writer begins in between is
    overwritten, rows and all. A commit without retries overwrites no version that it has not read.
    """
    import lance
    from lance.fragment import write_fragments

    options = dict(storage_options) if storage_options else None
    try:
        begun = write_fragments(table, uri, mode="create", return_transaction=True, storage_options=options)
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
        self._job = uuid.uuid4().hex
        self._count = 0
        self._version = record.snapshot().version if record.exists() else 0  # after our own latest commit
        self._others = False  # whether others have committed since the beginning

    def append(self, rows: Sequence[Row], facts: SeaFacts, *, frame_features: bool = True) -> int:
        """Write rows in one commit; readers see all of them or none. Returns how many are new."""
        table = to_table(rows, facts, frame_features=frame_features)
        if not self._record.exists() and self.create(table):
            return len(rows)
        fragments, ids = self._record.write_fragments(table)
        new = self._without_those_of_others(table)
        if len(new) < len(table):
            if not len(new):
                return 0
            fragments, ids = self._record.write_fragments(new)
        return self.append_fragments(fragments, ids)

    def _without_those_of_others(self, table: pa.Table) -> pa.Table:
        """The rows of clips that nobody has added meanwhile."""
        import pyarrow.compute as pc

        with plain_errors(self._record.uri):
            dataset = self._record.open()
            if not self._others and dataset.version == self._version:
                return table
            condition = one_of("id", table["id"].to_pylist())
            there = dataset.scanner(columns=["id"], filter=condition).to_table()["id"]
        return table.filter(pc.invert(pc.is_in(table["id"], there.combine_chunks())))

    def create(self, table: pa.Table) -> bool:
        """Begin the sea with these rows; false if another writer has begun it meanwhile."""
        created = self._record.create(table)
        if created:
            self._version = 1
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
        with plain_errors(self._record.uri):
            dataset = self._record.open()
            before = dataset.version
            committed = self._commit(dataset, fragments)
            # Once true, always: clips that are still to come may be among those that others have added.
            self._others |= committed.version > before + 1 or before != self._version
            self._version = committed.version
            return int(rows) - (_remove_duplicates(committed, fragments, ids) if self._others else 0)

    def _commit(self, dataset: Any, fragments: Sequence[Any]) -> Any:
        import lance
        from lance.dataset import LanceOperation, Transaction

        self._count += 1
        key, before = f"{self._job}/{self._count}", dataset.version
        operation = LanceOperation.Append(list(fragments))
        try:
            return lance.LanceDataset.commit(
                dataset, Transaction(before, operation, transaction_properties={KEY: key})
            )
        except (OSError, ValueError, RuntimeError) as error:
            # The answer may have been lost on the way although the commit went through.
            now = self._record.open()
            for back, it in enumerate(now.get_transactions(max(1, now.version - before))):
                if it and (it.transaction_properties or {}).get(KEY) == key:
                    return now.checkout_version(now.version - back)
            raise SeaError(f"{self._record.uri}: {explained(str(error))}") from error


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
    import pyarrow.compute as pc

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
