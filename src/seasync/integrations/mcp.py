"""An MCP server: assistants search, align, find, group, render and export with it.

`create_server(["videos"]).run("stdio")` is what `seasync mcp` does. Needs the extra `mcp`. Each tool works in
a thread and reports progress; one tool works at a time, because one fills all cores.
"""

import inspect
import os
import time
from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import seasync
from seasync.errors import MissingExtra, SeasyncError, ServeError
from seasync.group.clock import clips_in
from seasync.integrations import moments_in_step
from seasync.options import PairLayout, Side

try:
    from anyio import Lock, from_thread, to_thread
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field

    from seasync.serve.security import Roots
except ModuleNotFoundError as error:
    raise MissingExtra("mcp", "seasync mcp") from error

Show = Callable[[str, float, float], None]
Answer = dict[str, Any]
SECONDS_BETWEEN_REPORTS = 0.5

Video = Annotated[str, Field(description="A video below an allowed folder, by path.")]
From = Annotated[float | None, Field(description="Start of the part to use, in seconds.")]
To = Annotated[float | None, Field(description="End of the part to use, in seconds.")]
Count = Annotated[int, Field(ge=1, le=100, description="How many results at most.")]
Films = Annotated[list[str], Field(min_length=1, description="Long videos to look in, by path.")]
Takes = Annotated[list[str], Field(min_length=1, description="Videos, or folders of videos.")]
NewFilm = Annotated[str, Field(description="The new film: .mp4, .mov, .mkv, .webm, .webp or .gif.")]
NewFile = Annotated[str, Field(description="The new file: .otio .fcpxml .edl .mlt .xml .csv or .json.")]
Kept = Annotated[Side, Field(description="Whose timing stays as it is.")]


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
    SeasyncError
        If one of the folders does not exist.
    """
    missing = [root for root in roots if "://" not in root and not Path(root).is_dir()]
    if missing or not roots:
        raise SeasyncError(f"--root {missing[0] if missing else ''}: expected a folder that exists")
    folders = Roots(roots)
    server = MCPServer(
        "seasync",
        version=seasync.__version__,
        instructions="Finds videos that move in step with another and synchronizes them frame by frame. "
        "DRAQ says how well two videos align: 0 is perfect, 1 is chance. "
        f"Files must lie below: {', '.join(folders.all)}.",
        log_level="WARNING",
    )
    tools, turn = Tools(folders, encoder), Lock()
    for tool in (tools.search, tools.align, tools.find, tools.group, tools.render, tools.export):
        server.add_tool(_in_turn(tool, turn))
    return server


class Tools:
    """The tools; their docstrings are what an assistant reads.

    Nothing outside of the folders that were named when the server was started is read or written.
    """

    def __init__(self, folders: Roots, encoder: str) -> None:
        self._folders = folders
        self._encoder = encoder

    def search(
        self,
        show: Show,
        query: Video,
        sea: Annotated[str, Field(description="The sea (library of clips) to search: a folder by path.")],
        k: Count = 10,
        start: From = None,
        end: To = None,
        label: Annotated[str | None, Field(description="Only clips with this label.")] = None,
    ) -> Answer:
        """Find the clips of a sea that move in step with a video, best first."""
        asked, library = self._clip(query, start, end), seasync.Sea(self._existing(sea), create=False)
        show("searching", 0, 0)
        return library.search(asked, k=k, label=label).to_json()

    def align(
        self,
        show: Show,
        query: Video,
        match: Video,
        query_start: From = None,
        query_end: To = None,
        match_start: From = None,
        match_end: To = None,
    ) -> Answer:
        """Say which moment of one video goes with which moment of another, and how well the two align."""
        clips = self._clip(query, query_start, query_end), self._clip(match, match_start, match_end)
        return described(self._align(*clips, show))

    def find(
        self, show: Show, query: Video, films: Films, k: Count = 5, start: From = None, end: To = None
    ) -> Answer:
        """Find the stretches of long videos that move in step with a short one, best first."""
        asked, places = self._clip(query, start, end), [self._existing(film) for film in films]
        found = seasync.find(asked, places, k=k, encoder=self._encoder, progress=show)
        return {"found": [each.to_json(rank) for rank, each in enumerate(found, 1)]}

    def group(self, show: Show, reference: Video, takes: Takes) -> Answer:
        """Put several takes of one movement on one clock and say how each differs from the others."""
        first = self._existing(reference)
        # What a link in a folder leads to is checked like any other file.
        inside = [clip for take in takes for clip in clips_in(self._existing(take))]
        clips = [self._clip(clip.file) for clip in inside]
        found = seasync.align_group(first, clips, encoder=self._encoder, progress=show)
        values = found.to_json()
        off = [
            {"file": take.clip.file, "seconds_off_the_group": round(distance, 3)}
            for take, distance in found.outliers()
        ]
        return {name: values[name] for name in ("reference", "takes", "left_out")} | {"outliers": off}

    def render(
        self,
        show: Show,
        query: Video,
        match: Video,
        to: NewFilm,
        layout: PairLayout = "side",
        keep: Kept = "query",
    ) -> Answer:
        """Make a film of two videos in step. Never overwrites a file."""
        clips, target = (self._clip(query), self._clip(match)), self._new(to)
        alignment = self._align(*clips, show)
        writing = partial(show, "writing the film")
        seasync.render.compare(alignment, target, layout=layout, keep=keep, progress=writing)
        return described(alignment) | {"file": target}

    def export(self, show: Show, query: Video, match: Video, to: NewFile, keep: Kept = "query") -> Answer:
        """Write a timeline of two videos in step, for editing programs. Never overwrites a file."""
        clips, target = (self._clip(query), self._clip(match)), self._new(to)
        alignment = self._align(*clips, show)
        written = seasync.render.export(alignment, target, keep=keep)
        return described(alignment) | {"files": [str(file) for file in written]}

    def _align(self, query: seasync.Clip, match: seasync.Clip, show: Show) -> seasync.Alignment:
        return seasync.align(query, match, encoder=self._encoder, progress=show)

    def _clip(self, file: str, start: float | None = None, end: float | None = None) -> seasync.Clip:
        return seasync.Clip.of(self._existing(file), start, end)

    def _existing(self, file: str) -> str:
        """The real path or the URI of a file or folder inside. Links are followed first."""
        try:
            return self._folders.resolve(file)
        except ServeError:
            allowed = ", ".join(self._folders.all)
            raise SeasyncError(f"{file[:200]!r}: not found in the allowed folders ({allowed})") from None

    def _new(self, file: str) -> str:
        """Where a new file inside may be written. What exists is never overwritten."""
        place = Path(file)
        if "://" in file or place.name in ("", ".", ".."):
            raise SeasyncError(f"{file[:200]!r}: expected a file name in one of the allowed folders")
        has_folder = place.is_absolute() or place.parent != Path()
        target = Path(self._existing(str(place.parent) if has_folder else self._folders.all[0])) / place.name
        if os.path.lexists(target):
            raise SeasyncError(f"{target}: exists already; choose another name")
        return str(target)


def _in_turn(work: Callable[..., Answer], turn: Lock) -> Callable[..., Any]:
    """A tool as the SDK wants it, with a `context` in the place of `show`.

    It works in a thread, when no other tool does; progress goes to the client, whose cancellation ends the
    work. Expected errors reach the assistant in their own words; others only by the log.
    """
    signature = inspect.signature(work, eval_str=True)
    show, *others = signature.parameters.values()
    context = show.replace(name="context", annotation=Context)

    @wraps(work)
    async def call(context: Context, **given: Any) -> Answer:
        show = reporter(context.report_progress)
        try:
            async with turn:
                return await to_thread.run_sync(lambda: work(show, **given))
        except (SeasyncError, OSError) as error:
            raise ToolError(str(error)) from error

    call.__signature__ = signature.replace(parameters=[context, *others])  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in (context, *others)} | {"return": Answer}
    return call


def reporter(report: Callable[..., Any]) -> Show:
    """A function that reports from a worker thread, now and then.

    MCP wants progress that only grows, so seconds of footage add up over all videos of a task.
    """
    before, last, reported = 0.0, 0.0, -SECONDS_BETWEEN_REPORTS

    def show(what: str, done: float, total: float) -> None:
        nonlocal before, last, reported
        from_thread.check_cancelled()
        if done < last:
            before += last
        last = done
        if time.monotonic() - reported >= SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            said = f"{what}, {done / total:.0%}" if total else what
            from_thread.run(report, before + done, None, said)

    return show


def described(alignment: seasync.Alignment) -> Answer:
    """How well two videos align, and ten pairs of moments that belong together."""
    pairs = moments_in_step(alignment.warp(keep="query").stretches[:3], 10)
    return {
        "summary": alignment.summary,
        "alignable": alignment.alignable,
        "draq": round(alignment.draq, 4),
        "warnings": list(alignment.warnings),
        "moments": [{"query": round(at, 3), "match": round(shown, 3)} for at, shown in pairs],
    }
