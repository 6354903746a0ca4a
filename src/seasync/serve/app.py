"""The application: routes under /api/v1, the page at /, one form of error for all."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from seasync.errors import SeasyncError
from seasync.serve.core import Core
from seasync.serve.limits import Limits
from seasync.serve.routes import PROBLEMS, alignments, footage, jobs, notes, search, seas, uploads
from seasync.serve.security import Guard, Hosts
from seasync.serve.work import SeaAt

WEB = Path(__file__).parent / "web"
THREADS = 128  # requests that may wait for a lane or a search at once


def create_app(
    seas_at: Mapping[str, SeaAt | str | Path],
    *,
    state: str | Path,
    roots: Sequence[str | Path] | None = None,
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    root_path: str = "",
    token: str | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """The ASGI application that serves these seas.

    seas_at      by the name they have in the API: a path or URI, or a `SeaAt`
    state        folder for jobs and uploads; one server at a time uses it
    roots        folders whose files may be opened and added; default: those in which the seas' files lie
    host, names  what it is bound to, and other names that a request's Host may have
    root_path    where a proxy has it, such as "/sync", if it is not at the root of its host
    token        needed by every request to the API, if given
    """
    limits = limits or Limits()
    places = {name: at if isinstance(at, SeaAt) else SeaAt(str(at)) for name, at in seas_at.items()}
    core = Core(places, state=Path(state).absolute(), roots=roots, limits=limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        core.start()
        try:
            yield
        finally:
            await anyio.to_thread.run_sync(core.close)

    app = FastAPI(
        title="Seasync",
        version=version("seasync"),
        description="Find, in a sea of footage, the clip that moves in step with yours.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.core = core
    for room in (seas, footage, search, alignments, notes, uploads, jobs):
        app.include_router(room.router, prefix="/api/v1", responses=PROBLEMS)
    app.mount("/", _Page(directory=WEB, html=True))
    _explain(app, core)
    app.add_middleware(
        Guard,
        hosts=Hosts(host, names),
        token=token,
        root_path=root_path,
        body_bytes=limits.body_bytes,
    )
    return app


class _Page(StaticFiles):
    """The page's files, looked up anew each time: a new version is seen at once."""

    def file_response(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


def _explain(app: FastAPI, core: Core) -> None:
    """Every error as one line; where uploads lie is nobody's business."""
    folder = re.escape(str(core.state.folder)) + r"/(uploads|incoming)/[0-9a-f]*[./]?"
    hidden = re.compile(rf"{folder}|\b[0-9a-f]{{32}}\.(?=\S)")  # the name it has while it is looked into

    def problem(status: int, text: str) -> JSONResponse:
        return JSONResponse({"detail": hidden.sub("", text)}, status)

    @app.exception_handler(SeasyncError)
    async def known(request: Request, error: SeasyncError) -> JSONResponse:
        return problem(getattr(error, "status", 422), str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return problem(422, f"{place}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        answer = problem(error.status_code, f"{request.method} {request.url.path}: {error.detail}")
        answer.headers.update(error.headers or {})
        return answer
