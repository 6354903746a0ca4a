"""Uploads."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.routes import Insides

router = APIRouter(prefix="/uploads", tags=["uploads"])
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
UploadId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.post("", status_code=201, openapi_extra=BODY)
async def upload(
    request: Request,
    core: Insides,
    name: Annotated[str, Query(min_length=1, max_length=255, description="The file's name.")],
) -> models.Upload:
    """Upload a video as the request's body. It is checked by decoding; what is not a video is not kept."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise ServeError("Content-Length is needed", status=411)
    return await core.uploads.receive(name, int(length), request.stream())


@router.get("")
def uploads(core: Insides) -> list[models.Upload]:
    """Latest first."""
    return core.uploads.all()


@router.get("/{upload}")
def one(core: Insides, upload: UploadId) -> models.Upload:
    return core.uploads.get(upload)[1]


@router.delete("/{upload}", status_code=204)
def remove(core: Insides, upload: UploadId) -> Response:
    """Delete an upload that is not part of a sea."""
    if core.uploads.get(upload)[1].kept:
        raise ServeError("it is part of a sea; delete its clip there", status=409)
    core.uploads.remove(upload)
    return Response(status_code=204)
