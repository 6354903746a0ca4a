"""`seasync align`, `export`, `transfer` and `render`: two videos in step, and what that is good for."""

import sys
from functools import partial as bind
from typing import TYPE_CHECKING, Annotated, Any

import typer

import seasync
from seasync import options
from seasync.cli import output, parameters
from seasync.cli.output import print
from seasync.cli.parameters import OUTPUT, output_option
from seasync.errors import DataError, RenderError
from seasync.files import Location, expect_writable

if TYPE_CHECKING:
    from seasync.group import CarriedMarks

TIMELINES = options.suffixes(options.TimelineFormat)
FILMS = options.suffixes(options.VideoFormat)
ANIMATIONS = options.suffixes(options.AnimationFormat)
PICTURES = options.suffixes(options.PictureFormat)
MARKS_SHOWN = 3  # of a clip
DOUBTFUL_SHOWN = 10


def align(
    query: parameters.QueryFile,
    match: parameters.MatchFile,
    how: parameters.PairOptions,
    picture: Annotated[
        Location | None,
        parameters.file_option(
            "Draw the cost matrix, the path and both videos into this .png or .svg file.", parameters.OUTPUT
        ),
    ] = None,
    as_json: parameters.Json = False,
) -> None:
    """Align two videos of the same action.

    Prints the verdict, DRAQ, and a table of moments that belong together.

    Examples:

    seasync align mine.mp4 reference.mp4

    seasync align mine.mp4 reference.mp4 --anchor 1.2=3.4 --picture both.png
    """
    if picture:
        expect_writable(picture, sources=[query, match], error=RenderError)  # before minutes are spent
    alignment = how.align(query, match)
    if picture:
        seasync.render.alignment_picture(alignment, picture)
    if as_json:
        output.print_json(alignment.to_json())
        return
    _print(alignment)
    if picture:
        print(f"picture: {picture}")


def _print(alignment: "seasync.Alignment") -> None:
    import numpy as np

    verdict, *warnings = output.summary(alignment)
    output.print_bold(verdict)
    output.print_lines(warnings)
    print(f"path cost {alignment.dtw_cost:.2f}, random paths cost {alignment.random_cost:.2f}")
    if (off := alignment.expected_error) is not None and alignment.alignable:
        print(f"usually off by about {off[0]:.2f} s, in nine of ten alignments by less than {off[1]:.2f} s")
    warp = alignment.warp(keep="query")
    rows = []
    covered = sum(last - first for first, last in warp.spans)
    for piece in warp.stretches:  # each by itself: where two touch, the moment belongs to both
        share = (piece.end - piece.start) / max(covered, 1e-9)
        moments = np.linspace(piece.start, piece.end, max(2, round(9 * share)))
        partners = piece.at(moments)
        speeds = [f"{speed:.0%} speed" for speed in np.diff(partners) / np.diff(moments).clip(1e-9)]
        for moment, partner, speed in zip(moments, partners, [*speeds, "–"], strict=True):
            rows.append((f"{moment:7.2f} s", f"{partner:7.2f} s", speed))
    output.print_table(("query", "match", "match plays at"), rows)


def export(
    query: parameters.QueryFile,
    match: parameters.MatchFile,
    *,
    to: Annotated[
        Location,
        parameters.file_option(f"The file to write. Its name decides the format: {' '.join(TIMELINES)}."),
    ],
    keep: parameters.Keep = "query",
    how: parameters.PairOptions,
) -> None:
    """Write a timeline for an editing program, or a frame-by-frame map.

    The name decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro, Resolve), .edl (CMX3600),
    .mlt (Shotcut, melt), .xml (Premiere), .csv or .json (frame by frame).

    Examples:

    seasync export mine.mp4 better.mp4 --to sync.otio

    seasync export mine.mp4 better.mp4 --to frames.csv --keep match
    """
    from seasync.render import timelines

    known = timelines.known_formats()
    if to.suffix.lower() not in known:  # before minutes are spent on aligning
        raise RenderError(f"{to}: expected a name that ends in one of {' '.join(known)}")
    expect_writable(to, error=RenderError)
    alignment = how.align(query, match)
    output.print_lines(timelines.export(alignment, to, keep=keep))
    output.print_lines(output.summary(alignment), sys.stderr)


