"""What the commands that work on two videos share: how these are aligned."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from seasync.cli.options import (
    Encoder,
    Fps,
    Order,
    OrderName,
    Partial,
    PartialName,
    RecipeChoice,
    RecipeName,
    StorageOptions,
)
from seasync.files import Location

if TYPE_CHECKING:
    from seasync.align import Alignment

QueryFile = Annotated[Location, typer.Argument(parser=Location, help="The query: a path or URI.")]
MatchFile = Annotated[
    Location, typer.Argument(parser=Location, help="The video in step with it: a path or URI.")
]


class SideName(StrEnum):
    query = "query"
    match = "match"


@dataclass(frozen=True)
class How:
    """How two videos are aligned, and which parts of them."""

    encoder: Encoder = "dinov2-small"
    recipe: RecipeChoice = RecipeName.motion
    fps: Fps = None
    partial: Partial = PartialName.auto
    order: Order = OrderName.same
    anchor: Annotated[
        list[str] | None, typer.Option(help="A pair of moments that belong together, QUERY_S=MATCH_S.")
    ] = None
    start: Annotated[float | None, typer.Option(help="Where the query begins, in seconds.")] = None
    end: Annotated[float | None, typer.Option(help="Where the query ends, in seconds.")] = None
    match_start: Annotated[float | None, typer.Option(help="Where the match begins, in seconds.")] = None
    match_end: Annotated[float | None, typer.Option(help="Where the match ends, in seconds.")] = None
    storage_option: StorageOptions = None

    def align(self, query: Location, match: Location) -> Alignment:
        from seasync.clip import Clip
        from seasync.pair import align

        return align(
            Clip.of(query, self.start, self.end),
            Clip.of(match, self.match_start, self.match_end),
            encoder=self.encoder,
            recipe=self.recipe.value_of(),
            fps=self.fps,
            partial=self.partial.value,
            order=self.order.value,
            anchors=[_anchor(text) for text in self.anchor or ()],
        )


def _anchor(text: str) -> tuple[float, float]:
    """`QUERY_S=MATCH_S` as two numbers of seconds."""
    query, _, match = text.partition("=")
    try:
        return float(query), float(match)
    except ValueError:
        raise typer.BadParameter(f"--anchor {text}: expected QUERY_S=MATCH_S, such as 1.2=3.4") from None
