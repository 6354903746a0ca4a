"""Seasync as tools for assistants: `create_server(["videos"]).run("stdio")`, as `seasync mcp` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from seasync.errors import MissingExtra

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def create_server(roots: Sequence[str], *, encoder: str = "dinov2-small") -> MCPServer:
    """The MCP server with the tools search, align, find, group, render and export.

    Parameters
    ----------
    roots : sequence of str
        Folders. Files outside of them are neither read nor written.
    encoder : str
        Encoder of the frames. A sea has its own.

    Returns
    -------
    mcp.server.mcpserver.MCPServer

    Raises
    ------
    MissingExtra
        If the package `mcp` is not installed.
    SeasyncError
        If one of the folders does not exist.
    """
    try:
        from seasync.integrations.mcp_server import server
    except ModuleNotFoundError as error:
        raise MissingExtra("mcp", "seasync mcp") from error
    return server(roots, encoder=encoder)
