"""`seasync serve` and `seasync mcp`: the web page, the HTTP API, and tools for assistants."""

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from seasync.cli import parameters

access_option = partial(typer.Option, rich_help_panel="Access")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


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
        str, access_option(help="Address to bind to. 0.0.0.0: other machines can reach it.")
    ] = "127.0.0.1",
    port: Annotated[int, access_option(min=0, max=65535, help="Port. 0 takes any free one.")] = 8080,
    token: Annotated[
        str | None,
        access_option(
            envvar="SEASYNC_TOKEN",
            show_default="one that the state folder keeps",
            help="Access token that clients must send. Other users of the machine can read it here.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, access_option(metavar="FILE", help="File with the access token.")
    ] = None,
    no_token: Annotated[bool, access_option("--no-token", help="Ask for no token. Loopback only.")] = False,
    print_token: Annotated[bool, access_option("--print-token", help="Print the token too.")] = False,
    root: Annotated[
        list[str] | None,
        access_option(
            show_default="the folders of the sea's files",
            help="Folder or URI whose videos may be shown and added. Repeatable.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, access_option(help="Another host name of this server. Repeatable.")
    ] = None,
    root_path: Annotated[str, access_option(help="Path prefix behind a reverse proxy, such as /sync.")] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", show_default="in the user's data folder", help="Folder for jobs and uploads."
        ),
    ] = None,
    max_upload: Annotated[float, typer.Option(min=0.001, help="Largest upload, in GB.")] = 4.0,
    quota: Annotated[float, typer.Option(min=0.001, help="Limit for all uploads together, in GB.")] = 20.0,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    device: parameters.Device = None,
    storage_option: parameters.StorageOptions = None,
) -> None:
    """Serve seas as a web page and an HTTP API.

    On the page you can search, play videos in step, correct and mark them, and download films. Two videos
    of your own need no sea. The address that is printed opens the page once.

    Examples:

    seasync serve --sea footage.sea --open

    seasync serve --sea footage.sea --host 0.0.0.0 --allow-host videos.example.org
    """
    from seasync.serve import Limits, serve as run
    from seasync.serve.app import default_state
    from seasync.serve.tokens import kept_token, read_token

    if token_file:
        token = read_token(token_file)
    if no_token:
        print("seasync: warning: without a token, every user of this machine may change all", file=sys.stderr)

    def ready(address: str) -> None:
        if print_token and not no_token:
            print(f"Token: {token or kept_token(state or default_state(sea))}")
        print(f"{address}\nPress Ctrl-C to stop.", flush=True)

    run(
        *sea,
        encoder=encoder,
        host=host,
        port=port,
        token=token,
        no_token=no_token,
        roots=root or None,
        state=state,
        names=allow_host or [],
        root_path=root_path.rstrip("/"),
        limits=replace(Limits(), upload_bytes=int(max_upload * 1e9), quota_bytes=int(quota * 1e9)),
        open_browser=open_browser,
        ready=ready,
    )


def mcp(
    root: Annotated[
        list[str], typer.Option(help="Folder whose files the tools may read and write. Repeatable.")
    ],
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address for --http. Only loopback is allowed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port for --http.")] = 8770,
    encoder: parameters.EncoderName = "dinov2-small",
) -> None:
    """Serve search, align, find, group, render and export as tools for assistants (MCP).

    Examples:

    seasync mcp --root ~/videos

    seasync mcp --root ~/videos --http --port 8770
    """
    if host not in LOOPBACK:
        raise typer.BadParameter(
            f"--host {host}: expected one of {', '.join(LOOPBACK)}; the server has no password"
        )
    from seasync.integrations.mcp import create_server

    server = create_server(root, encoder=encoder)
    if http:
        server.run("streamable-http", host=host, port=port)
    else:
        server.run("stdio")
