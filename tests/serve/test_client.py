"""The typed client, over real HTTP; and the command that starts a server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from seasync.errors import ServeError
from seasync.sea.sea import Sea
from seasync.serve import Client
from seasync.serve.app import _named as named
from seasync.serve.models import Anchor, GridRequest, MarkForm as Mark
from seasync.serve.tokens import find_token
from tests.serve.films import film, pace
from tests.serve.live import live, process


@pytest.fixture
def client(sea: Path, films: Path, encoder: str, tmp_path: Path) -> Iterator[Client]:
    with live(sea, tmp_path / "state", encoder, roots=[films]) as address, Client(address) as client:
        yield client


def test_the_whole_job_through_the_client(client: Client, sea: Path, tmp_path: Path) -> None:
    assert client.server().seas == ["small"]
    assert [info.clips for info in client.seas()] == [6]
    upload = client.upload(film(tmp_path / "new.mp4", pace(40, bend=0.5), action="arc", tint=3))
    found = client.search("small", upload.ref, k=3)
    match = found.matches[0].clip
    assert match.label == "arc"
    alignment = client.align("small", query=upload.ref, match=match.ref)
    assert alignment.alignable
    assert client.cost("small", alignment.request).shape == (
        alignment.axes["query"].count,
        alignment.axes["match"].count,
    )
    assert b"query_frame" in client.timeline("small", alignment.request, "csv")
    assert client.thumbnail("small", match.ref)[:2] == b"\xff\xd8"
    assert client.footage("small", upload.ref).plays == "direct"
    anchors = [Anchor(query=0.5, match=0.7)]
    client.set_anchors("small", upload.ref, match.ref, anchors)
    assert client.anchors("small", upload.ref, match.ref) == anchors
    marks = [Mark(kind="moment", name="top", frame=3, seconds=0.1)]
    client.set_marks("small", match.ref, marks)
    assert client.marks("small", match.ref) == marks
    job = client.wait(client.film("small", alignment.request, layout="overlay", keep="match", marks=True))
    client.fetch(job, tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size == job.result["bytes"]  # type: ignore[index]
    assert client.wait(client.add("small", uploads=[upload.id], label="arc")).result["added"] == 1  # type: ignore[index]
    assert len(list(client.clips("small", label="arc"))) == 4
    client.remove("small", match.id)
    assert len(Sea(sea)) == 6
    assert len(client.jobs()) == 2


def test_comparisons_through_the_client(client: Client, tmp_path: Path) -> None:
    uploads = [client.upload(film(tmp_path / f"{n}.mp4", pace(40 + n), action="arc")) for n in (1, 9)]
    kept = client.comparisons.keep(uploads[0].ref, uploads[1].ref, name="Both")
    assert (kept.sea, kept.videos) == ("-", {"query": "1.mp4", "match": "9.mp4"})
    assert client.comparisons.rename(kept, "Two takes").name == "Two takes"
    assert [one.name for one in client.comparisons.all()] == ["Two takes"]
    report = client.report("-", kept.alignment)
    assert report.seconds["match"] > report.seconds["query"]
    client.comparisons.save(kept, tmp_path / "both.seasync")
    client.comparisons.remove(kept)
    assert client.comparisons.all() == []
    assert client.comparisons.open(tmp_path / "both.seasync").name == "Two takes"
    asked = GridRequest(
        leader=uploads[0].ref, start=None, end=None, followers=[uploads[1].ref], columns=2, size=None
    )
    job = client.wait(client.grid_film("-", asked))
    client.fetch(job, tmp_path / "grid.mp4")
    assert (tmp_path / "grid.mp4").stat().st_size == job.result["bytes"]  # type: ignore[index]


def test_reasons_come_through(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ServeError, match="no such sea") as refused:
        client.sea("other")
    assert refused.value.status == 404
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"text")
    with pytest.raises(ServeError, match="cannot be read as a video"):
        client.upload(bad)
    job = client.add("small", paths=[str(next(client.clips("small")).file)])
    assert client.wait(job).result["present"] == 1  # type: ignore[index]
    with pytest.raises(ServeError, match="no film to fetch"):
        client.fetch(job, tmp_path / "none.mp4")
    with pytest.raises(ServeError, match="no answer"):
        Client("http://127.0.0.1:9").server()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_token_is_in_a_file_of_the_owner_where_clients_find_it(
    sea: Path, tmp_path: Path, host: str
) -> None:
    state = tmp_path / "state"
    options = "--sea", sea, "--state", state, "--host", host
    with process(*options) as (_, told):
        place, _, code = told.partition("?code=")
        address = f"http://127.0.0.1:{place.rstrip('/').rpartition(':')[2]}"
        token = (state / "token").read_text()
        assert (state / "token").stat().st_mode & 0o777 == 0o600
        assert len(token) >= 32
        assert token not in told
        assert httpx.get(f"{address}/api/v1").status_code == 401
        with Client(address) as own, Client(told, token=token) as given:
            assert own.server().seas == given.server().seas == ["small"]
        with httpx.Client(base_url=address) as browser:
            assert browser.get(f"/?code={code}").status_code == 303
            assert browser.get("/api/v1").status_code == 200
        assert "set-cookie" not in httpx.get(f"{address}/?code={code}").headers
    assert find_token(address) is None
    with process(*options, "--print-token") as (_, told):
        assert told == f"Token: {token}"


def test_no_token_is_asked_for_on_loopback_alone(sea: Path, tmp_path: Path) -> None:
    from seasync.cli import app

    options = ["--sea", str(sea), "--state", str(tmp_path / "state"), "--no-token"]
    told = CliRunner().invoke(app, ["serve", *options, "--host", "0.0.0.0", "--port", "0"])
    assert isinstance(told.exception, ServeError)
    with process(*options) as (_, address):
        assert httpx.get(f"{address}api/v1").status_code == 200
    assert not (tmp_path / "state" / "token").exists()


def test_a_token_comes_from_a_file_or_the_environment(
    sea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("open-sesame\n")
    for options in (["--token-file", tmp_path / "secret"], []):
        if not options:
            monkeypatch.setenv("SEASYNC_TOKEN", "open-sesame")
        with process("--sea", sea, "--state", tmp_path / "state", *options) as (_, told):
            with Client(told) as stranger, pytest.raises(ServeError, match="token"):
                stranger.server()
            with Client(told, token="open-sesame") as friend:
                assert friend.server().seas == ["small"]


def test_the_token_is_not_sent_to_who_listens_after_a_killed_server(sea: Path, tmp_path: Path) -> None:
    with process("--sea", sea, "--state", tmp_path / "state") as (running, told):
        address = told.partition("?")[0]
        assert find_token(address)
        running.kill()
        running.wait()
        assert find_token(address) is None


def test_the_sea_in_the_environment_is_served_unless_another_is_named(
    sea: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_SEA", str(tmp_path / "my films.sea"))
    for options, served in ([], ["my-films"]), (["--sea", sea], ["small"]):
        with process(*options, "--state", tmp_path / "state") as (_, address), Client(address) as client:
            assert client.server().seas == served


def test_a_port_that_is_taken_is_one_clear_line(sea: Path, tmp_path: Path) -> None:
    from seasync.cli import app

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        told = CliRunner().invoke(
            app, ["serve", "--sea", str(sea), "--state", str(tmp_path / "s"), "--port", port]
        )
    assert isinstance(told.exception, ServeError)
    assert f"127.0.0.1:{port}: cannot listen there" in str(told.exception)
    assert not (tmp_path / "s").exists()


def test_seas_have_short_names_of_their_own() -> None:
    places = ["a/clips.sea", "b/clips.sea", "s3://bucket/golf swings.sea", "/"]
    assert named(places) == {
        "clips": "a/clips.sea",
        "clips2": "b/clips.sea",
        "golf-swings": "s3://bucket/golf swings.sea",
        "sea": "/",
    }
