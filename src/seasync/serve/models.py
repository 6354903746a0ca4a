"""What the API takes and gives. Server and client share these models.

Answers that Python gives too extend `seasync.forms`. The schema of the API leaves out the `Served` and `Form`
of names.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from seasync import options
from seasync.forms import AlignmentForm, ClipForm, MatchForm, SearchForm
from seasync.options import MarkKind, Partial, RecipeName, Side

if TYPE_CHECKING:
    from seasync.alignment import Recipe

# Types of fields that several models share.


HEX = "[0-9a-f]{32}"
LATEST = 1e6  # seconds; no video is longer
Detail = Literal["full", "coarse"]
SIDES: tuple[Side, Side] = ("query", "match")
EXAMPLE_ID = "5f0c3a1e9b7d4c2e8a6f1b3d5e7c9a0b"

Id = Annotated[str, StringConstraints(pattern=f"^{HEX}$"), Field(examples=[EXAMPLE_ID])]
Ref = Annotated[
    str,
    StringConstraints(pattern=f"^(clip|upload):{HEX}$"),
    Field(
        description="A video: `clip:ID` for a clip of the sea, `upload:ID` for an upload.",
        examples=[f"clip:{EXAMPLE_ID}"],
    ),
]
Moment = Annotated[float, Field(ge=0, le=LATEST, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Pixels = Annotated[int, Field(ge=16, le=4096)]


def _anchor(text: str) -> str:
    if not re.fullmatch(r"\d{1,6}(\.\d{1,9})?=\d{1,6}(\.\d{1,9})?", text):
        raise ValueError("expected QUERY_S=MATCH_S, such as 1.2=3.4")
    return text


AnchorText = Annotated[str, AfterValidator(_anchor), Field(max_length=40, examples=["1.2=3.4"])]


class Model(BaseModel):
    """A model that refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


def _describe_inherited(schema: dict[str, Any], kind: type) -> None:
    """Describe inherited fields as the forms do: Pydantic reads only the docstrings of a class's own."""
    for form in kind.__mro__[1:-1]:
        for name, known in pydantic.TypeAdapter(form).json_schema()["properties"].items():
            if "description" in known and name not in kind.__annotations__:
                schema["properties"][name].setdefault("description", known["description"])


_DESCRIBED = ConfigDict(use_attribute_docstrings=True, extra="forbid", json_schema_extra=_describe_inherited)


class ProblemForm(Model):
    """Why a request failed."""

    detail: str = Field(description="One line: what is wrong, and what to do.", examples=["Not found."])


# Models of the server, its seas and their clips.


SeaName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"),
    Field(description="Letters, digits, dots, hyphens and underscores.", examples=["my-takes"]),
]
ClipOrder = Literal["added", "name", "label", "length"]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class ServerInfo(Model):
    """What the server is, what it has, and which choices its requests offer."""

    version: str
    seas: list[str] = Field(description="Names of the seas. The page opens with the first.")
    roots: list[str] = Field(description="Folders whose files may be added by path.")
    upload_bytes: int = Field(description="Largest upload.")
    video_seconds: float = Field(description="Longest video.")
    span_seconds: float = Field(description="Longest span that a request may ask to encode.")
    choices: dict[str, list[str]] = Field(
        default_factory=lambda: {name: list(values) for name, values in options.CHOICES.items()},
        description="The allowed values of each choice, by the name of the request's field.",
    )


class SeaInfo(Model):
    """A sea and its statistics."""

    name: str
    uri: str
    clips: int
    files: int = 0
    hours: float = 0.0
    labels: dict[str, int] = Field(default={}, description="Number of clips per label.")
    encoder: str | None = None
    fps: float | None = Field(default=None, description="Sampled frames per second.")
    index: str | None = None
    bytes: int = 0
    version: int = 0
    deletable: bool = Field(default=False, description="Whether it was made here and can be deleted here.")


