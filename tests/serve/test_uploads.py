"""Uploads: what is taken, what is refused, and that nothing of the refused stays."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from seasync.sea.sea import Sea
from seasync.serve import Limits
from seasync.serve.jobs import MOST_ATTEMPTS
from seasync.serve.stores import StateFolder
from tests.serve.conftest import Server
from tests.serve.films import film, pace
from tests.videos import numbered

API = "/api/v1/seas/small"
Start = Callable[..., Server]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("upload") / "small.mp4", pace(20), action="left")


def test_an_upload_is_known_by_its_content(server: Server, small: Path) -> None:
    first, again = server.upload(small), server.upload(small, "other name.mp4")
    assert first.status_code == again.status_code == 201
    assert first.json()["id"] == again.json()["id"]
    assert first.json()["seconds"] == pytest.approx(20 / 30, abs=1e-3)
    assert server.client.get(f"/api/v1/uploads/{first.json()['id']}").json()["name"] == "small.mp4"


def test_an_upload_becomes_a_clip_and_goes_with_it(start: Start, sea: Path, small: Path) -> None:
    server = start(sea)
    upload = server.upload(small, "my new clip.mp4").json()
    asked = {"uploads": [upload["id"]], "label": "left", "tags": ["new"]}
    job = server.wait(server.client.post(f"{API}/add", json=asked).json())
    assert job["result"]["added"] == 1
    clip = server.client.get(f"{API}/clips", params={"label": "left"}).json()["clips"][0]
    assert (clip["name"], clip["tags"]) == ("my new clip.mp4", ["new"])
    assert server.client.get(f"{API}/footage/{clip['ref']}/thumbnail").status_code == 200
    assert server.client.delete(f"/api/v1/uploads/{upload['id']}").status_code == 409
    assert server.client.delete(f"{API}/clips/{clip['id']}").status_code == 204
    assert server.files() == set()
    assert len(Sea(sea)) == 6


def test_adding_the_same_twice_is_adding_once(start: Start, sea: Path, small: Path) -> None:
    server = start(sea)
    upload = server.upload(small).json()["id"]
    for present in (0, 1):
        job = server.wait(server.client.post(f"{API}/add", json={"uploads": [upload]}).json())
        assert (job["state"], job["result"]["present"]) == ("done", present)
    assert len(Sea(sea)) == 7


def test_uploads_expire_unless_they_are_used(start: Start, sea: Path, small: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    server = start(sea, state=state)
    upload = server.upload(small).json()["id"]
    server.client.__exit__(None, None, None)
    later = start(sea, state=state, limits=Limits(upload_hours=0.0))
    assert later.client.get(f"/api/v1/uploads/{upload}").status_code == 404
    assert later.files() == set()


def test_uploads_in_a_sea_do_not_expire_whatever_became_of_their_job(
    start: Start, sea: Path, small: Path, tmp_path: Path
) -> None:
    """A job may commit clips and then be given up, fail or be canceled."""
    state = tmp_path / "state"
    server = start(sea, state=state)
    upload = server.upload(small).json()["id"]
    Sea(sea).add(state / "uploads" / upload / "small.mp4")
    server.client.__exit__(None, None, None)
    later = start(sea, state=state, limits=Limits(upload_hours=0.0))
    found = later.client.get(f"/api/v1/uploads/{upload}")
    assert (found.status_code, found.json()["kept"]) == (200, True)
    assert later.client.delete(f"/api/v1/uploads/{upload}").status_code == 409
    assert Sea(sea).verify() == []


@pytest.mark.parametrize("attempts", [1, MOST_ATTEMPTS])
def test_uploads_of_a_job_that_is_not_over_do_not_expire(
    start: Start, sea: Path, small: Path, tmp_path: Path, attempts: int
) -> None:
    state = tmp_path / "state"
    server = start(sea, state=state)
    upload = server.upload(small).json()["id"]
    asked = {"uploads": [upload]}
    job = server.wait(server.client.post(f"{API}/add", json=asked).json())
    server.client.__exit__(None, None, None)
    folder = StateFolder(state)
    folder("UPDATE jobs SET state = 'running', ended = NULL, attempts = ?", attempts)
    folder("UPDATE uploads SET kept = 0, used = 0")
    folder.close()
    away = sea.rename(sea.with_name("away.sea")) if attempts == 1 else sea
    later = start(sea, state=state)
    assert later.wait(job)["state"] == ("done" if attempts == 1 else "failed")
    assert later.client.get(f"/api/v1/uploads/{upload}").json()["kept"]
    assert away.exists()


def test_a_clip_is_removed_and_its_upload_stays_for_a_comparison(
    start: Start, sea: Path, small: Path
) -> None:
    server = start(sea)
    upload = server.upload(small).json()
    server.wait(server.client.post(f"{API}/add", json={"uploads": [upload["id"]], "label": "new"}).json())
    pair = {"query": upload["ref"], "match": upload["ref"]}
    server.client.post("/api/v1/comparisons", json={"alignment": pair})
    clip = server.client.get(f"{API}/clips", params={"label": "new"}).json()["clips"][0]
    assert server.client.delete(f"{API}/clips/{clip['id']}").status_code == 204
    assert server.client.get(f"/api/v1/uploads/{upload['id']}").json()["kept"] is False
    assert server.client.delete(f"/api/v1/uploads/{upload['id']}").status_code == 409


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["lost", "empty"])
def test_a_damaged_upload_is_repaired_by_uploading_it_again(
    start: Start, sea: Path, small: Path, damage: Callable[[Path], object]
) -> None:
    server = start(sea)
    upload = server.upload(small).json()
    (file,) = (server.state / "uploads").rglob("*.mp4")
    damage(file)
    again = server.upload(small, "another name.mp4")
    assert (again.status_code, again.json()) == (201, upload)
    assert file.read_bytes() == small.read_bytes()
    assert len(server.files()) == 1


def test_one_upload_under_several_names_at_once_is_one_file(start: Start, sea: Path, small: Path) -> None:
    server = start(sea)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: server.upload(small, f"{n}.mp4").json(), range(8)))
    assert len({one["name"] for one in found}) == 1
    assert server.files() == {f"uploads/{found[0]['id']}/{found[0]['name']}"}


def test_an_upload_takes_room_as_it_comes(start: Start, sea: Path, small: Path) -> None:
    size = small.stat().st_size
    server = start(sea, limits=Limits(quota_bytes=2 * size))
    uploads = server.backend.uploads

    async def attack() -> None:
        go_on = asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield b"ab"
            await go_on.wait()

        waiting = [asyncio.create_task(uploads.receive("slow.mp4", size, slow())) for _ in range(5)]
        while len(list((server.state / "incoming").iterdir())) < len(waiting):
            await asyncio.sleep(0)
        answer = await asyncio.to_thread(server.upload, small)
        assert answer.status_code == 201, answer.text
        go_on.set()
        for each in await asyncio.gather(*waiting, return_exceptions=True):
            assert "fewer bytes" in str(each)

    asyncio.run(attack())
    assert len(server.files()) == 1


def test_size_and_quota_are_kept(start: Start, sea: Path, small: Path, tmp_path: Path) -> None:
    size = small.stat().st_size
    server = start(sea, limits=Limits(upload_bytes=size + 1, quota_bytes=size * 3 // 2))
    other = film(tmp_path / "other.mp4", pace(18), action="left")
    assert server.client.post("/api/v1/uploads?name=a.mp4", content=b"x" * (size + 2)).status_code == 413
    first = server.upload(small)
    assert first.status_code == 201
    assert server.upload(other).status_code == 507
    server.client.delete(f"/api/v1/uploads/{first.json()['id']}")
    assert server.upload(other).status_code == 201
    assert len(server.files()) == 1


def test_a_body_of_another_length_than_announced_is_not_kept(server: Server, small: Path) -> None:
    before = server.files()
    data = small.read_bytes()[:-100] + b"?" * 50

    def pieces() -> Iterator[bytes]:
        yield data

    for length in (len(data) - 1, len(data) + 1, 10**12):
        headers = {"Content-Length": str(length)}
        answer = server.client.post("/api/v1/uploads?name=a.mp4", content=pieces(), headers=headers)
        assert answer.status_code in (400, 413)
    assert server.client.post("/api/v1/uploads?name=a.mp4", content=pieces()).status_code == 411
    assert server.files() == before


def _hostile(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Files that are not what they should be, by name."""
    secret = numbered(folder / "secret.mp4", 10).as_posix()
    good = film(folder / "good.mp4", pace(12), action="left").read_bytes()
    yield "empty.mp4", b""
    yield "text.mp4", b"not a video at all\n" * 100
    yield "page.mp4", b"<!doctype html><script>alert(1)</script>"
    yield "noise.mp4", np.random.default_rng(0).bytes(5000)
    yield "cut.mp4", good[: len(good) // 3]
    yield (
        "playlist.mp4",
        f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{secret}\n#EXT-X-ENDLIST\n".encode(),
    )
    yield (
        "playlist.m3u8",
        f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{secret}\n#EXT-X-ENDLIST\n".encode(),
    )
    yield "concat.mp4", f"ffconcat version 1.0\nfile '{secret}'\n".encode()
    yield "list.ffconcat", f"ffconcat version 1.0\nfile '{secret}'\n".encode()
    yield (
        "manifest.mpd",
        b'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"></MPD>',
    )
    yield "session.sdp", b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n"
    yield "picture%03d.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 50
    yield "art.ans", b"\x1b[31mred\x1b[0m" * 200
    yield "subtitles.srt", b"1\n00:00:00,000 --> 00:00:01,000\nhello\n"
    # An uncompressed picture of 65500 × 65500 whose data is not there.
    header = struct.pack("<4sI4s4sI", b"RIFF", 300, b"AVI ", b"LIST", 200)
    yield "bomb.avi", header + b"hdrlavih" + struct.pack("<I14I", 56, *([0] * 8), 65500, 65500, *([0] * 4))


def test_hostile_files_are_refused_and_nothing_stays(server: Server, tmp_path: Path) -> None:
    before = server.files()
    for name, data in _hostile(tmp_path):
        answer = server.client.post("/api/v1/uploads", params={"name": name}, content=data)
        assert answer.status_code in (400, 422), name
        assert str(server.state) not in answer.text, name
        assert answer.status_code == 400 or answer.json()["detail"].startswith(name.replace("%", "_")), name
        assert server.files() == before, name
    assert server.client.get("/api/v1").status_code == 200


def test_bounds_on_pixels_and_length(start: Start, sea: Path, small: Path, tmp_path: Path) -> None:
    server = start(sea, limits=Limits(pixels=160 * 120, video_seconds=0.7, span_seconds=0.3))
    assert server.upload(small).status_code == 201
    large = numbered(tmp_path / "large.mp4", 5, width=320, height=240)
    assert "megapixels" in server.upload(large).json()["detail"]
    long = film(tmp_path / "long.mp4", pace(30), action="left")
    assert "hours long" in server.upload(long).json()["detail"]
    ref = server.upload(small).json()["ref"]
    answer = server.client.post(f"{API}/search", json={"query": {"ref": ref}})
    assert answer.status_code == 422
    assert "span" in answer.json()["detail"]


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd.mp4",
        "..\\..\\x.mp4",
        "/abs.mp4",
        ".hidden.mp4",
        "a\nb.mp4",
        "ü 漢字.mp4",
        "%2e%2e%2fx.mp4",
        "con.mp4" * 30,
        "aux.mp4",
        "LPT1",
    ],
)
def test_names_do_not_lead_anywhere(start: Start, sea: Path, small: Path, name: str) -> None:
    server = start(sea)
    upload = server.upload(small, name[:255]).json()
    (file,) = server.files()
    assert file == f"uploads/{upload['id']}/{upload['name']}"
    assert "/" not in upload["name"]
    assert not upload["name"].startswith(".")
    assert upload["name"].partition(".")[0].lower() not in ("con", "aux", "lpt1")  # devices of Windows


