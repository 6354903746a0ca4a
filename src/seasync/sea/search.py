"""The result of a search: matches, best first, with a verdict in words."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seasync.alignment import Alignment, Recipe, align_encodings
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.judge import RawVector, is_calibrated, likelihood
from seasync.alignment.prepare import grid_of, prepare
from seasync.alignment.result import Fit, Judged
from seasync.alignment.solve import align_with_costs
from seasync.alignment.spans import Span, fitting_spans
from seasync.clip import Clip
from seasync.encoders import content_hash
from seasync.encoders.vector import cut, joined
from seasync.encoding import Encoding, EncodingBatch, seconds_of
from seasync.errors import EncoderError, SeaError, VideoError
from seasync.files import Place, fetch
from seasync.forms import ClipForm, MatchForm, SearchForm
from seasync.options import Partial, Rerank
from seasync.ranking import rank
from seasync.sea.calibration import better_than_random, judged
from seasync.sea.index import Found
from seasync.sea.rows import CLIP_COLUMNS, ID_DIGITS, NUMBERS, clip_id, lists, matrix
from seasync.sea.snapshot import Snapshot, all_of, quoted
from seasync.similarity import Neighborhood, clip_vectors_of, query_vector

if TYPE_CHECKING:
    import pyarrow as pa

    from seasync.sea.index import RowIds


@dataclass(frozen=True, eq=False)
class Match:
    """A clip of the sea that was found for a query, aligned with it.

    Attributes
    ----------
    clip : Clip
        The clip, or the stretch of its film that fits better.
    duration : float
        Length of the clip, in seconds.
    similarity : float
        Similarity of the clip vectors, 1 at most.
    alignability : float, optional
        Probability (at even odds) that it shows the same kind of movement: the alignment's likelihood. None
        if it is not known for this encoder and recipe.
    better_than : float, optional
        Share of random pairs of the sea that fit worse, if that probability is not known.
    alignment : Alignment
        Which moment of the query goes with which moment of the clip.
    part : Clip, optional
        The clip of the sea that led to it, if the film around that clip fits better than the clip.

    Examples
    --------
    >>> match = seasync.Sea("footage.sea").search("query.mp4", k=1)[0]
    >>> match.clip.label, match.draq < 1
    ('squat', True)
    """

    clip: Clip
    duration: float
    similarity: float
    alignability: float | None
    better_than: float | None
    alignment: Alignment
    part: Clip | None = None

    @property
    def draq(self) -> float:
        """DRAQ of the alignment: its cost over the mean cost of random paths. Lower is better."""
        return self.alignment.draq

    @property
    def dtw_cost(self) -> float:
        """Cost of the alignment's path."""
        return self.alignment.dtw_cost

    @property
    def alignable(self) -> bool:
        """Whether the timing of the clip can be aligned with the query's."""
        return self.alignment.alignable

    @property
    def end(self) -> float:
        """Where the clip ends in its file, in seconds."""
        return self.clip.start + self.duration if self.clip.end is None else self.clip.end

    def form(self, rank: int) -> MatchForm:
        """The match in the form that JSON has; `rank` counts from 1."""
        clip = self.part or self.clip
        return match_form(
            self.alignment,
            rank=rank,
            clip=clip.form(end=clip.start + self.duration),
            match_start=self.clip.start if self.part else None,
            match_end=self.end if self.part else None,
            similarity=self.similarity,
            better_than=self.better_than,
        )

    def to_json(self, rank: int = 1) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.forms.MatchForm` describes them."""
        return asdict(self.form(rank))


class Matches(list[Match]):
    """The matches of one query, best first.

    Attributes
    ----------
    query : Clip, optional
        The query, if it is a clip.
    encoder : str
        Name of the sea's encoder.
    recipe : Recipe
        How the clips were compared and ranked.
    candidates : int
        How many clips were compared closely.
    best_draq : float, optional
        Lowest DRAQ of all candidates. None if there were none.
    """

    def __init__(
        self,
        matches: Iterable[Match],
        *,
        query: Clip | None,
        encoder: str,
        recipe: Recipe,
        candidates: int,
        best_draq: float | None,
    ) -> None:
        super().__init__(matches)
        self.query = query
        self.encoder = encoder
        self.recipe = recipe
        self.candidates = candidates
        self.best_draq = best_draq

    def _repr_html_(self) -> str:
        """The verdict and a table of the matches, for notebooks."""
        rows = "".join(
            f"<tr><td>{rank}</td><td>{escape(match.clip.name)}</td><td>{escape(match.clip.label or '')}</td>"
            f"<td>{match.draq:.3f}</td><td>{match.similarity:.2f}</td>"
            f"<td>{escape(match.alignment.verdict)}</td></tr>"
            for rank, match in enumerate(self, 1)
        )
        names = "".join(f"<th>{name}</th>" for name in ("", "clip", "label", "DRAQ", "similarity", "timing"))
        return f"<p>{escape(self.verdict)}</p><table><tr>{names}</tr>{rows}</table>"

    @property
    def verdict(self) -> str:
        """In words: how many matches align, or why none does."""
        fits = [match.alignment for match in self]
        return verdict_of(fits, self.recipe, candidates=self.candidates, best_draq=self.best_draq)

    def form(self) -> SearchForm:
        """The answer in the form that JSON has."""
        return SearchForm(
            query=None if self.query is None else self.query.form(),
            encoder=self.encoder,
            recipe=self.recipe.name,
            threshold=self.recipe.threshold,
            candidates=self.candidates,
            best_draq=self.best_draq,
            verdict=self.verdict,
            matches=[match.form(rank) for rank, match in enumerate(self, 1)],
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.forms.SearchForm` describes them."""
        return asdict(self.form())


def match_form(
    fit: Judged,
    *,
    rank: int,
    clip: ClipForm,
    similarity: float,
    better_than: float | None,
    match_start: float | None = None,
    match_end: float | None = None,
) -> MatchForm:
    """A match in the form that JSON has, of which no path is needed."""
    return MatchForm(
        **vars(fit.scores()),
        rank=rank,
        clip=clip,
        match_start=match_start,
        match_end=match_end,
        similarity=similarity,
        alignability=fit.likelihood,
        better_than=better_than,
    )


def verdict_of(fits: Sequence[Judged], recipe: Recipe, *, candidates: int, best_draq: float | None) -> str:
    """In words: how many matches align, or why none does; see `Matches`."""
    if best_draq is None:
        return "Nothing to compare with: no other clip of the sea meets the conditions."
    count = sum(fit.alignable for fit in fits)
    if count:
        return f"{count} of {len(fits)} {'aligns' if count == 1 else 'align'}."
    best = f"the best DRAQ of {candidates} candidates is {best_draq:.3f}"
    if not fits:
        return f"Every candidate was left out: {best}."
    likeliest = max(fits, key=lambda fit: (fit.likelihood or 0, -fit.draq)).decision
    if likeliest.likelihood is not None:
        return f"Nothing here aligns: the best of {candidates} candidates is {likeliest.reason}."
    limit = recipe.threshold
    why = f", the limit is {limit:g}" if best_draq >= limit else f"; the nearest match: {likeliest.reason}"
    return f"Nothing here aligns: {best}{why}."


# What is searched for: a file, a span of one, a clip of the sea itself, or an encoding.


@dataclass(frozen=True, eq=False)
class Query:
    """An encoding to search for, and where it is from.

    Attributes
    ----------
    own
        Row ids of the clips that show the same footage; they are not answers.
    end
        When the clip's last frame ends, in seconds of its file.
    content
        Hash of the bytes of the clip's file, where the clip was not named by its id.
    """

    encoding: Encoding
    clip: Clip | None
    own: RowIds
    end: float = math.inf
    content: str | None = None


Asked = Clip | Encoding | Query | Place


class Encode(Protocol):
    """Encodes a clip that the sea does not hold."""

    def __call__(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        """The clip's encoding, and the second of its file at which its last frame ends.

        `content` is the hash of the file's bytes, where it is known already.
        """
        ...


def resolve(
    snapshot: Snapshot, asked: Asked, encode: Encode, *, start: float | None = None, end: float | None = None
) -> Query:
    """Encode what is asked for, unless the sea has that very clip; find its own footage in the sea.

    `asked` is a video file or a span of one; a clip of the sea, by its id or the first 8 digits or more of
    it; an encoding by the sea's encoder; or a query that was resolved before, which is not encoded again.
    `start` and `end` narrow a file or a clip, in seconds of the file.
    """
    narrowed = start is not None or end is not None
    if narrowed and isinstance(asked, Encoding | Query):
        raise SeaError("start, end: an encoding is searched for whole; encode the span instead")
    if isinstance(asked, Encoding):
        asked = Query(asked, None, np.empty(0, np.uint64))
    if isinstance(asked, Query):
        return _again(snapshot, asked)
    clip = asked if isinstance(asked, Clip) else _named(snapshot, str(asked))
    if narrowed:
        clip = Clip.of(clip, start, end)
    if clip.id is None and not fetch(clip.file).exists():
        raise VideoError(f"{clip.file}: no such file, nor a clip of this sea by its id")
    return _look_up(snapshot, clip, None if clip.id else content_hash(clip.file), encode)


def _again(snapshot: Snapshot, query: Query) -> Query:
    """The same query on a sea that may have changed since: its own footage is looked up again."""
    if query.encoding.encoder != snapshot.facts.fingerprint:
        raise EncoderError(
            f"the query is encoded by {query.encoding.encoder}, the sea by {snapshot.facts.fingerprint}; "
            "use the encoder of the sea"
        )
    if query.clip is None:
        return query
    clip = replace(query.clip, id=None) if query.content else query.clip
    return _look_up(snapshot, clip, query.content, lambda clip, *, content=None: (query.encoding, query.end))


def _look_up(snapshot: Snapshot, clip: Clip, content: str | None, encode: Encode) -> Query:
    """Find a clip, by its id or by the hash of its file, and its own footage; encode what is not there."""
    known = snapshot.clip_table
    table = (
        known.equal(snapshot, "id", clip.id) if clip.id else known.equal(snapshot, "content", str(content))
    )
    if clip.id is not None:
        if not len(table):
            raise SeaError(f"{snapshot.dataset.uri}: no clip has the id {clip.id}")
        (clip,) = snapshot.clips_of(table)
        table = known.equal(snapshot, "content", table["content"][0].as_py())
    elif len(table):
        this = clip_id(table["content"][0].as_py(), clip.start, clip.end)
        clip = replace(clip, id=this if this in table["id"].to_pylist() else None)
    rows = table["_rowid"].to_numpy()
    start, length = table["start"].to_numpy(), table["duration"].to_numpy()
    until = np.inf if clip.end is None else clip.end
    overlapping = rows[(start < until) & (start + length > clip.start)]
    if clip.id is None:
        encoding, end = encode(clip, content=content)
        return Query(encoding, clip, overlapping, end, content)
    this = table["id"].to_numpy() == clip.id
    (kept,) = snapshot.encodings(rows[this])
    encoding = kept or encode(clip)[0]
    return Query(encoding, clip, overlapping, float((start + length)[this][0]), content)


def _named(snapshot: Snapshot, name: str) -> Clip:
    if Path(name).exists() or not re.fullmatch("[0-9a-f]{8,32}", name):
        return Clip(name)
    if len(name) == ID_DIGITS:
        found = snapshot.clips_of(snapshot.clip_table.equal(snapshot, "id", name))
    else:
        found = snapshot.clips(f"starts_with(id, '{name}')", limit=2)
    if len(found) > 1:
        raise SeaError(f"{name}: several clips have an id that begins with this; give more digits")
    return found[0] if found else Clip(name)


# From a query to its candidates: the nearest clip vectors, and their encodings.


def retrieve(
    snapshot: Snapshot, queries: Sequence[Query], k: int, where: str | None, *, trajectory: bool
) -> list[Found]:
    """The k nearest clip vectors to each query, without the query's own footage."""
    vectors = snapshot.vectors
    asked = [query_vector(query.encoding, vectors.standard, trajectory=trajectory) for query in queries]
    extra = max((len(query.own) for query in queries), default=0)
    nearest = vectors.nearest(snapshot, np.stack(asked), k + extra, where) if queries else []
    return [
        found.only(np.flatnonzero(~np.isin(found.rows, query.own))[:k])
        for query, found in zip(queries, nearest, strict=True)
    ]