@dataclass(frozen=True, kw_only=True)
class ServedClip(ClipForm):
    """A clip of a sea. Seconds count from the first frame of the file."""

    __pydantic_config__ = _DESCRIBED

    ref: Ref
    id: Id
    name: str
    """The name that somebody gave it, else the name of the file."""
    end: float
    tags: list[str] = field(default_factory=list)
    viewable: bool
    """Whether the file exists inside the served folders."""


class ClipUpdate(Model):
    """Changes of a clip. What is missing stays as it is; an empty name or label removes it."""

    name: Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)] | None = Field(
        default=None,
        description="Name to show. Empty: the name of the file again.",
        examples=["My best take"],
    )
    label: Annotated[str, StringConstraints(max_length=120, strip_whitespace=True)] | None = Field(
        default=None, description="Empty: no label.", examples=["squat"]
    )
    tags: list[Name] | None = Field(default=None, max_length=32, examples=[["side view", "2026"]])


class SeaRequest(Model):
    """A sea to make in the server's own folder."""

    name: SeaName


class Phone(Model):
    """How a phone on the same network opens the page."""

    address: str = Field(description="Address of the page, with a code that opens it once.")
    qr: str = Field(description="The address as a QR code: an SVG picture.")


class ClipPage(Model):
    """Some of the clips that match a filter."""

    total: int = Field(description="Number of all clips that match.")
    offset: int
    clips: list[ServedClip]


class AddRequest(Model):
    """Videos to add to a sea: files by their paths on the server, uploads by their ids, or both."""

    paths: list[FilePath] = Field(default=[], max_length=1000)
    uploads: list[Id] = Field(default=[], max_length=1000)
    split: options.Split | Annotated[float, Field(ge=0.2, le=3600, allow_inf_nan=False)] = Field(
        default="none",
        description="How to split videos: `none`, `shots`, `reps` (repetitions), or a length in seconds.",
    )
    label: Name | None = Field(default=None, description="Label of all clips.")
    labels: Literal["folder"] | None = Field(
        default=None, description="`folder`: each clip gets the name of its folder as its label."
    )
    tags: list[Name] = Field(default=[], max_length=32)


# Models of a search.


class SpanForm(Model):
    """A video, or the part of it from `start` to `end`."""

    ref: Ref
    start: Moment | None = Field(default=None, description="Seconds. Default: the start of the clip.")
    end: Moment | None = Field(default=None, description="Seconds. Default: the end of the clip.")


class RepetitionsQuery(SpanForm):
    """A video, or a part of it, and perhaps one repetition as a template; without one it is found."""

    like_start: Moment | None = Field(default=None, description="Where one repetition begins, in seconds.")
    like_end: Moment | None = Field(default=None, description="Where it ends. It needs `like_start`.")

    @pydantic.model_validator(mode="after")
    def _template_is_whole(self) -> Self:
        if (self.like_start is None) != (self.like_end is None):
            raise ValueError("like_start and like_end belong together")
        return self


def recipe_named(name: RecipeName) -> "Recipe":
    """The recipe that a request names."""
    from seasync.alignment import RECIPES

    return RECIPES[name]


