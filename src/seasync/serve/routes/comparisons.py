"""Comparisons: pairs of videos that people keep, name, reopen, save to a file and open again."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path as File
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from seasync.errors import ServeError
from seasync.serve import comparison_file, models
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep

router = APIRouter(prefix="/comparisons", tags=["comparisons"])
MEDIA_TYPE = "application/vnd.seasync+zip"
FILE: dict[int | str, dict[str, object]] = {200: {"content": {MEDIA_TYPE: {}}}}
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
ComparisonId = Annotated[str, Path(pattern=f"^{models.HEX}$")]


@router.get("")
def list_comparisons(backend: BackendDep) -> list[models.Comparison]:
    """All comparisons, the most recently changed first."""
    return backend.comparisons.all()


@router.post("", status_code=201)
def keep_comparison(backend: BackendDep, request: models.ComparisonRequest) -> models.Comparison:
    """Keep two videos as a comparison, or several as a grid.

    It needs no sea: uploads are compared in the sea called `-`.
    """
    videos = _names(backend, request.sea, request.alignment)
    return backend.comparisons.add(
        request.sea, request.alignment, videos, name=request.name, grid=request.grid
    )


def _names(backend: Backend, sea: str, alignment: models.AlignmentRequest) -> dict[models.Side, str]:
    """The names of the files of query and match, which must be there."""
    opened = backend.sea(sea)
    query, match = (File(backend.library.opened(opened, span).file).name for span in alignment.spans)
    return {"query": query, "match": match}


@router.post("/file", status_code=201, openapi_extra=BODY)
async def open_comparison_file(request: Request, backend: BackendDep) -> models.Comparison:
    """Open a `.seasync` file, sent as the body of the request."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise ServeError("Content-Length is missing", status=411)
    async with backend.uploads.received(int(length), request.stream()) as file:
        return await run_in_threadpool(comparison_file.load, backend, file)


@router.get("/{comparison}")
def get_comparison(backend: BackendDep, comparison: ComparisonId) -> models.Comparison:
    """One comparison."""
    return backend.comparisons.get(comparison)


@router.patch("/{comparison}")
def change_comparison(
    backend: BackendDep, comparison: ComparisonId, change: models.ComparisonUpdate
) -> models.Comparison:
    """Rename a comparison, or change its alignment."""
    videos = None
    if change.alignment is not None:
        videos = _names(backend, backend.comparisons.get(comparison).sea, change.alignment)
    return backend.comparisons.update(comparison, name=change.name, alignment=change.alignment, videos=videos)


@router.delete("/{comparison}", status_code=204)
def delete_comparison(backend: BackendDep, comparison: ComparisonId) -> Response:
    """Forget a comparison. Its uploads expire like others from now on."""
    backend.comparisons.remove(comparison)
    return Response(status_code=204)


@router.get("/{comparison}/file", response_class=FileResponse, responses=FILE)
def save_comparison_file(
    backend: BackendDep,
    comparison: ComparisonId,
    embed: Annotated[bool, Query(description="Whether the file includes the videos.")] = True,
) -> FileResponse:
    """A comparison as one `.seasync` file, with anchors and marks, to open on another machine."""
    found = backend.comparisons.get(comparison)
    if found.grid:
        raise ServeError("a grid cannot be saved as a file; save the pairs that you open from it", status=409)
    folder = File(tempfile.mkdtemp(dir=backend.state.folder))
    try:
        file = folder / "comparison.seasync"
        comparison_file.save(backend, found, file, embed=embed)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    name = re.sub(r"[^\w .()+-]+", "_", found.name).strip(" .")[:80] or "comparison"
    return FileResponse(
        file,
        media_type=MEDIA_TYPE,
        filename=f"{name}.seasync",
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )
