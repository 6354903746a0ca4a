"""Uploaded videos."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.routes import BackendDep

router = APIRouter(prefix="/uploads", tags=["uploads"])
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
UploadId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.post("", status_code=201, openapi_extra=BODY)
async def upload_video(
    request: Request,
    backend: BackendDep,
    name: Annotated[str, Query(min_length=1, max_length=255, description="Name of the file.")],
    compare: Annotated[
        bool,
        Query(description="Start to encode the video at once, to compare it with another upload soon."),
    ] = False,
) -> models.Upload:
    """Upload a video as the body of the request. The server decodes some of it, and keeps only videos."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise ServeError("Content-Length is missing", status=411)
    upload = await backend.uploads.receive(name, int(length), request.stream())
    if compare:
        backend.solver.encode_ahead(backend.sea(models.NO_SEA), upload.ref)
    return upload


@router.get("")
def list_uploads(backend: BackendDep) -> list[models.Upload]:
    """All uploads, the most recently used first."""
    return backend.uploads.all()


@router.get("/{upload}")
def get_upload(backend: BackendDep, upload: UploadId) -> models.Upload:
    """One upload."""
    return backend.uploads.get(upload)[1]


@router.delete("/{upload}", status_code=204)
def delete_upload(backend: BackendDep, upload: UploadId) -> Response:
    """Delete an upload that is not part of a sea."""
    if backend.uploads.get(upload)[1].kept:
        raise ServeError("this upload is part of a sea; remove its clip there", status=409)
    if backend.comparisons.uses(upload):
        raise ServeError("this upload is part of a comparison; delete the comparison first", status=409)
    backend.uploads.remove(upload)
    return Response(status_code=204)
