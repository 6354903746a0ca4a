"""Rows survive their way through columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seasync.encoding import Encoding
from seasync.sea import record
from seasync.sea.record import Record
from seasync.sea.rows import SeaFacts, clip_id, encodings, to_table
from tests.sea.footage import facts, row


def assert_same(one: Encoding, other: Encoding | None) -> None:
    assert other is not None
    assert one.encoder == other.encoder
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.trajectory, other.trajectory)
    assert len(one.streams) == len(other.streams)
    for a, b in zip(one.streams, other.streams, strict=True):
        assert (a.name, a.found) == (b.name, b.found)
        for part in ("seconds", "frames", "features", "shots"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
            assert getattr(a, part).dtype == getattr(b, part).dtype


@pytest.mark.parametrize("streams", [1, 2])
def test_encodings_come_back_as_they_were(streams: int) -> None:
    rows = [row(n, frames=6 + n, streams=streams) for n in range(4)]
    table = to_table(rows, facts(streams=streams))
    for given, back in zip(rows, encodings(table, facts(streams=streams)), strict=True):
        assert_same(given.encoding, back)
    assert_same(rows[2].encoding, encodings(table.slice(2, 1), facts(streams=streams))[0])


def test_rows_without_frame_features_keep_their_vectors() -> None:
    table = to_table([row(1), row(2)], facts(), frame_features=False)
    assert encodings(table, facts()) == [None, None]
    np.testing.assert_array_equal(table["mean"][1].values.to_numpy(), row(2).encoding.mean)
    assert table["frames"].to_pylist() == [12, 12]


def test_ids_name_a_content_and_a_span() -> None:
    names = [clip_id("a", 0, None), clip_id("b", 0, None), clip_id("a", 0, 2.0), clip_id("a", 0.5, 2.0)]
    assert len(set(names)) == 4
    assert clip_id("a", 0, 2) == clip_id("a", 0.0, 2.0)


def test_facts_survive_json() -> None:
    assert SeaFacts.from_json(facts(streams=2).to_json()) == facts(streams=2)


def test_what_is_remembered_of_the_files_of_many_versions_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server reads thousands of versions; each is some 85 kB in the cache of Lance."""
    monkeypatch.setattr(record, "METADATA_CACHE_BYTES", 200_000)
    sea = Record(tmp_path / "s.sea")
    for n in range(8):
        sea.append([row(n)], facts())
        assert len(sea.snapshot().clips()) == n + 1
        assert sea.snapshot().vectors is not None
    assert sea.snapshot().dataset.session().size_bytes() < 400_000
