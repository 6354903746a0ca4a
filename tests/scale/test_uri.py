"""A sea on object storage does what one on disk does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from seasync.cli import main
from seasync.errors import SeaError, StoreError, VideoError
from seasync.files import fetch
from seasync.files.store import objects, write
from seasync.sea.copies import copy, differences
from seasync.sea.sea import Sea
from tests.scale.store import Store
from tests.sea.footage import facts, row
from tests.sea.test_ingest import contents

pytestmark = pytest.mark.cluster


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run a command: (exit code, stdout, stderr)."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["seasync", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def upload(folder: Path, uri: str) -> None:
    for file in folder.rglob("*.mp4"):
        write(f"{uri}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def test_the_same_rows_and_matches_as_on_disk(tmp_path: Path, bucket: str, clips: Path, encoder: str) -> None:
    here, there = Sea(tmp_path / "s.sea", encoder), Sea(f"{bucket}/s.sea", encoder)
    for sea in (here, there):
        assert not sea.exists()
        added = sea.add(clips, labels="folder", split=1.0, commit_seconds=0)
        assert (added.added, added.failed) == (18, [])
    assert contents(here) == contents(there)
    assert there.verify() == []
    query = clips / "dive/001.mp4"
    assert there.search(query).to_json() == here.search(query).to_json()
    assert there.add(clips, split=1.0).present == 18
    for sea in (here, there):
        sea.rebuild("ivf_pq")
        assert sea.remove(labels=["dive"]) == 6
        assert sea.info()["index"] == "ivf_pq"
    assert there.search(query).to_json() == here.search(query).to_json()
    assert objects(f"{there.uri}/_writers") == []


def test_every_command_takes_a_uri(run, tmp_path: Path, bucket: str, clips: Path, encoder: str) -> None:  # type: ignore[no-untyped-def]
    sea = ("--sea", f"{bucket}/footage.sea")
    assert run("add", clips, *sea, "--encoder", encoder, "--labels", "folder")[0] == 0
    found = json.loads(run("search", clips / "dive/001.mp4", *sea, "--json")[1])
    assert found["matches"][0]["clip"]["label"] == "dive"
    assert json.loads(run("sea", "info", *sea, "--json")[1])["bytes"] > 10_000
    assert len(json.loads(run("sea", "list", *sea, "--json")[1])) == 9
    assert "index exact" in run("sea", "rebuild", *sea)[1]
    assert run("sea", "sweep", *sea)[0] == 0
    down = tmp_path / "down.sea"
    assert "9 clips" in run("sea", "copy", sea[1], down)[1]
    assert f"equal to {down}" in run("sea", "verify", *sea, "--against", down)[1]
    assert "3 clips removed" in run("sea", "remove", *sea, "--label", "dive")[1]
    code, out, _ = run("sea", "verify", *sea, "--against", down)
    assert (code, out.count("not in")) == (1, 3)
    assert run("add", clips, *sea, "--storage-option", "nonsense")[0] == 2


def test_a_copy_goes_up_and_down_goes_on_and_never_over_another_sea(
    tmp_path: Path, bucket: str, encoder: str
) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, label="a") for n in range(20)], facts())
    sea.record.append([row(n) for n in range(20, 40)], facts())
    sea.rebuild("ivf_pq")
    sea.remove(clips=[str(sea.clips()[3].id)])
    up = Sea(f"{bucket}/up.sea")
    moved = copy(sea.record, up.record)
    assert differences(sea.record, up.record) == {}
    assert up.verify(files=False) == []
    assert (up.info()["index"], len(up)) == ("ivf_pq", 39)
    assert 0 < copy(sea.record, up.record) < moved / 4  # the manifest alone
    sea.record.append([row(n) for n in range(40, 50)], facts())
    assert sorted(differences(sea.record, up.record).values()) == [f"not in {up.uri}"] * 10
    copy(sea.record, up.record)
    up.record.append([row(77)], facts())
    down = Sea(tmp_path / "down.sea")
    copy(up.record, down.record)
    assert contents(down) == contents(up)
    assert len(down) == 50
    with pytest.raises(SeaError, match="another sea is there"):
        copy(sea.record, up.record)
    up.remove(labels=["a"])
    assert len(up) == 31


def test_a_copy_that_was_cut_short_is_no_sea_until_it_is_whole(tmp_path: Path, bucket: str) -> None:
    sea, up = Sea(tmp_path / "s.sea"), Sea(f"{bucket}/up.sea")
    for n in range(4):
        sea.record.append([row(n)], facts())

    def cut(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(sea.record, up.record, progress=cut)
    assert not up.exists()
    copy(sea.record, up.record)
    assert differences(sea.record, up.record) == {}


def test_differences_are_seen_to_the_last_bit(tmp_path: Path) -> None:
    one, two = Sea(tmp_path / "1.sea"), Sea(tmp_path / "2.sea")
    one.record.append([row(n) for n in range(3)], facts())
    changed = row(1)
    changed.encoding.streams[0].features[3, 5] += 0.25
    two.record.append([row(0), changed, row(2)], facts())
    assert differences(one.record, two.record) == {str(row(1).entry.clip.id): f"not the same in {two.uri}"}


def test_videos_at_a_uri_are_fetched_once(
    bucket: str, clips: Path, encoder: str, tmp_path: Path, own_cache: Path
) -> None:
    upload(clips, f"{bucket}/clips")
    write(f"{bucket}/clips/readme.txt", b"no video")
    sea = Sea(f"{bucket}/clips/s.sea", encoder)
    assert sea.add(f"{bucket}/clips", labels="folder").added == 9
    beside = Sea(tmp_path / "s.sea", encoder)
    beside.add(clips, labels="folder")
    elsewhere = {"file": "", "checksums": []}  # these know the path too
    strip = [each | elsewhere for each in contents(beside)]
    assert [each | elsewhere for each in contents(sea)] == strip
    assert sea.clips()[0].file == f"{bucket}/clips/bounce/002.mp4"
    fetched = {file.name: file.stat().st_ino for file in (own_cache / "videos").glob("*/*")}
    assert len(fetched) == 9
    assert sea.add(f"{bucket}/clips/dive/*.mp4", f"{bucket}/clips/**/00?.mp4").present == 9
    assert sea.verify() == []
    query = f"{bucket}/clips/dive/001.mp4"
    assert sea.search(query)[0].clip.label == "dive"
    assert {file.name: file.stat().st_ino for file in (own_cache / "videos").glob("*/*")} == fetched


def test_lists_at_a_uri_name_videos_beside_them(bucket: str, clips: Path, encoder: str) -> None:
    upload(clips, f"{bucket}/clips")
    write(f"{bucket}/list.csv", f"file,label\nclips/dive/001.mp4,a\n{bucket}/clips/dive/004.mp4,b\n".encode())
    sea = Sea(f"{bucket}/s.sea", encoder)
    assert sea.add(f"{bucket}/list.csv").added == 2
    assert [clip.label for clip in sea.clips()] == ["a", "b"]


def test_a_sea_can_be_told_that_its_videos_are_on_the_store(
    bucket: str, clips: Path, encoder: str, tmp_path: Path
) -> None:
    shutil.copytree(clips, tmp_path / "clips")
    sea = Sea(tmp_path / "s.sea", encoder)
    sea.add(tmp_path / "clips")
    upload(clips, f"{bucket}/moved")
    shutil.rmtree(tmp_path / "clips")
    assert sea.relocate(f"{bucket}/moved") == 9
    assert sea.verify() == []


def test_the_cache_of_videos_stays_within_its_bounds(
    bucket: str, clips: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seasync.files import store as downloads

    upload(clips, bucket)
    files = objects(bucket)
    room = 3.5 * max(file.size for file in files)
    monkeypatch.setenv("SEASYNC_VIDEO_CACHE_GB", str(room / 1e9))
    monkeypatch.setattr(downloads, "IN_USE_SECONDS", 0.0)
    for file in files:
        assert fetch(file.uri).stat().st_size == file.size
        assert sum(kept.stat().st_size for kept in (own_cache / "videos").glob("*/*")) <= room
    monkeypatch.setenv("SEASYNC_VIDEO_CACHE_GB", "0.0000001")
    with pytest.raises(VideoError, match=r"do not fit into the cache .*; make room there"):
        fetch(files[0].uri)


def test_a_video_that_changed_on_the_store_is_fetched_anew(
    bucket: str, clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seasync.files import store as downloads

    monkeypatch.setattr(downloads, "FRESH_SECONDS", 0.0)
    first, second = (clips / "dive/001.mp4").read_bytes(), (clips / "dive/004.mp4").read_bytes()
    write(f"{bucket}/a.mp4", first)
    assert fetch(f"{bucket}/a.mp4").read_bytes() == first
    write(f"{bucket}/a.mp4", second)
    assert fetch(f"{bucket}/a.mp4").read_bytes() == second


def test_what_is_not_there_is_said(bucket: str, clips: Path, encoder: str) -> None:
    with pytest.raises(SeaError, match="no sea here; make one with"):
        Sea(f"{bucket}/none.sea", create=False)
    with pytest.raises(SeaError, match="no videos there"):
        Sea(f"{bucket}/s.sea", encoder).add(f"{bucket}/none")
    with pytest.raises(StoreError, match=r"s3://, gs:// or az://"):
        Sea(f"{bucket}/s.sea", encoder).add("ftp://example.org/a.mp4")
    with pytest.raises(VideoError, match="no such file"):
        fetch(f"{bucket}/none.mp4")


def test_wrong_credentials_are_said_and_change_nothing(
    bucket: str, store: Store, clips: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sea = Sea(f"{bucket}/s.sea", encoder)
    sea.add(clips / "dive")
    before = contents(sea)
    wrong = {"aws_secret_access_key": "wrong"}
    with pytest.raises(SeaError, match="the store refuses these credentials: check"):
        Sea(f"{bucket}/s.sea", storage_options=wrong)
    with pytest.raises(StoreError, match="the store refuses these credentials"):
        objects(f"{bucket}/s.sea", wrong)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(SeaError, match="the store refuses these credentials"):
        sea.add(clips)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", store.options["aws_secret_access_key"])
    assert contents(Sea(f"{bucket}/s.sea")) == before
