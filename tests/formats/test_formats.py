"""What earlier code wrote opens with today's, and says the same. `make.py` made it, and names the commit."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pytest

import seasync
from seasync.encoders.encode import content_hash, encoding_key
from seasync.errors import SeaError, SeasyncError, ServeError
from seasync.sea.calibration import CALIBRATION
from seasync.sea.rows import FACTS, FORMAT
from seasync.sea.sea import Sea

HERE = Path(__file__).parent
EARLIER = "calibrated with an earlier recipe; run `seasync calibrate`"
Answers = dict[str, list[list[Any]]]


@pytest.fixture
def unpacked(tmp_path: Path) -> Callable[[str], tuple[Path, Any]]:
    """Unpacks an archive: the folder of its content, and what the code that wrote it answered."""

    def unpack(name: str) -> tuple[Path, Any]:
        folder = tmp_path / name
        with zipfile.ZipFile(HERE / f"{name}.zip") as archive:
            archive.extractall(folder)
        return folder, json.loads((folder / "expected.json").read_text())

    return unpack


Unpack = Callable[[str], tuple[Path, Any]]


def hashes(folder: Path) -> dict[str, str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def check_search(sea: Sea, expected: Answers, *, likely: bool = False) -> None:
    """Each clip finds what it found, with the same DRAQ where they fit well.

    What orders matches, what may be left out, and how likely the same product is, have changed since.
    """
    for clip, matches in expected.items():
        found = {str(match.clip.id): match for match in sea.search(clip, k=25)}
        for known, label, draq, probability in matches:
            match = found[known]
            assert match.clip.label == label
            if draq < 0.4:
                assert match.draq == pytest.approx(draq, abs=1e-6)
                assert not likely or (match.alignability >= 0.5) == (probability >= 0.5)


def test_a_calibrated_sea_is_searched_as_before_and_left_alone(unpacked: Unpack) -> None:
    folder, expected = unpacked("sea")
    place = folder / "footage.sea"
    before = hashes(place)
    sea = Sea(place)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_search(sea, expected["shipped"])
        check_search(Sea(place), expected["calibrated"])
    assert [str(each.message) for each in said] == [f"{place}: {EARLIER}"]
    assert sea.info()["calibrated"] == []
    assert sea.verify(files=False) == []
    assert hashes(place) == before


def test_an_earlier_calibration_gives_way_to_the_one_that_comes_with_seasync(unpacked: Unpack) -> None:
    folder, expected = unpacked("sea")
    sea, other = Sea(folder / "footage.sea"), Sea(unpacked("sea")[0] / "footage.sea")
    clips = list(expected["shipped"])
    with pytest.warns(UserWarning, match=EARLIER):
        shipped = [[match.alignability for match in sea.search(clip)] for clip in clips]
    other.record.put_metadata({CALIBRATION: "{}"})
    assert [[match.alignability for match in other.search(clip)] for clip in clips] == shipped
    check_search(sea, expected["shipped"], likely=True)
    own = other.calibrate()
    assert own["pair"].pairs == expected["calibration"]["pairs"]
    assert other.info()["calibrated"] == ["motion"]


def test_an_earlier_sea_is_written_to(unpacked: Unpack) -> None:
    folder, expected = unpacked("sea")
    sea = Sea(folder / "footage.sea")
    first = next(iter(expected["shipped"]))
    count = len(sea)
    assert sea.remove(clips=[first]) == 1
    assert (len(Sea(sea.uri)), Sea(sea.uri).info()["format"]) == (count - 1, FORMAT)


def test_an_earlier_sea_gets_checksums_when_it_is_sealed(unpacked: Unpack) -> None:
    folder, expected = unpacked("sea")
    sea = Sea(folder / "footage.sea")
    before, clips = sea.record.snapshot(), sea.clips()
    assert (before.facts.format, before.without_checksums) == (2, len(clips))
    assert sea.verify(files=False, seal=True) == []
    sealed = Sea(sea.uri)
    assert (sealed.info()["format"], sealed.record.snapshot().without_checksums) == (FORMAT, 0)
    assert sealed.clips() == clips
    assert sealed.verify(files=False, seal=True) == []
    with pytest.warns(UserWarning, match=EARLIER):
        check_search(sealed, expected["shipped"])


def test_marks_set_on_the_page_are_there(unpacked: Unpack, tmp_path: Path) -> None:
    from tests.serve.conftest import running

    folder, expected = unpacked("sea")
    notes = hashes(folder)
    with running(folder / "footage.sea", tmp_path / "state", "dinov2-small") as server:
        ref = expected["marks"]["ref"]
        assert server.client.get(f"/api/v1/seas/small/marks/{ref}").json() == expected["marks"]
    assert hashes(folder) == notes


def test_the_first_format_is_read_as_it_is_and_brought_up_by_the_first_write(unpacked: Unpack) -> None:
    folder, expected = unpacked("first_format")
    place = folder / "first.sea"
    before = hashes(place)
    sea = Sea(place, f"onnx:{folder / 'tiny.onnx'}")
    check_search(sea, expected)
    assert ([entry.damage for entry in sea.entries()], sea.info()["format"]) == ([None] * 6, 1)
    assert hashes(place) == before
    assert sea.remove(clips=[next(iter(expected))]) == 1
    again = Sea(place)
    assert (again.info()["format"], len(again)) == (FORMAT, 5)
    assert again.verify(files=False) == []


def test_a_sea_is_searched_for_a_video_after_its_model_has_moved(unpacked: Unpack, tmp_path: Path) -> None:
    from tests.serve.films import film, pace

    folder, _ = unpacked("first_format")
    sea = Sea(folder / "first.sea", f"onnx:{folder / 'tiny.onnx'}")
    match = sea.search(film(tmp_path / "query.mp4", pace(50), action="arc"), k=1)[0]
    assert (match.clip.label, match.alignable) == ("arc", True)


def test_a_newer_sea_is_refused_in_one_line(unpacked: Unpack) -> None:
    folder, _ = unpacked("sea")
    dataset = lance.dataset(folder / "footage.sea")
    facts = json.loads(dataset.schema.metadata[FACTS.encode()])
    dataset.update_schema_metadata({FACTS: json.dumps(facts | {"format": FORMAT + 1})})
    with pytest.raises(SeaError, match="made by a newer Seasync") as raised:
        Sea(folder / "footage.sea")
    assert "\n" not in str(raised.value)


def test_a_server_goes_on_with_an_earlier_state_folder(unpacked: Unpack, tmp_path: Path) -> None:
    from tests.serve.conftest import running

    folder, expected = unpacked("state")
    before = hashes(folder / "state")
    with running(tmp_path / "none.sea", folder / "state", f"onnx:{folder / 'tiny.onnx'}") as server:
        for name in ("uploads", "comparison", "job", "anchors", "marks", "drawings"):
            known = expected[name]
            assert server.client.get(known["path"]).json() == known["json"], name
        assert server.client.get(f"{expected['job']['path']}/result").content.find(b"ftyp") == 4
        pair, scores = expected["alignment"]["pair"], expected["alignment"]["scores"]
        answer = server.client.get("/api/v1/seas/-/alignment", params=pair).json()
        for name, score in scores.items():
            wanted = pytest.approx(score, rel=1e-5) if isinstance(score, float) else score
            assert answer[name] == wanted, name
        after = hashes(folder / "state")
        for file in (name for name in before if not name.startswith("state.sqlite")):
            assert after[file] == before[file], file
        place = f"{expected['comparison']['path']}"
        assert server.client.patch(place, json={"name": "Again"}).json()["name"] == "Again"


def test_a_newer_state_folder_is_refused_in_one_line(unpacked: Unpack, tmp_path: Path) -> None:
    from tests.serve.conftest import running

    folder, _ = unpacked("state")
    with sqlite3.connect(folder / "state/state.sqlite") as database:
        (number,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {number + 1}")
    database.close()
    with (
        pytest.raises(ServeError, match="newer") as raised,
        running(tmp_path / "none.sea", folder / "state", f"onnx:{folder / 'tiny.onnx'}"),
    ):
        pass
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("videos", ["with", "without"])
def test_earlier_comparison_files_open(unpacked: Unpack, tmp_path: Path, videos: str) -> None:
    from tests.serve.conftest import running

    folder, expected = unpacked("state")
    file = folder / f"{videos}-videos.seasync"
    with running(tmp_path / "none.sea", tmp_path / "state", f"onnx:{folder / 'tiny.onnx'}") as server:
        if videos == "without":
            answer = server.client.post("/api/v1/comparisons/file", content=file.read_bytes())
            assert (answer.status_code, "upload take 1.mp4" in answer.text) == (409, True)
            for take in sorted((folder / "state/uploads").rglob("*.mp4")):
                assert server.upload(take).status_code == 201
        answer = server.client.post("/api/v1/comparisons/file", content=file.read_bytes())
        assert answer.status_code == 201, answer.text
        opened, known = answer.json(), expected["comparison"]["json"]
        for name in ("name", "alignment", "videos", "grid"):
            assert opened[name] == known[name], name
        for name in ("anchors", "marks", "drawings"):
            assert server.client.get(expected[name]["path"]).json() == expected[name]["json"], name


def test_a_cached_encoding_is_used(unpacked: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, expected = unpacked("encoding")
    monkeypatch.setenv("SEASYNC_CACHE", str(folder / "cache"))
    before = hashes(folder / "cache")
    encoder = seasync.get_encoder(f"onnx:{folder / 'tiny.onnx'}")

    def never(*_: object) -> None:
        raise SeasyncError("encoded again")

    monkeypatch.setattr(type(encoder), "encode", never)
    encoding = seasync.encode_clip(folder / "a.mp4", encoder)
    assert encoding.streams[0].features.shape[1] == encoder.dimension
    assert hashes(folder / "cache") == before
    key = encoding_key(content_hash(folder / "a.mp4"), 0.5, 1.0, expected["fingerprint"], 7.5)
    assert key == expected["key"]


@pytest.mark.usefixtures("real_weights")
def test_encodings_of_the_default_encoder_have_the_same_keys(unpacked: Unpack) -> None:
    _, expected = unpacked("encoding")
    assert seasync.get_encoder("dinov2-small").fingerprint == expected["fingerprint"]