def with_encodings(snapshot: Snapshot, found: Found, encode: Encode) -> tuple[Found, Sequence[Encoding]]:
    """What was found, with encodings; clips that must be encoded again and cannot be are left out."""
    rows = found.rows
    batch = snapshot.encoding_batch(rows)
    if batch is not None:
        return found, batch
    encodings = snapshot.encodings(rows, vectors=False, half=True)
    missing = [n for n, encoding in enumerate(encodings) if encoding is None]
    clips = snapshot.clips_of(snapshot.take(rows[missing], CLIP_COLUMNS)) if missing else []
    for n, clip in zip(missing, clips, strict=True):
        try:
            encodings[n], _ = encode(clip)
        except VideoError as error:
            warnings.warn(f"a candidate is left out: {error}", stacklevel=2)
    there = np.array([encoding is not None for encoding in encodings], bool)
    found = found if there.all() else found.only(there)
    return found, [encoding for encoding in encodings if encoding is not None]


def condition(snapshot: Snapshot, where: str | None, label: str | None) -> str | None:
    """Both as one condition, checked before time is spent on the query."""
    if where is not None:
        snapshot.expect_condition(where)
    return all_of(where, labelled(label))


def labelled(label: str | None) -> str | None:
    """The condition that a clip has this label."""
    return None if label is None else f"label = {quoted(label)}"


# Clips that are parts of one film: find where the query fits around a candidate in its film.


FURTHEST = 30.0  # seconds on either side of a candidate that are searched


@dataclass(frozen=True)
class Part:
    """One of the clips that a film was split into: its row, and its seconds in the film."""

    row: int
    start: float
    end: float


FilmPart = tuple[str, str, int]  # content of the film, how it was cut, number of the part


def spans_around(
    snapshot: Snapshot, query: Query, rows: RowIds, recipe: Recipe
) -> Iterator[tuple[int, Span, Encoding]]:
    """For each candidate that is part of a film, find the stretch around it that fits the query best.

    The search goes as far around a candidate as the query is long, but neither into the query's own footage
    nor beyond a part that keeps no frame features.

    Yields
    ------
    (int, Span, Encoding)
        The candidate's position in `rows`, the stretch, and its encoding.
    """
    if not snapshot.has_parts:
        return
    parts = _parts(snapshot, rows)
    places = {part.row: place for place, part in parts.items()}
    own = set(query.own.tolist())
    reach = min(float(query.encoding.seconds[-1] - query.encoding.seconds[0]), FURTHEST)
    around = {
        at: _around(places[row], parts, reach, own) for at, row in enumerate(rows.tolist()) if row in places
    }
    wanted = sorted({parts[place].row for group in around.values() for place in group})
    kept = dict(zip(wanted, snapshot.encodings(wanted, vectors=False), strict=True)) if wanted else {}
    for at, group in around.items():
        encodings = [kept[parts[place].row] for place in group]
        known = [encoding for encoding in encodings if encoding is not None]
        if len(known) < len(group):
            continue
        film = joined(known, at_cuts=group[0][1] == "shots")
        for span in fitting_spans(query.encoding, film, recipe=recipe, count=1):
            end = min(span.end, parts[group[-1]].end)  # the samples alone tell it only to a sampling step
            yield at, Span(span.start, end), cut(film, span.start, end)


