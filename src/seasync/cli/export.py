"""`seasync export`: two videos in step as a timeline."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from seasync.cli.output import summary
from seasync.cli.parameters import (
    Anchors,
    Device,
    EncoderName,
    End,
    Keep,
    MatchEnd,
    MatchFile,
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
from seasync.options import TimelineFormat, suffixes

EXAMPLES = """\
seasync export mine.mp4 better.mp4 --to sync.otio

seasync export mine.mp4 better.mp4 --to frames.csv --keep match"""


def export(
    query: QueryFile,
    match: MatchFile,
    to: Annotated[
        Location,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            help=f"The file to write. Its name decides the format: {' '.join(suffixes(TimelineFormat))}.",
        ),
    ],
    keep: Keep = "query",
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
    """Write a timeline for an editing program, or a frame-by-frame map.

    The name decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro, Resolve), .edl (CMX3600),
    .mlt (Shotcut, melt), .xml (Premiere), .csv or .json (frame by frame).
    """
    from seasync.errors import RenderError
    from seasync.files import expect_writable
    from seasync.render.timelines import export as write
    from seasync.render.timelines import known_formats

    if to.suffix.lower() not in known_formats():  # before minutes are spent on aligning
        raise RenderError(f"{to}: expected a name that ends in one of {' '.join(known_formats())}")
    expect_writable(to, error=RenderError)
    clips = Clip.of(query, start, end), Clip.of(match, match_start, match_end)
    alignment = align_pair(
        *clips, encoder=encoder, recipe=recipe, fps=fps, partial=partial, order=order, anchor=anchor
    )
    for file in write(alignment, to, keep=keep):
        print(file)
    print(*summary(alignment), sep="\n", file=sys.stderr)
