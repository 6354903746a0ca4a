"""An MCP server: assistants search, align, find, group, render and export with it.

Needs the extra `mcp`. Each tool works in a thread and reports progress; one tool works at a time, because one
fills all cores.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Annotated, Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import numpy as np
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

import seasync
from seasync.alignment import Alignment
from seasync.clip import Clip
from seasync.errors import SeasyncError
from seasync.group.takes import clips_in
from seasync.integrations.mcp_folders import AllowedFolders
from seasync.options import PairLayout, Side

Show = Callable[[str, float, float], None]
Result = TypeVar("Result")
SECONDS_BETWEEN_REPORTS = 0.5

Video = Annotated[str, Field(description="A video below an allowed folder, by path.")]
From = Annotated[float | None, Field(description="Start of the part to use, in seconds.")]
To = Annotated[float | None, Field(description="End of the part to use, in seconds.")]
Count = Annotated[int, Field(ge=1, le=100, description="How many results at most.")]


def server(roots: Sequence[str], *, encoder: str) -> MCPServer:
    """The server with its six tools; see `seasync.integrations.mcp.create_server`."""
    folders = AllowedFolders(roots)
    made = MCPServer(
        "seasync",
        version=seasync.__version__,
        instructions="Finds videos that move in step with another and synchronizes them frame by frame. "
        "DRAQ says how well two videos align: 0 is perfect, 1 is chance. "
        f"Files must lie below: {', '.join(folders.names)}.",
        log_level="WARNING",
    )
    tools = Tools(folders, encoder)
    for tool in (tools.search, tools.align, tools.find, tools.group, tools.render, tools.export):
        made.add_tool(_with_plain_errors(tool))
    return made


class Tools:
    """The tools; their docstrings are what an assistant reads."""

    def __init__(self, folders: AllowedFolders, encoder: str) -> None:
        self._folders = folders
        self._encoder = encoder
        self._turn = anyio.Lock()

    async def search(
        self,
        context: Context,
        query: Video,
        sea: Annotated[str, Field(description="The sea (library of clips) to search: a folder by path.")],
        k: Count = 10,
        start: From = None,
        end: To = None,
        label: Annotated[str | None, Field(description="Only clips with this label.")] = None,
    ) -> dict[str, Any]:
        """Find the clips of a sea that move in step with a video, best first."""
        asked = self._clip(query, start, end)
        library = self._folders.existing(sea)

        def work(show: Show) -> dict[str, Any]:
            show("searching", 0, 0)
            return seasync.Sea(library, create=False).search(asked, k=k, label=label).to_json()

        return await self._run(context, work)

    async def align(
        self,
        context: Context,
        query: Video,
        match: Video,
        query_start: From = None,
        query_end: To = None,
        match_start: From = None,
        match_end: To = None,
    ) -> dict[str, Any]:
        """Say which moment of one video goes with which moment of another, and how well the two align."""
        clips = self._clip(query, query_start, query_end), self._clip(match, match_start, match_end)
        return await self._run(context, lambda show: described(self._align(*clips, show)))

    async def find(
        self,
        context: Context,
        query: Video,
        films: Annotated[list[str], Field(min_length=1, description="Long videos to look in, by path.")],
        k: Count = 5,
        start: From = None,
        end: To = None,
    ) -> dict[str, Any]:
        """Find the stretches of long videos that move in step with a short one, best first."""
        asked = self._clip(query, start, end)
        places = [self._folders.existing(film) for film in films]

        def work(show: Show) -> dict[str, Any]:
            found = seasync.find(asked, places, k=k, encoder=self._encoder, progress=show)
            return {"found": [each.to_json(rank) for rank, each in enumerate(found, 1)]}

        return await self._run(context, work)

    async def group(
        self,
        context: Context,
        reference: Video,
        takes: Annotated[list[str], Field(min_length=1, description="Videos, or folders of videos.")],
    ) -> dict[str, Any]:
        """Put several takes of one movement on one clock and say how each differs from the others."""
        first = self._folders.existing(reference)
        # What a link in a folder leads to is checked like any other file.
        inside = [clip for take in takes for clip in clips_in(self._folders.existing(take))]
        clips = [self._clip(clip.file) for clip in inside]

        def work(show: Show) -> dict[str, Any]:
            found = seasync.align_group(first, clips, encoder=self._encoder, progress=show)
            values = found.to_json()
            off = [
                {"file": take.clip.file, "seconds_off_the_group": round(distance, 3)}
                for take, distance in found.outliers()
            ]
            return {name: values[name] for name in ("reference", "takes", "left_out")} | {"outliers": off}

        return await self._run(context, work)

    async def render(
        self,
        context: Context,
        query: Video,
        match: Video,
        to: Annotated[str, Field(description="The new film: .mp4, .mov, .mkv, .webm, .webp or .gif.")],
        layout: PairLayout = "side",
        keep: Annotated[Side, Field(description="Whose timing stays as it is.")] = "query",
    ) -> dict[str, Any]:
        """Make a film of two videos in step. Never overwrites a file."""
        clips, target = (self._clip(query), self._clip(match)), self._folders.new(to)

        def work(show: Show) -> dict[str, Any]:
            alignment = self._align(*clips, show)
            seasync.render.compare(
                alignment,
                target,
                layout=layout,
                keep=keep,
                progress=lambda done, total: show("writing the film", done, total),
            )
            return described(alignment) | {"file": target}

        return await self._run(context, work)

    async def export(
        self,
        context: Context,
        query: Video,
        match: Video,
        to: Annotated[str, Field(description="The new file: .otio .fcpxml .edl .mlt .xml .csv or .json.")],
        keep: Annotated[Side, Field(description="Whose timing stays as it is.")] = "query",
    ) -> dict[str, Any]:
        """Write a timeline of two videos in step, for editing programs. Never overwrites a file."""
        clips, target = (self._clip(query), self._clip(match)), self._folders.new(to)

        def work(show: Show) -> dict[str, Any]:
            alignment = self._align(*clips, show)
            written = seasync.render.export(alignment, target, keep=keep)
            return described(alignment) | {"files": [str(file) for file in written]}

        return await self._run(context, work)

    def _clip(self, file: str, start: float | None = None, end: float | None = None) -> Clip:
        return Clip.of(self._folders.existing(file), start, end)

    def _align(self, query: Clip, match: Clip, show: Show) -> Alignment:
        return seasync.align(query, match, encoder=self._encoder, progress=show)

    async def _run(self, context: Context, work: Callable[[Show], Result]) -> Result:
        """Work in a thread, in turn; progress goes to the client, whose cancellation ends the work."""
        async with self._turn:
            return await anyio.to_thread.run_sync(work, reporter(context.report_progress))


def _with_plain_errors(tool: Callable[..., Awaitable[Result]]) -> Callable[..., Awaitable[Result]]:
    """The tool, whose expected errors reach the assistant in their own words; others only by the log."""

    @wraps(tool)
    async def call(*arguments: Any, **named: Any) -> Result:
        try:
            return await tool(*arguments, **named)
        except (SeasyncError, OSError) as error:
            raise ToolError(str(error)) from error

    return call


def reporter(report: Callable[..., Any]) -> Show:
    """A function that reports from a worker thread, now and then.

    MCP wants progress that only grows, so seconds of footage add up over all videos of a task.
    """
    before, last, reported = 0.0, 0.0, -SECONDS_BETWEEN_REPORTS

    def show(what: str, done: float, total: float) -> None:
        nonlocal before, last, reported
        anyio.from_thread.check_cancelled()
        if done < last:
            before += last
        last = done
        if time.monotonic() - reported >= SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            said = f"{what}, {done / total:.0%}" if total else what
            anyio.from_thread.run(report, before + done, None, said)

    return show


def described(alignment: Alignment) -> dict[str, Any]:
    """How well two videos align, and ten pairs of moments that belong together."""
    pieces = alignment.warp(keep="query").stretches[:3]
    moments = [np.linspace(piece.start, piece.end, 10) for piece in pieces]
    partners = [piece.at(at) for piece, at in zip(pieces, moments, strict=True)]
    pairs = zip(np.concatenate(moments).tolist(), np.concatenate(partners).tolist(), strict=True)
    return {
        "summary": alignment.summary,
        "alignable": alignment.alignable,
        "draq": round(alignment.draq, 4),
        "warnings": list(alignment.warnings),
        "moments": [{"query": round(at, 3), "match": round(shown, 3)} for at, shown in pairs],
    }
