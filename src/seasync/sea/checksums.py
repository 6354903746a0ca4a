"""Checksums of what a sea stores: one number per clip and column, and one per entry of the metadata.

They are written with a row and tell later whether the storage still holds the same bytes. CRC-32 finds every
flipped bit and reads 7 GB/s, so the columns that an alignment reads are checked each time.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seasync.sea.rows import CHECKSUMS, CLIP_COLUMNS, FACTS, SeaFacts, lists, matrix, stream_columns

COLUMNS = [*CLIP_COLUMNS, "content", "split", "part", "parts", "fps", "tags", "damage", "frames", "mean"]
ENTRY_END = ".checksum"  # at the end of the metadata's key


def checked_columns(facts: SeaFacts) -> list[str]:
    """The columns that have a checksum, in the order of the checksums. New columns come at the end."""
    return [*COLUMNS, "trajectory", *stream_columns(facts)]


def with_checksums(table: pa.Table, facts: SeaFacts) -> pa.Table:
    """The same rows with the checksums of all that they store."""
    sums = _sums(table, checked_columns(facts), facts)
    return _with_column(table, [row.tobytes() for row in sums])


def with_changed(before: pa.Table, after: pa.Table, facts: SeaFacts) -> pa.Table:
    """Rows `after` a change of some columns, with the checksums they had `before`, brought up to date.

    A checksum that was wrong before stays wrong unless its value is replaced.
    """
    names = checked_columns(facts)
    changed = [name for name in names if name in after.column_names]
    places = [names.index(name) for name in changed]
    old, new = (_sums(table, changed, facts) for table in (before, after))
    column: list[bytes | None] = []
    for stored, was, now in zip(before[CHECKSUMS].to_pylist(), old, new, strict=True):
        if stored is not None and len(stored) == 4 * len(names):
            kept = np.frombuffer(stored, "<u4").copy()
            kept[places] = np.where((kept[places] == was) | (was != now), now, kept[places])
            stored = kept.tobytes()
        column.append(stored)
    return _with_column(after, column)


def _with_column(table: pa.Table, values: list[bytes | None] | list[bytes]) -> pa.Table:
    column = pa.array(values, pa.binary())
    if CHECKSUMS not in table.column_names:
        return table.append_column(CHECKSUMS, column)
    return table.set_column(table.column_names.index(CHECKSUMS), table.schema.field(CHECKSUMS), column)


def changed_columns(table: pa.Table, facts: SeaFacts) -> dict[int, list[str]]:
    """Of rows read with their checksums: which columns are not as they were written, by the row's number.

    Rows without checksums are left out.
    """
    names = checked_columns(facts)
    here = [name for name in names if name in table.column_names]
    places = [names.index(name) for name in here]
    rows = table[CHECKSUMS].to_pylist()
    whole = [row if row is not None and len(row) == 4 * len(names) else bytes(4 * len(names)) for row in rows]
    stored = np.frombuffer(b"".join(whole), "<u4").reshape(len(rows), len(names))[:, places]
    wrong = stored != _sums(table, here, facts)
    return {
        n: [here[at] for at in np.flatnonzero(wrong[n])]
        for n in np.flatnonzero(wrong.any(1)).tolist()
        if rows[n] is not None
    }


def with_entry_checksums(entries: Mapping[str, str]) -> dict[str, str]:
    """Entries of the metadata, each with its checksum."""
    return dict(entries) | {key + ENTRY_END: _of_text(value) for key, value in entries.items()}


def changed_entries(metadata: Mapping[str, str]) -> list[str]:
    """The entries of the metadata that are not as they were written."""
    keys = [key.removesuffix(ENTRY_END) for key in metadata if key.endswith(ENTRY_END)]
    return [key for key in keys if metadata.get(key + ENTRY_END) != _of_text(metadata.get(key))]


def without_entry_checksums(metadata: Mapping[str, str]) -> dict[str, str]:
    """The entries of a sea that have no checksum; the facts need none: those of each clip begin with them."""
    own = (key for key in metadata if key.startswith(f"{FACTS}.") and not key.endswith(ENTRY_END))
    return {key: metadata[key] for key in own if key + ENTRY_END not in metadata}


def _of_text(value: str | None) -> str:
    return "" if value is None else f"{zlib.crc32(value.encode()):08x}"


def _sums(table: pa.Table, names: Iterable[str], facts: SeaFacts) -> NDArray[np.uint32]:
    """The checksums of columns, shape (N, columns). They begin with the facts, so these are checked too."""
    common = (facts.encoder, facts.fingerprint, facts.fps, facts.streams, facts.trajectory)
    seed = zlib.crc32(json.dumps(common).encode())
    columns = [[0 if v is None else zlib.crc32(v, seed) for v in _values(table[name])] for name in names]
    return np.array(columns, "<u4").reshape(len(columns), len(table)).T.copy()


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The bytes of each value of a column; None for null."""
    array = column.combine_chunks()
    kind, there = array.type, array.is_valid().to_pylist()
    if pa.types.is_fixed_size_list(kind):
        values: Iterable[Any] = matrix(array)
    elif pa.types.is_list(kind) and not pa.types.is_string(kind.value_type):
        values = lists(column)
    elif pa.types.is_primitive(kind):
        values = array.fill_null(0).to_numpy(zero_copy_only=False)[:, None]
    else:  # text, and lists of it
        values = (json.dumps(value).encode() for value in array.to_pylist())
    return [value if valid else None for value, valid in zip(values, there, strict=True)]
