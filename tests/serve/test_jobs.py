"""Jobs: progress, cancelling, and what becomes of them when the server is killed."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seasync.errors import ServeError
from seasync.sea.sea import Sea
from seasync.serve import Client, Limits
from seasync.serve.jobs import MOST_ATTEMPTS, JobQueue, JobType
from seasync.serve.models import JobForm
from seasync.serve.stores import StateFolder
from seasync.serve.worker import WorkerProcess
from tests.serve.conftest import Server
from tests.serve.films import film, pace
from tests.serve.live import process

API = "/api/v1/seas/small"
Start = Callable[..., Server]


def test_a_job_tells_how_it_goes(start: Start, sea: Path, tmp_path: Path) -> None:
    root = tmp_path / "more"
    for number in range(4):
        film(root / f"{number}.mp4", pace(20 + number), action="left")
    server = start(sea, roots=[root])
    job = server.client.post(f"{API}/add", json={"paths": [str(root)], "label": "left"}).json()
    with server.client.stream("GET", "/api/v1/jobs/events", params={"job": job["id"]}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line[6:] for line in answer.iter_lines() if line.startswith("data: ")]
    seen = [JobForm.model_validate_json(line) for line in lines]
    assert [one.progress for one in seen] == sorted(one.progress for one in seen)
    assert (seen[-1].state, seen[-1].progress, seen[-1].attempts) == ("done", 1.0, 1)
    assert seen[-1].result == {
        "added": 4,
        "present": 0,
        "seconds": pytest.approx(86 / 30, abs=0.01),
        "failed": [],
        "damaged": [],
    }
    assert server.client.get("/api/v1/jobs").json()[0]["id"] == job["id"]


def test_the_same_asked_for_again_is_the_same_job(start: Start, sea: Path, films: Path) -> None:
    server = start(sea, roots=[films])
    asked = {"alignment": {"query": server.clip("right/a"), "match": server.clip("right/b")}}
    first, again = (server.client.post(f"{API}/alignment/film", json=asked).json() for _ in range(2))
    assert first["id"] == again["id"]
    other = server.client.post(f"{API}/alignment/film", json=asked | {"keep": "match"}).json()
    assert other["id"] != first["id"]
    server.client.delete(f"/api/v1/jobs/{other['id']}")
    assert server.wait(first)["state"] == "done"
    assert server.wait(other)["state"] in ("cancelled", "done")  # done if it was quicker


def test_a_film_made_ahead_is_not_made_again(start: Start, sea: Path, films: Path) -> None:
    server = start(sea, roots=[films])
    asked = {"alignment": {"query": server.clip("right/a"), "match": server.clip("right/b")}, "ahead": True}

    def make() -> dict[str, Any]:
        return server.wait(server.client.post(f"{API}/alignment/film", json=asked).json())

    first = make()
    assert (first["kind"], first["state"]) == ("ahead", "done")
    result = server.client.get(f"/api/v1/jobs/{first['id']}/result")
    assert result.headers["content-type"] == "video/mp4"
    assert make()["id"] == first["id"]
    for file in (server.state / "films").rglob("*.mp4"):
        file.unlink()
    assert make()["id"] != first["id"]


def test_a_running_job_is_called_off(start: Start, sea: Path, films: Path) -> None:
    server = start(sea, roots=[films])
    asked = {"alignment": {"query": server.clip("right/a"), "match": server.clip("right/b")}}
    job = server.client.post(f"{API}/alignment/film", json=asked).json()
    while server.client.get(f"/api/v1/jobs/{job['id']}").json()["state"] == "queued":
        pass
    server.client.delete(f"/api/v1/jobs/{job['id']}")
    assert server.wait(job)["state"] == "cancelled"
    again = server.wait(server.client.post(f"{API}/alignment/film", json=asked).json())
    assert again["state"] == "done"


def test_files_that_cannot_be_added_are_named(start: Start, sea: Path, tmp_path: Path) -> None:
    root = tmp_path / "mixed"
    film(root / "good.mp4", pace(12), action="left")
    (root / "bad.mp4").write_bytes(b"not a video")
    server = start(sea, roots=[root])
    job = server.wait(server.client.post(f"{API}/add", json={"paths": [str(root)]}).json())
    assert (job["state"], job["result"]["added"]) == ("done", 1)
    assert job["result"]["failed"][0]["file"] == "bad.mp4"
    job = server.wait(server.client.post(f"{API}/add", json={"paths": ["bad.mp4"]}).json())
    assert job["state"] == "failed"
    assert "bad.mp4" in job["error"]


def test_stopped_in_good_order_a_job_goes_on_and_that_does_not_count(
    start: Start, sea: Path, films: Path, tmp_path: Path
) -> None:
    server = start(sea, roots=[films], state=tmp_path / "state")
    asked = {"alignment": {"query": server.clip("right/a"), "match": server.clip("right/b")}}
    job = server.client.post(f"{API}/alignment/film", json=asked).json()
    while server.client.get(f"/api/v1/jobs/{job['id']}").json()["state"] == "queued":
        pass
    server.client.__exit__(None, None, None)
    done = start(sea, roots=[films], state=tmp_path / "state").wait(job)
    assert (done["state"], done["attempts"]) == ("done", 1)


def test_a_job_that_stops_the_server_again_and_again_is_given_up(
    start: Start, sea: Path, films: Path, tmp_path: Path
) -> None:
    state = StateFolder(tmp_path / "state")
    begun = {"kind": "proxy", "sea": "small", "title": "Prepare", "request": "{}", "message": ""}
    counts = {"state": "running", "attempts": MOST_ATTEMPTS, "progress": 0.3, "created": time.time()}
    state.put("jobs", {"id": "0" * 32} | begun | counts)
    state.close()
    found = start(sea, state=tmp_path / "state").client.get(f"/api/v1/jobs/{'0' * 32}").json()
    assert found["state"] == "failed"
    assert "3 times" in found["error"]


@contextmanager
def serving(sea: Path, state: Path, root: Path) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    with (
        process("--sea", sea, "--state", state, "--root", root) as (running, address),
        Client(address) as client,
    ):
        yield running, client


def kill_when(
    running: subprocess.Popen[str], news: Iterator[JobForm], due: Callable[[JobForm], bool]
) -> None:
    for now in news:
        if due(now):
            running.kill()
            running.wait()


def test_killed_in_the_middle_of_a_job_it_goes_on(sea: Path, tmp_path: Path) -> None:
    root, state, count = tmp_path / "more", tmp_path / "state", 60
    for number in range(count):
        film(root / f"{number}.mp4", pace(12 + number), action="left")
    with serving(sea, state, root) as (running, client):
        job = client.add("small", paths=[str(root)])
        try:
            kill_when(running, client.watch(job), lambda now: now.progress > 0.02)
            pytest.skip("the job was done before it could be killed")
        except ServeError:
            pass
    assert Sea(sea).verify() == []
    with serving(sea, state, root) as (_, client):
        job = client.wait(job)
        assert (job.state, job.attempts) == ("done", 2)
        assert client.sea("small").clips == 6 + count
    assert Sea(sea).verify() == []
    assert len(Sea(sea)) == 6 + count


def test_killed_in_the_middle_of_a_film_it_is_made_anew(sea: Path, films: Path, tmp_path: Path) -> None:
    with serving(sea, tmp_path / "state", films) as (running, client):
        query, match = (next(client.clips("small", text=f"right/{name}")).ref for name in "ab")
        request = client.align("small", query=query, match=match).request
        job = client.film("small", request, layout="stack")
        with pytest.raises(ServeError):
            kill_when(running, client.watch(job), lambda now: now.state == "running")
    with serving(sea, tmp_path / "state", films) as (_, client):
        done = client.wait(job)
        assert done.attempts == 2
        client.fetch(done, tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size > 1000


def count(number: int, report: Callable[[tuple[float, str]], None]) -> dict[str, Any]:
    """The work of a job. That of a negative number ends in what is no JSON."""
    report((0.5, "counting"))
    return {"number": number if number >= 0 else {number}}


@contextmanager
def counting(folder: Path) -> Iterator[tuple[StateFolder, JobQueue]]:
    """A queue whose jobs count. It is not started."""
    state = StateFolder(folder)
    kind = JobType(
        WorkerProcess("count"), count, lambda sea, request: (request["number"],), lambda *given: None
    )
    queue = JobQueue(state, {"proxy": kind}, Limits(job_records=3, queued_jobs=3))
    try:
        yield state, queue
    finally:
        queue.close()
        state.close()


def end(queue: JobQueue, job: JobForm) -> JobForm:
    until = time.monotonic() + 30
    while not queue.get(job.id).is_over:
        assert time.monotonic() < until, "nobody works on this job"
    return queue.get(job.id)


BROKEN = {
    # Statements fail as on a full disk; or, as on a damaged one, with another kind of error.
    "no statement works": "ALTER TABLE jobs RENAME TO gone",
    "nothing is written": "CREATE TRIGGER damage BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'bad'); END",
}


@pytest.mark.parametrize("statement", BROKEN.values(), ids=BROKEN)
def test_a_database_error_does_not_end_the_work_on_jobs(tmp_path: Path, statement: str) -> None:
    with counting(tmp_path / "state") as (state, queue):
        first = queue.submit("proxy", "small", {"number": 1}, title="Count")
        unreadable = queue.submit("proxy", "small", {"none": 2}, title="Count")
        state(statement)
        queue.start()
        assert end(queue, first).result == {"number": 1}
        assert end(queue, unreadable).state == "failed"
        state("ALTER TABLE gone RENAME TO jobs" if "gone" in statement else "DROP TRIGGER damage")
        again = queue.submit("proxy", "small", {"number": 3}, title="Count")
        assert end(queue, again).result == {"number": 3}


def test_whichever_statement_fails_each_job_ends_with_its_own_result(tmp_path: Path) -> None:
    with counting(tmp_path / "state") as (state, queue):
        queue.start()
        for failing in range(1, 100):
            run: list[str] = []
            state._database.set_trace_callback(run.append)
            state._database.set_progress_handler(lambda run=run, k=failing: len(run) == k, 1)
            for number in (2 * failing, 2 * failing + 1):
                asked = {"number": number}
                try:
                    job = queue.submit("proxy", "small", asked, title="Count")
                except sqlite3.Error:
                    job = queue.submit("proxy", "small", asked, title="Count")
                assert end(queue, job).result == asked, run[-1]
            if failing > len(run):
                break
        assert 6 < failing < 99


def test_a_result_that_cannot_be_written_does_not_end_the_work_on_jobs(tmp_path: Path) -> None:
    with counting(tmp_path / "state") as (_, queue):
        queue.start()
        odd = queue.submit("proxy", "small", {"number": -1}, title="Count")
        assert end(queue, odd).state in ("done", "failed")
        again = queue.submit("proxy", "small", {"number": 3}, title="Count")
        assert end(queue, again).result == {"number": 3}


def test_a_damaged_database_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "state.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(ServeError, match=r"state.sqlite: .*not a database"):
        StateFolder(tmp_path / "state")


def test_only_so_many_jobs_may_wait(tmp_path: Path) -> None:
    with counting(tmp_path / "state") as (_, queue):
        jobs = [queue.submit("proxy", "small", {"number": n}, title="Count") for n in range(3)]
        with pytest.raises(ServeError, match="too many jobs wait already") as refused:
            queue.submit("proxy", "small", {"number": 3}, title="Count")
        assert refused.value.status == 503
        assert queue.submit("proxy", "small", {"number": 2}, title="Count").id == jobs[2].id
        queue.cancel(jobs[0].id)
        assert queue.submit("proxy", "small", {"number": 3}, title="Count").state == "queued"
