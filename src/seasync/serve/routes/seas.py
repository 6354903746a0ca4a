"""Seas and their clips, searches, and background jobs."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from seasync.errors import ServeError
from seasync.options import FilmFormat, values
from seasync.sea import maintenance, writers
from seasync.sea.snapshot import one_of, quoted
from seasync.serve import models, routes, served_sea
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, IdPath, SeaDep
from seasync.serve.security import phone

seas, searches = APIRouter(tags=["seas"]), APIRouter(tags=["search"])
jobs = APIRouter(prefix="/jobs", tags=["jobs"])
FILM_TYPES = [routes.MEDIA_TYPES[f".{form}"] for form in values(FilmFormat)]


@seas.get("")
def get_server(backend: BackendDep) -> models.ServerInfo:
    """Describe the server: its seas, its limits, and the choices that requests offer."""
    return models.ServerInfo(
        version=version("seasync"),
        seas=list(backend.seas),
        roots=backend.roots.all,
        upload_bytes=backend.limits.upload_bytes,
        video_seconds=backend.limits.video_seconds,
        span_seconds=backend.limits.span_seconds,
    )


@seas.get("/phone")
def get_phone(request: Request, backend: BackendDep) -> models.Phone:
    """The address that opens the page on a phone once, also as a QR code."""
    return phone(backend.access, request.url.port)


@seas.get("/seas")
def list_seas(backend: BackendDep) -> list[models.SeaInfo]:
    """All seas with their statistics."""
    return [_info(backend, sea) for sea in backend.seas.values()]


@seas.get("/seas/{sea}")
def get_sea(sea: SeaDep, backend: BackendDep) -> models.SeaInfo:
    """One sea with its statistics."""
    return _info(backend, sea)


@seas.post("/seas", status_code=201)
def make_sea(backend: BackendDep, request: models.SeaRequest) -> models.SeaInfo:
    """Make an empty sea in the server's own folder."""
    return _info(backend, backend.make_sea(request.name))


@seas.delete("/seas/{sea}", status_code=204)
def delete_sea(sea: SeaDep, backend: BackendDep) -> Response:
    """Delete a sea that was made here. Its uploads are deleted with it, unless another sea uses them."""
    backend.delete_sea(sea)
    return Response(status_code=204)