def test_a_codec_that_nobody_knows_is_told(server: Server, small: Path) -> None:
    content = small.read_bytes()
    assert b"avc1" in content
    answer = server.client.post(
        "/api/v1/uploads", params={"name": "a.mp4"}, content=content.replace(b"avc1", b"zzzz")
    )
    assert answer.status_code == 422, answer.text
    assert "no picture" in answer.text


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_videos_never_harm_the_server(server: Server, small: Path, data: st.DataObject) -> None:
    content = bytearray(small.read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(1, len(content)))]
    before = server.files()
    answer = server.client.post("/api/v1/uploads", params={"name": "a.mp4"}, content=bytes(content))
    assert answer.status_code in (201, 422)
    if answer.status_code == 201:
        server.client.delete(f"/api/v1/uploads/{answer.json()['id']}")
    assert server.files() == before


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    path=st.text(min_size=1, max_size=60)
    | st.lists(
        st.sampled_from(["..", ".", "/", "%2e%2e", "etc", "passwd", "right", "a.mp4", "\\", "//"]),
        min_size=1,
        max_size=8,
    ).map("/".join)
)
def test_no_path_leads_out(server: Server, films: Path, path: str) -> None:
    from urllib.parse import quote

    added = server.client.post(f"{API}/add", json={"paths": [path]})
    if added.status_code == 202:
        assert (films / path).resolve().is_relative_to(films)
        server.wait(added.json())
    else:
        assert added.status_code in (403, 422)
    page = server.client.get("/" + quote(path.lstrip("/"), safe="/%"))
    assert page.status_code in (200, 307, 400, 403, 404, 405)
    assert b"root:" not in page.content


def test_a_file_that_takes_too_long_is_given_up(start: Start, sea: Path, tmp_path: Path) -> None:
    server = start(sea, limits=Limits(inspect_seconds=0.0))
    began = time.monotonic()
    answer = server.upload(numbered(tmp_path / "slow.mp4", 900))
    assert answer.status_code == 504
    assert time.monotonic() - began < 60
    assert server.files() == set()
