"""One search: what is asked for, its candidates, their ranking, and the answer.

`answer` has the whole method: rank the nearest clip vectors by the scores of their alignments, look at the
film around them, and show the best. Scores say all that an answer says in JSON. A path is computed when
somebody asks for an alignment.
"""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from seasync.alignment import MOTION, Alignment, Recipe, Scores, score_many
from seasync.alignment.consensus import apply_consensus
from seasync.alignment.judge import LIKELY, RawVector, likelihood, nothing_moves, per_cent, product_of
from seasync.alignment.prepare import PreparedClip, grid_of, prepare
from seasync.alignment.result import Fit
from seasync.alignment.solve import align_pairs
from seasync.alignment.spans import Span, fitting_spans
from seasync.clip import Clip
from seasync.encoders import content_hash
from seasync.encoders.encoder import cut, joined
from seasync.encoding import Encoding, Floats, seconds_of
from seasync.errors import EncoderError, SeaError, VideoError
from seasync.files import Place, fetch
from seasync.forms import MatchForm, SearchForm
from seasync.options import Grade, Rerank
from seasync.ranking import Doubles, Ranking, clip_vectors_of, query_vector, rank
from seasync.sea.calibration import better_than_random, calibration_of
from seasync.sea.index import Found, RowIds
from seasync.sea.rows import CLIP_COLUMNS, ID_DIGITS, clip_id, matrix
from seasync.sea.snapshot import Snapshot, one_of

CONSENSUS_CELLS = 1 << 25  # of all matches' cost matrices with each other: ten clips of 38 seconds
KEPT_CELLS = 1 << 20  # of a match's cost matrix: it goes with the match up to 4 MB
STANDING = 0.2  # of a rating, the share of the place among all candidates; not measured
FURTHEST = 30.0  # seconds on either side of a candidate that are searched


