"""The JSON forms: what `--json`, `to_json` and the HTTP API say of a clip, an alignment, a match, a search.

Each form is defined here once. The HTTP API extends some of them with what only a server knows.
`docs/json.md` and the schema of the HTTP API are made from the fields and their docstrings.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from seasync.options import Grade, Side

Span = tuple[float, float]
PathRow = tuple[int, float, int, float]
# The HTTP API describes fields by their docstrings.
_FOR_PYDANTIC: Mapping[str, object] = {"use_attribute_docstrings": True, "extra": "forbid"}


@dataclass(frozen=True, kw_only=True)
class ClipForm:
    """A stretch of a video file. Seconds count from the file's first frame."""

    __pydantic_config__ = _FOR_PYDANTIC

    id: str | None
    """Id of the clip in its sea; null outside of a sea."""
    file: str
    """Path or URI of the video."""
    start: float
    """Where the clip begins in its file, in seconds."""
    end: float | None
    """Where the clip ends in its file, in seconds; null if it ends with the file."""
    label: str | None = None
    """Label of the clip, if it has one."""


@dataclass(frozen=True, kw_only=True)
class PieceForm:
    """A part of both videos that is in step, in seconds of each file."""

    __pydantic_config__ = _FOR_PYDANTIC

    query: Span
    """From when to when in the query."""
    match: Span
    """From when to when in the match."""
    draq: float
    """DRAQ of this piece alone."""


@dataclass(frozen=True, kw_only=True)
class ScoresForm:
    """How well two videos align."""

    __pydantic_config__ = _FOR_PYDANTIC

    recipe: str
    """Name of the recipe."""
    draq: float
    """Cost of the path over the mean cost of random paths: 0 is perfect, 1 is no better than chance."""
    likelihood: float | None
    """Probability, at even odds, that both show the same movement. From 0.5 on they align. Null if it is not
    known for this encoder and recipe; then DRAQ decides."""
    threshold: float
    """Where DRAQ decides, it must be below this limit. It is lower if only parts correspond."""
    dtw_cost: float
    """Cost of the path."""
    random_cost: float
    """Mean cost of random paths through the same pieces."""
    score: float
    """DRAQ, raised by the share of the query that is left out. It ranks matches; lower is better."""
    coverage: dict[Side, float]
    """Share of the movement in the query and in the match that the path covers, from 0 to 1."""
    pieces: list[PieceForm]
    """The parts that are in step, in the query's order."""
    alignable: bool
    """Whether the timing of the two videos can be aligned."""
    verdict: str
    """The same in words: `aligns in full`, `aligns in part: …` or `does not align`."""
    reason: str
    """The number that decides the verdict, and its limit."""


@dataclass(frozen=True, kw_only=True)
class RunnerUpForm:
    """Another way to pair two videos that fits about as well, in seconds of each file."""

    __pydantic_config__ = _FOR_PYDANTIC

    query: Span
    """From when to when in the query."""
    match: Span
    """From when to when in the match."""
    later: float
    """How much later in the match moments of the query come than the alignment says."""
    draq: float
    """DRAQ of this part alone."""
    coverage: tuple[float, float]
    """Share of the movement in the query and in the match that it covers, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class AlignmentForm(ScoresForm):
    """Which moment of the query goes with which moment of the match."""

    path: list[PathRow]
    """Rows of query frame, query seconds, match frame, match seconds. Frames count from 0 in their file."""
    warnings: list[str]
    """What to check, in words: long stretches at an absurd speed, and movements that may repeat."""
    runners_up: list[RunnerUpForm]
    """Other ways to pair the videos that fit about as well, the best first, as where a movement repeats."""
    uncertainty: list[tuple[float, float, float]] | None
    """Rows of query seconds and the earliest and latest match seconds that could go with them; null if the
    cost matrix was not kept."""
    expected_error: tuple[float, float] | None
    """By how many seconds moments of videos that align are off on average: what is usual, and what nine of
    ten alignments stay below; null if the cost matrix was not kept."""


@dataclass(frozen=True, kw_only=True)
class MatchForm(ScoresForm):
    """A clip that was found for a query, best first."""

    rank: int
    """Place in the list, from 1."""
    rating: float | None = None
    """How well it fits, from 0 to 1; no match is rated higher than one before it. It counts how likely each
    match shows the same movement and where it stands among all candidates. Null from `find`."""
    grade: Grade | None = None
    """The same in words. `doubtful`: the same movement is less likely than not. Null from `find`."""
    clip: ClipForm
    """The clip; from `find`, the stretch of the film."""
    match_start: float | None = None
    """Where the match begins in its file, if the footage around the clip fits better than the clip itself."""
    match_end: float | None = None
    """Where it ends, likewise."""
    similarity: float
    """Similarity of the clip vectors, 1 at most."""
    alignability: float | None
    """Probability that it shows the same kind of movement; null if that is not known.
    It equals `likelihood`."""
    better_than: float | None
    """Share of random pairs of the sea that fit worse; null if `alignability` is known."""


@dataclass(frozen=True, kw_only=True)
class SearchForm:
    """The answer to one query."""

    __pydantic_config__ = _FOR_PYDANTIC

    query: ClipForm | None
    """The query; null if it was given as features."""
    encoder: str
    """Name of the sea's encoder."""
    recipe: str
    """Name of the recipe."""
    threshold: float
    """Where DRAQ decides, a whole match with a DRAQ below this aligns."""
    candidates: int
    """How many clips were compared closely."""
    best_draq: float | None
    """Lowest DRAQ of all candidates; null if there were none."""
    verdict: str
    """In words: how many matches align, or why none does."""
    matches: list[MatchForm]
    """The matches, best first."""


@dataclass(frozen=True, kw_only=True)
class RepetitionForm:
    """One time that a film shows a movement. Seconds count from the film's first frame."""

    __pydantic_config__ = _FOR_PYDANTIC

    number: int
    """Its place in the film, from 1."""
    start: float
    """When it begins, in seconds."""
    end: float
    """When it ends."""
    fit: float
    """How well it fits the template: 1 if the path between them costs nothing, 0 is chance."""
    tempo: float
    """How fast it is beside the median repetition: 2 is twice as fast."""
    oddness: float
    """How far it is from the others, in their usual deviations; 0 if there are fewer than five."""
    odd: bool
    """Whether it differs from the others: `oddness` is above 3.5."""


@dataclass(frozen=True, kw_only=True)
class RepetitionsForm:
    """A movement that a film repeats."""

    __pydantic_config__ = _FOR_PYDANTIC

    film: ClipForm
    """The film."""
    count: int
    """Number of complete repetitions."""
    at_least: int
    """How many of them surely fit."""
    at_most: int
    """How many there are if all that might fit count."""
    template: Span | None
    """The stretch of the film that the others were found by; null if the template came from elsewhere."""
    reference: int
    """Number of the repetition that is most like the others; its clock is that of the group."""
    repetitions: list[RepetitionForm]
    """The repetitions, in order of time."""
    summary: list[str]
    """The count, how the tempo changes, and which repetitions differ, in sentences."""