class SearchRequest(Model):
    """A search for clips that move in step with the query."""

    query: SpanForm
    k: int = Field(default=10, ge=1, le=100, description="Number of matches.")
    recipe: RecipeName = "motion"
    rerank: options.Rerank | None = Field(
        default=None, description="What decides the order. Default: the recipe's."
    )
    candidates: int | None = Field(default=None, ge=1, le=1000)
    max_draq: float | None = Field(default=None, ge=0, le=100, allow_inf_nan=False)
    partial: Partial = "auto"
    label: Name | None = Field(default=None, description="Search only clips with this label.")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Sea.search`, besides the query."""
        recipe = recipe_named(self.recipe).asked(partial=self.partial)
        return self.model_dump(exclude={"query", "partial"}) | {"recipe": recipe}


class AnswerRequest(Model):
    """What somebody says of a match: whether it shows the query's movement."""

    query: SpanForm
    match: Ref = Field(description="The clip that was found.")
    same: bool | None = Field(description="What is true; null takes an earlier answer back.")
    recipe: RecipeName = "motion"


class AnswerResult(Model):
    """How likely the match shows the same movement, before and after an answer; null if not known."""

    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class ServedMatch(MatchForm):
    """A clip that a search found: `seasync.forms.MatchForm`, with the clip as the API describes it."""

    __pydantic_config__ = _DESCRIBED

    recipe: RecipeName
    clip: ServedClip


@dataclass(frozen=True, kw_only=True)
class SearchResult(SearchForm):
    """The matches of a query, best first."""

    __pydantic_config__ = _DESCRIBED

    query: SpanForm  # type: ignore[assignment]
    recipe: RecipeName
    matches: list[ServedMatch]  # type: ignore[assignment]


# Models of alignments and of what is made from them.


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
    order: options.Order = Field(default="same", description="`any`: parts may come in a different order.")
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
    def method(self) -> "Recipe":
        """How the two are aligned."""
        return recipe_named(self.recipe).asked(partial=self.partial, order=self.order)

    @property
    def spans(self) -> tuple[SpanForm, SpanForm]:
        """Query and match."""
        query = SpanForm(ref=self.query, start=self.start, end=self.end)
        return query, SpanForm(ref=self.match, start=self.match_start, end=self.match_end)

    @property
    def anchors(self) -> list[tuple[float, float]]:
        """The anchors as pairs of seconds."""
        pairs = (text.partition("=") for text in self.anchor)
        return [(float(query), float(match)) for query, _, match in pairs]


class AlignmentQuery(AlignmentRequest):
    """An alignment, and how exact it has to be."""

    detail: Detail = Field(
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


class StretchForm(Model):
    """A connected part of a warp: linear between its knots, with slope 1 from the last knot to `end`."""

    times: list[float]
    values: list[float]
    end: float


class Axis(Model):
    """One side of the cost matrix: `count` cells between the seconds `start` and `end`."""

    start: float
    end: float
    count: int


@dataclass(frozen=True, kw_only=True)
class ServedAlignment(AlignmentForm):
    """Which moments of two videos correspond: `seasync.forms.AlignmentForm`, and what the page needs."""

    __pydantic_config__ = _DESCRIBED

    recipe: RecipeName
    request: AlignmentRequest
    warps: dict[Side, list[StretchForm]]
    """Maps of time, by the video whose clock is kept."""
    axes: dict[Side, Axis]
    has_cost: bool
    """Whether the cost matrix is available."""
    detail: Detail
    """`coarse`: ask again for the full alignment."""


class FilmRequest(Model):
    """A film of an alignment."""

    alignment: AlignmentRequest
    layout: options.FilmLayout = "side"
    keep: Side = Field(default="query", description="The video that plays at its own speed.")
    audio: options.Audio = "query"
    smooth: options.Smooth = "nearest"
    gaps: options.Gaps = Field(default="dim", description="How to show frames without a counterpart.")
    form: options.FilmFormat = Field(
        default="mp4", description="`webp` and `gif` are animations without sound."
    )
    size: tuple[Pixels, Pixels] | None = Field(default=None, description="Largest width and height.")
    labels: bool = Field(default=True, description="Whether the picture shows names, time codes and DRAQ.")
    marks: bool = Field(default=False, description="Whether the picture shows the marks of the kept video.")
    ahead: bool = Field(
        default=False,
        description="Make it before anybody asks for it, after all other films. A film that was made like "
        "this and is still here is not made again.",
    )

    @pydantic.model_validator(mode="after")
    def _animations_show_both(self) -> Self:
        if self.layout == "retime" and self.form in options.values(options.AnimationFormat):
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
    form: options.FilmFormat = "mp4"
    size: tuple[Pixels, Pixels] | None = Field(default=None, description="Largest width and height.")
    labels: bool = True

    @property
    def alignments(self) -> list[AlignmentRequest]:
        """The alignment of the leader with each follower."""
        shared = self.model_dump(include={"start", "end", "recipe", "partial", "consensus"})
        others = self.followers if self.takes else []
        return [
            AlignmentRequest(
                query=self.leader, match=one, takes=[take for take in others if take != one], **shared
            )
            for one in self.followers
        ]


# Models of bodies (joints and their angles) and of drawings on the pictures.


Degrees = float | None
Share = Annotated[float, Field(ge=-1, le=2, allow_inf_nan=False)]
POINTS = {"line": 2, "angle": 3, "circle": 2}


class BodyForm(Model):
    """The joints of the person who moves most in a video, frame by frame."""

    ref: Ref
    found: float = Field(description="Share of the frames in which a person was found. 0: nobody.")
    note: str | None = Field(description="What to know about the result, in words.")
    names: list[str] = Field(description="Names of the joints.")
    seconds: list[float]
    joints: list[list[tuple[float, float, float]] | None] = Field(
        description="For each frame and joint: x and y as shares of the picture's width and height, and how "
        "surely it is in sight (0 to 1). Null where nobody was found."
    )


class AnglesRequest(AlignmentRequest):
    """An alignment whose bodies are compared."""

    mirror: bool = Field(
        default=False, description="Compare the left side of the query with the right side of the match."
    )
    raw: bool = Field(
        default=False,
        description="Give the angles as they were found in each frame. Otherwise a short filter (a Gaussian "
        "of 50 ms) takes out their jitter.",
    )


class JointAngle(Model):
    """One angle of both bodies, in degrees in the plane of the picture. Null where it is not known."""

    name: str = Field(examples=["left knee"])
    query: list[Degrees]
    match: list[Degrees]
    difference: list[Degrees] = Field(description="Match minus query.")


class Angles(Model):
    """The angles of both bodies over synced time."""

    seconds: dict[Side, list[float]] = Field(description="The moments, in seconds of each video.")
    angles: list[JointAngle]
    notes: list[str] = Field(description="What to know about the result, such as a video without a person.")


class DrawingForm(Model):
    """A shape that somebody drew on the pictures of a synced frame."""

    kind: Literal["line", "angle", "circle"]
    seconds: Moment = Field(description="The moment it belongs to, in seconds of the query.")
    points: list[tuple[Share, Share]] = Field(
        min_length=2,
        max_length=3,
        description="Shares of the picture's width and height: both ends of a line; the ends of both legs of "
        "an angle with its vertex between them; the center of a circle and a point on it.",
        examples=[[(0.2, 0.5), (0.8, 0.5)]],
    )
    always: bool = Field(default=False, description="Whether it is shown at every moment.")

    @pydantic.model_validator(mode="after")
    def _has_its_points(self) -> Self:
        if len(self.points) != POINTS[self.kind]:
            raise ValueError(f"{self.kind}: expected {POINTS[self.kind]} points, got {len(self.points)}")
        return self


class Drawings(Model):
    """The drawings on two videos."""

    query: Ref
    match: Ref
    drawings: list[DrawingForm] = Field(default=[], max_length=200)


# Models of comparisons: pairs of videos that people keep, name and reopen.


NO_SEA = "-"  # the name under which uploads are compared without any sea


class ComparisonRequest(Model):
    """A comparison to keep."""

    name: Name | None = Field(default=None, description="Default: the names of the two videos.")
    sea: str = Field(
        default=NO_SEA,
        max_length=100,
        description="The sea whose clips are compared. `-`: uploads only, without a sea.",
        examples=[NO_SEA, "footage"],
    )
    alignment: AlignmentRequest
    grid: bool = Field(
        default=False,
        description="Whether it is a grid: the query leads, the match and `takes` of the alignment follow.",
    )


class ComparisonUpdate(Model):
    """Changes of a comparison. What is missing stays as it is."""

    name: Name | None = None
    alignment: AlignmentRequest | None = None


class Comparison(Model):
    """Two videos that somebody compares, or several in a grid. Uploads stay as long as it needs them."""

    id: Id
    name: str
    sea: str
    alignment: AlignmentRequest
    grid: bool = Field(default=False, description="Whether it opens as a grid of several videos.")
    videos: dict[Side, str] = Field(description="Names of the files of query and match.")
    created: float = Field(description="Seconds since 1970.")
    changed: float


# Models of videos as the page shows them.


class FootageForm(Model):
    """A video or a part of one, and when each of its frames is shown."""

    ref: Ref
    name: str
    file: str
    label: str | None
    start: float
    end: float
    width: int
    height: int
    fps: float | None
    length: float = Field(description="Length of the whole file in seconds.")
    audio: bool
    codec: str
    plays: Literal["direct", "proxy", "needs proxy"] = Field(
        description="How a browser plays it: as it is, through its proxy, or only once a proxy is made."
    )
    first: int = Field(description="Number, in its file, of the first frame of this span.")
    seconds: list[float] = Field(description="When each frame of this span is shown.")


class Upload(Model):
    """An uploaded video. It expires unless it becomes part of a sea."""

    id: Id
    ref: Ref
    name: str
    bytes: int
    width: int
    height: int
    seconds: float
    kept: bool = Field(description="Whether it is part of a sea, and stays.")


# Models of background jobs.


class JobForm(Model):
    """A background job and its progress."""

    id: Id
    kind: Literal["add", "ahead", "body", "carry", "film", "grid", "proxy"] = Field(
        description="`ahead`: a film that is made before anybody asks for it."
    )
    sea: str
    title: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    attempts: int = Field(description="Above 1 if the server stopped during the job and started it again.")
    progress: float = Field(description="From 0 to 1.")
    message: str
    error: str | None
    result: dict[str, Any] | None
    created: float
    started: float | None
    ended: float | None

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, well or not."""
        return self.state in ("done", "failed", "cancelled")


# Models of anchors and marks.


class Anchor(Model):
    """Two moments that correspond, in seconds of query and match."""

    query: Moment
    match: Moment


class Anchors(Model):
    """The anchors that people set between two videos."""

    query: Ref
    match: Ref
    anchors: list[Anchor] = Field(default=[], max_length=64)


class MarkForm(Model):
    """A key moment, or the start of a phase that lasts until the next one."""

    kind: MarkKind
    name: Name
    frame: int = Field(ge=0, le=10**9)
    seconds: Moment


class Marks(Model):
    """The marks of one video."""

    ref: Ref
    marks: list[MarkForm] = Field(default=[], max_length=1000)


# Models of labeling a collection: marks of a few clips carried to all others.


class LabelingRequest(Model):
    """Which marks are carried to which clips."""

    marks: list[Marks] | None = Field(
        default=None,
        max_length=10_000,
        description="Marks of the labeled clips. Default: all marks that people set on clips of this sea.",
    )
    label: Name | None = Field(default=None, description="Only clips with this label.")
    tolerance: float = Field(
        default=0.1,
        ge=0.001,
        le=60,
        allow_inf_nan=False,
        description="Confidence is how likely a mark is this near to the truth, in seconds.",
    )


class CarriedMark(Model):
    """A mark that was carried to a clip."""

    kind: MarkKind
    name: Name
    seconds: Moment
    confidence: float = Field(ge=0, le=1, description="How likely it is within the tolerance.")


class CarriedClip(Model):
    """A clip and the marks that were carried to it."""

    clip: ServedClip
    confidence: float = Field(description="Of the most doubtful mark; 0 if nothing aligns with this clip.")
    sure: bool = Field(description="Whether nobody needs to check it.")
    sources: int = Field(description="How many clips the marks come from.")
    marks: list[CarriedMark]


class CarriedPage(Model):
    """Clips with carried marks, the most doubtful first. Clips that people marked since are left out."""

    labeled: int = Field(description="Clips whose marks were carried.")
    total: int = Field(description="Clips that the marks were carried to.")
    doubtful: int = Field(description="Those of them that a person should check.")
    outdated: bool = Field(
        description="Whether the marks that people set differ from those that were carried: carry again."
    )
    label: str | None = Field(description="The clips' label, if only clips with one were asked for.")
    tolerance: float
    offset: int
    clips: list[CarriedClip]


# Models of the compare report: how the timing of two videos differs, in words and numbers.


class ReportRequest(AlignmentRequest):
    """An alignment, and from when times count."""

    since: Moment | None = Field(
        default=None,
        description="Second of the query from which times count. Default: the first moment whose partner is "
        "sure, which is the start of what both show unless somebody waits there.",
    )