@seas.get("/seas/{sea}/clips")
def list_clips(
    sea: SeaDep,
    backend: BackendDep,
    text: Annotated[
        str, Query(max_length=200, description="Text in the path, the name, the label or a tag.")
    ] = "",
    label: Annotated[str | None, Query(max_length=200)] = None,
    order: Annotated[models.ClipOrder, Query(description="`added`: as they were added.")] = "added",
    reverse: Annotated[bool, Query(description="Last first.")] = False,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> models.ClipPage:
    """Clips, page by page."""
    snapshot = sea.latest()
    if snapshot is None:
        return models.ClipPage(total=0, offset=offset, clips=[])
    where = _condition(sea, text, label)
    total = int(snapshot.dataset.count_rows(filter=where))
    found = []
    if offset < total:
        how: dict[str, Any] = {"order": order, "reverse": reverse, "snapshot": snapshot}
        found = backend.library.clip_models(sea, where, offset=offset, limit=limit, **how)
    return models.ClipPage(total=total, offset=offset, clips=found)


def _condition(sea: served_sea.ServedSea, text: str, label: str | None) -> str | None:
    """SQL for the clips with this text and this label."""
    conditions = [] if label is None else [f"label = {quoted(label)}"]
    if text:
        wanted = quoted(text.lower())
        named = [clip for clip, name in sea.clip_names().items() if text.lower() in name.lower()]
        places = [f"contains(lower({column}), {wanted})" for column in ("file", "label")]
        places.append(f"contains(lower(array_to_string(tags, ' ')), {wanted})")
        places += [one_of("id", named)] if named else []
        conditions.append(f"({' OR '.join(places)})")
    return " AND ".join(conditions) or None


@seas.get("/seas/{sea}/clips/{clip}")
def get_clip(sea: SeaDep, clip: IdPath, backend: BackendDep) -> models.ServedClip:
    """One clip."""
    snapshot = sea.latest()
    sea.clip(clip, snapshot)
    (found,) = backend.library.clip_models(sea, f"id = '{clip}'", offset=0, limit=1, snapshot=snapshot)
    return found


@seas.patch("/seas/{sea}/clips/{clip}")
def change_clip(
    sea: SeaDep, clip: IdPath, backend: BackendDep, change: models.ClipUpdate
) -> models.ServedClip:
    """Change the name, the label or the tags of a clip. Its file keeps its name."""
    sea.clip(clip)
    if change.name is not None:
        sea.rename(clip, change.name)
    given = change.model_dump(include={"label", "tags"}, exclude_none=True)
    if given:
        with _unless_busy():
            maintenance.edit_clip(sea.sea.record, clip, given, wait=False)
    return get_clip(sea, clip, backend)


@seas.delete("/seas/{sea}/clips/{clip}", status_code=204)
def remove_clip(sea: SeaDep, clip: IdPath, backend: BackendDep) -> Response:
    """Remove a clip from the sea. Its file stays, unless it is an upload that no other clip uses."""
    file = sea.clip(clip).file
    with _unless_busy():
        sea.sea.remove(clips=[clip], wait=False)
    backend.release_uploads([file])
    return Response(status_code=204)


@seas.post("/seas/{sea}/add", status_code=202)
def add_videos(sea: SeaDep, request: models.AddRequest, backend: BackendDep) -> models.JobForm:
    """Add videos in the background. Videos that the sea has already are skipped."""
    count = len(request.paths) + len(request.uploads)
    if not count:
        raise ServeError("paths, uploads: name at least one video", status=422)
    names = [File(backend.roots.resolve(path)).name for path in request.paths]
    names += [backend.uploads.get(upload)[1].name for upload in request.uploads]
    title = f"Add {names[0]}" + (f" and {count - 1} more" if count > 1 else "")
    return backend.jobs.submit("add", sea.name, request.model_dump(), title=title)


@contextmanager
def _unless_busy() -> Iterator[None]:
    try:
        yield
    except writers.Busy as error:
        raise ServeError(
            "the sea is being written to; try again when that is finished", status=409
        ) from error


def _info(backend: Backend, sea: served_sea.ServedSea) -> models.SeaInfo:
    snapshot = sea.latest()
    known = {"clips": 0} | (sea.info(snapshot) if snapshot else {})
    known |= {"name": sea.name, "uri": sea.uri, "deletable": backend.is_made_here(sea)}
    return models.SeaInfo(**{name: known[name] for name in models.SeaInfo.model_fields if name in known})


@searches.post("/seas/{sea}/search")
def search(sea: SeaDep, backend: BackendDep, request: models.SearchRequest) -> models.SearchResult:
    """Find the clips that move in step with a clip, an upload, or a span of either; best first."""
    found = sea.search(backend.library.query_clip(sea, request.query), **request.arguments)
    names = sea.clip_names()
    matches = [
        models.ServedMatch(**vars(match) | {"clip": backend.library.served_clip(match.clip, names)})
        for match in found.matches
    ]
    return models.SearchResult(**vars(found) | {"query": request.query, "matches": matches})


@searches.post("/seas/{sea}/answers")
def answer(sea: SeaDep, backend: BackendDep, request: models.AnswerRequest) -> models.AnswerResult:
    """Say whether a match shows the query's movement. Answers move the likelihoods of this sea's searches."""
    asked = sea.query(backend.library.query_clip(sea, request.query))
    clip = backend.library.query_clip(sea, models.SpanForm(ref=request.match))
    where, recipe = one_of("id", [str(clip.id)]), models.recipe_named(request.recipe)
    found = sea.sea.search(asked, k=1, recipe=recipe, where=where)
    if not found:
        raise ServeError(f"{request.match}: not in the sea, or the query's own footage", status=422)
    with _unless_busy():
        after = sea.sea.confirm(found[0], same=request.same, wait=False)
    return models.AnswerResult(before=found[0].alignability, after=after)


@jobs.get("")
def list_jobs(backend: BackendDep) -> list[models.JobForm]:
    """All jobs, newest first. Finished jobs are remembered for a week."""
    return backend.jobs.all()


@jobs.get("/events", response_class=StreamingResponse, responses=routes.announce("text/event-stream"))
async def stream_events(
    backend: BackendDep, job: Annotated[models.Id | None, Query()] = None
) -> StreamingResponse:
    """Server-sent events: each job as it is now, then whenever it changes. With `job`, until it ends."""
    if job is not None:
        backend.jobs.get(job)

    async def lines() -> AsyncIterator[str]:
        async for news in backend.jobs.events(job):
            yield ":\n\n" if news is None else f"data: {news.model_dump_json()}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@jobs.get("/{job}")
def get_job(backend: BackendDep, job: IdPath) -> models.JobForm:
    """One job."""
    return backend.jobs.get(job)


@jobs.delete("/{job}")
def cancel_job(backend: BackendDep, job: IdPath) -> models.JobForm:
    """Cancel a job. What it has done already stays."""
    return backend.jobs.cancel(job)


@jobs.get("/{job}/result", response_class=FileResponse, responses=routes.announce(*FILM_TYPES))
def get_result(backend: BackendDep, job: IdPath) -> FileResponse:
    """The film that a job has made."""
    found = backend.jobs.get(job)
    if found.kind not in ("ahead", "film", "grid") or found.state != "done":
        raise ServeError(f"{found.title}: {found.state}; there is no film to fetch", status=409)
    file = backend.film_place(backend.jobs.request(job))
    if not file.exists():
        raise ServeError("the film has been deleted to make room; make it again", status=404)
    name = f"{found.title.removeprefix('Film ')}{file.suffix}"
    return FileResponse(file, media_type=routes.MEDIA_TYPES[file.suffix], filename=name)
