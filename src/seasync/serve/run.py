"""Run a server."""

from __future__ import annotations

import hashlib
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import uvicorn

from seasync.errors import ServeError
from seasync.serve.app import create_app
from seasync.serve.security import Limits, is_loopback
from seasync.serve.tasks import SeaLocation


def serve(
    *seas: str | Path,
    encoder: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
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
        Access token that every request must send. Generated if other machines can reach `host`.
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
        Called with the address of the page, token included, as soon as the server answers.

    Raises
    ------
    ServeError
        If the port is taken, the state folder is in use, or the root path is malformed.
    """
    if not seas:
        raise ServeError("serve: name at least one sea")
    if root_path and not re.fullmatch(r"(/[\w.~-]+)+", root_path):
        raise ServeError(f"root path {root_path!r}: expected one such as /sync")
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    options = tuple(sorted((storage_options or {}).items()))
    with _listening(host, port) as listening:  # first: a taken port leaves the state folder alone
        app = create_app(
            {name: SeaLocation(uri, encoder, options) for name, uri in _named(seas).items()},
            state=state or default_state(seas),
            roots=roots,
            host=host,
            names=names,
            root_path=root_path,
            token=token,
            limits=limits,
        )
        address = _address(host, listening.getsockname()[1], root_path, token)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
        )
        server = _Server(config, lambda: _announce(address, ready, open_browser))
        with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends
            server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Calls back when it answers requests."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._started()


def default_state(seas: Sequence[str | Path]) -> Path:
    """The default folder for the jobs and uploads of a server of these seas."""
    import platformdirs

    uris = [str(sea) if "://" in str(sea) else str(Path(sea).absolute()) for sea in seas]
    key = hashlib.sha256("\n".join(sorted(uris)).encode()).hexdigest()[:12]
    return Path(platformdirs.user_data_dir("seasync", appauthor=False)) / "serve" / key


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


def _address(host: str, port: int, root_path: str, token: str | None) -> str:
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else host  # nosec B104
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}{root_path}/" + (f"?token={token}" if token else "")


def _announce(address: str, ready: Callable[[str], None], open_browser: bool) -> None:
    ready(address)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
