"""Servers that are really listening: in a thread of this process, or in a process that may be killed."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from seasync.serve import Limits, create_app
from seasync.serve.connections import Server
from seasync.serve.tasks import SeaLocation

COMMAND = [sys.executable, "-c", "from seasync.cli import main; main()", "serve", "--port", "0"]


def behind(prefix: str, app: ASGIApp) -> ASGIApp:
    """A proxy that has `app` at a prefix and takes it off: nothing else is there."""

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith(f"{prefix}/"):
            await Response("not ours", 404)(scope, receive, send)
            return
        if scope["type"] == "http":
            scope = {**scope, "path": scope["path"].removeprefix(prefix)}
        await app(scope, receive, send)

    return proxy


@contextmanager
def live(
    sea: Path, state: Path, encoder: str, *, prefix: str = "", others: Sequence[Path] = (), **options: Any
) -> Iterator[str]:
    """A server on a port of its own, by its address; behind a proxy, if at a prefix; of other seas too."""
    seas = {"small": sea, **{other.stem: other for other in others}}
    served = {name: SeaLocation(str(place), encoder) for name, place in seas.items()}
    app: ASGIApp = create_app(served, state=state, **{"warm": False} | options)
    app = behind(prefix, app) if prefix else app
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(app, options.get("limits") or Limits())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def process(*options: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`seasync serve` with these options, and its address; ended in good order if it still runs then."""
    with subprocess.Popen([*COMMAND, *map(str, options)], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            yield running, running.stdout.readline().strip()
            if running.poll() is None:
                running.send_signal(signal.SIGINT)
                assert running.wait(60) == 0
        finally:
            running.kill()