def transfer(
    labels: Annotated[
        Location,
        parameters.file_argument(
            "LABELS", "Subtitles (.srt .vtt .ass), or a CSV of phases, key moments or frames."
        ),
    ],
    query: Annotated[Location | None, parameters.QUERY] = None,
    match: Annotated[Location | None, parameters.MATCH] = None,
    *,
    to: Annotated[Location, parameters.file_option("The file for the new labels.")],
    of: Annotated[
        options.Side,
        typer.Option(help="The video that LABELS belongs to; the new labels are for the other one."),
    ] = "query",
    sea: Annotated[
        str | None,
        typer.Option("--sea", help="Carry the marks of some of this sea's clips to all its other clips."),
    ] = None,
    label: parameters.Label = None,
    tolerance: Annotated[
        float, typer.Option(min=0.001, help="With --sea: how near a mark must be to be right, in seconds.")
    ] = 0.1,
    how: parameters.PairOptions,
    as_json: parameters.Json = False,
) -> None:
    """Carry labels, key moments or subtitles from one video to another.

    The two videos are aligned first; every label moves to the moment that corresponds to it. With `--sea`,
    the marks of a few labeled clips go to every clip of the sea that aligns, each with a confidence.

    Examples:

    seasync transfer keys.csv mine.mp4 other.mp4 --to other-keys.csv

    seasync transfer talk.srt mine.mp4 other.mp4 --to other.srt

    seasync transfer marks.csv --sea footage.sea --to all.csv
    """
    if sea is not None:
        if query is not None:
            raise typer.BadParameter("give two videos, or --sea SEA, not both")
        _over_sea(labels, sea, to, how, label=label, tolerance=tolerance, as_json=as_json)
        return
    if query is None or match is None:
        raise typer.BadParameter("give the two videos, QUERY and MATCH, or --sea SEA")
    from seasync.group import carry as room

    room.expect_labels(labels, to)  # before minutes are spent on aligning
    alignment = how.align(query, match)
    done = room.transfer(alignment, labels, to, to="match" if of == "query" else "query")
    if as_json:
        exact = {"uncertainty_seconds": alignment.typical_uncertainty}
        output.print_json({"file": str(to), "carried": done.carried, "left_out": done.left_out} | exact)
        return
    left_out = f", {done.left_out} left out without a counterpart" if done.left_out else ""
    print(f"{to}: {output.counted(done.carried, 'label')} carried{left_out}")
    if (width := alignment.typical_uncertainty) is not None:
        print(f"a typical label is certain to ±{width:.2f} s")
    output.print_lines(output.summary(alignment), sys.stderr)


def _over_sea(
    marks: Location,
    sea: str,
    to: Location,
    how: parameters.PairOptions,
    *,
    label: str | None,
    tolerance: float,
    as_json: bool,
) -> None:
    from seasync import group
    from seasync.group.carry import named_for
    from seasync.marks import write_marks
    from seasync.sea.snapshot import StoredClips

    expect_writable(to, sources=[marks], error=DataError)
    opened, recipe = parameters.open_sea(sea), parameters.recipe_named(how.recipe)
    with output.progress("carrying marks") as show:
        labeled, carried = group.carry_over_sea(
            opened, marks, label=label, recipe=recipe, tolerance_seconds=tolerance, progress=show
        )
    everyone = [(each.clip, each.marks) for each in labeled] + [(each.clip, each.marks) for each in carried]
    written = write_marks(to, named_for(StoredClips.of(opened.record.snapshot(), label=label), everyone, to))
    doubtful = group.doubtful_first(carried)
    placed = sum(bool(each.marks) for each in carried)
    if as_json:
        rows = [{"file": each.clip.file, "confidence": each.confidence} for each in doubtful]
        counts = {"labeled": len(labeled), "carried": placed}
        output.print_json({"file": str(written), **counts, "doubtful": rows})
        return
    sure = sum(each.sure for each in carried)
    known = output.counted(len(labeled), "labeled clip")
    print(f"{written}: marks of {known} carried to {output.counted(placed, 'clip')}, {sure} of them sure")
    if doubtful:
        print(f"{output.counted(len(doubtful), 'clip')} to check, the most doubtful first:")
        output.print_lines(f"  {each.clip.name}: {_doubt(each)}" for each in doubtful[:DOUBTFUL_SHOWN])
        if len(doubtful) > DOUBTFUL_SHOWN:
            print(f"  … and {len(doubtful) - DOUBTFUL_SHOWN} more (--json lists all)")


def _doubt(carried: "CarriedMarks") -> str:
    """Which marks of a clip are doubtful, such as "3 of 8 marks are not sure: finish 38%, address 42%, …"."""
    from seasync.group.carry import SURE

    if not carried.marks:
        return "no labeled clip aligns with it"
    doubtful = sorted(
        (mark for mark in carried.marks if (mark.confidence or 0.0) < SURE),
        key=lambda mark: mark.confidence or 0.0,
    )
    some = ", ".join(f"{mark.name} {mark.confidence or 0.0:.0%}" for mark in doubtful[:MARKS_SHOWN])
    more = ", …" if len(doubtful) > MARKS_SHOWN else ""
    are = "is" if len(doubtful) == 1 else "are"
    return f"{len(doubtful)} of {output.counted(len(carried.marks), 'mark')} {are} not sure: {some}{more}"


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
        int, output_option(min=0, max=63, help="Picture quality. Lower is better and larger.")
    ] = 18,
    how: parameters.PairOptions,
) -> None:
    """Make a film of videos in step, or a picture of how they align.

    Examples:

    seasync render mine.mp4 reference.mp4 --to sync.mp4

    seasync render mine.mp4 a.mp4 b.mp4 c.mp4 --layout grid --to all.mp4

    seasync render mine.mp4 reference.mp4 --layout retime --to retimed.mp4
    """
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
