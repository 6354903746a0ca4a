"""Anchors and marks that people set by hand. They live in the sea, so every server of it sees them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError
from seasync.sea.record import create_dataset
from seasync.sea.snapshot import plain_errors, quoted

if TYPE_CHECKING:
    import lance

CLEANUP_INTERVAL = 64  # commits


class AnnotationStore:
    """JSON values by name, in a small Lance dataset at a path or a URI.

    A value is replaced as a whole, in one commit. Of two writers, the later one wins.

    Parameters
    ----------
    uri
        Path or URI of the dataset. The first value creates it.
    storage_options
        Options for object storage.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str]) -> None:
        self._uri, self._storage_options = uri, dict(storage_options)
        self._lock = threading.Lock()
        self._commits = 0
        self._seen: lance.LanceDataset | None = None  # stays open, to ask for the newest version

    def get(self, name: str) -> Any:
        """The value with this name, or None."""
        return self._select(f"name = {quoted(name)}").get(name)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """All values whose names start with `prefix`."""
        return self._select(f"starts_with(name, {quoted(prefix)})")

    @property
    def version(self) -> int:
        """Another number after each change by this or another server; 0 as long as nothing has been set."""
        if self._seen is not None:
            with suppress(SeaError), plain_errors(self._uri):
                return int(self._seen.latest_version)
        self._seen = self._open()
        return 0 if self._seen is None else int(self._seen.version)

    def _select(self, where: str) -> dict[str, Any]:
        dataset = self._open()
        if dataset is None:
            return {}
        with plain_errors(self._uri):
            rows = dataset.to_table(columns=["name", "value"], filter=where).to_pylist()
        return {row["name"]: json.loads(row["value"]) for row in rows}

    def put(self, name: str, value: Any) -> None:
        """Set a value. None removes it."""
        import pyarrow as pa

        with self._lock, plain_errors(self._uri):
            dataset = self._open()
            if value is None:
                if dataset is not None:
                    dataset.delete(f"name = {quoted(name)}")
                return
            table = pa.table({"name": [name], "value": [json.dumps(value)], "changed": [time.time()]})
            if dataset is None:
                if create_dataset(table, self._uri, self._options()):
                    return
                dataset = self._open()
                assert dataset is not None
            merge = dataset.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
            merge.execute(table)
            self._commits += 1
            if self._commits % CLEANUP_INTERVAL == 0:
                dataset = self._open()
                assert dataset is not None
                dataset.optimize.compact_files()
                dataset.cleanup_old_versions()

    def _options(self) -> dict[str, str] | None:
        return self._storage_options or None

    def _open(self) -> lance.LanceDataset | None:
        import lance

        try:
            with plain_errors(self._uri):
                return lance.dataset(self._uri, storage_options=self._options())
        except SeaError as error:
            if "was not found" not in str(error):  # the store may be out of reach, with notes in it
                raise
            return None  # nothing has been set yet
