"""Jobs and their progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse, StreamingResponse

from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.routes import Insides

router = APIRouter(prefix="/jobs", tags=["jobs"])
FILMS = {
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
JobId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.get("")
def jobs(core: Insides) -> list[models.Job]:
    """Newest first."""
    return core.jobs.all()


@router.get(
    "/events", response_class=StreamingResponse, responses={200: {"content": {"text/event-stream": {}}}}
)
async def events(
    core: Insides, job: Annotated[str | None, Query(pattern=f"^{models.HEX}$")] = None
) -> StreamingResponse:
    """Server-sent events: each job as it is now, then whenever it changes. Of one job alone, to its end."""
    if job is not None:
        core.jobs.get(job)

    async def lines() -> AsyncIterator[str]:
        async for news in core.jobs.events(job):
            yield ":\n\n" if news is None else f"data: {news.model_dump_json()}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/{job}")
def one(core: Insides, job: JobId) -> models.Job:
    return core.jobs.get(job)


@router.delete("/{job}")
def cancel(core: Insides, job: JobId) -> models.Job:
    """Call it off. What it has done already stays."""
    return core.jobs.cancel(job)


@router.get(
    "/{job}/result",
    response_class=FileResponse,
    responses={200: {"content": {kind: {} for kind in FILMS.values()}}},
)
def result(core: Insides, job: JobId) -> FileResponse:
    """The film that a job has made."""
    found = core.jobs.get(job)
    if found.kind != "film" or found.state != "done":
        raise ServeError(f"{found.title}: {found.state}; there is no film to fetch", status=409)
    file = core.film_place(core.jobs.request(job))
    if not file.exists():
        raise ServeError("the film is no longer kept; make it again", status=404)
    name = f"{found.title.removeprefix('Film ')}{file.suffix}"
    return FileResponse(file, media_type=FILMS[file.suffix], filename=name)
