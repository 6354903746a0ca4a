"""Clips that are in a sea twice, as writers leave them that are killed: only the copies go."""

from __future__ import annotations

from pathlib import Path

import lance
import pytest
from lance.dataset import LanceOperation
from lance.fragment import write_fragments

from seasync.sea.record import Appender, Record, remove_doubled
from seasync.sea.rows import to_table
from tests.sea.footage import facts, row


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Clips 0 to 3, each in a commit of its own, and 2 and 3 once more."""
    record = Record(tmp_path / "s.sea")
    for n in range(4):
        record.append([row(n)], facts())
    for n in (2, 3):
        dataset = record.open()
        again = LanceOperation.Append(write_fragments(to_table([row(n)], facts()), dataset))
        lance.LanceDataset.commit(dataset, again, read_version=dataset.version)
    assert len(record) == 6
    return record


def numbers(record: Record) -> list[int]:
    """Which clips there are."""
    known = {row(n).entry.clip.id: n for n in range(6)}
    return sorted(known[clip.id] for clip in Record(record.uri).snapshot().clips())


def test_copies_are_removed_and_the_first_ones_stay(record: Record) -> None:
    first = record.open().to_table(columns=["id"], with_row_id=True)["_rowid"].to_pylist()[:4]
    assert remove_doubled(record.open()) == 2
    assert numbers(record) == [0, 1, 2, 3]
    assert record.open().to_table(columns=["id"], with_row_id=True)["_rowid"].to_pylist() == first
    assert remove_doubled(record.open()) == 0


def test_no_clip_is_lost_where_fragments_are_joined_at_the_same_time(record: Record) -> None:
    before = record.open()
    record.open().optimize.compact_files()  # every row has another number now
    assert remove_doubled(before) == 2
    assert numbers(record) == [0, 1, 2, 3]


def test_a_clip_is_taken_back_where_fragments_are_joined_right_after_its_commit(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_doubled(record.open())
    appender = Appender(record)
    table = to_table([row(3), row(4)], facts())
    fragments = write_fragments(table, record.open())
    Record(record.uri).append([row(5)], facts())
    commit = lance.LanceDataset.commit

    def joined(*given: object, **more: object) -> object:
        committed = commit(*given, **more)  # type: ignore[arg-type]
        Record(record.uri).open().optimize.compact_files()
        return committed

    with monkeypatch.context() as patch:
        patch.setattr(lance.LanceDataset, "commit", staticmethod(joined))
        assert appender.append_fragments(fragments, table["id"].to_pylist()) == 1
    assert numbers(record) == [0, 1, 2, 3, 4, 5]
