"""Background jobs: queued on disk, done one by one in each worker process, resumed after a restart."""

import asyncio
import json
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from seasync.errors import ServeError
from seasync.serve.models import JobForm
from seasync.serve.security import Limits
from seasync.serve.stores import StateFolder
from seasync.serve.worker import INTERNAL_ERROR, Cancelled, Report, WorkerProcess

# What the jobs of one kind do.


@dataclass(frozen=True)
class JobType:
    """How jobs of one kind are done: `function(*arguments(sea, request), report=…)` in a worker process.

    Attributes
    ----------
    worker
        The process that does these jobs, one after the other.
    function
        Gets the arguments and a keyword `report`, to be called with (share done, message). Returns the
        job's result.
    arguments
        Makes the function's arguments from the sea's name and the request, when the job starts.
    after
        Called in the server with the request and the arguments when the function has returned.
    ended
        Called in the server with the request before the job counts as over, however it ends.
    """

    worker: WorkerProcess
    function: Callable[..., Any]
    arguments: Callable[[str, dict[str, Any]], tuple[Any, ...]]
    after: Callable[[dict[str, Any], tuple[Any, ...]], None] = lambda *_: None
    ended: Callable[[dict[str, Any]], None] = lambda _: None


log = logging.getLogger("seasync.serve")
MOST_ATTEMPTS = 3
POLL_SECONDS = 0.2  # between two checks for changes
SAVE_SECONDS = 1.0  # between two writes of a running job's progress
KEEP_ALIVE_SECONDS = 15.0


