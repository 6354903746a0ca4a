"""Models of alignments and of what is made from them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from seasync.options import (
    AnimationFormat,
    Audio,
    FilmFormat,
    FilmLayout,
    Gaps,
    Order,
    Partial,
    RecipeName,
    Side,
    Smooth,
    values,
)
from seasync.serve.models.fields import AnchorText, Model, Moment, Pixels, Ref
from seasync.serve.models.search import Scores, Span


class AlignmentRequest(Model):
    """Everything an alignment depends on. Every server of the sea gives the same answer."""

    query: Ref
    match: Ref
    start: Moment | None = Field(default=None, description="Start of the query in its file, in seconds.")
    end: Moment | None = None
    match_start: Moment | None = None
    match_end: Moment | None = None
    recipe: RecipeName = "motion"
    partial: Partial = Field(default="auto", description="Whether parts of the videos may be left out.")
    order: Order = Field(default="same", description="`any`: parts may come in a different order.")
    consensus: bool = Field(
        default=False,
        description="Let the query's other matches in the sea correct the alignment, as a search does. "
        "Without effect with anchors, long clips, or parts in any order.",
    )
    takes: list[Ref] = Field(
        default=[],
        max_length=8,
        description="Other takes of the same movement. With `consensus`, they correct the alignment, instead "
        "of matches in the sea. The fewest that can are two.",
    )
    anchor: list[AnchorText] = Field(
        default=[], max_length=64, description="Moments that correspond, each as QUERY_S=MATCH_S."
    )

    @property
    def spans(self) -> tuple[Span, Span]:
        """Query and match."""
        query = Span(ref=self.query, start=self.start, end=self.end)
        return query, Span(ref=self.match, start=self.match_start, end=self.match_end)

    @property
    def anchors(self) -> list[tuple[float, float]]:
        """The anchors as pairs of seconds."""
        pairs = (text.partition("=") for text in self.anchor)
        return [(float(query), float(match)) for query, _, match in pairs]


class AlignmentQuery(AlignmentRequest):
    """An alignment, and how exact it has to be."""

    detail: Literal["full", "coarse"] = Field(
        default="full",
        description="`coarse`: a first, quick answer from few frames, unless the full one is known already "
        "or comes about as soon, as for short clips.",
    )


class TimelineRequest(AlignmentRequest):
    """An alignment, and whose clock the timeline keeps."""

    keep: Side = Field(default="query", description="The video that plays at its own speed.")


class CarryRequest(AlignmentRequest):
    """An alignment, and the video that gets the other one's marks."""

    to: Side = Field(default="match", description="The video that gets the marks of the other one.")


class Stretch(Model):
    """A connected part of a warp: linear between its knots, with slope 1 from the last knot to `end`."""

    times: list[float]
    values: list[float]
    end: float


class Axis(Model):
    """One side of the cost matrix: `count` cells between the seconds `start` and `end`."""

    start: float
    end: float
    count: int


class Alignment(Scores):
    """Which moments of two videos correspond: `seasync.json_forms.AlignmentForm`, and what the page needs."""

    request: AlignmentRequest
    path: list[tuple[int, float, int, float]] = Field(
        description="Rows of query frame, query seconds, match frame, match seconds."
    )
    warnings: list[str] = Field(description="What to check: long stretches at an absurd speed.")
    uncertainty: list[tuple[float, float, float]] | None = Field(
        description="Rows of query seconds and the earliest and latest match seconds that could go with them."
    )
    warps: dict[Side, list[Stretch]] = Field(description="Maps of time, by the video whose clock is kept.")
    axes: dict[Side, Axis]
    has_cost: bool = Field(description="Whether the cost matrix is available.")
    detail: Literal["full", "coarse"] = Field(description="`coarse`: ask again for the full alignment.")


class FilmRequest(Model):
    """A film of an alignment."""

    alignment: AlignmentRequest
    layout: FilmLayout = "side"
    keep: Side = Field(default="query", description="The video that plays at its own speed.")
    audio: Audio = "query"
    smooth: Smooth = "nearest"
    gaps: Gaps = Field(default="dim", description="How to show frames without a counterpart.")
    form: FilmFormat = Field(default="mp4", description="`webp` and `gif` are animations without sound.")
    size: tuple[Pixels, Pixels] | None = Field(default=None, description="Largest width and height.")
    labels: bool = Field(default=True, description="Whether the picture shows names, time codes and DRAQ.")
    marks: bool = Field(default=False, description="Whether the picture shows the marks of the kept video.")
    ahead: bool = Field(
        default=False,
        description="Make it before anybody asks for it, after all other films. A film that was made like "
        "this and is still here is not made again.",
    )

    @model_validator(mode="after")
    def _animations_show_both(self) -> Self:
        if self.layout == "retime" and self.form in values(AnimationFormat):
            raise ValueError("retime makes films; an animation shows both videos")
        return self


class GridRequest(Model):
    """A film of one leader and its followers, all in step, in a grid."""

    leader: Ref
    start: Moment | None = Field(default=None, description="Start of the leader in its file, in seconds.")
    end: Moment | None = None
    followers: list[Ref] = Field(min_length=1, max_length=8)
    recipe: RecipeName = "motion"
    partial: Partial = "auto"
    consensus: bool = Field(default=False, description="As in a single alignment.")
    takes: bool = Field(default=False, description="With `consensus`, the followers correct each other.")
    columns: int | None = Field(default=None, ge=1, le=9)
    audio: Literal["query", "match", "none"] = Field(
        default="query", description="`query`: the leader's sound."
    )
    form: FilmFormat = "mp4"
    size: tuple[Pixels, Pixels] | None = Field(default=None, description="Largest width and height.")
    labels: bool = True

    @property
    def alignments(self) -> list[AlignmentRequest]:
        """The alignment of the leader with each follower."""
        return [
            AlignmentRequest(
                query=self.leader,
                match=follower,
                start=self.start,
                end=self.end,
                match_start=None,
                match_end=None,
                recipe=self.recipe,
                partial=self.partial,
                consensus=self.consensus,
                takes=[one for one in self.followers if one != follower] if self.takes else [],
            )
            for follower in self.followers
        ]
