"""Error at every step of a server: uploads, comparisons, notes and jobs, on one server that lives on."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fastapi.testclient import TestClient

from seasync.sea.sea import Sea
from seasync.serve import create_app
from seasync.serve.tasks import SeaLocation
from stress.bench import Bench
from stress.failing import CountedDatabase, Failing
from stress.journal import Round

LOST, DOUBLED, WRONG, OTHER = "lost", "doubled", "wrong answers", "other errors"
API = "/api/v1"
JOB_SECONDS = 60.0


class FailingServer:
    """A server in this process. Each flow takes a number, so that each time it does something new."""

    def __init__(self, client: TestClient, bench: Bench, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._video = sorted(bench.footage.rglob("*.mp4"))[0].read_bytes()
        clips = client.get(f"{API}/seas/small/clips").json()["clips"]
        self._query, self._match = (clip["ref"] for clip in clips[:2])
        self._number = 0
        self._films = 0

    def fail_everywhere(self, name: str, *, every: int = 1) -> Round:
        """Let each call of a flow fail, or every n-th; afterwards the same request goes through."""
        flow: Callable[[int, Round, str], None] = getattr(self, f"_{name}")
        messages = name == "job"
        played = Round(f"server: {name}")
        flow(self._next(), played, "to warm up")
        with Failing(self._folder).patched(messages=messages) as counted:
            flow(self._next(), played, "nothing failed")
        played.facts = {"steps": len(counted.calls), "tried": 0}
        for late in (False, True):
            for at in range(1, len(counted.calls) + 1, every):
                number = self._next()
                with Failing(self._folder, at=at, late=late).patched(messages=messages) as failing:
                    flow(number, played, "")
                what = failing.calls[at - 1] if len(failing.calls) >= at else "not reached"
                played.facts["tried"] += 1
                flow(number, played, f"{name}, call {at} ({what}, late: {late}): done again")
        return played

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _ask(self, played: Round, again: str, method: str, path: str, **more: Any) -> Any:
        """The answer's JSON; None if it is an error, which is one line, and none the second time."""
        answer = self._client.request(method, API + path, **more)
        if answer.status_code < 400:
            return answer.json() if answer.content else {}
        played.expect("\n" not in answer.text.strip(), OTHER, f"{path}: {answer.text[:300]!r}")
        played.expect(not again, WRONG, f"{again}: {method} {path}: {answer.status_code} {answer.text[:200]}")
        return None

    def _upload(self, number: int, played: Round, again: str) -> None:
        video = self._video + number.to_bytes(8, "big")  # behind the last box, where players do not look
        ask = partial(self._ask, played, again)
        done = ask("POST", "/uploads", params={"name": f"{number}.mp4"}, content=video)
        if done is not None and again:
            (found,) = (self._folder / "state/uploads" / done["id"]).iterdir()
            played.expect(found.read_bytes() == video, LOST, f"upload {number}, {again}")
        if again:
            there = [each["id"] for each in ask("GET", "/uploads")]
            played.expect(done is not None and there.count(done["id"]) == 1, DOUBLED, again)
            left = list((self._folder / "state/incoming").iterdir())
            played.expect(not left or "unlink" in again, OTHER, f"{again}: {len(left)} files are left")
            for file in left:
                file.unlink()  # as the next start does
            ask("DELETE", f"/uploads/{done['id']}")

    def _comparison(self, number: int, played: Round, again: str) -> None:
        pair = {"query": self._query, "match": self._match, "anchor": [f"0.1={number / 1e4}"]}
        ask, name = partial(self._ask, played, again), f"number {number}"
        done = ask("POST", "/comparisons", json={"sea": "small", "alignment": pair, "name": name})
        if done is not None:
            ask("PATCH", f"/comparisons/{done['id']}", json={"name": f"{name}, renamed"})
        if again:
            there = [each for each in ask("GET", "/comparisons") if each["name"].startswith(name)]
            played.expect(len(there) == 1, DOUBLED, f"{again}: {len(there)} comparisons")
            for each in there:
                played.expect(each["name"] == f"{name}, renamed", LOST, f"{again}: {each['name']}")
                ask("DELETE", f"/comparisons/{each['id']}")

    def _notes(self, number: int, played: Round, again: str) -> None:
        place, ask = f"/seas/small/marks/{self._query}", partial(self._ask, played, again)
        marks = [{"kind": "moment", "name": f"mark {number}", "seconds": 0.1, "frame": 1}]
        before = self._client.get(API + place)
        done = ask("PUT", place, json=marks)
        found = ask("GET", place)
        if found is not None and before.status_code == 200:
            names = [each["name"] for each in found["marks"]]
            known = [each["name"] for each in before.json()["marks"]]
            new = [f"mark {number}"]
            played.expect(names == new or (done is None and names == known), LOST, f"{again}: {names}")

    def _job(self, number: int, played: Round, again: str) -> None:
        ask = partial(self._ask, played, again)
        request = {
            "alignment": {"query": self._query, "match": self._match},
            "size": [160, 2 * (number % 60) + 60],
        }
        done = ask("POST", "/seas/small/alignment/film", json=request)
        if done is None:
            return
        ended = threading.Event()

        def wait() -> None:
            while not ended.wait(0.1):
                answer = self._client.get(f"{API}/jobs/{done['id']}")
                if answer.status_code == 404 or answer.json().get("state") in ("done", "failed", "cancelled"):
                    ended.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        played.expect(ended.wait(JOB_SECONDS), LOST, f"job {number} is stuck, {again}")
        ended.set()
        waiting.join()
        if again:
            job = ask("GET", f"/jobs/{done['id']}")
            played.expect(job is not None and job["state"] == "done", WRONG, f"{again}: {job}")
            film = self._client.get(f"{API}/jobs/{done['id']}/result")
            played.expect(film.content[4:8] == b"ftyp", WRONG, f"{again}: the film is {film.content[:20]!r}")


FLOWS = ("upload", "comparison", "notes", "job")


@contextmanager
def failing_server(bench: Bench) -> Iterator[FailingServer]:
    """A server of a small sea, whose SQL statements count."""
    folder = bench.folder / "served"
    folder.mkdir()
    sea = Sea(folder / "small.sea", bench.encoder)
    sea.add(bench.footage, labels="folder")
    counted = partial(sqlite3.connect, factory=CountedDatabase)
    with patch.object(sqlite3, "connect", counted):
        app = create_app({"small": SeaLocation(sea.uri, bench.encoder)}, state=folder / "state", warm=False)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        yield FailingServer(client, bench, folder)
