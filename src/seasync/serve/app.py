"""The server: routes under /api/v1, the page at /, one form for all errors; and how it is run."""

import errno
import hashlib
import json
import re
import socket
import sqlite3
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from seasync.errors import SeasyncError, ServeError
from seasync.serve.backend import Backend
from seasync.serve.connections import Server
from seasync.serve.routes import PROBLEMS, alignments, marks, media, seas
from seasync.serve.security import Access, Guard, Hosts, Limits
from seasync.serve.tasks import SeaLocation
from seasync.serve.tokens import findable, is_loopback, kept_token, servers_folder

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
        Access token that every request to the API must send. None: every request is answered.
    limits
        Limits on what requests may use.
    warm
        Whether to load encoder and worker processes at the start, in the background. Otherwise the
        first visitor waits for them.
    """
    limits = limits or Limits()
    places = {
        name: at if isinstance(at, SeaLocation) else SeaLocation(str(at)) for name, at in seas_at.items()
    }
    access = Access(host, root_path, token)
    backend = Backend(
        places, state=Path(state).absolute(), roots=roots, limits=limits, access=access, warm=warm
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
        *(seas.seas, media.footage, seas.searches, alignments.alignments, marks.report, media.bodies),
        alignments.repetitions,
        *(marks.marks, marks.labeling, alignments.comparisons, media.uploads, seas.jobs),
    ):
        app.include_router(router, prefix="/api/v1", responses=PROBLEMS)
    plain_schema = app.openapi
    app.openapi = cache(lambda: finish_schema(plain_schema()))  # type: ignore[method-assign]
    app.mount("/", GZipMiddleware(_Page(directory=WEB, html=True), compresslevel=6))
    _handle_errors(app, backend)
    app.add_middleware(Guard, hosts=Hosts(host, names), access=access, body_bytes=limits.body_bytes)
    return app


def serve(
    *seas: str | Path,
    encoder: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    no_token: bool = False,
    roots: Sequence[str | Path] | None = None,
    state: str | Path | None = None,
    names: Sequence[str] = (),
    root_path: str = "",
    storage_options: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    open_browser: bool = False,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve seas, with the page, until Ctrl-C.

    Parameters
    ----------
    seas
        Paths or URIs. The page opens with the first. A sea that does not exist starts with the first `add`.
    encoder
        Encoder of seas that do not exist yet.
    host, port
        Address to listen on. Port 0 takes any free port.
    token
        Access token that every request must send. Default: one in the file `token` of the state folder,
        where a `Client` of the same user finds it.
    no_token
        Ask for no token: every user of this machine may see and change everything.
    roots
        Folders whose files may be shown and added. Default: the folders that hold the seas' files.
    state
        Folder for jobs and uploads. Default: in the user's data folder, one per set of seas.
    names
        Other names of the server: the Host header of a request must be one of its names.
    root_path
        Path below which a reverse proxy serves it, such as "/sync", if not at the root of its host.
    storage_options
        Options for object storage.
    limits
        Limits on what requests may use.
    open_browser
        Whether to open the page in a browser.
    ready
        Called with the address of the page as soon as the server answers. The address has a code that
        opens the page once.

    Raises
    ------
    ServeError
        If the port is taken, the state folder is in use, the root path is malformed, or other machines
        could reach the server without a token.
    """
    if not seas:
        raise ServeError("serve: name at least one sea")
    if root_path and not re.fullmatch(r"(/[\w.~-]+)+", root_path):
        raise ServeError(f"root path {root_path!r}: expected one such as /sync")
    if no_token and (token or not is_loopback(host)):
        raise ServeError("no token: only on loopback, where no token is given; leave --no-token out")
    state = Path(state or default_state(seas)).absolute()
    named = socket.gethostname() if host in ("0.0.0.0", "::") else host  # nosec B104
    options = tuple(sorted((storage_options or {}).items()))
    with _listening(host, port) as listening:  # first: a taken port leaves the state folder alone
        app = create_app(
            {name: SeaLocation(uri, encoder, options) for name, uri in _named(seas).items()},
            state=state,
            roots=roots,
            host=host,
            names=[*names, named],
            root_path=root_path,
            token=token or (None if no_token else kept_token(state)),
            limits=limits,
        )
        access, port = replace(app.state.backend.access, host=named), listening.getsockname()[1]

        def announce() -> None:
            ready(access.address(port))
            if open_browser:
                threading.Thread(target=webbrowser.open, args=(access.address(port),), daemon=True).start()

        server = Server(app, limits or Limits(), announce)
        told = nullcontext() if token or no_token else findable(port, state)
        with told, suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
            server.run(sockets=[listening])


