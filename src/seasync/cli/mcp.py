"""`seasync mcp`: tools for assistants."""

from __future__ import annotations

from typing import Annotated

import typer

from seasync.cli.parameters import EncoderName

EXAMPLES = """\
seasync mcp --root ~/videos

seasync mcp --root ~/videos --http --port 8770"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def mcp(
    root: Annotated[
        list[str], typer.Option(help="Folder whose files the tools may read and write. Repeatable.")
    ],
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address for --http. Only loopback is allowed.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port for --http.")] = 8770,
    encoder: EncoderName = "dinov2-small",
) -> None:
    """Serve search, align, find, group, render and export as tools for assistants (MCP)."""
    from seasync.integrations.mcp import create_server

    if host not in LOOPBACK:
        raise typer.BadParameter(
            f"--host {host}: expected one of {', '.join(LOOPBACK)}; the server has no password"
        )
    server = create_server(root, encoder=encoder)
    if http:
        server.run("streamable-http", host=host, port=port)
    else:
        server.run("stdio")
