"""Checksums: a bit that the storage flips is found by `verify`, and not searched by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from seasync.errors import SeaError
from seasync.sea.index import INDEX
from seasync.sea.maintenance import edit_clip
from seasync.sea.rows import CHECKSUMS, FACTS, SEALING
from seasync.sea.sea import Sea
from stress.flips import Flips, look
from tests.sea.footage import encoding, facts, row


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 2, label="a") for n in range(6)], facts())
    return sea


def damage(sea: Sea, column: str, values: object, clip: int = 3) -> None:
    """Write another value under the old checksums, as a flipped bit would."""
    dataset = sea.record.open()
    name = str(row(clip).entry.clip.id)
    table = dataset.to_table(filter=f"id = '{name}'")
    at = table.schema.get_field_index(column)
    table = table.set_column(at, table.schema.field(at), pa.array([values], table.schema.field(at).type))
    dataset.merge_insert("id").when_matched_update_all().execute(table)


def problems(sea: Sea) -> dict[str, str]:
    return {problem.clip: problem.what for problem in Sea(sea.uri).verify(files=False)}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("file", "/footage/4.mp4"),
        ("label", None),
        ("duration", 1.7),
        ("parts", 2),
        ("tags", ["made", "up"]),
        ("damage", "a frame"),
        ("frames", 11),
        ("mean", np.zeros(16, np.float32)),
        ("seconds_0", np.arange(12) / 16),
        ("found_0", None),
    ],
)
def test_every_column_is_checked(sea: Sea, column: str, value: object) -> None:
    damage(sea, column, value)
    assert column in problems(sea)[str(row(3).entry.clip.id)]


def test_features_that_changed_are_not_searched_by(sea: Sea) -> None:
    features = row(3).encoding.features.astype(np.float16)
    features[5, 7] += np.float16(0.5)
    damage(sea, "features_0", features.tolist())
    name = str(row(3).entry.clip.id)
    with pytest.raises(SeaError, match=rf"clip {name} is damaged \(features_0\)") as raised:
        Sea(sea.uri).search(encoding(9, kind=1), k=5)
    assert "\n" not in str(raised.value)
    with pytest.raises(SeaError, match="is damaged"):
        Sea(sea.uri).query(name)
    Sea(sea.uri).remove(clips=[name])
    assert len(Sea(sea.uri).search(encoding(9, kind=1), k=5)) == 5
    assert problems(sea) == {}


def test_vectors_that_changed_are_not_searched_by(sea: Sea) -> None:
    damage(sea, "mean", row(4).encoding.mean)
    with pytest.raises(SeaError, match=r"is damaged \(mean\)"):
        Sea(sea.uri).search(encoding(9, kind=1), k=1)


def test_labels_and_moves_keep_checksums_right(sea: Sea, tmp_path: Path) -> None:
    damage(sea, "label", "b", clip=2)
    name, damaged = (str(row(n).entry.clip.id) for n in (1, 2))
    edit_clip(sea.record, name, {"label": "c", "tags": ["new", "ones"]})
    edit_clip(sea.record, damaged, {"label": "b", "tags": []})
    assert list(problems(sea)) == [damaged]  # only what is replaced becomes right
    edit_clip(sea.record, damaged, {"label": "d", "tags": []})
    assert problems(sea) == {}
    (tmp_path / "new").mkdir()
    (tmp_path / "new/1.mp4").touch()
    assert sea.relocate(tmp_path / "new", old="/footage") == 1
    sea.record.append([row(8, file=str(tmp_path / "new/8.mp4"))], facts())
    assert problems(sea) == {}


def test_an_index_is_checked(sea: Sea) -> None:
    sea.rebuild("ivf_pq")
    assert problems(sea) == {}
    column = sea.record.snapshot().index.column
    damage(sea, column, np.zeros(lance.dataset(sea.uri).schema.field(column).type.list_size))
    assert "seasync sea rebuild" in problems(sea)[str(row(3).entry.clip.id)]
    sea.rebuild("ivf_pq")
    entry = sea.record.snapshot().metadata[INDEX]
    sea.record.open().update_schema_metadata({INDEX: entry.replace("A", "B", 1)})
    assert INDEX in problems(sea)[""]


def test_sealing_goes_on_after_an_interruption_and_leaves_what_is_wrong(sea: Sea) -> None:
    dataset = sea.record.open()
    values = dataset.to_table(columns=[CHECKSUMS])[CHECKSUMS].to_pylist()
    dataset.drop_columns([CHECKSUMS])  # as in a sea of an earlier version
    dataset.update_schema_metadata({FACTS: replace(facts(), format=2).to_json()})
    assert Sea(sea.uri).record.snapshot().without_checksums == 6
    damage(sea, "frames", 11)
    assert len(Sea(sea.uri).verify(files=False, seal=True)) == 1
    assert Sea(sea.uri).record.snapshot().without_checksums == 1
    damage(sea, "frames", 12)
    lance.dataset(sea.uri).add_columns(pa.field(SEALING, pa.binary()))  # killed after its first step
    assert Sea(sea.uri).verify(files=False, seal=True) == []
    sealed = lance.dataset(sea.uri)
    assert SEALING not in sealed.schema.names
    assert sorted(sealed.to_table(columns=[CHECKSUMS])[CHECKSUMS].to_pylist()) == sorted(values)
    sealed.alter_columns({"path": CHECKSUMS, "name": SEALING})  # killed before its last
    with sea.record.writing():
        sea.record.append([row(7)], facts())
    assert sea.record.snapshot().without_checksums == 0


def test_flipped_bits_are_found(tmp_path: Path) -> None:
    flips = Flips(tmp_path, indexed=False)
    played = [flips.play(seed, look) for seed in range(12)]
    assert [finding for each in played for finding in each.findings] == []
    assert any(each.facts["changed"] for each in played)


def test_deletions_are_checked(sea: Sea) -> None:
    sea.remove(clips=[str(row(2).entry.clip.id)])
    assert problems(sea) == {}
    (file,) = (Path(sea.uri) / "_deletions").iterdir()
    content = bytearray(file.read_bytes())
    content[content.index(b"ARROW1", 8) - 9] ^= 1  # something that Lance does not look at
    file.write_bytes(content)
    assert "has changed since it was written" in problems(sea)[""]
    sea.remove(clips=[str(row(3).entry.clip.id)])
    assert problems(sea) == {}
