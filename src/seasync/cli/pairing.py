"""Two videos from the command line to their alignment, with progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from seasync.cli.progress import announce_compiling, progress
from seasync.clip import Clip
from seasync.options import Order, Partial, RecipeName

if TYPE_CHECKING:
    from seasync.align import Alignment


def align_pair(
    query: Clip,
    match: Clip,
    *,
    encoder: str,
    recipe: RecipeName,
    fps: float | None,
    partial: Partial,
    order: Order,
    anchor: list[str] | None,
) -> Alignment:
    """Align two videos as the options say, showing how far it is."""
    from seasync.align import RECIPES
    from seasync.pair import align

    announce_compiling()
    anchors = [_anchor(text) for text in anchor or ()]
    with progress(f"reading {query.name}") as show:
        return align(
            query,
            match,
            encoder=encoder,
            recipe=RECIPES[recipe],
            fps=fps,
            partial=partial,
            order=order,
            anchors=anchors,
            progress=show,
        )


def _anchor(text: str) -> tuple[float, float]:
    """`QUERY_S=MATCH_S` as two numbers of seconds."""
    query, _, match = text.partition("=")
    try:
        return float(query), float(match)
    except ValueError:
        raise typer.BadParameter(f"--anchor {text}: expected QUERY_S=MATCH_S, such as 1.2=3.4") from None
