"""Rows into the record: fragments are written anywhere, then committed once, and no clip comes in twice.

On object storage others may commit meanwhile. Lance lets appends pass each other, so whoever comes later
looks whether an earlier one has brought the same clips, and takes its own copies out again.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError
from seasync.files.objects import explained

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from seasync.sea.record import Record

KEY = "seasync.commit"
ROW_ID_BITS = 32  # a row id is the fragment's number and the row's place in it


def write_fragments(table: pa.Table, dataset: lance.LanceDataset) -> list[Any]:
    """Put rows into files of the dataset, where nobody sees them until their fragments are committed."""
    from lance.fragment import write_fragments

    return list(write_fragments(table, dataset))


class Appender:
    """Commits fragments to a record, each lot once.

    Each commit carries a key of its own: after an error it tells whether the commit went through.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._job = uuid.uuid4().hex
        self._count = 0
        self.looked: int | None = None  # the version whose clips are left out of what will be appended

    def append(self, dataset: lance.LanceDataset, fragments: Sequence[Any], ids: Sequence[str]) -> int:
        """Commit fragments that hold the clips `ids`; how many of these are new.

        Raises
        ------
        SeaError
            If they do not hold so many rows, or cannot be committed.
        """
        rows = sum(fragment.physical_rows for fragment in fragments)
        if rows != len(ids):
            raise SeaError(
                f"{self._record.uri}: {rows} rows were written of {len(ids)}; nothing is committed"
            )
        self._record.check_writing()
        self._count += 1
        key, before = f"{self._job}/{self._count}", dataset.version
        committed = self._commit(dataset, fragments, key)
        others = committed.version > before + 1 or before != (before if self.looked is None else self.looked)
        self.looked = committed.version
        return int(rows) - (self._take_back(committed, fragments, ids) if others else 0)

    def _commit(self, dataset: Any, fragments: Sequence[Any], key: str) -> Any:
        import lance
        from lance.dataset import LanceOperation, Transaction

        before = dataset.version
        operation = LanceOperation.Append(list(fragments))
        try:
            return lance.LanceDataset.commit(
                dataset, Transaction(before, operation, transaction_properties={KEY: key})
            )
        except (OSError, ValueError, RuntimeError) as error:
            # The answer may have been lost on the way, and the commit be there all the same.
            now = self._record.open()
            for back, it in enumerate(now.get_transactions(max(1, now.version - before))):
                if it and (it.transaction_properties or {}).get(KEY) == key:
                    return now.checkout_version(now.version - back)
            raise SeaError(f"{self._record.uri}: {explained(str(error))}") from error

    def _take_back(self, committed: Any, fragments: Sequence[Any], ids: Sequence[str]) -> int:
        """Delete those of the rows just committed that an earlier commit has brought; how many they were."""
        files = {file.path for fragment in fragments for file in fragment.files}
        own = [
            there.fragment_id
            for there in committed.get_fragments()
            if files & {file.path for file in there.metadata.files}
        ]
        wanted = ", ".join(f"'{clip}'" for clip in ids)
        found = committed.scanner(columns=["id"], filter=f"id IN ({wanted})", with_row_id=True).to_table()
        pairs = zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True)
        twice = sorted({clip for clip, row in pairs if row >> ROW_ID_BITS not in own})
        if twice:
            mine = " OR ".join(
                f"(_rowid >= {n << ROW_ID_BITS} AND _rowid < {(n + 1) << ROW_ID_BITS})" for n in own
            )
            committed.delete(f"({mine}) AND id IN ({', '.join(map(repr, twice))})")
        return len(twice)
