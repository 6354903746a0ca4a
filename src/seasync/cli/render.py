"""`seasync render`: films and pictures of videos in step."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Any

import typer

from seasync.cli.pairing import How, QueryFile, SideName
from seasync.cli.progress import progress
from seasync.cli.spread import spread
from seasync.files import Location


class LayoutName(StrEnum):
    side = "side"
    stack = "stack"
    overlay = "overlay"
    retime = "retime"
    grid = "grid"
    curve = "curve"


class AudioName(StrEnum):
    query = "query"
    match = "match"
    mix = "mix"
    none = "none"


class SmoothName(StrEnum):
    nearest = "nearest"
    blend = "blend"
    pieces = "pieces"


class GapsName(StrEnum):
    dim = "dim"
    skip = "skip"
    alone = "alone"


@spread
def render(
    query: QueryFile,
    matches: list[Location] = typer.Argument(
        parser=Location, help="The video in step with it; several for a grid. Paths or URIs."
    ),
    to: Location = typer.Option(
        ...,
        parser=Location,
        metavar="FILE",
        help="Film (.mp4 .mov .mkv .webm), animation (.webp .gif) or picture (.png .svg).",
    ),
    layout: LayoutName = typer.Option(
        LayoutName.side, help="What the film shows; curve: a picture of the warp."
    ),
    keep: SideName = typer.Option(SideName.query, help="Whose clock the film has."),
    audio: AudioName = typer.Option(None, help="Whose sound; default: the query's, the match's if retimed."),
    smooth: SmoothName = typer.Option(SmoothName.nearest, help="How frames are picked along the warp."),
    gaps: GapsName = typer.Option(GapsName.dim, help="What becomes of frames without partner; a grid dims."),
    labels: bool = typer.Option(True, help="Names, time codes and DRAQ on the picture, but if retimed."),
    marks: Location | None = typer.Option(
        None,
        parser=Location,
        metavar="FILE",
        help="CSV of key moments or phases of the kept video, shown by name.",
    ),
    size: str = typer.Option(None, help="WIDTHxHEIGHT to fit the film into; default: the sources' own."),
    codec: str = typer.Option(
        None, help="FFmpeg's name of the video encoder; default: H.264, VP9 for .webm."
    ),
    crf: int = typer.Option(18, help="Quality of the picture; lower is better and larger.", min=0, max=63),
    *,
    how: How,
) -> None:
    """Film videos in step, or draw how they align. Side by side, stacked, overlaid, retimed, as a grid."""
    from seasync import render as room
    from seasync.errors import RenderError
    from seasync.files import expect_writable
    from seasync.video.writer import expect_codec

    if len(matches) > 1 and layout is not LayoutName.grid:
        raise typer.BadParameter(f"{len(matches)} matches need --layout grid")
    _expect_name(to, layout)
    # All that can be wrong is told before minutes are spent on aligning.
    expect_writable(to, sources=[query, *matches], error=RenderError)
    options: dict[str, Any] = {"smooth": smooth.value, "codec": codec, "crf": crf, "size": _size(size)}
    if codec is not None:
        expect_codec(codec, to)
    if audio is not None:
        options["audio"] = audio.value
    if layout is not LayoutName.retime:
        kept = query if keep is SideName.query or layout is LayoutName.grid else matches[0]
        options |= {"labels": labels, "marks": room.read_marks(marks, kept) if marks else ()}
    elif marks:
        raise typer.BadParameter("--marks: a retimed film is the bare match; expected another --layout")
    alignments = [how.align(query, match) for match in matches]
    if to.suffix.lower() in (".png", ".svg"):
        _draw(alignments, to, layout, keep)
        return
    with progress(to.name) as show:
        options["progress"] = partial(show, to.name)
        if layout is LayoutName.grid:
            room.grid(alignments, to, **options)
        elif layout is LayoutName.retime:
            room.retime(alignments[0], to, keep=keep.value, gaps=gaps.value, **options)
        else:
            options["layout"] = layout.value
            room.compare(alignments[0], to, keep=keep.value, gaps=gaps.value, **options)
    print(to)


def _draw(alignments: list[Any], to: Location, layout: LayoutName, keep: SideName) -> None:
    from seasync import render as room

    if layout is LayoutName.grid:
        room.contact_sheet(alignments, to)
    elif layout is LayoutName.curve:
        room.warp_picture(alignments[0], to, keep=keep.value)
    else:
        room.alignment_picture(alignments[0], to)
    print(to)


def _expect_name(to: Location, layout: LayoutName) -> None:
    """The layouts differ in what they can become: all but the curve a film, some of these an animation."""
    films, pictures = [".mp4", ".mov", ".mkv", ".webm", ".m4v"], [".png", ".svg"]
    names = {LayoutName.curve: pictures, LayoutName.retime: films, LayoutName.grid: [*films, *pictures]}
    fitting = names.get(layout, [*films, ".webp", ".gif", *pictures])
    if to.suffix.lower() not in fitting:
        raise typer.BadParameter(
            f"--to {to}: with --layout {layout.value} expected a name in {' '.join(fitting)}"
        )


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) > 1 and int(height) > 1):
        raise typer.BadParameter(f"--size {text}: expected WIDTHxHEIGHT, such as 1920x1080")
    return int(width), int(height)
