"""`seasync render`: films and pictures of videos in step."""

from __future__ import annotations

import sys
from functools import partial as bind
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import progress, summary
from seasync.cli.parameters import (
    OUTPUT,
    Anchors,
    Device,
    EncoderName,
    End,
    Keep,
    MatchEnd,
    MatchStart,
    OrderChoice,
    PairFps,
    PartialChoice,
    QueryFile,
    Recipe,
    Start,
    StorageOptions,
    align_pair,
    path_or_uri,
)
from seasync.clip import Clip
from seasync.files import Location
from seasync.options import (
    AnimationFormat,
    Audio,
    Gaps,
    Layout,
    PictureFormat,
    Side,
    Smooth,
    VideoFormat,
    suffixes,
)

if TYPE_CHECKING:
    from seasync.alignment import Alignment

FILMS, ANIMATIONS, PICTURES = suffixes(VideoFormat), suffixes(AnimationFormat), suffixes(PictureFormat)
EXAMPLES = """\
seasync render mine.mp4 reference.mp4 --to sync.mp4

seasync render mine.mp4 a.mp4 b.mp4 c.mp4 --layout grid --to all.mp4

seasync render mine.mp4 reference.mp4 --layout retime --to retimed.mp4"""


def render(
    query: QueryFile,
    matches: Annotated[
        list[Location],
        typer.Argument(
            parser=path_or_uri, metavar="MATCH…", help="The other video, by path or URI. Several for a grid."
        ),
    ],
    to: Annotated[
        Location,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            help=f"The file to write: a film ({' '.join(FILMS)}), an animation ({' '.join(ANIMATIONS)}) or a "
            f"picture ({' '.join(PICTURES)}).",
        ),
    ],
    layout: Annotated[
        Layout,
        typer.Option(
            help="`side` by side, `stack`ed, `overlay`, `retime` (the match alone), `grid` (many matches), "
            "or `curve` (a picture of the warp)."
        ),
    ] = "side",
    keep: Keep = "query",
    audio: Annotated[
        Audio | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            show_default="query; match with --layout retime",
            help="Whose sound to use.",
        ),
    ] = None,
    smooth: Annotated[
        Smooth,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Frames along the warp: the `nearest`, a `blend` of two, or in `pieces` of even speed.",
        ),
    ] = "nearest",
    gaps: Annotated[
        Gaps,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Frames without a counterpart: `dim` the other video, `skip` them, or play them `alone`.",
        ),
    ] = "dim",
    labels: Annotated[
        bool, typer.Option(rich_help_panel=OUTPUT, help="Show names, time codes and DRAQ. Not if retimed.")
    ] = True,
    marks: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="CSV of key moments or phases of the kept video, to show by name.",
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT",
            rich_help_panel=OUTPUT,
            show_default="as the sources",
            help="Fit the film into this size.",
        ),
    ] = None,
    codec: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            show_default="H.264; VP9 for .webm",
            help="Video encoder, by FFmpeg's name.",
        ),
    ] = None,
    crf: Annotated[
        int,
        typer.Option(
            min=0, max=63, rich_help_panel=OUTPUT, help="Picture quality. Lower is better and larger."
        ),
    ] = 18,
    encoder: EncoderName = "dinov2-small",
    recipe: Recipe = "motion",
    fps: PairFps = None,
    partial: PartialChoice = "auto",
    order: OrderChoice = "same",
    anchor: Anchors = None,
    start: Start = None,
    end: End = None,
    match_start: MatchStart = None,
    match_end: MatchEnd = None,
    device: Device = None,
    storage_option: StorageOptions = None,
) -> None:
    """Make a film of videos in step, or a picture of how they align."""
    from seasync import render as room
    from seasync.errors import RenderError
    from seasync.files import expect_writable
    from seasync.video.writer import expect_codec

    if len(matches) > 1 and layout != "grid":
        raise typer.BadParameter(f"{len(matches)} matches need --layout grid")
    _expect_name(to, layout)
    # Everything that can be wrong is reported before minutes are spent on aligning.
    expect_writable(to, sources=[query, *matches], error=RenderError)
    fitted = _size(size)
    if codec is not None:
        expect_codec(codec, to)
    if marks and layout == "retime":
        raise typer.BadParameter("--marks: a retimed film shows no marks; choose another --layout")
    kept = query if keep == "query" or layout == "grid" else matches[0]
    shown = room.read_marks(marks, kept) if marks else ()
    asked = Clip.of(query, start, end)
    alignments = []
    for match in matches:
        clips = asked, Clip.of(match, match_start, match_end)
        alignments.append(
            align_pair(
                *clips, encoder=encoder, recipe=recipe, fps=fps, partial=partial, order=order, anchor=anchor
            )
        )
    if to.suffix.lower() in PICTURES:
        _draw(alignments, to, layout, keep)
    else:
        sound: Audio = audio or ("match" if layout == "retime" else "query")
        with progress(to.name) as show:
            frames = bind(show, to.name)
            if layout == "retime":
                room.retime(
                    alignments[0], to, keep=keep, audio=sound, smooth=smooth, gaps=gaps, size=fitted,
                    codec=codec, crf=crf, progress=frames,
                )  # fmt: skip
            elif layout == "grid":
                room.grid(
                    alignments, to, audio=sound, smooth=smooth, labels=labels, marks=shown, size=fitted,
                    codec=codec, crf=crf, progress=frames,
                )  # fmt: skip
            elif layout != "curve":
                room.compare(
                    alignments[0], to, layout=layout, keep=keep, audio=sound, smooth=smooth, gaps=gaps,
                    labels=labels, marks=shown, size=fitted, codec=codec, crf=crf, progress=frames,
                )  # fmt: skip
    print(to)
    for alignment in alignments:
        named = f"{alignment.match.name}: " if len(alignments) > 1 and alignment.match else ""
        print(*(f"{named}{line}" for line in summary(alignment)), sep="\n", file=sys.stderr)


def _draw(alignments: list[Alignment], to: Location, layout: Layout, keep: Side) -> None:
    from seasync import render as room

    if layout == "grid":
        room.contact_sheet(alignments, to)
    elif layout == "curve":
        room.warp_picture(alignments[0], to, keep=keep)
    else:
        room.alignment_picture(alignments[0], to)


def _expect_name(to: Location, layout: Layout) -> None:
    """The layouts differ in what they can become: all but the curve a film, some of these an animation."""
    names = {"curve": PICTURES, "retime": FILMS, "grid": (*FILMS, *PICTURES)}
    fitting = names.get(layout, (*FILMS, *ANIMATIONS, *PICTURES))
    if to.suffix.lower() not in fitting:
        raise typer.BadParameter(
            f"--to {to}: with --layout {layout} expected a name that ends in one of {' '.join(fitting)}"
        )


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) > 1 and int(height) > 1):
        raise typer.BadParameter(f"--size {text}: expected WIDTHxHEIGHT, such as 1920x1080")
    return int(width), int(height)