def default_state(seas: Sequence[str | Path]) -> Path:
    """The default folder for the jobs and uploads of a server of these seas."""
    uris = [str(sea) if "://" in str(sea) else str(Path(sea).absolute()) for sea in seas]
    key = hashlib.sha256("\n".join(sorted(uris)).encode()).hexdigest()[:12]
    return servers_folder() / key


def _named(seas: Sequence[str | Path]) -> dict[str, str]:
    """Seas by short names that fit into addresses."""
    named: dict[str, str] = {}
    for sea in seas:
        stem = str(sea).rstrip("/\\").replace("\\", "/").split("/")[-1].removesuffix(".sea")
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "sea"
        number = 2
        while name in named:
            name, number = f"{name.rstrip('0123456789')}{number}", number + 1
        named[name] = str(sea)
    return named


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).split(" (while")[0]
        raise ServeError(
            f"{host}:{port}: cannot listen there ({reason}); choose another --port or --host"
        ) from error


# What the application is made of.


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


# The OpenAPI schema: plain names of forms, and an example for every parameter, body and answer.


EXAMPLES: dict[str, Any] = {  # of fields that have no example of their own, by their names
    "sea": "footage",
    "name": "swing.mp4",
    "file": "/videos/swing.mp4",
    "uri": "/seas/footage.sea",
    "encoder": "dinov2-small",
    "version": "1.0.0",
    "label": "squat",
    "verdict": "aligns in full",
    "reason": "DRAQ 0.31 is below the limit of 0.55",
    "title": "Film b in step with a",
    "codec": "h264",
    "text": "squat",
}
DEEPEST = 8


def finish_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Give forms the names that the docs use; put an example beside what has none.

    Parameters
    ----------
    schema
        An OpenAPI document.
    """
    text = json.dumps(schema)
    for name in schema["components"]["schemas"]:
        text = re.sub(rf'(["/]){name}"', rf'\1{name.removeprefix("Served").removesuffix("Form")}"', text)
    found: dict[str, Any] = json.loads(text)
    forms = found["components"]["schemas"] = dict(sorted(found["components"]["schemas"].items()))
    for operation in (one for operations in found["paths"].values() for one in operations.values()):
        for parameter in operation.get("parameters", ()):
            parameter.setdefault("example", _example(parameter["schema"], forms, parameter["name"]))
        good = [answer for code, answer in operation["responses"].items() if code < "3"]
        for part in (operation.get("requestBody", {}), *good):
            content = part.get("content", {}).get("application/json")
            if content and content.get("schema"):
                content.setdefault("example", _example(content["schema"], forms, ""))
    return found


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
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        return {key: _example(value, forms, key, depth + 1) for key, value in schema["properties"].items()}
    if kind == "object":
        keys, values = schema.get("propertyNames", {}).get("enum", ["name"]), schema["additionalProperties"]
        return {key: _example(values, forms, "", depth + 1) if values is not True else 1 for key in keys}
    if kind == "array":
        if "prefixItems" in schema:
            return [_example(one, forms, "", depth + 1) for one in schema["prefixItems"]]
        items = [_example(schema["items"], forms, name, depth + 1)] * max(schema.get("minItems", 1), 1)
        return [] if depth > DEEPEST else items
    if kind == "string":
        return EXAMPLES.get(name, "text")
    if kind == "boolean":
        return True
    return max(schema.get("minimum", 0), 1 if kind == "integer" else 0.5) if kind else None
