"""The routes of the API. Each module has its models in the module of the same name in `serve/models`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.served_sea import ServedSea


# Coroutines: FastAPI would run plain functions in other threads, which takes longer than their work.
async def backend_of(request: Request) -> Backend:
    """The backend of the application that answers."""
    backend: Backend = request.app.state.backend
    return backend


BackendDep = Annotated[Backend, Depends(backend_of)]


async def sea_of(
    backend: BackendDep,
    sea: Annotated[str, Path(max_length=100, description="Name of a sea, as `GET /api/v1` lists them.")],
) -> ServedSea:
    """The sea that the path names."""
    return backend.sea(sea)


SeaDep = Annotated[ServedSea, Depends(sea_of)]
RefPath = Annotated[
    str, Path(pattern=f"^(clip|upload):{models.HEX}$", description="`clip:ID` or `upload:ID`.")
]
# Every route may answer so; one handler gives all of them the same form.
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": models.Problem, "description": text}
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
