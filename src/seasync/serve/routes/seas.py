"""Seas and their clips."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path as File
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from seasync.errors import ServeError
from seasync.sea.folder_lock import Busy
from seasync.sea.snapshot import quoted
from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, SeaDep
from seasync.serve.served_sea import ServedSea

router = APIRouter(tags=["seas"])
ClipId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.get("")
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


@router.get("/seas")
def list_seas(backend: BackendDep) -> list[models.SeaInfo]:
    """All seas with their statistics."""
    return [_info(sea) for sea in backend.seas.values()]


@router.get("/seas/{sea}")
def get_sea(sea: SeaDep) -> models.SeaInfo:
    """One sea with its statistics."""
    return _info(sea)


@router.get("/seas/{sea}/clips")
def list_clips(
    sea: SeaDep,
    backend: BackendDep,
    text: Annotated[
        str, Query(max_length=200, description="Text in the path of the file or in the label.")
    ] = "",
    label: Annotated[str | None, Query(max_length=200)] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> models.ClipPage:
    """Clips in the order they were added, page by page."""
    if not sea.exists():
        return models.ClipPage(total=0, offset=offset, clips=[])
    conditions = [] if label is None else [f"label = {quoted(label)}"]
    if text:
        wanted = quoted(text.lower())
        conditions.append(f"(contains(lower(file), {wanted}) OR contains(lower(label), {wanted}))")
    where, snapshot = " AND ".join(conditions) or None, sea.snapshot()
    total = int(snapshot.dataset.count_rows(filter=where))
    found = backend.library.clip_models(snapshot, where, offset=offset, limit=limit) if offset < total else []
    return models.ClipPage(total=total, offset=offset, clips=found)


@router.get("/seas/{sea}/clips/{clip}")
def get_clip(sea: SeaDep, clip: ClipId, backend: BackendDep) -> models.Clip:
    """One clip."""
    sea.clip(clip)
    (found,) = backend.library.clip_models(sea.snapshot(), f"id = '{clip}'", offset=0, limit=1)
    return found


@router.delete("/seas/{sea}/clips/{clip}", status_code=204)
def remove_clip(sea: SeaDep, clip: ClipId, backend: BackendDep) -> Response:
    """Remove a clip from the sea. Its file stays, unless it is an upload that no other clip uses."""
    file = File(sea.clip(clip).file)
    try:
        sea.sea.remove(clips=[clip], wait=False)
    except Busy as error:
        raise ServeError(
            "the sea is being written to; try again when that is finished", status=409
        ) from error
    _forget_upload(backend, file)
    return Response(status_code=204)


@router.post("/seas/{sea}/add", status_code=202)
def add_videos(sea: SeaDep, request: models.AddRequest, backend: BackendDep) -> models.Job:
    """Add videos in the background. Videos that the sea has already are skipped."""
    count = len(request.paths) + len(request.uploads)
    if not count:
        raise ServeError("paths, uploads: name at least one video", status=422)
    names = [File(backend.roots.resolve(path)).name for path in request.paths]
    names += [backend.uploads.get(upload)[1].name for upload in request.uploads]
    title = f"Add {names[0]}" + (f" and {count - 1} more" if count > 1 else "")
    return backend.jobs.submit("add", sea.name, request.model_dump(), title=title)


def _info(sea: ServedSea) -> models.SeaInfo:
    if not sea.exists():
        return models.SeaInfo(name=sea.name, uri=sea.uri, clips=0)
    known = sea.info()
    fields = models.SeaInfo.model_fields.keys() & known.keys()
    return models.SeaInfo(name=sea.name, uri=sea.uri, **{field: known[field] for field in fields})


def _forget_upload(backend: Backend, file: File) -> None:
    upload = backend.uploads.owner(file)
    others = any(
        one.exists() and one.snapshot().clips(f"file = {quoted(str(file))}", limit=1)
        for one in backend.seas.values()
    )
    if upload and not others:
        backend.uploads.remove(upload)
