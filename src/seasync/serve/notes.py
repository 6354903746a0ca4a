"""What people set by hand, anchors and marks, kept in the sea itself so that every server of it sees them."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from seasync.sea.record import Record, plain_errors, quoted

if TYPE_CHECKING:
    import lance

TIDY = 64  # commits between two cleanings


class Notes:
    """Plain values by name: a small Lance dataset beside the record's own files, at a path or a URI.

    A value is replaced whole, in one commit; of two at once the later stays.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._uri = f"{record.uri.rstrip('/')}/_notes"
        self._lock = threading.Lock()
        self._commits = 0

    def get(self, name: str) -> Any:
        """The value of this name, or None."""
        return self.all(f"name = {quoted(name)}").get(name)

    def under(self, prefix: str) -> dict[str, Any]:
        """All values whose names begin so."""
        return self.all(f"starts_with(name, {quoted(prefix)})")

    def all(self, where: str) -> dict[str, Any]:
        dataset = self._open()
        if dataset is None:
            return {}
        with plain_errors(self._uri):
            rows = dataset.to_table(columns=["name", "value"], filter=where).to_pylist()
        return {row["name"]: json.loads(row["value"]) for row in rows}

    def put(self, name: str, value: Any) -> None:
        """Set a value; None takes it away."""
        import lance
        import pyarrow as pa

        with self._lock, plain_errors(self._uri):
            dataset = self._open()
            if value is None:
                if dataset is not None:
                    dataset.delete(f"name = {quoted(name)}")
                return
            table = pa.table({"name": [name], "value": [json.dumps(value)], "changed": [time.time()]})
            if dataset is None:
                lance.write_dataset(table, self._uri, storage_options=self._options())
                return
            merge = dataset.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(table)
            self._commits += 1
            if self._commits % TIDY == 0:
                dataset = self._open()
                assert dataset is not None
                dataset.optimize.compact_files()
                dataset.cleanup_old_versions()

    def _options(self) -> dict[str, str] | None:
        return dict(self._record.storage_options) or None

    def _open(self) -> lance.LanceDataset | None:
        import lance

        try:
            return lance.dataset(self._uri, storage_options=self._options())
        except (ValueError, OSError):  # none has been set yet
            return None
