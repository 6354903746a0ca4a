"""Models of a search."""

from __future__ import annotations

from pydantic import Field

from seasync.options import Partial, RecipeName, Rerank, Side
from seasync.serve.models.fields import Model, Moment, Name, Ref
from seasync.serve.models.seas import Clip


class Span(Model):
    """A video, or the part of it from `start` to `end`."""

    ref: Ref
    start: Moment | None = Field(default=None, description="Seconds. Default: the start of the clip.")
    end: Moment | None = Field(default=None, description="Seconds. Default: the end of the clip.")


class SearchRequest(Model):
    """A search for clips that move in step with the query."""

    query: Span
    k: int = Field(default=10, ge=1, le=100, description="Number of matches.")
    recipe: RecipeName = "motion"
    rerank: Rerank | None = Field(default=None, description="What decides the order. Default: the recipe's.")
    candidates: int | None = Field(default=None, ge=1, le=1000)
    max_draq: float | None = Field(default=None, ge=0, le=100, allow_inf_nan=False)
    partial: Partial = "auto"
    consensus: bool | None = Field(
        default=None,
        description="Without effect: the answer has no paths, and nothing else changes when matches correct "
        "each other. Ask for it with the alignment of a match.",
    )
    label: Name | None = Field(default=None, description="Search only clips with this label.")


class Piece(Model):
    """A part of both videos that is in step: its start and end, in seconds of each video."""

    query: tuple[float, float]
    match: tuple[float, float]
    draq: float


class Scores(Model):
    """How well two videos align: `seasync.json_forms.ScoresForm`."""

    recipe: RecipeName
    draq: float = Field(description="Cost of the path over the mean cost of random ones. Lower is better.")
    likelihood: float | None = Field(
        description="Probability that both show the same movement. From 0.5 on they align. Null if it is not "
        "known; then DRAQ decides."
    )
    threshold: float = Field(description="Where DRAQ decides, it must be below this limit.")
    dtw_cost: float
    random_cost: float
    score: float = Field(description="DRAQ, raised by the share of the query that is left out.")
    coverage: dict[Side, float] = Field(description="Share of the movement of each video that is in step.")
    pieces: list[Piece] = Field(description="The parts in step, in the query's order.")
    alignable: bool
    verdict: str = Field(description="Whether and where the two align, in words.")
    reason: str = Field(description="The number that decides the verdict, and its limit.")


class Match(Scores):
    """A clip that a search found: `seasync.json_forms.MatchForm`, with the clip as the API describes it."""

    rank: int
    clip: Clip
    match_start: float | None = Field(
        default=None, description="Start of the match in its file, if footage around the clip fits better."
    )
    match_end: float | None = None
    similarity: float = Field(description="Cosine of the clip vectors.")
    alignability: float | None = Field(description="Probability that both show the same movement.")
    better_than: float | None = Field(description="Share of random pairs that fit worse.")


class SearchResult(Model):
    """The matches of a query, best first."""

    query: Span
    encoder: str
    recipe: RecipeName
    threshold: float = Field(description="Where DRAQ decides, clips with a DRAQ below this align.")
    candidates: int = Field(description="Number of clips that were compared.")
    best_draq: float | None
    verdict: str
    matches: list[Match]
