"""What the API takes and gives; server and client share these."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from seasync.options import (
    AnimationFormat,
    Audio,
    FilmFormat,
    FilmLayout,
    Gaps,
    MarkKind,
    Order,
    Partial,
    RecipeName,
    Rerank,
    Side,
    Smooth,
    Split,
    values,
)

HEX = "[0-9a-f]{32}"
LATEST = 1e6  # seconds; no video is longer

Id = Annotated[str, StringConstraints(pattern=f"^{HEX}$")]
Ref = Annotated[
    str,
    StringConstraints(pattern=f"^(clip|upload):{HEX}$"),
    Field(description="A video: `clip:ID` of the sea, or `upload:ID`."),
]
Moment = Annotated[float, Field(ge=0, le=LATEST, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Pixels = Annotated[int, Field(ge=16, le=4096)]


def _anchor(text: str) -> str:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?=\d{1,6}(\.\d{1,9})?", text):
        raise ValueError("expected QUERY_S=MATCH_S, such as 1.2=3.4")
    return text


AnchorText = Annotated[str, AfterValidator(_anchor), Field(max_length=40)]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(Model):
    """Why a request was not answered."""

    detail: str


class About(Model):
    version: str
    seas: list[str]
    roots: list[str] = Field(description="Folders whose files may be added by path.")
    upload_bytes: int
    video_seconds: float
    span_seconds: float
    choices: dict[str, list[str]] = Field(description="Allowed values, by the name of a request's field.")


class SeaInfo(Model):
    name: str
    uri: str
    clips: int
    files: int = 0
    hours: float = 0.0
    labels: dict[str, int] = {}
    encoder: str | None = None
    fps: float | None = None
    index: str | None = None
    bytes: int = 0
    version: int = 0


class Clip(Model):
    """A clip of a sea. Seconds count from the file's first frame; `end` is where it ends in its file."""

    ref: Ref
    id: Id
    name: str
    file: str
    start: float
    end: float
    label: str | None = None
    tags: list[str] = []
    viewable: bool = Field(description="Whether its file is there, under the folders that are served.")


class ClipPage(Model):
    total: int
    offset: int
    clips: list[Clip]


class AddRequest(Model):
    """Files by their paths on the server, uploads by their ids, or both."""

    paths: list[Annotated[str, StringConstraints(min_length=1, max_length=4096)]] = Field([], max_length=1000)
    uploads: list[Id] = Field([], max_length=1000)
    split: Split | Annotated[float, Field(ge=0.2, le=3600, allow_inf_nan=False)] = "none"
    label: Name | None = Field(None, description="Label of all clips; default: none, or by `labels`.")
    labels: Literal["folder"] | None = Field(None, description="`folder`: the name of a file's folder.")
    tags: list[Name] = Field([], max_length=32)


class Span(Model):
    """A video, or the part of it from `start` to `end`."""

    ref: Ref
    start: Moment | None = None
    end: Moment | None = None


class SearchRequest(Model):
    query: Span
    k: int = Field(10, ge=1, le=100)
    recipe: RecipeName = "motion"
    rerank: Rerank | None = None
    candidates: int | None = Field(None, ge=1, le=1000)
    max_draq: float | None = Field(None, ge=0, le=100, allow_inf_nan=False)
    partial: Partial = "auto"
    label: Name | None = None


class Piece(Model):
    """A part of both videos that is in step: from when to when, in seconds of each."""

    query: tuple[float, float]
    match: tuple[float, float]
    draq: float


class Match(Model):
    """A clip that was found.

    `alignability`: how likely it is the same movement; `better_than`: share of random pairs that fit worse.
    """

    rank: int
    clip: Clip
    similarity: float
    draq: float
    dtw_cost: float
    coverage: dict[Side, float]
    pieces: list[Piece]
    alignable: bool
    verdict: str
    alignability: float | None
    better_than: float | None
    match_start: float | None = Field(
        None, description="Where the match begins in its file, if not with the clip: around a part of a film."
    )
    match_end: float | None = None


class SearchResult(Model):
    query: Span
    encoder: str
    recipe: RecipeName
    threshold: float = Field(description="DRAQ below this reads as alignable.")
    candidates: int
    best_draq: float | None
    verdict: str
    matches: list[Match]


