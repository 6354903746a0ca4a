"""`seasync export`: two videos in step as a timeline."""

from __future__ import annotations

import typer

from seasync.cli.pairing import How, MatchFile, QueryFile, SideName
from seasync.cli.spread import spread
from seasync.files import Location


@spread
def export(
    query: QueryFile,
    match: MatchFile,
    to: Location = typer.Option(
        ...,
        parser=Location,
        metavar="FILE",
        help="The file: .otio .fcpxml .edl .mlt .xml (Premiere), .csv or .json.",
    ),
    keep: SideName = typer.Option(SideName.query, help="Whose clock the timeline has."),
    *,
    how: How,
) -> None:
    """Write a timeline for an editing program, or a frame map. The match is retimed to the query."""
    from seasync.errors import RenderError
    from seasync.files import expect_writable
    from seasync.render.timelines import FORMATS
    from seasync.render.timelines import export as write

    if to.suffix.lower() not in FORMATS:  # before minutes are spent on aligning
        raise RenderError(f"{to}: expected a name that ends in one of {' '.join(FORMATS)}")
    expect_writable(to, error=RenderError)
    alignment = how.align(query, match)
    for file in write(alignment, to, keep=keep.value):
        print(file)
