"""`seasync transfer`: labels from one video to the other."""

from __future__ import annotations

from pathlib import Path

import typer

from seasync.cli.options import Encoder, Json, Order, OrderName, Partial, PartialName, RecipeName
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


def transfer(
    labels: Path = typer.Argument(
        help="Subtitles (.srt .vtt .ass), or a CSV of phases, key moments or frames."
    ),
    query: QueryFile = ...,  # type: ignore[assignment]
    match: MatchFile = ...,  # type: ignore[assignment]
    to: Path = typer.Option(..., help="The file for the carried labels."),
    of: SideName = typer.Option(SideName.query, help="Whose labels these are; the new ones are the other's."),
    encoder: Encoder = "dinov2-small",
    recipe: RecipeName = RecipeName.motion,
    partial: Partial = PartialName.auto,
    order: Order = OrderName.same,
    anchor: Anchors = [],  # noqa: B006  typer copies it
    start: Start = None,
    end: End = None,
    match_start: MatchStart = None,
    match_end: MatchEnd = None,
    as_json: Json = False,
) -> None:
    """Carry labels, key moments or subtitles of one video to the other, along their alignment."""
    from seasync.render import transfer as carry

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
    done = carry(alignment, labels, to, to="match" if of is SideName.query else "query")
    if as_json:
        import json

        print(json.dumps({"file": str(to), "carried": done.carried, "left_out": done.left_out}))
        return
    left_out = f", {done.left_out} without a counterpart left out" if done.left_out else ""
    print(f"{to}: {done.carried} labels carried{left_out}")