class AlignmentRequest(Model):
    """Everything an alignment depends on; it is computed from this alone, by any server of the sea."""

    query: Ref
    match: Ref
    start: Moment | None = Field(None, description="Where the query begins in its file, in seconds.")
    end: Moment | None = None
    match_start: Moment | None = None
    match_end: Moment | None = None
    recipe: RecipeName = "motion"
    partial: Partial = Field("auto", description="Whether parts of the videos may be left out.")
    order: Order = Field("same", description="`any`: stretches may come in another order.")
    anchor: list[AnchorText] = Field(
        [], max_length=64, description="Moments that correspond: QUERY_S=MATCH_S."
    )

    @property
    def spans(self) -> tuple[Span, Span]:
        query = Span(ref=self.query, start=self.start, end=self.end)
        return query, Span(ref=self.match, start=self.match_start, end=self.match_end)

    @property
    def anchors(self) -> list[tuple[float, float]]:
        pairs = (text.partition("=") for text in self.anchor)
        return [(float(query), float(match)) for query, _, match in pairs]


class TimelineRequest(AlignmentRequest):
    keep: Side = Field("query", description="Whose clock the timeline has.")


class CarryRequest(AlignmentRequest):
    to: Side = Field("match", description="The video that the other one's marks are carried to.")


class Stretch(Model):
    """A connected part of a warp: linear between its knots, at unit slope from the last one to `end`."""

    times: list[float]
    values: list[float]
    end: float


class Axis(Model):
    """One side of the cost matrix: `count` samples between the seconds `start` and `end` (edges of cells)."""

    start: float
    end: float
    count: int


class Alignment(Model):
    """Which moment goes with which.

    `path`: rows of query frame, query seconds, match frame, match seconds; frames are the files'.
    `pieces`: what of them is in step, in the query's order; `coverage`: how much that is of what moves.
    """

    request: AlignmentRequest
    draq: float
    dtw_cost: float
    random_cost: float
    threshold: float
    alignable: bool
    verdict: str
    coverage: dict[Side, float]
    pieces: list[Piece]
    path: list[tuple[int, float, int, float]]
    warps: dict[Side, list[Stretch]] = Field(description="By the clip whose clock is kept.")
    axes: dict[Side, Axis]
    has_cost: bool = Field(description="Whether the cost matrix is small enough to be had.")


class FilmRequest(Model):
    alignment: AlignmentRequest
    layout: FilmLayout = "side"
    keep: Side = "query"
    audio: Audio = "query"
    smooth: Smooth = "nearest"
    gaps: Gaps = "dim"
    form: FilmFormat = Field(
        "mp4", description="`webp`, `gif`: a small animation without sound, of both videos."
    )
    size: tuple[Pixels, Pixels] | None = Field(None, description="Width and height to fit it into.")
    labels: bool = Field(True, description="Names, time codes and DRAQ on the picture.")
    marks: bool = Field(False, description="The kept clip's key moments and phases on the picture.")

    @model_validator(mode="after")
    def _animations_show_both(self) -> Self:
        if self.layout == "retime" and self.form in values(AnimationFormat):
            raise ValueError("retime makes films; an animation shows both videos")
        return self


class Footage(Model):
    """A video (or part of one) as a page shows it.

    plays    how a browser gets it: "direct"ly, through a "proxy" that is ready, or "needs proxy" to be made
    first    number of the first frame shown in the span; `seconds` are its frames' times in the file
    """

    ref: Ref
    name: str
    file: str
    label: str | None
    start: float
    end: float
    width: int
    height: int
    fps: float | None
    length: float = Field(description="Of the whole file, in seconds.")
    audio: bool
    codec: str
    plays: Literal["direct", "proxy", "needs proxy"]
    first: int
    seconds: list[float]


class Anchor(Model):
    query: Moment
    match: Moment


class Anchors(Model):
    """Moments of two videos that belong together, as set by hand."""

    query: Ref
    match: Ref
    anchors: list[Anchor] = Field([], max_length=64)


class Mark(Model):
    """A key moment, or the beginning of a phase that lasts until the next one."""

    kind: MarkKind
    name: Name
    frame: int = Field(ge=0, le=10**9)
    seconds: Moment


class Marks(Model):
    ref: Ref
    marks: list[Mark] = Field([], max_length=1000)


class Upload(Model):
    """A video on the server. It stays for a while, and for good once it is `kept` in a sea."""

    id: Id
    ref: Ref
    name: str
    bytes: int
    width: int
    height: int
    seconds: float
    kept: bool


class Job(Model):
    id: Id
    kind: Literal["add", "film", "proxy"]
    sea: str
    title: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    attempts: int = Field(description="Above 1: the server stopped meanwhile, and it was begun again.")
    progress: float = Field(description="From 0 to 1.")
    message: str
    error: str | None
    result: dict[str, Any] | None
    created: float
    started: float | None
    ended: float | None

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")
