"""Seas and their clips."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path as File
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from seasync.errors import SeaError, ServeError
from seasync.options import CHOICES
from seasync.sea.record import quoted
from seasync.serve import models
from seasync.serve.core import Core, ServedSea
from seasync.serve.footage import clip_of
from seasync.serve.routes import Insides, Sea

router = APIRouter(tags=["seas"])
ClipId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.get("")
def about(core: Insides) -> models.About:
    """What this server is and holds."""
    return models.About(
        version=version("seasync"),
        seas=list(core.seas),
        roots=core.roots.all,
        upload_bytes=core.limits.upload_bytes,
        video_seconds=core.limits.video_seconds,
        span_seconds=core.limits.span_seconds,
        choices={name: list(values) for name, values in CHOICES.items()},
    )


@router.get("/seas")
def seas(core: Insides) -> list[models.SeaInfo]:
    return [_info(name, sea) for name, sea in core.seas.items()]


@router.get("/seas/{sea}")
def sea(sea: Sea, core: Insides) -> models.SeaInfo:
    return _info(core.name_of(sea), sea)


@router.get("/seas/{sea}/clips")
def clips(
    sea: Sea,
    core: Insides,
    text: Annotated[str, Query(max_length=200, description="In the file's path or the label.")] = "",
    label: Annotated[str | None, Query(max_length=200)] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> models.ClipPage:
    """Clips in the order they were added."""
    if not sea.exists():
        return models.ClipPage(total=0, offset=offset, clips=[])
    conditions = [] if label is None else [f"label = {quoted(label)}"]
    if text:
        wanted = quoted(text.lower())
        conditions.append(f"(contains(lower(file), {wanted}) OR contains(lower(label), {wanted}))")
    where, snapshot = " AND ".join(conditions) or None, sea.snapshot()
    total = int(snapshot.dataset.count_rows(filter=where))
    found = core.library.clip_models(snapshot, where, offset=offset, limit=limit) if offset < total else []
    return models.ClipPage(total=total, offset=offset, clips=found)


@router.get("/seas/{sea}/clips/{clip}")
def clip(sea: Sea, clip: ClipId, core: Insides) -> models.Clip:
    clip_of(sea, clip)
    (found,) = core.library.clip_models(sea.snapshot(), f"id = '{clip}'", offset=0, limit=1)
    return found


@router.delete("/seas/{sea}/clips/{clip}", status_code=204)
def remove(sea: Sea, clip: ClipId, core: Insides) -> Response:
    """Take a clip out of the sea. Its file stays, unless it is an upload that no other clip shows."""
    file = File(clip_of(sea, clip).file)
    try:
        with sea.writing(wait=False):
            pass
    except SeaError as error:
        raise ServeError("the sea is being written to; try again when that is done", status=409) from error
    sea.remove(clips=[clip])
    _forget_upload(core, sea, file)
    return Response(status_code=204)


@router.post("/seas/{sea}/add", status_code=202)
def add(sea: Sea, asked: models.AddRequest, core: Insides) -> models.Job:
    """Add videos in the background; what the sea has already is left alone."""
    count = len(asked.paths) + len(asked.uploads)
    if not count:
        raise ServeError("paths, uploads: name at least one video", status=422)
    names = [File(core.roots.place(path)).name for path in asked.paths]
    names += [core.uploads.get(upload)[1].name for upload in asked.uploads]
    title = f"Add {names[0]}" + (f" and {count - 1} more" if count > 1 else "")
    return core.jobs.submit("add", core.name_of(sea), asked.model_dump(), title=title)


def _info(name: str, sea: ServedSea) -> models.SeaInfo:
    if not sea.exists():
        return models.SeaInfo(name=name, uri=sea.uri, clips=0)
    known = sea.info()
    fields = models.SeaInfo.model_fields.keys() & known.keys()
    return models.SeaInfo(name=name, uri=sea.uri, **{field: known[field] for field in fields})


def _forget_upload(core: Core, sea: ServedSea, file: File) -> None:
    upload = core.uploads.owner(file)
    others = any(
        one.exists() and one.snapshot().clips(f"file = {quoted(str(file))}", limit=1)
        for one in core.seas.values()
    )
    if upload and not others:
        core.uploads.remove(upload)
