"""`seasync serve`: the web page and the HTTP API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from seasync.cli.parameters import Device, StorageOptions

ACCESS = "Access"
EXAMPLES = """\
seasync serve --sea footage.sea --open

seasync serve --sea footage.sea --host 0.0.0.0 --allow-host videos.example.org"""


def _named() -> list[str]:
    """The sea that other commands would take. (An `envvar` of a list would be cut at its blanks.)"""
    return [os.environ.get("SEASYNC_SEA") or "footage.sea"]


def serve(
    sea: Annotated[
        list[str],
        typer.Option(
            default_factory=_named,
            show_default="footage.sea",
            help="A sea, by path or URI. Repeatable. Or set SEASYNC_SEA.",
        ),
    ],
    encoder: Annotated[str | None, typer.Option(help="Encoder of a sea that does not exist yet.")] = None,
    host: Annotated[
        str,
        typer.Option(rich_help_panel=ACCESS, help="Address to bind to. Other than loopback needs a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, rich_help_panel=ACCESS, help="Port. 0 takes any free one.")
    ] = 8080,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SEASYNC_TOKEN",
            rich_help_panel=ACCESS,
            help="Access token that clients must send. Generated if the server is not on loopback.",
        ),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=ACCESS,
            show_default="the folders of the sea's files",
            help="Folder or URI whose videos may be shown and added. Repeatable.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=ACCESS, help="Another host name of this server. Repeatable."),
    ] = None,
    root_path: Annotated[
        str,
        typer.Option(rich_help_panel=ACCESS, help="Path prefix behind a reverse proxy, such as /sync."),
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", show_default="in the user's data folder", help="Folder for jobs and uploads."
        ),
    ] = None,
    max_upload: Annotated[float, typer.Option(min=0.001, help="Largest upload, in GB.")] = 4.0,
    quota: Annotated[float, typer.Option(min=0.001, help="Limit for all uploads together, in GB.")] = 20.0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    device: Device = None,
    storage_option: StorageOptions = None,
) -> None:
    """Serve seas as a web page and an HTTP API.

    On the page you can search, play videos in step, correct and mark them, and download films. Two videos
    of your own need no sea.
    """
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
        names=allow_host or [],
        root_path=root_path.rstrip("/"),
        limits=replace(Limits(), upload_bytes=int(max_upload * 1e9), quota_bytes=int(quota * 1e9)),
        open_browser=open_browser,
        ready=lambda address: print(f"{address}\nPress Ctrl-C to stop.", flush=True),
    )
