"""Videos and pictures of them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse

from seasync.errors import ServeError
from seasync.files import fetch
from seasync.serve import models
from seasync.serve.routes import Insides, Sea

router = APIRouter(prefix="/seas/{sea}/footage/{ref}", tags=["footage"])
Ref = Annotated[str, Path(pattern=f"^(clip|upload):{models.HEX}$")]
Start = Annotated[models.Moment | None, Query()]
# What a reference points to never changes; whether this browser may see it can.
KEEP = {"Cache-Control": "private, max-age=86400"}
JPEG: dict[int | str, dict[str, object]] = {200: {"content": {"image/jpeg": {}}}}
TYPES = {".webm": "video/webm"}


@router.get("")
def footage(sea: Sea, core: Insides, ref: Ref, start: Start = None, end: Start = None) -> models.Footage:
    """What a video is, how a browser gets it, and when each of its frames is shown."""
    clip = core.library.opened(sea, models.Span(ref=ref, start=start, end=end))
    return core.library.describe(ref, clip)


@router.get(
    "/video",
    response_class=FileResponse,
    responses={200: {"content": {"video/mp4": {}, "video/webm": {}}}, 206: {"description": "A range of it"}},
)
def video(
    sea: Sea, core: Insides, ref: Ref, form: Annotated[Literal["browser", "original"], Query()] = "browser"
) -> FileResponse:
    """The file, in ranges if asked for so: as browsers play it, or (to download) as it is."""
    clip = core.library.opened(sea, models.Span(ref=ref))
    if form == "original":
        return FileResponse(fetch(clip.file), filename=core.library.describe(ref, clip).name, headers=KEEP)
    file = core.library.video(clip)
    return FileResponse(file, media_type=TYPES.get(file.suffix.lower(), "video/mp4"), headers=KEEP)


@router.post("/proxy", status_code=202)
def proxy(sea: Sea, core: Insides, ref: Ref) -> models.Job:
    """Make a copy that every browser plays, frame for frame at the same times."""
    clip = core.library.opened(sea, models.Span(ref=ref))
    title = f"Prepare {core.library.describe(ref, clip).name}"
    return core.jobs.submit("proxy", core.name_of(sea), {"ref": ref}, title=title)


@router.get("/thumbnail", response_class=FileResponse, responses=JPEG)
def thumbnail(
    sea: Sea,
    core: Insides,
    ref: Ref,
    at: Annotated[models.Moment | None, Query(description="Seconds; default: the middle.")] = None,
    height: Annotated[int, Query(ge=16, le=720)] = 180,
) -> FileResponse:
    """One frame as a JPEG."""
    clip = core.library.opened(sea, models.Span(ref=ref))
    file = core.library.strip(clip, [] if at is None else [at], height)
    return FileResponse(file, media_type="image/jpeg", headers=KEEP)


@router.get("/strip", response_class=FileResponse, responses=JPEG)
def strip(
    sea: Sea,
    core: Insides,
    ref: Ref,
    at: Annotated[list[models.Moment], Query(min_length=1, max_length=64)],
    height: Annotated[int, Query(ge=16, le=240)] = 90,
) -> FileResponse:
    """The frames at these seconds, side by side in one JPEG."""
    clip = core.library.opened(sea, models.Span(ref=ref))
    if len(at) * height > 64 * 180:
        raise ServeError("at, height: too much for one picture; ask for fewer or smaller frames", status=422)
    return FileResponse(core.library.strip(clip, at, height), media_type="image/jpeg", headers=KEEP)
