"""Uploads, videos, pictures from them, and the bodies in them."""

from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse

from seasync.clip import Clip
from seasync.encoders.pose import Body
from seasync.errors import ServeError
from seasync.files import fetch
from seasync.serve import body_angles, media, models, routes, served_sea
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, IdPath, RefPath, SeaDep, SpanDep

footage = APIRouter(prefix="/seas/{sea}/footage/{ref}", tags=["footage"])
uploads = APIRouter(prefix="/uploads", tags=["uploads"])
bodies = APIRouter(prefix="/seas/{sea}", tags=["bodies"])
AnglesQuery = Annotated[models.AnglesRequest, Query()]
# What a reference points to never changes; whether this browser may see it can.
KEEP = {"Cache-Control": "private, max-age=86400"}


@footage.get("")
def get_footage(sea: SeaDep, backend: BackendDep, span: SpanDep) -> models.FootageForm:
    """Describe a video: its size and rate, how a browser plays it, when each frame is shown."""
    clip, name = backend.library.opened(sea, span), f"name/{span.ref.partition(':')[2]}"
    return backend.library.describe(span.ref, clip, name=sea.annotations.get(name))


@footage.get(
    "/video",
    response_class=FileResponse,
    responses=routes.announce("video/mp4", "video/webm") | {206: {"description": "The range asked for."}},
)
def get_video(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    form: Annotated[Literal["browser", "original"], Query()] = "browser",
) -> FileResponse:
    """The video file: as browsers play it, or the original to download. Supports ranges."""
    clip = backend.library.opened(sea, models.SpanForm(ref=ref))
    if form == "original":
        name = backend.library.describe(ref, clip).name
        return _sent(clip, fetch(clip.file), filename=name)
    file = backend.library.video(clip)
    return _sent(clip, file, media_type="video/webm" if file.suffix.lower() == ".webm" else "video/mp4")


def _sent(
    clip: Clip, file: Path, *, filename: str | None = None, media_type: str | None = None
) -> FileResponse:
    """The clip's own file, which others may replace; or a copy of the server's own."""
    kind = media.HeldFileResponse if str(file) == clip.file else FileResponse
    return kind(file, filename=filename, media_type=media_type, headers=KEEP)


@footage.post("/proxy", status_code=202)
def make_proxy(sea: SeaDep, backend: BackendDep, ref: RefPath) -> models.JobForm:
    """Make a copy that every browser plays, with every frame at its time."""
    clip = backend.library.opened(sea, models.SpanForm(ref=ref))
    title = f"Prepare {backend.library.describe(ref, clip).name}"
    return backend.jobs.submit("proxy", sea.name, {"ref": ref}, title=title)


@footage.get("/thumbnail", response_class=FileResponse, responses=routes.announce("image/jpeg"))
def get_thumbnail(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    at: Annotated[models.Moment | None, Query(description="Seconds. Default: the middle.")] = None,
    height: Annotated[int, Query(ge=16, le=720)] = 180,
) -> FileResponse:
    """One frame as a JPEG."""
    clip = backend.library.opened(sea, models.SpanForm(ref=ref))
    file = backend.library.strip(clip, [] if at is None else [at], height)
    return FileResponse(file, media_type="image/jpeg", headers=KEEP)


@footage.get("/strip", response_class=FileResponse, responses=routes.announce("image/jpeg"))
def get_strip(
    sea: SeaDep,
    backend: BackendDep,
    ref: RefPath,
    at: Annotated[list[models.Moment], Query(min_length=1, max_length=64)],
    height: Annotated[int, Query(ge=16, le=240)] = 90,
) -> FileResponse:
    """The frames at these seconds, side by side in one JPEG."""
    clip = backend.library.opened(sea, models.SpanForm(ref=ref))
    if len(at) * height > 64 * 180:
        raise ServeError(
            "at, height: the picture would be too large; use fewer or smaller frames", status=422
        )
    return FileResponse(backend.library.strip(clip, at, height), media_type="image/jpeg", headers=KEEP)


