"""The routes of the API, by what they are about."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from seasync.serve import models
from seasync.serve.core import Core, ServedSea


def core_of(request: Request) -> Core:
    core: Core = request.app.state.core
    return core


Insides = Annotated[Core, Depends(core_of)]


def sea_of(
    core: Insides,
    sea: Annotated[str, Path(max_length=100, description="A sea's name, as `GET /api/v1` lists them.")],
) -> ServedSea:
    return core.sea(sea)


Sea = Annotated[ServedSea, Depends(sea_of)]
# Any route may answer so; a handler makes all of them of one form.
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": models.Problem, "description": text}
    for status, text in {
        400: "The request cannot be read",
        401: "A token is needed",
        403: "Not allowed",
        404: "There is no such thing",
        409: "Not now",
        411: "Content-Length is missing",
        413: "Too large",
        421: "Not a name of this server",
        422: "It cannot be done as asked",
        504: "It took too long",
        507: "No room",
    }.items()
}
