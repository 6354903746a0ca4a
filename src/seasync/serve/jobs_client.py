"""The part of the client that follows jobs and fetches what they make."""

from __future__ import annotations

import json
from collections.abc import Iterator

from seasync.errors import ServeError
from seasync.files import Place, atomic_write
from seasync.serve.connection import Connection
from seasync.serve.models import Job


class JobsClient:
    """Jobs of a server. `Client` inherits these calls."""

    def __init__(self, http: Connection) -> None:
        self._http = http

    def fetch(self, job: Job, file: Place) -> None:
        """Write the film that a job has made to `file`."""
        with (
            self._http.stream(f"/jobs/{job.id}/result") as answer,
            atomic_write(file, error=ServeError) as part,
            part.open("wb") as out,
        ):
            for chunk in answer.iter_bytes():
                out.write(chunk)

    def jobs(self) -> list[Job]:
        """All jobs, newest first."""
        return [Job(**one) for one in self._http.ask("GET", "/jobs").json()]

    def job(self, job: str) -> Job:
        """The job with this id, as it is now."""
        return self._http.model(Job, "GET", f"/jobs/{job}")

    def cancel(self, job: Job) -> Job:
        """Cancel a job."""
        return self._http.model(Job, "DELETE", f"/jobs/{job.id}")

    def watch(self, job: Job) -> Iterator[Job]:
        """Yield the job whenever it changes, until it ends."""
        with self._http.stream("/jobs/events", params={"job": job.id}) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield Job(**json.loads(line[6:]))

    def wait(self, job: Job) -> Job:
        """Wait for a job, and return it when it is done.

        Raises
        ------
        ServeError
            If it failed, with the reason.
        """
        for now in self.watch(job):
            job = now
        if job.state != "done":
            raise ServeError(job.error or f"{job.title}: {job.state}")
        return job