@uploads.post("", status_code=201, openapi_extra=routes.RAW_BODY)
async def upload_video(
    request: Request,
    backend: BackendDep,
    name: Annotated[str, Query(min_length=1, max_length=255, description="Name of the file.")],
    compare: Annotated[
        bool, Query(description="Start to encode the video at once, to compare it with another upload soon.")
    ] = False,
) -> models.Upload:
    """Upload a video as the body of the request. The server decodes some of it, and keeps only videos."""
    upload = await backend.uploads.receive(name, routes.length_of(request), request.stream())
    if compare:
        backend.solver.encode_ahead(backend.sea(models.NO_SEA), upload.ref)
    return upload


@uploads.get("")
def list_uploads(backend: BackendDep) -> list[models.Upload]:
    """All uploads, the most recently used first."""
    return backend.uploads.all()


@uploads.get("/{upload}")
def get_upload(backend: BackendDep, upload: IdPath) -> models.Upload:
    """One upload."""
    return backend.uploads.get(upload)[1]


@uploads.delete("/{upload}", status_code=204)
def delete_upload(backend: BackendDep, upload: IdPath) -> Response:
    """Delete an upload that is part of no sea, comparison or job."""
    backend.uploads.remove(upload)
    return Response(status_code=204)


# Bodies: joints of the people in videos, their angles over synced time, and drawings on the pictures.


@bodies.post("/footage/{ref}/body", status_code=202)
def find_body(sea: SeaDep, backend: BackendDep, span: SpanDep) -> models.JobForm:
    """Find the joints of the person who moves most, in the background. `GET` gives them when it is done."""
    clip = backend.library.clip_to_encode(sea, span)
    title = f"Find the body in {Path(clip.file).name}"
    return backend.jobs.submit("body", sea.name, span.model_dump(), title=title)


@bodies.get("/footage/{ref}/body")
def get_body(sea: SeaDep, backend: BackendDep, span: SpanDep) -> models.BodyForm:
    """The joints of the person who moves most. `409` until they have been found by `POST`."""
    clip = backend.library.opened(sea, span)
    return body_angles.body_model(span.ref, _found_body(backend, clip), Path(clip.file).name)


@bodies.get("/alignment/angles")
def get_angles(sea: SeaDep, backend: BackendDep, request: AnglesQuery) -> models.Angles:
    """The angles of knees, hips, elbows, shoulders and trunk of both bodies, over synced time."""
    return _angles(backend, sea, request)


@bodies.get("/alignment/angles.csv", response_class=Response, responses=routes.announce("text/csv"))
def get_angles_table(sea: SeaDep, backend: BackendDep, request: AnglesQuery) -> Response:
    """The angles of both bodies as a table: a row per synced moment."""
    return routes.send_table(body_angles.angles_csv(_angles(backend, sea, request)), "angles")


@bodies.get("/drawings/{query}/{match}")
def get_drawings(sea: SeaDep, query: RefPath, match: RefPath) -> models.Drawings:
    """The drawings on two videos."""
    found = sea.annotations.get(f"drawings/{query}/{match}") or []
    return models.Drawings(query=query, match=match, drawings=found)


@bodies.put("/drawings/{query}/{match}")
def set_drawings(
    sea: SeaDep, query: RefPath, match: RefPath, drawings: list[models.DrawingForm]
) -> models.Drawings:
    """Replace all drawings on two videos. An empty list removes them."""
    kept = models.Drawings(query=query, match=match, drawings=drawings)
    sea.annotations.put(f"drawings/{query}/{match}", [one.model_dump() for one in kept.drawings] or None)
    return kept


def _angles(backend: Backend, sea: served_sea.ServedSea, request: models.AnglesRequest) -> models.Angles:
    clips = {
        side: backend.library.opened(sea, span)
        for side, span in zip(models.SIDES, request.spans, strict=True)
    }
    bodies = {side: _found_body(backend, clip) for side, clip in clips.items()}
    names = {side: Path(clip.file).name for side, clip in clips.items()}
    alignment = backend.solver.solve(sea, request)
    return body_angles.compare_angles(alignment, bodies, names, mirror=request.mirror, raw=request.raw)


def _found_body(backend: Backend, clip: Clip) -> Body:
    file = backend.library.body_place(clip)
    if not file.exists():
        raise ServeError(
            "the body in this video has not been found yet; POST to its `body` first", status=409
        )
    return body_angles.read_body(file)
