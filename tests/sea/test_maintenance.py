"""Maintaining a sea: info, verification, removal, relocation, migrations."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from seasync.errors import SeaError
from seasync.sea.record import Appender, migrate
from seasync.sea.rows import FACTS, FORMAT, SeaFacts, to_table
from seasync.sea.sea import Sea
from seasync.sea.snapshot import MOVES, relocated
from tests.sea.footage import facts, row, video


@pytest.fixture
def sea(tmp_path: Path, clips: Path, encoder: str) -> Sea:
    """Nine clips in `tmp_path/clips`."""
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(shutil.copytree(clips, tmp_path / "clips"), labels="folder", tags=["test"])
    return sea


def test_info_says_what_is_there(sea: Sea) -> None:
    info = sea.info()
    assert (info["clips"], info["files"], info["with_frame_features"]) == (9, 9, 9)
    assert info["labels"] == {"bounce": 3, "circle": 3, "dive": 3}
    assert info["hours"] == pytest.approx(9 * 32 / 15 / 3600)
    assert (info["index"], info["unindexed"], info["format"]) == ("exact", 0, FORMAT)
    assert info["bytes"] > 9 * 16 * 192 * 2


def test_a_whole_sea_verifies(sea: Sea) -> None:
    assert sea.verify() == []


def test_verify_sees_files_that_are_gone_or_changed(sea: Sea, tmp_path: Path) -> None:
    (tmp_path / "clips/dive/001.mp4").unlink()
    video(tmp_path / "clips/dive/004.mp4", look=99)
    problems = {Path(problem.file).name: problem.what for problem in sea.verify()}
    assert "gone" in problems.pop("001.mp4")
    assert "not the one that was added" in problems.pop("004.mp4")
    assert not problems
    assert sea.verify(files=False) == []


def test_verify_sees_what_is_wrong_with_rows(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(1), row(2)], facts())
    sea.record.append([row(2), row(3)], facts())
    bad = sea.record.snapshot().dataset.to_table(filter="file = '/footage/3.mp4'")
    times = pa.array([np.zeros(12)], bad.schema.field("seconds_0").type)
    bad = bad.set_column(bad.schema.get_field_index("seconds_0"), bad.schema.field("seconds_0"), times)
    sea.record.open().insert(bad)
    said = [problem.what for problem in sea.verify(files=False)]
    assert said.count("its id is there twice") == 2
    assert any("seconds must be finite and increasing" in what for what in said)


def test_verify_sees_data_that_cannot_be_read(sea: Sea) -> None:
    (data,) = (Path(sea.uri) / "data").iterdir()
    content = bytearray(data.read_bytes())
    content[len(content) // 3 :] = b"\0" * (len(content) - len(content) // 3)
    data.write_bytes(content)
    assert "cannot be read" in Sea(sea.uri).verify()[0].what


def test_moved_footage_is_found_at_its_new_place(sea: Sea, tmp_path: Path, encoder: str) -> None:
    (tmp_path / "new").mkdir()
    shutil.move(tmp_path / "clips", tmp_path / "new/place")
    assert len(sea.verify()) == 9
    with pytest.raises(SeaError, match="none of the files under"):
        sea.relocate(tmp_path / "s.sea")
    assert sea.relocate(tmp_path / "new/place") == 9
    assert sea.verify() == []
    assert str(tmp_path / "new/place/dive") in sea.clips(label="dive")[0].file
    shutil.move(tmp_path / "new/place/dive", tmp_path / "dives")
    assert sea.relocate(tmp_path / "dives", old=tmp_path / "new/place/dive") == 3
    assert sea.verify() == []
    assert sea.add(tmp_path / "dives", tmp_path / "new").present == 9
    assert sea.remove(files=[tmp_path / "dives/001.mp4"]) == 1


@pytest.mark.parametrize("folder", ["D:\\Clips", "D:/clips/", "\\\\server\\share\\clips"])
def test_footage_moves_from_windows_and_back(sea: Sea, tmp_path: Path, folder: str) -> None:
    """What a sea says about a disk of Windows is understood elsewhere."""
    sea.record.put_metadata({MOVES: json.dumps([(str(tmp_path / "clips"), folder)])})
    there = folder.rstrip("/").replace("/", "\\")
    assert sea.clips(label="dive")[0].file.startswith(there + "\\dive\\")
    assert sea.relocate(tmp_path / "clips") == 9
    assert sea.verify() == []
    assert sea.add(tmp_path / "clips").present == 9
    assert sea.remove(files=[tmp_path / "clips/dive/001.mp4"]) == 1


def test_paths_of_windows_are_the_same_in_capitals_and_with_slashes() -> None:
    move = [("c:/Clips", "E:\\new")]
    assert relocated("C:\\clips\\A\\1.mp4", move) == "E:\\new\\A\\1.mp4"
    assert relocated("C:\\clips2\\1.mp4", move) == "C:\\clips2\\1.mp4"
    assert relocated("/Clips/1.mp4", [("/clips", "/new")]) == "/Clips/1.mp4"
    assert relocated("/clips/a\\b.mp4", [("/clips", "/new")]) == "/new/a\\b.mp4"


def test_footage_that_has_stayed_is_not_said_to_have_moved(sea: Sea, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    shutil.move(tmp_path / "clips/dive", tmp_path / "new/dive")
    with pytest.raises(SeaError, match=r"6 of 9 files under .*clips are still there and not here; name"):
        sea.relocate(tmp_path / "new")
    assert sea.relocate(tmp_path / "new/dive", old=tmp_path / "clips/dive") == 3
    assert sea.verify() == []


def test_what_comes_to_a_place_that_others_have_left_is_found_there(
    sea: Sea, tmp_path: Path, encoder: str
) -> None:
    shutil.move(tmp_path / "clips", tmp_path / "archive")
    sea.relocate(tmp_path / "archive")
    (tmp_path / "clips").mkdir()
    later = video(tmp_path / "clips/later.mp4", look=99)
    assert sea.add(later).added == 1
    assert str(later) in {clip.file for clip in sea.clips()}
    assert sea.verify() == []
    shutil.move(tmp_path / "clips", tmp_path / "second")
    assert sea.relocate(tmp_path / "second", old=tmp_path / "clips") == 1
    assert sea.verify() == []
    assert sea.remove(files=[tmp_path / "second/later.mp4"]) == 1


def test_clips_are_removed_by_id_file_and_label(sea: Sea, tmp_path: Path) -> None:
    clips = sea.clips()
    assert sea.remove(clips=[str(clips[0].id)[:10]]) == 1
    assert sea.remove(files=[clips[1].file, tmp_path / "unknown.mp4"]) == 1
    assert sea.remove(labels=["dive", "it's"]) == 3
    assert [clip.id for clip in sea.clips()] == [clip.id for clip in clips[2:6]]
    assert sea.remove() == 0
    with pytest.raises(SeaError, match="at least 8 digits"):
        sea.remove(clips=["3f"])
    assert sea.verify() == []


def test_clips_are_listed_by_label_and_condition(sea: Sea) -> None:
    assert len(sea.clips(label="dive")) == 3
    assert len(sea.clips("array_has(tags, 'test') AND duration > 1", limit=5)) == 5
    with pytest.raises(SeaError, match="nonsense"):
        sea.clips("nonsense = 1")


def test_an_old_format_is_brought_up_step_by_step(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(1)], facts())
    sea.record.put_metadata({FACTS: replace(facts(), format=0).to_json()})
    seen = []
    dataset = lance.dataset(sea.uri)
    migrate(dataset, to=2, migrations={0: lambda _: seen.append(0), 1: lambda _: seen.append(1)})
    assert seen == [0, 1]
    assert SeaFacts.from_json(lance.dataset(sea.uri).schema.metadata[FACTS.encode()].decode()).format == 2


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(1)], facts())
    newer = sea.record.snapshot().metadata[FACTS].replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}')
    sea.record.put_metadata({FACTS: newer})
    with pytest.raises(SeaError, match="made by a newer Seasync"):
        Sea(tmp_path / "s.sea")


def test_what_is_not_a_sea_is_refused(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": [1]}), tmp_path / "x.lance")
    with pytest.raises(SeaError, match="a Lance dataset, but not a sea"):
        Sea(tmp_path / "x.lance")


def old_sea(folder: Path) -> Path:
    """A sea of the first format, which has no column for damage."""
    sea = Sea(folder)
    sea.record.append([row(n, kind=n % 3, label="a") for n in range(6)], facts())
    dataset = lance.dataset(sea.uri)
    dataset.drop_columns(["damage"])
    dataset.update_schema_metadata({FACTS: replace(facts(), format=1).to_json()})
    return folder


def test_reading_an_old_format_writes_nothing(tmp_path: Path) -> None:
    place = old_sea(tmp_path / "s.sea")
    before = lance.dataset(place).version
    sea = Sea(place)
    assert len(sea.clips(label="a")) == 6
    assert [entry.damage for entry in sea.entries()] == [None] * 6
    assert len(sea.search(row(0, kind=1).encoding, k=3)) == 3
    assert (sea.info()["format"], sea.info()["damaged"]) == (1, 0)
    assert sea.verify(files=False) == []
    assert lance.dataset(place).version == before
    assert not (place / "_writer.lock").exists()


def test_writers_that_open_an_old_format_at_once_migrate_it_once(tmp_path: Path) -> None:
    place = old_sea(tmp_path / "s.sea")
    seas = [Sea(place) for _ in range(4)]

    def remove(number: int) -> int:
        return seas[number].remove(clips=[str(row(number).entry.clip.id)])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(remove, range(4))) == [1] * 4
    assert lance.dataset(place).schema.names.count("damage") == 1
    assert (Sea(place).info()["format"], len(Sea(place))) == (FORMAT, 2)


def test_a_migration_that_was_interrupted_continues(tmp_path: Path) -> None:
    place = old_sea(tmp_path / "s.sea")
    lance.dataset(place).add_columns(pa.field("damage", pa.string()))
    Sea(place).remove(labels=["none"])
    assert Sea(place).info()["format"] == FORMAT


def test_removing_and_relocating_do_not_load_the_whole_sea(tmp_path: Path) -> None:
    count = 40_000
    one = to_table([row(0)], facts(), frame_features=False)
    table = one.take([0] * count)
    columns = {
        "id": [f"{n:032x}" for n in range(count)],
        "content": [f"{n:032x}" for n in range(count)],
        "file": [f"{tmp_path}/old/{n}.mp4" for n in range(count)],
        "label": ["a" if n % 2 else "b" for n in range(count)],
    }
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(name), pa.array(values, pa.string()))
    sea = Sea(tmp_path / "s.sea")
    Appender(sea.record).create(table)
    (tmp_path / "new").mkdir()
    (tmp_path / "new/7.mp4").touch()
    del table, columns
    tracemalloc.start()
    assert sea.relocate(tmp_path / "new") == 1
    assert sea.remove(files=[tmp_path / "new/7.mp4"]) == 1
    assert sea.remove(labels=["b"]) == count // 2
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6e6  # bytes; 40,000 clips in memory take three times as much
    assert len(sea) == count // 2 - 1
