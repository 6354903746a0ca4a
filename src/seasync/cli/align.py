"""`seasync align` and `seasync export`: two videos in step, as a table or as a timeline."""

import sys
from typing import Annotated

import seasync
from seasync.cli import output, parameters
from seasync.errors import RenderError
from seasync.files import Location, expect_writable
from seasync.options import TimelineFormat, suffixes

EXAMPLES = {
    "align": """\
seasync align mine.mp4 reference.mp4

seasync align mine.mp4 reference.mp4 --anchor 1.2=3.4 --picture both.png""",
    "export": """\
seasync export mine.mp4 better.mp4 --to sync.otio

seasync export mine.mp4 better.mp4 --to frames.csv --keep match""",
}


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
    if (width := alignment.typical_uncertainty) is not None:
        print(f"a typical moment is certain to ±{width:.2f} s")
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
        parameters.file_option(
            f"The file to write. Its name decides the format: {' '.join(suffixes(TimelineFormat))}."
        ),
    ],
    keep: parameters.Keep = "query",
    how: parameters.PairOptions,
) -> None:
    """Write a timeline for an editing program, or a frame-by-frame map.

    The name decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro, Resolve), .edl (CMX3600),
    .mlt (Shotcut, melt), .xml (Premiere), .csv or .json (frame by frame).
    """
    from seasync.render import timelines

    known = timelines.known_formats()
    if to.suffix.lower() not in known:  # before minutes are spent on aligning
        raise RenderError(f"{to}: expected a name that ends in one of {' '.join(known)}")
    expect_writable(to, error=RenderError)
    alignment = how.align(query, match)
    output.print_lines(timelines.export(alignment, to, keep=keep))
    output.print_lines(output.summary(alignment), sys.stderr)
