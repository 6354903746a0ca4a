"""The application: routes under /api/v1, the page at /, one form for all errors."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from seasync.errors import SeasyncError
from seasync.serve.backend import Backend
from seasync.serve.phone import Access
from seasync.serve.routes import (
    PROBLEMS,
    alignments,
    bodies,
    comparisons,
    footage,
    jobs,
    marks,
    search,
    seas,
    uploads,
)
from seasync.serve.security import Guard, Hosts, Limits
from seasync.serve.tasks import SeaLocation

# Examples in the OpenAPI schema: one for every parameter, body and answer, made from the schema itself.


HEX = "5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"
# What fields of these names look like, where the schema has no example of its own.
KNOWN: dict[str, Any] = {
    "sea": "footage",
    "name": "swing.mp4",
    "file": "/videos/swing.mp4",
    "uri": "/seas/footage.sea",
    "ref": f"clip:{HEX}",
    "query": f"clip:{HEX}",
    "match": f"upload:{HEX[::-1]}",
    "leader": f"clip:{HEX}",
    "id": HEX,
    "clip": HEX,
    "upload": HEX,
    "job": HEX,
    "comparison": HEX,
    "encoder": "dinov2-small",
    "version": "1.0.0",
    "label": "squat",
    "verdict": "The whole clip aligns.",
    "reason": "DRAQ 0.31 is below the limit of 0.55.",
    "title": "Film b in step with a",
    "codec": "h264",
    "text": "squat",
    "at": [0.2, 0.6, 1.0],
    "created": 1790000000.0,
    "changed": 1790000000.0,
}
DEEPEST = 8


def add_examples(schema: dict[str, Any]) -> dict[str, Any]:
    """Put an example beside every parameter, JSON body and JSON answer that has none.

    Parameters
    ----------
    schema
        An OpenAPI document. It is changed in place.
    """
    forms = schema["components"]["schemas"]
    for operations in schema["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                parameter.setdefault("example", _example(parameter["schema"], forms, parameter["name"]))
            good = [answer for code, answer in operation["responses"].items() if code < "3"]
            for part in (operation.get("requestBody", {}), *good):
                content = part.get("content", {}).get("application/json")
                if content and content.get("schema"):
                    content.setdefault("example", _example(content["schema"], forms, ""))
    return schema


def _example(schema: dict[str, Any], forms: dict[str, Any], name: str, depth: int = 0) -> Any:
    """A value that the schema allows."""
    if "$ref" in schema:
        return _example(forms[schema["$ref"].rpartition("/")[2]], forms, name, depth + 1)
    if schema.get("examples"):
        return schema["examples"][0]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        named = next((one for one in schema["anyOf"] if one.get("type") != "null"), schema["anyOf"][0])
        return None if "default" in schema else _example(named, forms, name, depth)
    return _plain(schema, forms, name, depth)


def _plain(schema: dict[str, Any], forms: dict[str, Any], name: str, depth: int) -> Any:
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {key: _example(value, forms, key, depth + 1) for key, value in schema["properties"].items()}
    if kind == "object":
        keys = schema.get("propertyNames", {}).get("enum", ["name"])
        values = schema.get("additionalProperties")
        inner = values if isinstance(values, dict) else {"type": "string"}
        return {
            key: _example(inner, forms, key if inner.get("type") == "string" else "", depth + 1)
            for key in keys
        }
    if kind == "array":
        if "prefixItems" in schema:
            return [_example(one, forms, "", depth + 1) for one in schema["prefixItems"]]
        count = max(schema.get("minItems", 1), 1)
        return [] if depth > DEEPEST else [_example(schema.get("items", {}), forms, name, depth + 1)] * count
    if name in KNOWN and kind == _kind(KNOWN[name]):
        return KNOWN[name]
    least = schema.get("minimum", 0)
    return {"string": "text", "integer": max(int(least), 1), "number": max(least, 0.5), "boolean": True}.get(
        str(kind)
    )


def _kind(value: Any) -> str:
    return {str: "string", float: "number", list: "array"}[type(value)]


WEB = Path(__file__).parent / "web"
THREADS = 128  # requests that may wait for a worker process or a search at once


def create_app(
    seas_at: Mapping[str, SeaLocation | str | Path],
    *,
    state: str | Path,
    roots: Sequence[str | Path] | None = None,
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    root_path: str = "",
    token: str | None = None,
    limits: Limits | None = None,
    warm: bool = True,
) -> FastAPI:
    """Make the ASGI application that serves these seas.

    Parameters
    ----------
    seas_at
        Seas by their names in the API: paths, URIs, or `SeaLocation` objects.
    state
        Folder for jobs and uploads. One server at a time uses it.
    roots
        Folders whose files may be opened and added. Default: the folders that hold the seas' files.
    host, names
        The address the server is bound to, and other names that the Host header of a request may have.
    root_path
        Path below which a proxy serves it, such as "/sync", if not at the root of its host.
    token
        Access token that every request to the API must send.
    limits
        Limits on what requests may use.
    warm
        Whether to load encoder, kernels and worker processes at the start, in the background. Otherwise the
        first visitor waits for them.
    """
    limits = limits or Limits()
    places = {
        name: at if isinstance(at, SeaLocation) else SeaLocation(str(at)) for name, at in seas_at.items()
    }
    backend = Backend(
        places,
        state=Path(state).absolute(),
        roots=roots,
        limits=limits,
        access=Access(host, root_path, token),
        warm=warm,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        try:
            backend.start()
            yield
        finally:
            # With a limit of its own: requests that wait may hold every other thread.
            await anyio.to_thread.run_sync(backend.close, limiter=anyio.CapacityLimiter(1))

    app = FastAPI(
        title="Seasync",
        version=version("seasync"),
        description="Find the clips that move in step with yours, and synchronize them frame by frame.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.backend = backend
    for router in (
        *(seas.router, footage.router, search.router, alignments.router, marks.report, bodies.router),
        *(marks.marks, marks.labeling, comparisons.router, uploads.router, jobs.router),
    ):
        app.include_router(router, prefix="/api/v1", responses=PROBLEMS)
    plain_schema = app.openapi
    app.openapi = lambda: add_examples(plain_schema())  # type: ignore[method-assign]
    app.mount("/", GZipMiddleware(_Page(directory=WEB, html=True), compresslevel=6))
    _handle_errors(app, backend)
    app.add_middleware(
        Guard,
        hosts=Hosts(host, names),
        token=token,
        root_path=root_path,
        body_bytes=limits.body_bytes,
    )
    return app


class _Page(StaticFiles):
    """The files of the page. Browsers check for a new version each time."""

    def file_response(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


def _handle_errors(app: FastAPI, backend: Backend) -> None:
    """Every error is one line of JSON, without the paths of uploads."""
    folder = re.escape(str(backend.state.folder)) + r"/(uploads|incoming)/[0-9a-f]*[./]?"
    hidden = re.compile(rf"{folder}|\b[0-9a-f]{{32}}\.(?=\S)")  # the name of an upload during its inspection

    def problem(status: int, text: str) -> JSONResponse:
        return JSONResponse({"detail": hidden.sub("", text)}, status)

    @app.exception_handler(SeasyncError)
    async def known(request: Request, error: SeasyncError) -> JSONResponse:
        return problem(getattr(error, "status", 422), str(error))

    @app.exception_handler(OSError)
    @app.exception_handler(sqlite3.OperationalError)
    @app.exception_handler(RuntimeError)
    async def disk(request: Request, error: Exception) -> JSONResponse:
        """A full disk, or a file that somebody deletes while it is needed, is no error of the server."""
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "is full" in str(error):
            return problem(507, "no room: the server's disk is full")
        # What starlette raises for a file that has gone before it is sent.
        gone = isinstance(error, RuntimeError) and str(error).endswith(" does not exist.")
        if gone or isinstance(error, FileNotFoundError):
            return problem(404, "a file that this needs has been deleted meanwhile; try again")
        raise error

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
