"""What the commands that work on two videos share: naming the two, and aligning them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.options import OrderName, PartialName, RecipeName, parse_anchor

if TYPE_CHECKING:
    from seasync.align import Alignment

QueryFile = Annotated[Path, typer.Argument(help="The query.")]
MatchFile = Annotated[Path, typer.Argument(help="The video in step with it.")]
Anchors = Annotated[
    list[str], typer.Option("--anchor", help="A pair of moments that belong together, QUERY_S=MATCH_S.")
]
Start = Annotated[float | None, typer.Option(help="Where the query begins, in seconds.")]
End = Annotated[float | None, typer.Option(help="Where the query ends, in seconds.")]
MatchStart = Annotated[float | None, typer.Option(help="Where the match begins, in seconds.")]
MatchEnd = Annotated[float | None, typer.Option(help="Where the match ends, in seconds.")]


class SideName(StrEnum):
    query = "query"
    match = "match"


def aligned(
    query: Path,
    match: Path,
    *,
    encoder: str,
    recipe: RecipeName,
    partial: PartialName,
    order: OrderName,
    anchors: list[str],
    span: tuple[float | None, float | None] = (None, None),
    match_span: tuple[float | None, float | None] = (None, None),
) -> Alignment:
    """The alignment of two videos, or of parts of them."""
    from seasync.clip import Clip
    from seasync.pair import align

    return align(
        Clip.of(query, *span),
        Clip.of(match, *match_span),
        encoder=encoder,
        recipe=recipe.value_of(),
        partial=partial.value,
        order=order.value,
        anchors=[parse_anchor(text) for text in anchors],
    )
