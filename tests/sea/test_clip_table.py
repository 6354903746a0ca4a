"""Clips are found by id, content and row, whether they are kept in memory or read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.errors import SeaError
from seasync.sea import snapshot as clip_table
from seasync.sea.record import Record
from seasync.sea.search import resolve
from seasync.sea.snapshot import COLUMNS, Snapshot
from tests.sea.footage import facts, row


@pytest.fixture(params=["in memory", "read"])
def snapshot(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """A sea of three commits, one of whose clips was deleted again."""
    monkeypatch.setattr(clip_table, "EXACT_UP_TO", 100 if request.param == "in memory" else 0)
    record = Record(tmp_path / "s.sea")
    for first in (0, 3, 6):
        record.append([row(n, label=f"kind {n}") for n in range(first, first + 3)], facts())
    gone = record.snapshot().clips()[1].id
    record.open().delete(f"id = '{gone}'")
    return record.snapshot()


def test_clips_are_found_by_id_and_by_content(snapshot: Snapshot) -> None:
    table = snapshot.clip_table
    assert len(snapshot) == 8
    for entry in snapshot.entries():
        for column, value in (("id", entry.clip.id), ("content", entry.content)):
            found = table.equal(snapshot, column, str(value))
            assert found.column_names == [*COLUMNS, "_rowid"]
            assert snapshot.clips_of(found) == [entry.clip]
    assert len(table.equal(snapshot, "id", "it's not there")) == 0


def test_clips_of_rows_come_in_the_order_asked_for(snapshot: Snapshot) -> None:
    rows = snapshot.table([])["_rowid"].to_numpy()[[7, 0, 4]]
    found = snapshot.clip_table.take(snapshot, rows, ["mean", "frames"])
    clips = snapshot.clips()
    assert snapshot.clips_of(found) == [clips[7], clips[0], clips[4]]
    assert found["mean"].to_pylist() == snapshot.take(rows, ["mean"])["mean"].to_pylist()
    assert found["frames"].to_pylist() == [12, 12, 12]


def test_a_query_by_id_brings_its_own_features_and_rows(snapshot: Snapshot) -> None:
    clip = snapshot.clips()[5]
    for asked in (clip, str(clip.id), str(clip.id)[:12]):
        query = resolve(snapshot, asked, lambda *_, **__: pytest.fail("it is in the sea"))
        assert query.clip == clip
        assert snapshot.take(query.own, ["id"])["id"].to_pylist() == [clip.id]
        np.testing.assert_array_equal(query.encoding.features, row(6).encoding.features)
    with pytest.raises(SeaError, match="no clip has the id"):
        resolve(snapshot, type(clip)("x", id="0" * 32), lambda *_, **__: pytest.fail("it has an id"))


def test_what_another_writer_adds_is_found(snapshot: Snapshot) -> None:
    record, before = Record(snapshot.dataset.uri), len(snapshot.clip_table.equal(snapshot, "id", "x"))
    record.append([row(20)], facts())
    later, new = record.snapshot(), row(20).entry.clip.id
    assert before == 0
    assert snapshot.clips_of(later.clip_table.equal(later, "id", str(new)))[0].id == new
