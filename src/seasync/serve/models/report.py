"""Models of the compare report: how the timing of two videos differs, in words and numbers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from seasync.options import Side
from seasync.serve.models.alignments import AlignmentRequest
from seasync.serve.models.fields import Model, Moment


class ReportRequest(AlignmentRequest):
    """An alignment, and from when times count."""

    since: Moment | None = Field(
        default=None,
        description="Second of the query from which times count. Default: the first moment whose partner is "
        "sure, which is the start of what both show unless somebody waits there.",
    )


class TimedMoment(Model):
    """A moment that both videos reach, and how much later the match reaches it."""

    name: str = Field(description="Name of the mark, or where the moment is.")
    source: Literal["both", "query", "match", "difference"] = Field(
        description="Which video has the mark (the other time is carried over), or a large difference."
    )
    query: float = Field(description="Seconds in the query.")
    match: float = Field(description="Seconds in the match.")
    later: float = Field(description="How much later it comes in the match, in seconds; below 0 if earlier.")
    sure: bool = Field(description="Whether the time in the match is known to about a quarter of a second.")
    text: str = Field(description="The same in words.", examples=["b.mp4 is 0.21 s later at the top."])


class TimedPhase(Model):
    """A phase of the movement, and how long it takes in each video."""

    name: str
    query: tuple[float, float] = Field(description="Start and end in the query, in seconds.")
    match: tuple[float, float]
    seconds: dict[Side, float] = Field(description="Duration in each video.")
    difference: float = Field(description="Seconds that the match takes longer.")
    text: str


class Tempo(Model):
    """How fast the match moves at a moment of the query: 1 is the same speed, above 1 is faster."""

    query: float
    speed: float


class Report(Model):
    """The timing of two videos compared."""

    names: dict[Side, str]
    summary: list[str] = Field(description="The main differences in words, largest first.")
    start: dict[Side, float] = Field(description="Where what both show starts, in seconds of each video.")
    seconds: dict[Side, float] = Field(description="How long it takes in each video.")
    zero: dict[Side, float] = Field(description="From when `later` counts, in seconds of each video.")
    moments: list[TimedMoment] = Field(description="Largest difference first.")
    phases: list[TimedPhase] = Field(description="In order of time.")
    tempo: list[Tempo] = Field(description="Speed of the match relative to the query.")
