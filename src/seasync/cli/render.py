"""`seasync render`: films and pictures of videos in step."""

import sys
from functools import partial as bind
from typing import Annotated, Any

import typer

import seasync
from seasync import options
from seasync.cli import output, parameters
from seasync.cli.parameters import OUTPUT, output_option
from seasync.errors import RenderError
from seasync.files import Location, expect_writable

FILMS = options.suffixes(options.VideoFormat)
ANIMATIONS = options.suffixes(options.AnimationFormat)
PICTURES = options.suffixes(options.PictureFormat)
EXAMPLES = {
    "render": """\
seasync render mine.mp4 reference.mp4 --to sync.mp4

seasync render mine.mp4 a.mp4 b.mp4 c.mp4 --layout grid --to all.mp4

seasync render mine.mp4 reference.mp4 --layout retime --to retimed.mp4"""
}


def render(
    query: parameters.QueryFile,
    matches: Annotated[
        list[Location],
        parameters.file_argument("MATCH…", "The other video, by path or URI. Several for a grid."),
    ],
    *,
    to: Annotated[
        Location,
        parameters.file_option(
            f"The file to write: a film ({' '.join(FILMS)}), an animation ({' '.join(ANIMATIONS)}) or a "
            f"picture ({' '.join(PICTURES)})."
        ),
    ],
    layout: Annotated[
        options.Layout,
        typer.Option(
            help="`side` by side, `stack`ed, `overlay`, `retime` (the match alone), `grid` (many matches), "
            "or `curve` (a picture of the warp)."
        ),
    ] = "side",
    keep: parameters.Keep = "query",
    audio: Annotated[
        options.Audio | None,
        output_option(show_default="query; match with --layout retime", help="Whose sound to use."),
    ] = None,
    smooth: Annotated[
        options.Smooth,
        output_option(
            help="Frames along the warp: the `nearest`, a `blend` of two, or in `pieces` of even speed."
        ),
    ] = "nearest",
    gaps: Annotated[
        options.Gaps,
        output_option(
            help="Frames without a counterpart: `dim` the other video, `skip` them, or play them `alone`."
        ),
    ] = "dim",
    labels: Annotated[bool, output_option(help="Show names, time codes and DRAQ. Not if retimed.")] = True,
    marks: Annotated[
        Location | None,
        parameters.file_option("CSV of key moments or phases of the kept video, to show by name.", OUTPUT),
    ] = None,
    size: Annotated[
        str | None,
        output_option(
            metavar="WIDTHxHEIGHT", show_default="as the sources", help="Fit the film into this size."
        ),
    ] = None,
    codec: Annotated[
        str | None,
        output_option(show_default="H.264; VP9 for .webm", help="Video encoder, by FFmpeg's name."),
    ] = None,
    crf: Annotated[
        int,
        output_option(min=0, max=63, help="Picture quality. Lower is better and larger."),
    ] = 18,
    how: parameters.PairOptions,
) -> None:
    """Make a film of videos in step, or a picture of how they align."""
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
    shown = seasync.render.read_marks(marks, kept) if marks else ()
    alignments = [how.align(query, match) for match in matches]
    if to.suffix.lower() in PICTURES:
        _draw(alignments, to, layout, keep)
    else:
        with output.progress(to.name) as show:
            film: dict[str, Any] = {"smooth": smooth, "size": fitted, "codec": codec, "crf": crf}
            film["audio"] = audio or ("match" if layout == "retime" else "query")
            film["progress"] = bind(show, to.name)
            if layout == "retime":
                seasync.render.retime(alignments[0], to, keep=keep, gaps=gaps, **film)
            elif layout == "grid":
                seasync.render.grid(alignments, to, labels=labels, marks=shown, **film)
            elif layout != "curve":
                film |= {"labels": labels, "marks": shown}
                seasync.render.compare(alignments[0], to, layout=layout, keep=keep, gaps=gaps, **film)
    print(to)
    for alignment in alignments:
        named = f"{alignment.match.name}: " if len(alignments) > 1 and alignment.match else ""
        output.print_lines((f"{named}{line}" for line in output.summary(alignment)), sys.stderr)


def _draw(
    alignments: list["seasync.Alignment"], to: Location, layout: options.Layout, keep: options.Side
) -> None:
    if layout == "grid":
        seasync.render.contact_sheet(alignments, to)
    elif layout == "curve":
        seasync.render.warp_picture(alignments[0], to, keep=keep)
    else:
        seasync.render.alignment_picture(alignments[0], to)


def _expect_name(to: Location, layout: options.Layout) -> None:
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