def _parts(snapshot: Snapshot, rows: RowIds) -> dict[FilmPart, Part]:
    """All parts of the films that the candidates are parts of."""
    hits = snapshot.take(rows, ["content", "parts"])
    films = {film for film, count in zip(*hits.to_pydict().values(), strict=True) if count > 1}
    if not films:
        return {}
    where = f"parts > 1 AND content IN ({', '.join(map(repr, sorted(films)))})"
    table = snapshot.table(["content", "split", "part", "start", "duration"], where)
    return {
        (content, split, number): Part(row, start, start + duration)
        for content, split, number, start, duration, row in zip(*table.to_pydict().values(), strict=True)
    }


def _around(place: FilmPart, parts: dict[FilmPart, Part], reach: float, own: set[int]) -> list[FilmPart]:
    """The part itself and its neighbors within `reach` seconds, in the film's order."""
    content, split, number = place
    hit = parts[place]

    def is_near(number: int) -> bool:
        part = parts.get((content, split, number))
        return (
            part is not None
            and part.row not in own
            and part.end > hit.start - reach
            and part.start < hit.end + reach
        )

    first, last = number, number + 1
    while is_near(first - 1):
        first -= 1
    while is_near(last):
        last += 1
    return [(content, split, n) for n in range(first, last)]


