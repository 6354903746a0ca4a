"""`seasync align`: two videos in step."""

from __future__ import annotations

import typer

from seasync.cli.options import Json
from seasync.cli.pairing import How
from seasync.cli.spread import spread
from seasync.files import Location


@spread
def align(
    query: Location = typer.Argument(parser=Location, help="The video whose clock is kept: a path or URI."),
    match: Location = typer.Argument(
        parser=Location, help="The video to bring into step with it: a path or URI."
    ),
    *,
    how: How,
    picture: Location | None = typer.Option(
        None,
        parser=Location,
        metavar="FILE",
        help="Draw the cost matrix, the path and both videos here: .png, .svg.",
    ),
    as_json: Json = False,
) -> None:
    """Align two videos of the same action. Tells DRAQ, the verdict, and which moment goes with which."""
    if picture:
        from seasync.errors import RenderError
        from seasync.files import expect_writable

        expect_writable(picture, sources=[query, match], error=RenderError)  # before the long work
    alignment = how.align(query, match)
    if picture:
        from seasync.render import alignment_picture

        alignment_picture(alignment, picture)
    if as_json:
        import json

        print(json.dumps(alignment.to_json()))
        return
    _print(alignment, picture)


def _print(alignment, picture: Location | None) -> None:  # type: ignore[no-untyped-def]
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{alignment.verdict}[/]")
    console.print(
        f"DRAQ {alignment.draq:.3f} (alignable below {alignment.recipe.threshold:g}), "
        f"cost {alignment.dtw_cost:.2f} against {alignment.random_cost:.2f} for a random path"
    )
    warp = alignment.warp(keep="query")
    table = Table("query", "match", "match plays at", box=None, header_style="dim")
    covered = sum(last - first for first, last in warp.spans)
    for piece in warp.stretches:
        rows = max(2, round(9 * (piece.end - piece.start) / max(covered, 1e-9)))
        moments = np.linspace(piece.start, piece.end, rows)
        partners = piece.at(moments)
        speeds = [f"{speed:.0%} speed" for speed in np.diff(partners) / np.diff(moments).clip(1e-9)]
        for moment, partner, speed in zip(moments, partners, [*speeds, "–"], strict=True):
            table.add_row(f"{moment:7.2f} s", f"{partner:7.2f} s", speed)
    console.print(table)
    if picture:
        console.print(f"picture: {picture}")
