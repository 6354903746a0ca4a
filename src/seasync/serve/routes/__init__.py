"""The routes of the API. What they take and give is in `serve/models.py`."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from seasync.errors import ServeError
from seasync.serve import models, served_sea
from seasync.serve.backend import Backend


# Coroutines: FastAPI would run plain functions in other threads, which takes longer than their work.
async def backend_of(request: Request) -> Backend:
    """The backend of the application that answers."""
    backend: Backend = request.app.state.backend
    return backend


BackendDep = Annotated[Backend, Depends(backend_of)]


async def sea_of(
    backend: BackendDep,
    sea: Annotated[
        str,
        Path(max_length=100, description="Name of a sea, as `GET /api/v1` lists them.", examples=["footage"]),
    ],
) -> served_sea.ServedSea:
    """The sea that the path names."""
    return backend.sea(sea)


SeaDep = Annotated[served_sea.ServedSea, Depends(sea_of)]
RefPath = Annotated[models.Ref, Path(description="`clip:ID` or `upload:ID`.")]
IdPath = Annotated[models.Id, Path()]
SecondsQuery = Annotated[models.Moment | None, Query()]


async def span_of(ref: RefPath, start: SecondsQuery = None, end: SecondsQuery = None) -> models.SpanForm:
    """The video that the path names, or the part of it from `start` to `end`."""
    return models.SpanForm(ref=ref, start=start, end=end)


SpanDep = Annotated[models.SpanForm, Depends(span_of)]
RAW_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def announce(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """The media types of an answer that is not JSON, for the schema."""
    return {200: {"content": {kind: {} for kind in kinds}}}


def length_of(request: Request) -> int:
    """How many bytes the body of a request has."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise ServeError("Content-Length is missing", status=411)
    return int(length)


def send_table(text: str, name: str) -> Response:
    """A CSV table, to be saved under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return Response(text, media_type="text/csv", headers=headers)


def send_made(backend: Backend, make: Callable[[File], File], media_type: str | None = None) -> FileResponse:
    """Send a file that `make` writes into a temporary folder; the folder is deleted afterwards."""
    folder = File(tempfile.mkdtemp(dir=backend.state.folder))
    try:
        file = make(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        file,
        media_type=media_type or MEDIA_TYPES.get(file.suffix, "text/plain"),
        filename=file.name,
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


MEDIA_TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".otio": "application/json",
    ".fcpxml": "application/xml",
    ".edl": "text/plain",
    ".mlt": "application/zip",  # with its sound
    ".zip": "application/zip",
    ".xml": "application/xml",
    ".png": "image/png",
    ".mp4": "video/mp4",
    ".mov": "video/quicktime",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
# Every route may answer so; one handler gives all of them the same form.
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": models.ProblemForm, "description": text}
    for status, text in {
        400: "The request is malformed.",
        401: "A token is needed.",
        403: "Not allowed.",
        404: "Not found.",
        409: "Not possible at the moment.",
        411: "Content-Length is missing.",
        413: "Too large.",
        421: "The Host header names another server.",
        422: "The request cannot be fulfilled as it is.",
        503: "The server is busy or stopping; try again later.",
        504: "It took too long.",
        507: "Out of disk space or quota.",
    }.items()
}
