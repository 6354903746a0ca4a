"""Background jobs and their progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, StreamingResponse

from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.routes import BackendDep

router = APIRouter(prefix="/jobs", tags=["jobs"])
MEDIA_TYPES = {
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
JobId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.get("")
def list_jobs(backend: BackendDep) -> list[models.Job]:
    """All jobs, newest first. Finished jobs are remembered for a week."""
    return backend.jobs.all()


@router.get(
    "/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
)
async def stream_events(
    backend: BackendDep, job: Annotated[str | None, Query(pattern=f"^{models.HEX}$")] = None
) -> StreamingResponse:
    """Server-sent events: each job as it is now, then whenever it changes. With `job`, until it ends."""
    if job is not None:
        backend.jobs.get(job)

    async def lines() -> AsyncIterator[str]:
        async for news in backend.jobs.events(job):
            yield ":\n\n" if news is None else f"data: {news.model_dump_json()}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/{job}")
def get_job(backend: BackendDep, job: JobId) -> models.Job:
    """One job."""
    return backend.jobs.get(job)


@router.delete("/{job}")
def cancel_job(backend: BackendDep, job: JobId) -> models.Job:
    """Cancel a job. What it has done already stays."""
    return backend.jobs.cancel(job)


@router.get(
    "/{job}/result",
    response_class=FileResponse,
    responses={200: {"content": {kind: {} for kind in MEDIA_TYPES.values()}}},
)
def get_result(backend: BackendDep, job: JobId) -> FileResponse:
    """The film that a job has made."""
    found = backend.jobs.get(job)
    if found.kind not in ("ahead", "film", "grid") or found.state != "done":
        raise ServeError(f"{found.title}: {found.state}; there is no film to fetch", status=409)
    file = backend.film_place(backend.jobs.request(job))
    if not file.exists():
        raise ServeError("the film has been deleted to make room; make it again", status=404)
    name = f"{found.title.removeprefix('Film ')}{file.suffix}"
    return FileResponse(file, media_type=MEDIA_TYPES[file.suffix], filename=name)
