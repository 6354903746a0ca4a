"""A server whose disk is full, or whose files are deleted under it, says so and goes on."""

from __future__ import annotations

import errno
import logging
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from seasync.serve.stores import StateFolder
from tests.serve.conftest import Server
from tests.serve.live import live

API = "/api/v1/seas/small"
Start = Callable[..., Server]


def film(server: Server) -> dict[str, Any]:
    pair = {"query": server.clip("right/a"), "match": server.clip("right/b")}
    return {"alignment": pair}


def test_a_job_goes_on_where_its_progress_cannot_be_written(
    start: Start, sea: Path, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start(sea, roots=[films])
    job = server.client.post(f"{API}/alignment/film", json=film(server)).json()

    def full(*given: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(StateFolder, "put", full)
    refused = server.client.post(f"{API}/alignment/film", json=film(server) | {"keep": "match"})
    assert (refused.status_code, refused.json()["detail"]) == (507, "no room: the server's disk is full")
    assert server.wait(job)["state"] == "done"
    monkeypatch.undo()
    again = server.client.post(f"{API}/alignment/film", json=film(server) | {"keep": "match"}).json()
    assert server.wait(again)["state"] == "done"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507),
        (FileNotFoundError(errno.ENOENT, "No such file", "/secret/place"), 404),
        (RuntimeError("File at path /secret/place does not exist."), 404),
        (RuntimeError("something else"), 500),
        (PermissionError(errno.EACCES, "Permission denied", "/secret/place"), 500),
    ],
)
def test_errors_of_the_disk_are_told_apart(
    server: Server, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("seasync.serve.comparison_file.save", fail)
    pair = film(server)["alignment"]
    kept = server.client.post("/api/v1/comparisons", json={"sea": "small", "alignment": pair}).json()
    answer = server.client.get(f"/api/v1/comparisons/{kept['id']}/file")
    assert answer.status_code == status
    assert "secret" not in answer.text


def test_an_upload_that_breaks_off_leaves_nothing_and_no_traceback(
    sea: Path, tmp_path: Path, encoder: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "seasync.serve")
    with live(sea, tmp_path / "state", encoder) as address:
        at = urlsplit(address)
        with socket.create_connection((at.hostname, at.port)) as raw:
            raw.sendall(f"POST /api/v1/uploads?name=a HTTP/1.1\r\nHost: {at.netloc}\r\n".encode())
            raw.sendall(b"Content-Length: 90000\r\n\r\n" + bytes(40000))
        while "the client has gone" not in caplog.text:
            assert "Traceback" not in caplog.text
    assert list((tmp_path / "state" / "incoming").rglob("*")) == []