# From candidates to matches: rank them, look at the film around them, align the best.


CONSENSUS_CELLS = 1 << 25  # of all matches' cost matrices with each other: ten clips of 38 seconds
_VECTORS = ["mean", "trajectory"]
KEPT_CELLS = 1 << 20  # of a match's cost matrix: it goes with the match up to 4 MB


class Candidates:
    """One query's candidates: their rows, encodings and ranking.

    Parameters
    ----------
    snapshot : Snapshot
    query : Query
    found : Found
        The B candidates.
    encodings : sequence of Encoding, length B
        Without their clip vectors.
    recipe, rerank, partial
        As in `seasync.ranking.rank`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        query: Query,
        found: Found,
        encodings: Sequence[Encoding],
        *,
        recipe: Recipe,
        rerank: Rerank | None = None,
        partial: Partial = "auto",
    ) -> None:
        self.snapshot, self.query, self.rows = snapshot, query, found.rows
        self.recipe, self.partial = recipe, partial
        self.encodings = encodings
        # Where the film around a candidate fits the query better than the candidate itself:
        self.stretches: dict[int, Span] = {}
        # Encodings that take the place of those given: of stretches, and with clip vectors.
        self._encodings: dict[int, Encoding] = {}
        standard, neighborhood = snapshot.vectors.standard, None
        self._vector = query_vector(query.encoding, standard, trajectory=recipe.trajectory)
        if (rerank or recipe.rerank) == "evidence" and len(found.rows):
            neighborhood = Neighborhood.of(self._vector, found.vectors, len(standard.mean))
        self.ranking = rank(
            query.encoding,
            encodings,
            found.similarity,
            recipe=recipe,
            rerank=rerank,
            partial=partial,
            neighborhood=neighborhood,
        )
        if recipe.windows and partial != "never" and self.ranking.rerank != "none":
            self._look_around()

    def _look_around(self) -> None:
        found = list(spans_around(self.snapshot, self.query, self.rows, self.recipe))
        if not found:
            return
        positions, spans, encodings = zip(*found, strict=True)
        vectors = clip_vectors_of(encodings, self.snapshot.vectors.standard)
        others = rank(
            self.query.encoding,
            encodings,
            vectors @ self._vector,
            recipe=self.recipe,
            rerank=self.ranking.rerank,
            partial=self.partial,
        )
        self.ranking, taken = self.ranking.improved(others, positions)
        for n in taken:
            self.stretches[positions[n]], self._encodings[positions[n]] = spans[n], encodings[n]

    def matches(
        self, k: int, *, max_draq: float | None = None, consensus: bool | None = None, cost: bool = True
    ) -> Matches:
        """The k best candidates, aligned.

        Parameters
        ----------
        k : int
        max_draq : float, optional
            Leave out candidates with a higher DRAQ.
        consensus : bool, optional
            Let the alignments correct each other; see `seasync.alignment.consensus`. Default: with a recipe
            that compares trajectories, unless the clips are long.
        cost : bool
            Keep small cost matrices with the alignments.
        """
        best = self._clips(self.order(max_draq), k)
        query, clips = (
            prepare(self.query.encoding, self.recipe),
            [prepare(encoding, self.recipe) for encoding in self._with_vectors(list(best))],
        )
        alignments = align_with_costs(query, clips, recipe=self.recipe, partial=self.partial)
        if consensus or (consensus is None and self._consensus_is_cheap(alignments)):
            alignments = apply_consensus(alignments, clips, partial=self.partial)
        matches = []
        for at, (n, (clip, duration, part)) in enumerate(best.items()):
            aligned = alignments[at]
            kept = cost and aligned.cost is not None and aligned.cost.size <= KEPT_CELLS
            aligned = aligned.of(self.query.clip, clip, ends=(self.query.end, clip.start + duration))
            aligned = aligned if kept else replace(aligned, cost=None)
            similarity = float(self.ranking.similarity[n])
            aligned = judged(self.snapshot, aligned, similarity)
            better = None
            if aligned.likelihood is None:
                [better] = better_than_random(self.snapshot, self.recipe, self.ranking.keys("product")[[n]])
            matches.append(Match(clip, duration, similarity, aligned.likelihood, better, aligned, part))
        return Matches(
            matches,
            query=self.query.clip,
            encoder=self.snapshot.facts.encoder,
            recipe=self.recipe,
            candidates=len(self.rows),
            best_draq=self.best_draq,
        )

    @property
    def best_draq(self) -> float | None:
        """The lowest DRAQ of all candidates."""
        draq = self.ranking.scores.draq
        return float(draq.min()) if len(draq) else None

    def order(self, max_draq: float | None = None) -> list[int]:
        """The candidates by their numbers, best first, without those of a higher DRAQ than `max_draq`."""
        draq = self.ranking.scores.draq
        return [n for n in self.ranking.order().tolist() if max_draq is None or draq[n] <= max_draq]

    def _with_vectors(self, best: list[int]) -> list[Encoding]:
        """The encodings of these candidates with mean and trajectory, which are read only now."""
        bare = [n for n in best if n not in self._encodings]
        if bare:
            self._complete(bare, self.snapshot.take(self.rows[bare], self._missing))
        return [self._encodings[n] for n in best]

    @property
    def _missing(self) -> list[str]:
        """The columns that encodings lack before they are completed."""
        return [*_VECTORS, *([NUMBERS] if isinstance(self.encodings, EncodingBatch) else [])]

    def _complete(self, chosen: list[int], table: pa.Table) -> None:
        """Give the encodings of these candidates what `table` holds of them."""
        vectors = zip(chosen, *(matrix(table[name]) for name in _VECTORS), strict=True)
        if isinstance(self.encodings, EncodingBatch):
            numbers = iter(lists(table[NUMBERS]))
            for n, mean, trajectory in vectors:
                self._encodings[n] = self.encodings.encoding(n, next(numbers), mean, trajectory)
        else:
            for n, mean, trajectory in vectors:
                self._encodings[n] = replace(self.encodings[n], mean=mean, trajectory=trajectory)

    def _consensus_is_cheap(self, alignments: Sequence[Alignment]) -> bool:
        """Whether the matches can be aligned with each other in well under a tenth of a second."""
        lengths = sum(len(alignment.match_seconds) for alignment in alignments)
        return self.recipe.trajectory and lengths**2 <= CONSENSUS_CELLS

    def _clips(self, order: list[int], k: int) -> dict[int, tuple[Clip, float, Clip | None]]:
        """The first k as (clip, duration, the clip that led to it if it is a stretch of a film).

        A stretch is cut to what corresponds, and left out if one before it shows most of it.
        """
        known = self.snapshot.clip_table
        if self.stretches:
            table = known.take(self.snapshot, self.rows[order])
        else:  # what the alignments need besides is read with it
            table = known.take(self.snapshot, self.rows[order[:k]], self._missing)
            self._complete(order[:k], table)
        found: dict[int, tuple[Clip, float, Clip | None]] = {}
        for n, clip, duration in zip(
            order, self.snapshot.clips_of(table), table["duration"].to_pylist(), strict=False
        ):
            if len(found) == k:
                break
            if n not in self.stretches:
                found[n] = clip, duration, None
                continue
            span = self._trimmed(n)
            shown = Clip.of(clip, span.start, span.end), span.end - span.start
            if not any(_shared(shown, other[:2]) > 0.5 for other in found.values()):
                found[n] = *shown, clip
        return found

    def _trimmed(self, n: int) -> Span:
        """A stretch of a film without what its alignment leaves out at the ends.

        The scores of a longer stretch that holds the same movement differ by chance alone, so its ends are
        not known before it is aligned.
        """
        encoding, span = self._encodings[n], self.stretches[n]
        aligned = align_encodings(self.query.encoding, encoding, recipe=self.recipe, partial=self.partial)
        starts, ends = zip(*(piece.match for piece in aligned.pieces), strict=True)
        trimmed = Span(max(span.start, min(starts)), min(span.end, max(ends)))
        if not aligned.whole and trimmed != span:
            self.stretches[n], self._encodings[n] = trimmed, cut(encoding, trimmed.start, trimmed.end)
        return self.stretches[n]


def _shared(one: tuple[Clip, float], other: tuple[Clip, float]) -> float:
    """The share of the shorter of two stretches (clip, duration) that the longer one shows as well."""
    if one[0].file != other[0].file:
        return 0.0
    start = max(one[0].start, other[0].start)
    end = min(clip.start + duration for clip, duration in (one, other))
    return (end - start) / min(one[1], other[1])


# The answer to a search in the form that JSON has.


def search_form(ranked: Candidates, k: int, *, max_draq: float | None = None) -> SearchForm:
    """What `Candidates.matches` says in JSON, without aligning the candidates again.

    Parameters
    ----------
    ranked : Candidates
    k : int
    max_draq : float, optional
        Leave out candidates with a higher DRAQ.
    """
    if ranked.stretches:  # what they are cut to depends on their alignments
        return ranked.matches(k, max_draq=max_draq, consensus=False, cost=False).form()
    snapshot, query, recipe = ranked.snapshot, ranked.query, ranked.recipe
    order = ranked.order(max_draq)[:k]
    vectors = ["mean", "trajectory"] if is_calibrated(query.encoding.encoder, recipe) else []
    table = snapshot.clip_table.take(snapshot, ranked.rows[order], vectors)
    clips, lengths = snapshot.clips_of(table), table["duration"].to_pylist()
    ends = [clip.start + length for clip, length in zip(clips, lengths, strict=True)]
    likely = _likelihoods(ranked, order, table) if vectors else [None] * len(order)
    fits = [fit.until((query.end, end)) for fit, end in zip(_fits(ranked, order, likely), ends, strict=True)]
    shares: list[float | None] = [None] * len(fits)
    if any(fit.likelihood is None for fit in fits):
        shares = better_than_random(snapshot, recipe, ranked.ranking.keys("product")[order])
    columns = zip(fits, clips, ends, ranked.ranking.similarity[order].tolist(), shares, strict=True)
    return SearchForm(
        query=None if query.clip is None else query.clip.form(),
        encoder=snapshot.facts.encoder,
        recipe=recipe.name,
        threshold=recipe.threshold,
        candidates=len(ranked.rows),
        best_draq=ranked.best_draq,
        verdict=verdict_of(fits, recipe, candidates=len(ranked.rows), best_draq=ranked.best_draq),
        matches=[
            match_form(fit, rank=rank, clip=clip.form(end=end), similarity=alike, better_than=share)
            for rank, (fit, clip, end, alike, share) in enumerate(columns, 1)
        ],
    )


def _fits(ranked: Candidates, chosen: list[int], likelihoods: Sequence[float | None]) -> list[Fit]:
    """How well these candidates fit the query, judged as their alignments would be."""
    ranking, recipe = ranked.ranking, ranked.recipe
    query = grid_of(ranked.query.encoding.seconds, recipe)
    fits = []
    for n, likely in zip(chosen, likelihoods, strict=True):
        fit = Fit.of(ranking.scores, n, query, grid_of(seconds_of(ranked.encodings, n), recipe), recipe)
        fits.append(judged(ranked.snapshot, replace(fit, likelihood=likely), float(ranking.similarity[n])))
    return fits


def _likelihoods(ranked: Candidates, chosen: list[int], table: pa.Table) -> list[float | None]:
    """How likely each of these candidates shows the query's movement; `table` has their raw vectors."""
    query, best = ranked.query.encoding, ranked.ranking.scores.best_score
    vectors = zip(matrix(table["mean"]), matrix(table["trajectory"]), strict=True)
    return [
        likelihood(query, RawVector(query.encoder, *parts), float(best[n]), ranked.recipe)
        for n, parts in zip(chosen, vectors, strict=True)
    ]
