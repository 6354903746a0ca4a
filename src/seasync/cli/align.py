"""`seasync align`: two videos in step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.output import print_bold, print_table, summary
from seasync.cli.pairing import align_pair
from seasync.cli.parameters import (
    OUTPUT,
    Anchors,
    EncoderName,
    End,
    Fps,
    Json,
    MatchEnd,
    MatchFile,
    MatchStart,
    OrderChoice,
    PartialChoice,
    QueryFile,
    Recipe,
    Start,
    StorageOptions,
    path_or_uri,
)
from seasync.clip import Clip
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.align import Alignment, Warp

EXAMPLES = """\
seasync align mine.mp4 reference.mp4

seasync align mine.mp4 reference.mp4 --anchor 1.2=3.4 --picture both.png"""


def align(
    query: QueryFile,
    match: MatchFile,
    encoder: EncoderName = "dinov2-small",
    recipe: Recipe = "motion",
    fps: Fps = None,
    partial: PartialChoice = "auto",
    order: OrderChoice = "same",
    anchor: Anchors = None,
    start: Start = None,
    end: End = None,
    match_start: MatchStart = None,
    match_end: MatchEnd = None,
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
    verdict, *warnings = summary(alignment)
    print_bold(verdict)
    print(*warnings, sep="\n", end="\n" if warnings else "")
    print(f"path cost {alignment.dtw_cost:.2f}, random paths cost {alignment.random_cost:.2f}")
    print_table(("query", "match", "match plays at"), moments(alignment.warp(keep="query")))


def moments(warp: Warp, about: int = 9) -> list[tuple[str, str, str]]:
    """About so many moments of the query with their partners, piece by piece, and the speed after each."""
    import numpy as np

    rows = []
    covered = sum(end - start for start, end in warp.spans)
    for piece in warp.stretches:
        count = max(2, round(about * (piece.end - piece.start) / max(covered, 1e-9)))
        times = np.linspace(piece.start, piece.end, count)
        partners = piece.at(times)  # by the piece itself: its end may be where the next one begins
        speeds = [f"{speed:.0%} speed" for speed in np.diff(partners) / np.diff(times).clip(1e-9)]
        for time, partner, speed in zip(times, partners, [*speeds, "–"], strict=True):
            rows.append((f"{time:7.2f} s", f"{partner:7.2f} s", speed))
    return rows
