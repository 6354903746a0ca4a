"""`seasync export`: two videos in step as a timeline."""

from __future__ import annotations

from pathlib import Path

import typer

from seasync.cli.options import Encoder, Order, OrderName, Partial, PartialName, RecipeName
from seasync.cli.pairing import (
    Anchors,
    End,
    MatchEnd,
    MatchFile,
    MatchStart,
    QueryFile,
    SideName,
    Start,
    aligned,
)


def export(
    query: QueryFile,
    match: MatchFile,
    to: Path = typer.Option(..., help="The file: .otio .fcpxml .edl .mlt .xml (Premiere), .csv or .json."),
    keep: SideName = typer.Option(SideName.query, help="Whose clock the timeline has."),
    encoder: Encoder = "dinov2-small",
    recipe: RecipeName = RecipeName.motion,
    partial: Partial = PartialName.auto,
    order: Order = OrderName.same,
    anchor: Anchors = [],  # noqa: B006  typer copies it
    start: Start = None,
    end: End = None,
    match_start: MatchStart = None,
    match_end: MatchEnd = None,
) -> None:
    """Write a timeline for an editing program in which the match is retimed to the query, or a frame map."""
    from seasync.errors import RenderError
    from seasync.render.timelines import FORMATS
    from seasync.render.timelines import export as write

    if to.suffix.lower() not in FORMATS:  # before minutes are spent on aligning
        raise RenderError(f"{to}: expected a name that ends in one of {' '.join(FORMATS)}")
    alignment = aligned(
        query,
        match,
        encoder=encoder,
        recipe=recipe,
        partial=partial,
        order=order,
        anchors=anchor,
        span=(start, end),
        match_span=(match_start, match_end),
    )
    for file in write(alignment, to, keep=keep.value):
        print(file)
