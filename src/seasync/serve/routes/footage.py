"""Videos, and pictures from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse

from seasync.clip import Clip
from seasync.errors import ServeError
from seasync.files import fetch
from seasync.serve import models
from seasync.serve.media import HeldFileResponse
from seasync.serve.routes import BackendDep, RefPath, SeaDep

router = APIRouter(prefix="/seas/{sea}/footage/{ref}", tags=["footage"])
Seconds = Annotated[models.Moment | None, Query()]
# What a reference points to never changes; whether this browser may see it can.
KEEP = {"Cache-Control": "private, max-age=86400"}
JPEG: dict[int | str, dict[str, object]] = {200: {"content": {"image/jpeg": {}}}}
MEDIA_TYPES = {".webm": "video/webm"}


@router.get("")
def get_footage(
    sea: SeaDep, backend: BackendDep, ref: RefPath, start: Seconds = None, end: Seconds = None
) -> models.Footage:
    """Describe a video: its size and rate, how a browser plays it, when each frame is shown."""
    clip = backend.library.opened(sea, models.Span(ref=ref, start=start, end=end))
    return backend.library.describe(ref, clip, name=sea.annotations.get(f"name/{ref.partition(':')[2]}"))


@router.get(
    "/video",
    response_class=FileResponse,
    responses={
        200: {"content": {"video/mp4": {}, "video/webm": {}}},
        206: {"description": "The range asked for."},
    },
)
def get_video(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    form: Annotated[Literal["browser", "original"], Query()] = "browser",
) -> FileResponse:
    """The video file: as browsers play it, or the original to download. Supports ranges."""
    clip = backend.library.opened(sea, models.Span(ref=ref))
    if form == "original":
        name = backend.library.describe(ref, clip).name
        return _sent(clip, fetch(clip.file), filename=name)
    file = backend.library.video(clip)
    return _sent(clip, file, media_type=MEDIA_TYPES.get(file.suffix.lower(), "video/mp4"))


def _sent(
    clip: Clip, file: Path, *, filename: str | None = None, media_type: str | None = None
) -> FileResponse:
    """The clip's own file, which others may replace; or a copy of the server's own."""
    kind = HeldFileResponse if str(file) == clip.file else FileResponse
    return kind(file, filename=filename, media_type=media_type, headers=KEEP)


@router.post("/proxy", status_code=202)
def make_proxy(sea: SeaDep, backend: BackendDep, ref: RefPath) -> models.Job:
    """Make a copy that every browser plays, with every frame at its time."""
    clip = backend.library.opened(sea, models.Span(ref=ref))
    title = f"Prepare {backend.library.describe(ref, clip).name}"
    return backend.jobs.submit("proxy", sea.name, {"ref": ref}, title=title)


@router.get("/thumbnail", response_class=FileResponse, responses=JPEG)
def get_thumbnail(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    at: Annotated[models.Moment | None, Query(description="Seconds. Default: the middle.")] = None,
    height: Annotated[int, Query(ge=16, le=720)] = 180,
) -> FileResponse:
    """One frame as a JPEG."""
    clip = backend.library.opened(sea, models.Span(ref=ref))
    file = backend.library.strip(clip, [] if at is None else [at], height)
    return FileResponse(file, media_type="image/jpeg", headers=KEEP)


@router.get("/strip", response_class=FileResponse, responses=JPEG)
def get_strip(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    at: Annotated[list[models.Moment], Query(min_length=1, max_length=64)],
    height: Annotated[int, Query(ge=16, le=240)] = 90,
) -> FileResponse:
    """The frames at these seconds, side by side in one JPEG."""
    clip = backend.library.opened(sea, models.Span(ref=ref))
    if len(at) * height > 64 * 180:
        raise ServeError(
            "at, height: the picture would be too large; use fewer or smaller frames", status=422
        )
    return FileResponse(backend.library.strip(clip, at, height), media_type="image/jpeg", headers=KEEP)
