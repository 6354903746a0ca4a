"""`seasync align`: two videos in step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import print_bold, print_table, summary
from seasync.cli.parameters import (
    OUTPUT,
    Anchors,
    Device,
    EncoderName,
    End,
    Json,
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

if TYPE_CHECKING:
    from seasync.alignment import Alignment

EXAMPLES = """\
seasync align mine.mp4 reference.mp4

seasync align mine.mp4 reference.mp4 --anchor 1.2=3.4 --picture both.png"""


def align(
    query: QueryFile,
    match: MatchFile,
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
    picture: Annotated[
        Location | None,
        typer.Option(
            parser=path_or_uri,
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Draw the cost matrix, the path and both videos into this .png or .svg file.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Align two videos of the same action.

    Prints the verdict, DRAQ, and a table of moments that belong together.
    """
    if picture:
        from seasync.errors import RenderError
        from seasync.files import expect_writable

        expect_writable(picture, sources=[query, match], error=RenderError)  # before minutes are spent
    clips = Clip.of(query, start, end), Clip.of(match, match_start, match_end)
    alignment = align_pair(
        *clips, encoder=encoder, recipe=recipe, fps=fps, partial=partial, order=order, anchor=anchor
    )
    if picture:
        from seasync.render import alignment_picture

        alignment_picture(alignment, picture)
    if as_json:
        import json

        print(json.dumps(alignment.to_json()))
        return
    _print(alignment)
    if picture:
        print(f"picture: {picture}")


def _print(alignment: Alignment) -> None:
    import numpy as np

    verdict, *warnings = summary(alignment)
    print_bold(verdict)
    print(*warnings, sep="\n", end="\n" if warnings else "")
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
    print_table(("query", "match", "match plays at"), rows)
