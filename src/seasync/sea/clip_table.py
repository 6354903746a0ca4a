"""The clips of a snapshot by id, content and row; each search asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from seasync.sea.found import RowIds
from seasync.sea.index import EXACT_UP_TO
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.snapshot import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from seasync.sea.snapshot import Snapshot

COLUMNS = [*CLIP_COLUMNS, "content"]


class ClipTable:
    """`COLUMNS` of all clips, with their row ids.

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
        import pyarrow.compute as pc

        return self._kept.take(np.flatnonzero(pc.equal(self._kept[column], value)))

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
