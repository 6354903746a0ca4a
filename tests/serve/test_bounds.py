"""What a server keeps stays within its limits: thumbnails, films, records of jobs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seasync.serve import Limits
from tests.serve.conftest import Server

API = "/api/v1/seas/small"
Start = Callable[..., Server]


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def test_thumbnails_count_against_the_limit_of_the_cache(
    start: Start, sea: Path, films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEASYNC_CACHE", str(tmp_path / "cache"))
    server = start(sea, roots=[films], limits=Limits(cache_bytes=20_000))
    ref = server.clip("right/a")
    for n in range(40):
        answer = server.client.get(f"{API}/footage/{ref}/thumbnail", params={"at": n / 25, "height": 240})
        assert answer.status_code == 200
    assert 5_000 < size(tmp_path / "cache" / "serve") <= 20_000 * 33 / 32 + 5_000


def test_a_finished_film_is_not_failed_by_a_file_that_cannot_be_deleted(
    start: Start, sea: Path, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows a film that is being downloaded cannot be deleted."""
    server = start(sea, roots=[films], limits=Limits(film_bytes=1))
    old = server.state / "films" / "00" / "old.mp4"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"x" * 1000)
    os.utime(old, (0, 0))
    unlink = Path.unlink

    def refuse(self: Path, missing_ok: bool = False) -> None:
        if self == old:
            raise PermissionError(errno.EACCES, "in use", str(self))
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    asked = {"alignment": {"query": server.clip("right/a"), "match": server.clip("right/b")}}
    job = server.wait(server.client.post(f"{API}/alignment/film", json=asked).json())
    assert job["state"] == "done"
    assert (
        server.client.get(f"/api/v1/jobs/{job['id']}/result").status_code == 200
    )  # it is not trimmed itself


def test_records_of_jobs_end_some_day(start: Start, sea: Path, films: Path, tmp_path: Path) -> None:
    server = start(sea, roots=[films], state=tmp_path / "state", limits=Limits(job_records=2))
    jobs = []
    for label in "abc":
        asked = {"paths": [str(films / "right" / "a.mp4")], "label": label}
        jobs.append(server.wait(server.client.post(f"{API}/add", json=asked).json())["id"])
    assert [job["id"] for job in server.client.get("/api/v1/jobs").json()] == jobs[:0:-1]
    assert server.client.get(f"/api/v1/jobs/{jobs[0]}").status_code == 404
    with server.client.stream("GET", "/api/v1/jobs/events", params={"job": jobs[0]}) as answer:
        assert answer.status_code == 404
    server.client.__exit__(None, None, None)
    later = start(sea, roots=[films], state=tmp_path / "state", limits=Limits(job_days=1e-9))
    assert later.client.get("/api/v1/jobs").json() == []


def test_the_page_is_sent_compressed_and_videos_are_not(server: Server) -> None:
    page = server.client.get("/js/app.js", headers={"Accept-Encoding": "gzip"})
    assert page.headers["content-encoding"] == "gzip"
    assert page.headers["cache-control"] == "no-cache"
    assert "startView" in page.text
    place = f"/api/v1/seas/small/footage/{server.clip('right/a')}/video"
    part = server.client.get(place, headers={"Accept-Encoding": "gzip", "Range": "bytes=0-99"})
    assert (part.status_code, len(part.content)) == (206, 100)
    assert "content-encoding" not in part.headers
