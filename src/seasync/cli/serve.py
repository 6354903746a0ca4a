"""`seasync serve`: the web page and the HTTP API."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from seasync.cli.options import StorageOptions


def _named() -> list[str]:
    """The sea that other commands would take. (An `envvar` of a list would be cut at its blanks.)"""
    return [os.environ.get("SEASYNC_SEA") or "footage.sea"]


def serve(
    sea: list[str] = typer.Option(
        default_factory=_named,
        show_default="footage.sea",
        help="A sea, by path or URI; may be given several times. Or SEASYNC_SEA in the environment.",
    ),
    encoder: str = typer.Option(None, help="Encoder of a sea that does not exist yet."),
    host: str = typer.Option("127.0.0.1", help="Address to bind to; other than loopback needs a token."),
    port: int = typer.Option(8080, help="Port; 0 takes any that is free.", min=0, max=65535),
    token: str = typer.Option(
        None, envvar="SEASYNC_TOKEN", help="What requests must know; made up where one is needed."
    ),
    root: list[str] = typer.Option(
        [], help="A folder or URI whose videos may be shown and added; default: where the sea's files lie."
    ),
    state: Path = typer.Option(None, help="Folder for jobs and uploads; default: in the user's data folder."),
    allow_host: list[str] = typer.Option([], help="Another name under which the server is reached."),
    root_path: str = typer.Option(
        "", help="Where a reverse proxy has it, such as /sync, if not at the root."
    ),
    storage_option: StorageOptions = None,
    max_upload: float = typer.Option(4.0, help="Largest upload, in GB.", min=0.001),
    quota: float = typer.Option(20.0, help="All uploads together, in GB.", min=0.001),
    open_browser: bool = typer.Option(False, "--open", help="Open the page in the browser."),
) -> None:
    """Serve seas with a web page. There one can search, play in step, correct, mark, download."""
    from dataclasses import replace

    from seasync.serve import Limits
    from seasync.serve import serve as run

    run(
        *sea,
        encoder=encoder,
        host=host,
        port=port,
        token=token,
        roots=root or None,
        state=state,
        names=allow_host,
        root_path=root_path.rstrip("/"),
        limits=replace(Limits(), upload_bytes=int(max_upload * 1e9), quota_bytes=int(quota * 1e9)),
        open_browser=open_browser,
        ready=lambda address: print(f"{address}\nCtrl-C ends it.", flush=True),
    )