@dataclass(frozen=True, eq=False)
class Match:
    """A clip of the sea that was found for a query.

    Attributes
    ----------
    clip : Clip
        The clip, or the stretch of its film that fits better.
    duration : float
        Length of the clip, in seconds.
    similarity : float
        Similarity of the clip vectors, 1 at most.
    fit : Fit
        How well it aligns with the query, as far as this is known without the path.
    better_than : float, optional
        Share of random pairs of the sea that fit worse, if `alignability` is not known.
    part : Clip, optional
        The clip of the sea that led to it, if the film around that clip fits better than the clip.
    rating : float
        How well it fits, from 0 to 1; no match is rated higher than one before it. See `ratings`.
    grade : str
        The same in words: "fits best", "fits" or "doubtful".

    Examples
    --------
    >>> match = seasync.Sea("footage.sea").search("query.mp4", k=1)[0]
    >>> match.clip.label, match.draq < 1
    ('squat', True)
    """

    clip: Clip
    duration: float
    similarity: float
    fit: Fit
    better_than: float | None
    part: Clip | None = None
    paths: Paths | None = field(default=None, repr=False)
    number: int = field(default=0, repr=False)
    _: KW_ONLY
    rating: float = 0.0
    grade: Grade = "doubtful"
    query_name: str | None = field(default=None, repr=False)

    @cached_property
    def alignment(self) -> Alignment:
        """Which moment of the query goes with which moment of the clip; computed when first asked for."""
        return self.align()

    def align(self, *, consensus: bool | None = None) -> Alignment:
        """The alignment, with or without the help of the other matches. Default: as the search was asked.

        Raises
        ------
        SeaError
            If another process found the match; see `Matches.reopen`.
        """
        if self.paths is None or self.paths.query is None:
            raise SeaError(f"{self.clip.name}: was found by another process; search again to align it")
        solved, query = self.paths.alignment(self.number, consensus), self.paths.query
        ends = query.end, self.clip.start + self.duration
        return replace(solved.of(query.clip, self.clip, ends=ends), likelihood=self.fit.likelihood)

    @property
    def alignability(self) -> float | None:
        """Probability, at even odds, that it shows the same kind of movement. None if it is not known for
        this encoder and recipe."""
        return self.fit.likelihood

    @property
    def draq(self) -> float:
        """DRAQ of the alignment: its cost over the mean cost of random paths. Lower is better."""
        return self.fit.draq

    @property
    def dtw_cost(self) -> float:
        """Cost of the alignment's path."""
        return self.fit.dtw_cost

    @property
    def alignable(self) -> bool:
        """Whether the timing of the clip can be aligned with the query's."""
        return self.fit.alignable

    @property
    def end(self) -> float:
        """Where the clip ends in its file, in seconds."""
        return self.clip.start + self.duration if self.clip.end is None else self.clip.end

    def form(self, rank: int) -> MatchForm:
        """The match in the form that JSON has; `rank` counts from 1."""
        clip = self.part or self.clip
        return MatchForm(
            **vars(self.fit.scores()),
            rank=rank,
            rating=self.rating,
            grade=self.grade,
            clip=clip.form(end=clip.start + self.duration),
            match_start=self.clip.start if self.part else None,
            match_end=self.end if self.part else None,
            similarity=self.similarity,
            alignability=self.alignability,
            better_than=self.better_than,
        )

    def to_json(self, rank: int = 1) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.forms.MatchForm` describes them."""
        return asdict(self.form(rank))

    def __getstate__(self) -> dict[str, Any]:
        """All but the alignment: an answer with it would be a hundred times as large."""
        return {name: value for name, value in vars(self).items() if name != "alignment"}


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
            f"<tr><td>{rank}</td><td>{match.grade}</td><td>{escape(match.clip.name)}</td>"
            f"<td>{escape(match.clip.label or '')}</td>"
            f"<td>{match.draq:.3f}</td><td>{match.similarity:.2f}</td>"
            f"<td>{escape(match.fit.verdict)}</td></tr>"
            for rank, match in enumerate(self, 1)
        )
        names = "".join(
            f"<th>{name}</th>" for name in ("", "fit", "clip", "label", "DRAQ", "similarity", "timing")
        )
        return f"<p>{escape(self.verdict)}</p><table><tr>{names}</tr>{rows}</table>"

    @property
    def verdict(self) -> str:
        """In words: how many matches align and what is known of the first, or why none aligns."""
        if self.best_draq is None:
            return "Nothing to compare with: no other clip of the sea meets the conditions."
        count = sum(match.alignable for match in self)
        if count:
            first, known = self[0], self[0].alignability
            why = f"{per_cent(known)} likely the same movement" if known is not None else "in step"
            if known is None and first.better_than is not None:
                why = f"fits better than {first.better_than:.0%} of random pairs"
            states = first.grade if first.grade != "doubtful" else "is doubtful"
            return f"{count} of {len(self)} {'aligns' if count == 1 else 'align'}; the first {states}: {why}."
        best = f"the best DRAQ of {self.candidates} candidates is {self.best_draq:.3f}"
        if not self:
            return f"Every candidate was left out: {best}."
        decision = self[0].fit.decision
        if decision.likelihood is not None:
            return f"Nothing here aligns: the first of {self.candidates} candidates is {decision.reason}."
        limit = self.recipe.threshold
        nearest = f"; the first match: {decision.reason}"
        why = f", the limit is {limit:g}" if self.best_draq >= limit else nearest
        return f"Nothing here aligns: {best}{why}."

    @property
    def can_align(self) -> bool:
        """Whether alignments can be asked for: not if another process found the matches; see `reopen`."""
        return all(match.paths is not None and match.paths.query is not None for match in self)

    def form(self) -> SearchForm:
        """The answer in the form that JSON has. No path is computed for it."""
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

    def reopen(self, snapshot: Snapshot, query: Query, encode: Encode) -> None:
        """Let these matches be aligned although another process found them.

        Parameters
        ----------
        snapshot : Snapshot
            The version of the sea that was searched.
        query : Query
            What was searched for.
        encode : callable
            Encodes clips that the sea keeps no frame features of.

        Raises
        ------
        SeaError
            If the sea has changed since.
        """
        if self and (paths := self[0].paths):  # all matches of an answer have the same
            paths.reopen(snapshot, query, encode)


@dataclass(eq=False, repr=False)
class Paths:
    """Aligns the matches of one answer when it is asked to, each once.

    It can be sent to another process, which has to `reopen` it.

    Attributes
    ----------
    version : int
        Version of the sea that was searched.
    options : SearchOptions
    sources : sequence of _Source, length k
        Where the encodings of the matches are in the sea.
    keep_costs : bool
        Keep small cost matrices with the alignments.
    query : Query, optional
        None in another process, until it is reopened there.
    prepared : PreparedClip
        The query, prepared as for scoring.
    read : callable
        Gives the encoding of a match by its number.
    """

    version: int
    options: SearchOptions
    sources: Sequence[_Source]
    keep_costs: bool
    query: Query | None
    prepared: PreparedClip
    read: Callable[[int], Encoding]

    def __post_init__(self) -> None:
        self._clips: dict[int, PreparedClip] = {}
        self._direct: dict[int, Alignment] = {}
        self._corrected: list[Alignment] | None = None
        self._turn = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("version", "options", "sources", "keep_costs")
        return {name: getattr(self, name) for name in kept} | {"query": None}

    def reopen(self, snapshot: Snapshot, query: Query, encode: Encode) -> None:
        """Read again what another process has read; see `Matches.reopen`."""
        if snapshot.version != self.version:
            raise SeaError(f"{snapshot.dataset.uri}: the sea has changed since the search; search again")
        rows = sorted({row for source in self.sources for row in source.rows})
        kept = dict(zip(rows, snapshot.encodings(rows), strict=True))

        def read(number: int) -> Encoding:
            source = self.sources[number]
            known = [each for row in source.rows if (each := kept[row]) is not None]
            if not known:
                (clip,) = snapshot.clips_of(snapshot.take(source.rows, CLIP_COLUMNS))
                return encode(clip)[0]
            return known[0] if source.span is None else source.stretch_of(known)

        self.query, self.prepared, self.read = query, prepare(query.encoding, self.options.recipe), read
        self.__post_init__()

    def alignment(self, number: int, consensus: bool | None = None) -> Alignment:
        """The alignment of one match. With consensus, all matches are aligned."""
        with self._turn:
            if not self._has_consensus(consensus):
                return self._solved([number])[0]
            if self._corrected is None:
                numbers = range(len(self.sources))
                direct = self._solved(numbers)
                self._corrected = apply_consensus(direct, [self._clips[n] for n in numbers])
            return self._corrected[number]

    def _solved(self, numbers: Sequence[int]) -> list[Alignment]:
        """The direct alignments of these matches."""
        recipe = self.options.recipe
        missing = [n for n in numbers if n not in self._direct]
        self._clips |= {n: prepare(self.read(n), recipe) for n in missing}
        found = align_pairs([(self.prepared, self._clips[n]) for n in missing], recipe, keep="costs")
        for n, each in zip(missing, found, strict=True):
            kept = self.keep_costs and each.cost is not None and each.cost.size <= KEPT_CELLS
            self._direct[n] = each if kept else replace(each, cost=None)
        return [self._direct[n] for n in numbers]

    def _has_consensus(self, asked: bool | None) -> bool:
        """Whether matches correct each other: as asked, or if that takes well under a tenth of a second."""
        recipe = self.options.recipe
        wanted = recipe.consensus if asked is None else asked
        if wanted is not None:
            return wanted
        if not recipe.trajectory:
            return False
        grids = (grid_of(self.read(n).seconds, recipe) for n in range(len(self.sources)))
        return sum(len(grid.seconds) for grid in grids) ** 2 <= CONSENSUS_CELLS


@dataclass(frozen=True)
class SearchOptions:
    """What decides an answer besides the query and the candidates; see `Sea.search`."""

    k: int = 10
    recipe: Recipe = MOTION
    rerank: Rerank | None = None
    candidates: int | None = None
    max_draq: float | None = None


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

    @property
    def name(self) -> str | None:
        """The clip's id, or the hash of its file and its span; None of an encoding without a clip."""
        if self.clip is None or self.clip.id or not self.content:
            return self.clip.id if self.clip else None
        return f"{self.content} {self.clip.start:g}–{'' if self.clip.end is None else f'{self.clip.end:g}'}"


Asked = Clip | Encoding | Query | Place


class Encode(Protocol):
    """Encodes a clip that the sea does not hold."""

    def __call__(self, clip: Clip, *, content: str | None = None) -> tuple[Encoding, float]:
        """The clip's encoding, and the second of its file at which its last frame ends.

        `content` is the hash of the file's bytes, where it is known already.
        """
        ...


def resolve(
    snapshot: Snapshot, asked: Asked, encode: Encode, start: float | None = None, end: float | None = None
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


def retrieve(
    snapshot: Snapshot, queries: Sequence[Query], options: SearchOptions, where: str | None
) -> list[Found]:
    """The nearest clip vectors to each query, without the query's own footage."""
    vectors, recipe = snapshot.vectors, options.recipe
    k = max(options.k, options.candidates or recipe.candidates)
    asked = [query_vector(each.encoding, vectors.standard, trajectory=recipe.trajectory) for each in queries]
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


def answer(
    snapshot: Snapshot,
    query: Query,
    found: Found,
    encode: Encode,
    options: SearchOptions,
    *,
    keep_costs: bool = True,
) -> Matches:
    """Rank what was found for a query, look at the film around it, and answer with the k best.

    Parameters
    ----------
    found : Found
        The candidates.
    keep_costs : bool
        Keep small cost matrices with the alignments.
    """
    recipe = options.recipe
    found, encodings = with_encodings(snapshot, found, encode)
    standard, asked = snapshot.vectors.standard, prepare(query.encoding, recipe)
    vector = query_vector(query.encoding, standard, trajectory=recipe.trajectory)
    cohort = snapshot.cohort if len(found.rows) else None

    def rank_by(candidates: Sequence[Encoding], similarity: Floats, vectors: Floats) -> Ranking:
        relation = cohort.relate(vector, vectors) if cohort else None
        return rank(asked, candidates, similarity, recipe=recipe, rerank=options.rerank, relation=relation)

    ranking = rank_by(encodings, found.similarity, found.vectors)
    stretches: dict[int, _Stretch] = {}
    if recipe.windows and recipe.partial != "never" and ranking.rerank != "none":
        around = dict(_stretches_around(snapshot, query, found.rows, recipe))
        if around:
            films = [encoding for _, encoding in around.values()]
            vectors = clip_vectors_of(films, standard)
            others = rank_by(films, vectors @ vector, vectors)
            ranking, taken = ranking.improved(others, list(around))
            stretches = {n: stretch for at, (n, stretch) in enumerate(around.items()) if at in taken}

    scores, draq = ranking.scores, ranking.scores.draq
    order = [n for n in ranking.order().tolist() if options.max_draq is None or draq[n] <= options.max_draq]
    grid, shown = grid_of(query.encoding.seconds, recipe), list[_Shown]()
    for each in _candidates(snapshot, asked.encoder, found, order, None if stretches else options.k):
        if len(shown) == options.k:
            break
        n = each.candidate
        stretch = stretches.get(n)
        seconds = stretch[1].seconds if stretch else seconds_of(encodings, n)
        each.rate(scores, n, Fit.of(scores, n, grid, grid_of(seconds, recipe), recipe))
        if stretch:
            each.show(*stretch)
            if any(each.share_of(other) > 0.5 for other in shown):  # a better one shows most of it
                continue
        shown.append(each)
    trimmed = [(each, each.encoding) for each in shown if each.is_trimmed and each.encoding]
    if trimmed:
        again = score_many(asked, [encoding for _, encoding in trimmed], recipe=recipe, partial=None)
        for at, (each, encoding) in enumerate(trimmed):
            each.rate(again, at, Fit.of(again, at, grid, grid_of(encoding.seconds, recipe), recipe))

    paths = Paths(
        snapshot.version,
        options,
        [each.source for each in shown],
        keep_costs,
        query,
        asked,
        lambda number: shown[number].encoding or _with_vector(encodings, shown[number]),
    )
    curve = calibration_of(snapshot, recipe, "search")
    products, keys, fits = ranking.keys("product"), ranking.in_company(), list[Fit]()
    for each in shown:
        product = product_of(query.encoding, each.encoding or each.vector, each.best_score)
        still = nothing_moves(query.encoding, each.encoding or each.vector, recipe)
        fit = replace(each.fit, product=product, likelihood=0.0 if still else likelihood(product, curve))
        fits.append(fit.until((query.end, each.end)))
    rated = ratings(fits, keys[[each.candidate for each in shown]], keys)
    matches = list[Match]()
    for number, (each, fit, (rating, grade)) in enumerate(zip(shown, fits, rated, strict=True)):
        similarity = float(ranking.similarity[each.candidate])
        better = None
        if fit.likelihood is None:
            [better] = better_than_random(snapshot, recipe, products[[each.candidate]])
        known = each.clip, each.duration, similarity, fit, better, each.part, paths, number
        matches.append(Match(*known, rating=rating, grade=grade, query_name=query.name))
    return Matches(
        matches,
        query=query.clip,
        encoder=snapshot.facts.encoder,
        recipe=recipe,
        candidates=len(found.rows),
        best_draq=float(draq.min()) if len(draq) else None,
    )


def ratings(fits: Sequence[Fit], keys: Doubles, every: Doubles) -> list[tuple[float, Grade]]:
    """How well matches fit, in numbers and words that fall along the list.

    The likelihood of each match judges it alone; the order knows more. So where a later match is likelier
    than the one before, both get the mean of the two (isotonic regression). A fifth of the rating is where
    the match stands among all candidates, by the key that orders them. Where no likelihood is known, DRAQ
    takes its place: at the threshold it counts as one half.

    Parameters
    ----------
    fits : sequence of Fit, length k
        Of the matches, best first.
    keys : numpy.ndarray [shape=(k,)]
        Their keys, lowest first; see `Ranking.in_company`.
    every : numpy.ndarray [shape=(B,)]
        The keys of all candidates.
    """
    pooled: list[tuple[float, int]] = []
    for fit in fits:
        pooled.append((_belief(fit), 1))
        while len(pooled) > 1 and pooled[-2][0] < pooled[-1][0]:
            (one, many), (other, more) = pooled[-2:]
            pooled[-2:] = [((one * many + other * more) / (many + more), many + more)]
    beliefs = [belief for belief, count in pooled for _ in range(count)]
    span = float(every.max() - every.min()) if len(every) else 0.0
    places = (every.max() - keys) / span if span else np.ones(len(keys))
    likely: list[Grade] = ["fits best", *["fits"] * len(beliefs)]  # type: ignore[list-item]
    return [
        (belief * (1 - STANDING + STANDING * place), likely[n] if belief >= LIKELY else "doubtful")
        for n, (belief, place) in enumerate(zip(beliefs, places.tolist(), strict=True))
    ]


def _belief(fit: Fit) -> float:
    if fit.likelihood is not None:
        return fit.likelihood
    decision = fit.decision
    belief = max(0.0, 1 - fit.score / (2 * decision.threshold))
    return belief if fit.alignable else min(belief, 0.49)


def _with_vector(encodings: Sequence[Encoding], shown: _Shown) -> Encoding:
    """The encoding of a clip that is shown, with its vector: consensus judges the matches by it."""
    return replace(encodings[shown.candidate], mean=shown.vector.mean, trajectory=shown.vector.trajectory)


@dataclass(eq=False)
class _Shown:
    """A candidate as the answer shows it: a clip of the sea, or a stretch of the film around it."""

    candidate: int
    clip: Clip
    duration: float
    source: _Source
    vector: RawVector
    fit: Fit = field(init=False)
    best_score: float = field(init=False)
    encoding: Encoding | None = None
    part: Clip | None = None
    is_trimmed: bool = False

    @property
    def end(self) -> float:
        return self.clip.start + self.duration

    def rate(self, scores: Scores, at: int, fit: Fit) -> None:
        """Say how well it fits, by its place in `scores`."""
        self.fit, self.best_score = fit, float(scores.best_score[at])

    def show(self, source: _Source, encoding: Encoding) -> None:
        """Show a stretch, without what its alignment leaves out at the ends.

        The scores of a longer stretch that holds the same movement differ by chance alone, so its ends are
        not known before it is aligned.
        """
        whole = source.span
        assert whole is not None
        starts, ends = zip(*(piece.match for piece in self.fit.pieces), strict=True)
        span = Span(max(whole.start, min(starts)), min(whole.end, max(ends)))
        self.is_trimmed = not self.fit.whole and span != whole
        span = span if self.is_trimmed else whole
        self.encoding = cut(encoding, span.start, span.end) if self.is_trimmed else encoding
        self.source = replace(source, span=span)
        self.part, self.clip = self.clip, Clip.of(self.clip, span.start, span.end)
        self.duration = span.end - span.start

    def share_of(self, other: _Shown) -> float:
        """The share of the shorter of the two that the longer one shows as well."""
        if self.clip.file != other.clip.file:
            return 0.0
        shared = min(self.end, other.end) - max(self.clip.start, other.clip.start)
        return shared / min(self.duration, other.duration)


def _candidates(
    snapshot: Snapshot, encoder: str, found: Found, order: Sequence[int], count: int | None
) -> Iterator[_Shown]:
    """The first `count` candidates in this order, with their raw clip vectors."""
    chosen, names = list(order[:count]), ["mean", "trajectory"]
    table = snapshot.clip_table.take(snapshot, found.rows[chosen], names)
    means, trajectories = (matrix(table[name]) for name in names)
    for at, (n, clip, duration) in enumerate(
        zip(chosen, snapshot.clips_of(table), table["duration"].to_pylist(), strict=True)
    ):
        vector = RawVector(encoder, means[at], trajectories[at])
        yield _Shown(n, clip, duration, _Source((int(found.rows[n]),)), vector)


@dataclass(frozen=True)
class _Source:
    """Where an encoding is in a sea: the row of a clip, or the rows of parts of a film and a span of it."""

    rows: tuple[int, ...]
    span: Span | None = None
    at_cuts: bool = False  # whether the film was split at cuts

    def stretch_of(self, parts: Sequence[Encoding]) -> Encoding:
        """The encoding of the span, out of those of the parts."""
        assert self.span is not None
        return cut(joined(parts, at_cuts=self.at_cuts), self.span.start, self.span.end)


_Stretch = tuple[_Source, Encoding]


class _Part(NamedTuple):
    """One of the clips that a film was split into: its row, and its seconds in the film."""

    row: int
    start: float
    end: float


_Numbered = tuple[str, str, int]  # content of the film, how it was cut, number of the part


def _stretches_around(
    snapshot: Snapshot, query: Query, rows: RowIds, recipe: Recipe
) -> Iterator[tuple[int, _Stretch]]:
    """For each candidate that is part of a film, find the stretch around it that fits the query best.

    The search goes as far around a candidate as the query is long, but neither into the query's own footage
    nor beyond a part that keeps no frame features.
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
        known = [encoding for place in group if (encoding := kept[parts[place].row]) is not None]
        if len(known) < len(group):
            continue
        at_cuts = group[0][1] == "shots"
        film = joined(known, at_cuts=at_cuts)
        for span in fitting_spans(query.encoding, film, recipe=recipe, count=1):
            end = min(span.end, parts[group[-1]].end)  # the samples alone tell it only to a sampling step
            source = _Source(tuple(parts[place].row for place in group), Span(span.start, end), at_cuts)
            yield at, (source, cut(film, span.start, end))


def _parts(snapshot: Snapshot, rows: RowIds) -> dict[_Numbered, _Part]:
    """All parts of the films that the candidates are parts of."""
    hits = snapshot.take(rows, ["content", "parts"])
    films = {film for film, count in zip(*hits.to_pydict().values(), strict=True) if count > 1}
    if not films:
        return {}
    where = f"parts > 1 AND {one_of('content', sorted(films))}"
    table = snapshot.table(["content", "split", "part", "start", "duration"], where)
    return {
        (content, split, number): _Part(row, start, start + duration)
        for content, split, number, start, duration, row in zip(*table.to_pydict().values(), strict=True)
    }


def _around(place: _Numbered, parts: dict[_Numbered, _Part], reach: float, own: set[int]) -> list[_Numbered]:
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