class JobQueue:
    """All jobs of a server, kept in its state folder.

    A job that was running when the server stopped starts again: doing it twice gives the same result as once.
    A job that has brought the server down three times is given up.

    Parameters
    ----------
    limits
        How many jobs may wait; how long, and how many, finished jobs are remembered.
    """

    def __init__(self, state: StateFolder, types: Mapping[str, JobType], limits: Limits) -> None:
        self._state, self._types, self._limits = state, types, limits
        self._news = threading.Condition()
        self._jobs: dict[str, JobForm] = {}
        self._cancel: dict[str, threading.Event] = {}
        self._texts: dict[str, str] = {}  # the requests of jobs that are not over
        self._closing = False
        self._number = 0  # of the latest change
        self._changes: dict[str, int] = {}
        for row in state("SELECT * FROM jobs ORDER BY created"):
            self._resume(_from_row(row), row["request"])
        self._forget_old()
        self._threads = [
            threading.Thread(target=self._work, args=(worker,), name=f"jobs-{worker.name}", daemon=True)
            for worker in {kind.worker for kind in types.values()}
        ]

    def start(self) -> None:
        """Start to work on the queue."""
        for thread in self._threads:
            thread.start()

    def submit(
        self, kind: str, sea: str, request: dict[str, Any], *, title: str, again: bool = True
    ) -> JobForm:
        """Queue a job. The same request again, while it waits or runs, is the same job.

        Without `again`, that holds for a job that is done, too.
        """
        text = json.dumps(request, sort_keys=True)
        with self._news:
            for job in self._jobs.values():
                counts = not job.is_over or (job.state == "done" and not again)
                if counts and (job.kind, job.sea) == (kind, sea) and self._text(job.id) == text:
                    return job
            if sum(job.state == "queued" for job in self._jobs.values()) >= self._limits.queued_jobs:
                raise ServeError("too many jobs wait already; try again when some are done", status=503)
            job = JobForm(
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
            self._texts[job.id] = text
            self._cancel[job.id] = threading.Event()
            self._changed(job)
        return job

    def get(self, job: str) -> JobForm:
        """The job with this id, or ServeError."""
        with self._news:
            if job not in self._jobs:
                raise ServeError(f"{job}: no such job", status=404)
            return self._jobs[job]

    def request(self, job: str) -> dict[str, Any]:
        """The request that started a job."""
        found: dict[str, Any] = json.loads(self._text(job))
        return found

    def all(self) -> list[JobForm]:
        """All jobs, newest first."""
        with self._news:
            return sorted(self._jobs.values(), key=lambda job: -job.created)

    def cancel(self, job: str) -> JobForm:
        """Cancel a job. What it has done already stays."""
        with self._news:
            found = self.get(job)
            if not found.is_over:
                self._cancel[job].set()
                if found.state == "queued":
                    found = self._finish(job, state="cancelled")
            return found

    async def events(self, job: str | None = None) -> AsyncIterator[JobForm | None]:
        """Yield every job (or one) as it is now, then whenever it changes; None after a quiet while.

        The events of one job end with it.
        """
        seen, quiet = 0, 0.0
        while not self._closing:
            with self._news:
                fresh = sorted(
                    (number, name)
                    for name, number in self._changes.items()
                    if number > seen and job in (None, name)
                )
                news = [self._jobs[name] for _, name in fresh]
            for one in news:
                yield one
            if fresh:
                seen, quiet = fresh[-1][0], 0.0
            if job is not None and self._has_ended(job, seen):
                return
            await asyncio.sleep(POLL_SECONDS)
            quiet += POLL_SECONDS
            if quiet >= KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield None

    def close(self) -> None:
        """Stop. The next server resumes what is running now."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        for worker in {kind.worker for kind in self._types.values()}:
            worker.close()
        for thread in self._threads:
            if thread.ident:
                thread.join()

    def _resume(self, job: JobForm, request: str) -> None:
        """Take a job over from the server before this one."""
        if job.is_over:
            self._changed(job)
            return
        self._texts[job.id] = request
        self._cancel[job.id] = threading.Event()
        self._jobs[job.id] = job
        if job.kind not in self._types:
            self._finish(job.id, state="failed", error="this server does not do such jobs")
        elif job.attempts >= MOST_ATTEMPTS:
            reason = f"given up: the server stopped {job.attempts} times while it worked on this job"
            self._finish(job.id, state="failed", error=reason)
        else:
            message = "resumed after a restart of the server" if job.progress else ""
            self._save(job, state="queued", message=message)

    def _work(self, worker: WorkerProcess) -> None:
        while True:
            with self._news:
                job = self._next(worker)
                while job is None and not self._closing:
                    self._news.wait()
                    job = self._next(worker)
                if job is None or self._closing:
                    return
                job = self._save(job, state="running", started=time.time(), attempts=job.attempts + 1)
            self._do(worker, job)

    def _next(self, worker: WorkerProcess) -> JobForm | None:
        waiting = [job for job in self._jobs.values() if job.state == "queued"]
        ours = [job for job in waiting if self._types[job.kind].worker is worker]
        return min(ours, key=lambda job: (job.kind == "ahead", job.created), default=None)

    def _do(self, worker: WorkerProcess, job: JobForm) -> None:
        kind, cancel = self._types[job.kind], self._cancel[job.id]
        try:
            request = self.request(job.id)
            arguments = kind.arguments(job.sea, request)
            result = worker.run(kind.function, *arguments, report=self._reporter(job.id), cancel=cancel)
        except Cancelled:
            self._finish(job.id, state="cancelled")
        except ServeError as error:
            if self._closing or error.status == 503:  # a stop and a busy server do not count as attempts
                self._save(self._jobs[job.id], state="queued", attempts=job.attempts - 1)
            else:
                self._finish(job.id, state="failed", error=str(error))
        except Exception:  # whatever it is, this thread must go on
            log.exception("job %s", job.id)
            self._finish(job.id, state="failed", error=INTERNAL_ERROR)
        else:
            try:
                kind.after(request, arguments)
            except Exception:  # the job's own work is done
                log.exception("after job %s", job.id)
            self._finish(job.id, state="done", progress=1.0, result=result)

    def _reporter(self, job: str) -> Report:
        saved = time.monotonic()

        def report(progress: tuple[float, str]) -> None:
            nonlocal saved
            share, message = progress
            with self._news:
                news = {"progress": max(self._jobs[job].progress, share), "message": message}
                changed = self._jobs[job].model_copy(update=news)
                self._changed(changed)
                if time.monotonic() - saved > SAVE_SECONDS:
                    self._write(changed)
                    saved = time.monotonic()

        return report

    def _finish(self, job: str, **fields: Any) -> JobForm:
        if kind := self._types.get(self._jobs[job].kind):
            with self._state.if_possible():
                kind.ended(self.request(job))
        with self._news:
            finished = self._save(self._jobs[job], ended=time.time(), **fields)
            self._cancel.pop(job, None)
            self._texts.pop(job, None)
            self._forget_old()
            return finished

    def _forget_old(self) -> None:
        """Drop the records of jobs that ended long ago, and of the oldest beyond the limit."""
        over = sorted((job for job in self._jobs.values() if job.is_over), key=lambda job: -(job.ended or 0))
        oldest = time.time() - self._limits.job_days * 86400
        for place, job in enumerate(over):
            if place >= self._limits.job_records or (job.ended or 0) < oldest:
                with self._state.if_possible():
                    self._state("DELETE FROM jobs WHERE id = ?", job.id)
                del self._jobs[job.id], self._changes[job.id]

    def _save(self, job: JobForm, **fields: Any) -> JobForm:
        job = job.model_copy(update=fields)
        self._write(job)
        self._changed(job)
        return job

    def _write(self, job: JobForm) -> None:
        """Write a job that is not over yet, or ends now."""
        with self._state.if_possible():
            self._state.put("jobs", _to_row(job) | {"request": self._texts[job.id]})

    def _changed(self, job: JobForm) -> None:
        with self._news:
            self._number += 1
            self._jobs[job.id] = job
            self._changes[job.id] = self._number
            self._news.notify_all()

    def _has_ended(self, job: str, seen: int) -> bool:
        """Whether there will be no further event of this job after number `seen`."""
        with self._news:
            found = self._jobs.get(job)
            return found is None or (found.is_over and self._changes[job] <= seen)

    def _text(self, job: str) -> str:
        if job in self._texts:
            return self._texts[job]
        rows = self._state("SELECT request FROM jobs WHERE id = ?", job)
        if not rows:
            raise ServeError(f"{job}: no such job", status=404)
        return str(rows[0]["request"])


def _to_row(job: JobForm) -> dict[str, Any]:
    row = job.model_dump()
    return row | {"result": None if job.result is None else json.dumps(job.result)}


def _from_row(row: Any) -> JobForm:
    values = {name: row[name] for name in row.keys() if name != "request"}  # noqa: SIM118 - a sqlite3.Row
    return JobForm(**values | {"result": json.loads(row["result"]) if row["result"] else None})
