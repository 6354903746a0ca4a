"""Jobs: what takes long is done in the background, one by one in each lane, and survives a restart."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from seasync.errors import ServeError
from seasync.serve.lane import BROKEN, Lane, Say, Stopped
from seasync.serve.models import Job
from seasync.serve.state import State

log = logging.getLogger("seasync.serve")
Arguments = Callable[[str, dict[str, Any]], tuple[Any, ...]]
MOST_ATTEMPTS = 3
KEPT_DAYS = 7.0
LOOK = 0.2  # seconds between two looks for news
SAVE = 1.0  # seconds between two writes of a running job's progress


class Kind:
    """How jobs of one kind are done: `function(*arguments(sea, request), say=…)` in a lane.

    It says (share done, message) as it goes, and returns the result. `after` is called with the request and
    the result, in the server.
    """

    def __init__(
        self,
        lane: Lane,
        function: Callable[..., Any],
        arguments: Arguments,
        after: Callable[[dict[str, Any], dict[str, Any]], None] = lambda request, result: None,
    ) -> None:
        self.lane, self.function, self.arguments, self.after = lane, function, arguments, after


class Jobs:
    """All jobs of a server, kept in its state.

    A job that was running when the server stopped is begun again: jobs are such that doing them twice is as
    good as once. After three attempts that ended with the server's death it is given up.
    """

    def __init__(self, state: State, kinds: Mapping[str, Kind]) -> None:
        self._state, self._kinds = state, kinds
        self._news = threading.Condition()
        self._live: dict[str, Job] = {}
        self._stops: dict[str, threading.Event] = {}
        self._closing = False
        self._number = 0  # of the latest change
        self._changes: dict[str, int] = {}
        for row in state("SELECT * FROM jobs ORDER BY created"):
            self._take_up(_from_row(row))
        self._threads = [
            threading.Thread(target=self._serve, args=(lane,), name=f"jobs-{lane.name}", daemon=True)
            for lane in {kind.lane for kind in kinds.values()}
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, kind: str, sea: str, request: dict[str, Any], *, title: str) -> Job:
        """Queue a job; one that is asked for again while it waits or runs is the same job."""
        text = json.dumps(request, sort_keys=True)
        with self._news:
            for job in self._live.values():
                if not job.is_over and (job.kind, job.sea) == (kind, sea) and self._text(job.id) == text:
                    return job
            job = Job(
                id=secrets.token_hex(16),
                kind=kind,  # type: ignore[arg-type]
                sea=sea,
                title=title,
                state="queued",
                attempts=0,
                progress=0.0,
                message="",
                error=None,
                result=None,
                created=time.time(),
                started=None,
                ended=None,
            )
            self._state.put("jobs", _to_row(job) | {"request": text})
            self._stops[job.id] = threading.Event()
            self._changed(job)
        return job

    def get(self, job: str) -> Job:
        with self._news:
            if job not in self._live:
                raise ServeError(f"{job}: no such job", status=404)
            return self._live[job]

    def request(self, job: str) -> dict[str, Any]:
        """What was asked for."""
        found: dict[str, Any] = json.loads(self._text(job))
        return found

    def all(self) -> list[Job]:
        """Newest first."""
        with self._news:
            return sorted(self._live.values(), key=lambda job: -job.created)

    def cancel(self, job: str) -> Job:
        """Call a job off; what it has done already stays."""
        with self._news:
            found = self.get(job)
            if not found.is_over:
                self._stops[job].set()
                if found.state == "queued":
                    found = self._save(found, state="cancelled", ended=time.time())
            return found

    async def events(self, job: str | None = None) -> AsyncIterator[Job | None]:
        """Every job (or that one) as it is, and again whenever it changes; None when nothing has for a while.

        Ends with the end of that job.
        """
        seen, quiet = 0, 0.0
        while not self._closing:
            with self._news:
                fresh = sorted(
                    (number, name)
                    for name, number in self._changes.items()
                    if number > seen and job in (None, name)
                )
                news = [self._live[name] for _, name in fresh if name in self._live]
            for one in news:
                yield one
            if fresh:
                seen, quiet = fresh[-1][0], 0.0
            if job is not None and self.get(job).is_over and not self._is_newer(job, seen):
                return
            await asyncio.sleep(LOOK)
            quiet += LOOK
            if quiet >= 15:
                quiet = 0.0
                yield None

    def close(self) -> None:
        """Stop; what is running is taken up again by the next server."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        for lane in {kind.lane for kind in self._kinds.values()}:
            lane.close()
        for thread in self._threads:
            if thread.ident:
                thread.join()

    def _take_up(self, job: Job) -> None:
        if job.is_over:
            if time.time() - (job.ended or 0) < KEPT_DAYS * 86400:
                self._changed(job)
            else:
                self._state("DELETE FROM jobs WHERE id = ?", job.id)
            return
        self._stops[job.id] = threading.Event()
        if job.kind not in self._kinds:
            self._save(job, state="failed", ended=time.time(), error="this server does no such jobs")
        elif job.attempts >= MOST_ATTEMPTS:
            reason = (
                f"the server stopped {job.attempts} times while this was being done; it is not tried again"
            )
            self._save(job, state="failed", ended=time.time(), error=reason)
        else:
            message = "the server stopped meanwhile; it goes on" if job.progress else ""
            self._save(job, state="queued", message=message)

    def _serve(self, lane: Lane) -> None:
        while True:
            with self._news:
                job = self._next(lane)
                while job is None and not self._closing:
                    self._news.wait()
                    job = self._next(lane)
                if job is None or self._closing:
                    return
                job = self._save(job, state="running", started=time.time(), attempts=job.attempts + 1)
            self._do(lane, job)

    def _next(self, lane: Lane) -> Job | None:
        waiting = (
            job for job in self._live.values() if job.state == "queued" and self._kinds[job.kind].lane is lane
        )
        return min(waiting, key=lambda job: job.created, default=None)

    def _do(self, lane: Lane, job: Job) -> None:
        kind, request = self._kinds[job.kind], self.request(job.id)
        stop = self._stops[job.id]
        try:
            arguments = kind.arguments(job.sea, request)
            result = lane.run(kind.function, *arguments, say=self._teller(job.id), stop=stop)
            kind.after(request, result)
        except Stopped:
            self._finish(job.id, state="cancelled")
        except ServeError as error:
            if self._closing:  # it was stopped in good order, which does not count
                self._save(self._live[job.id], state="queued", attempts=job.attempts - 1)
            else:
                self._finish(job.id, state="failed", error=str(error))
        except Exception:  # whatever it is, the lane's thread must live on
            log.exception("job %s", job.id)
            self._finish(job.id, state="failed", error=BROKEN)
        else:
            self._finish(job.id, state="done", progress=1.0, result=result)

    def _teller(self, job: str) -> Say:
        saved = time.monotonic()

        def say(news: tuple[float, str]) -> None:
            nonlocal saved
            share, message = news
            with self._news:
                found = self._live[job]
                changed = found.model_copy(
                    update={"progress": max(found.progress, share), "message": message}
                )
                self._changed(changed)
                if time.monotonic() - saved > SAVE:
                    self._state.put("jobs", _to_row(changed) | {"request": self._text(job)})
                    saved = time.monotonic()

        return say

    def _finish(self, job: str, **fields: Any) -> None:
        with self._news:
            self._save(self._live[job], ended=time.time(), **fields)

    def _save(self, job: Job, **fields: Any) -> Job:
        job = job.model_copy(update=fields)
        self._state.put("jobs", _to_row(job) | {"request": self._text(job.id)})
        self._changed(job)
        return job

    def _changed(self, job: Job) -> None:
        with self._news:
            self._number += 1
            self._live[job.id] = job
            self._changes[job.id] = self._number
            self._news.notify_all()

    def _is_newer(self, job: str, seen: int) -> bool:
        return self._changes[job] > seen

    def _text(self, job: str) -> str:
        return str(self._state("SELECT request FROM jobs WHERE id = ?", job)[0]["request"])


def _to_row(job: Job) -> dict[str, Any]:
    row = job.model_dump()
    return row | {"result": None if job.result is None else json.dumps(job.result)}


def _from_row(row: Any) -> Job:
    values = {name: row[name] for name in row.keys() if name != "request"}  # noqa: SIM118 - a sqlite3.Row
    return Job(**values | {"result": json.loads(row["result"]) if row["result"] else None})
