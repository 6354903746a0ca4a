"""Finding a moment in long films: the stretches that move in step with a query."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION, Alignment, Recipe, align_encodings
from seasync.alignment.spans import Span, fitting_spans
from seasync.clip import Clip
from seasync.encoders import DEFAULT, Encoder, cut, encode_clip, get_encoder
from seasync.encoding import Encoding, Floats
from seasync.errors import SeasyncError
from seasync.files import Place
from seasync.forms import MatchForm
from seasync.pair import end_of, reading
from seasync.ranking import Ranking, Standard, clip_vectors, clip_vectors_of, query_vector, rank

_SPANS = 5  # stretches that each of the two proposals gives


@dataclass(frozen=True, eq=False)
class FoundSpan:
    """A stretch of a film that was found for a query.

    Attributes
    ----------
    clip : Clip
        The stretch.
    score : float
        The recipe's ranking key of the stretch's core; lower is better.
    similarity : float
        Similarity of its clip vector to the query's, standardized over the film.
    query : Clip, optional
    recipe : Recipe
    encodings : (Encoding, Encoding)
        The query's and the stretch's.

    Examples
    --------
    >>> found = seasync.find("query.mp4", "film.mp4", k=1)[0]
    >>> found.clip.name.startswith("film.mp4"), found.draq < 1
    (True, True)
    """

    clip: Clip
    score: float
    similarity: float
    query: Clip | None
    recipe: Recipe = field(repr=False)
    encodings: tuple[Encoding, Encoding] = field(repr=False)

    @property
    def draq(self) -> float:
        """DRAQ of the alignment; lower is better."""
        return self.alignment.draq

    @property
    def alignable(self) -> bool:
        """Whether the query and the stretch can be aligned."""
        return self.alignment.alignable

    @cached_property
    def alignment(self) -> Alignment:
        """Which moment goes with which; computed when it is first asked for."""
        ends = math.inf if self.query is None else end_of(self.query), self.clip.end or math.inf
        return align_encodings(*self.encodings, recipe=self.recipe).of(self.query, self.clip, ends=ends)

    def form(self, rank: int) -> MatchForm:
        """The stretch in the form that JSON has, the one of a match; `rank` counts from 1."""
        return MatchForm(
            **vars(self.alignment.scores()),
            rank=rank,
            clip=self.clip.form(),
            similarity=self.similarity,
            alignability=self.alignment.likelihood,
            better_than=None,
        )

    def to_json(self, rank: int = 1) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.forms.MatchForm` describes them."""
        return asdict(self.form(rank))


def find(
    query: Clip | Place,
    films: Clip | Place | Sequence[Clip | Place],
    *,
    k: int = 5,
    encoder: Encoder | str = DEFAULT,
    recipe: Recipe = MOTION,
    fps: float | None = None,
    cache: bool = True,
    failed: Callable[[str], None] | None = None,
    progress: Callable[[str, float, float], None] | None = None,
) -> list[FoundSpan]:
    """Find the stretches of films that move in step with a query.

    A film's features are kept in the cache, so searching it again is fast.

    Parameters
    ----------
    query : Clip, path or URI
        What to look for.
    films : Clip, path, URI, or a sequence of them
        Where to look.
    k : int
        How many stretches to return at most.
    encoder : Encoder or str
    recipe : Recipe
        How stretches are compared and ranked.
    fps : float, optional
        Sampled frames per second. Default: the encoder's own.
    cache : bool
        Keep encodings in the cache folder and use those that are there.
    failed : callable, optional
        Called with a message for each film that cannot be read; without it, that is an error.
    progress : callable, optional
        Called as ``progress(what, done, total)`` with the seconds of footage that are encoded.

    Returns
    -------
    list of FoundSpan
        Best first.

    Examples
    --------
    >>> found = seasync.find("query.mp4", ["film.mp4", "another-film.mp4"])
    >>> spans = [(each.clip.file, each.clip.start, each.clip.end) for each in found]
    """
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    asked = Clip.of(query)
    wanted = encode_clip(asked, model, fps=fps, cache=cache, progress=reading(asked, progress))
    found: list[FoundSpan] = []
    for film in [films] if isinstance(films, Clip | str | PathLike) else films:
        clip = Clip.of(film)
        try:
            encoding = encode_clip(clip, model, fps=fps, cache=cache, progress=reading(clip, progress))
        except SeasyncError as error:
            if failed is None:
                raise
            failed(str(error))
            continue
        stretches = find_in(wanted, encoding, clip, recipe=recipe, query_clip=asked)
        found += (_within_film(each, clip, encoding) for each in stretches)
    return sorted(found, key=lambda each: each.score)[:k]


def find_in(
    query: Encoding, film: Encoding, clip: Clip, *, recipe: Recipe = MOTION, query_clip: Clip | None = None
) -> list[FoundSpan]:
    """Find the best stretches of one encoded film.

    Two methods propose stretches: where the query's path gains most, and windows whose mean is most similar
    to the query's, each also with the best path around it. The recipe's ranking decides between them.

    Parameters
    ----------
    query, film : Encoding
    clip : Clip
        The film.
    recipe : Recipe
    query_clip : Clip, optional

    Returns
    -------
    list of FoundSpan
        Best first; none overlaps a better one.
    """
    windows = _windows(query, film)
    similar = windows.most_similar(query, _SPANS)
    proposed = fitting_spans(query, film, recipe=recipe, count=_SPANS) + similar
    proposed += [fit for window in similar for fit in _fit_around(window, query, film, recipe)]
    spans = list(dict.fromkeys(_within_cuts(span, film) for span in proposed))
    cores = _rank(query, [cut(film, span.start, span.end) for span in spans], windows, recipe)
    score = dict(zip(spans, cores.keys().tolist(), strict=True))
    # A stretch that is chosen for its core may begin and end a little too late or early.
    core = {
        _within_cuts(_union(span, *_fit_around(span, query, film, recipe)), film): span
        for span in reversed(_non_overlapping(sorted(spans, key=score.__getitem__), len(spans)))
    }
    whole = _non_overlapping(reversed(core), len(core))
    stretches = [cut(film, span.start, span.end) for span in whole]
    similarity = windows.similarity(query, stretches, recipe)
    found = []
    for span, stretch, alike in zip(whole, stretches, similarity.tolist(), strict=True):
        part = replace(clip, start=span.start, end=span.end, id=None)
        found.append(FoundSpan(part, score[core[span]], alike, query_clip, recipe, (query, stretch)))
    return found


def _within_film(found: FoundSpan, film: Clip, encoding: Encoding) -> FoundSpan:
    """End the stretch with the film: a sampling step after the last sample may reach beyond it."""
    end = found.clip.end or math.inf
    if end <= encoding.seconds[-1]:
        return found
    return replace(found, clip=replace(found.clip, end=min(end, end_of(film))))


def _rank(query: Encoding, stretches: Sequence[Encoding], windows: "_Windows", recipe: Recipe) -> Ranking:
    """Rank stretches whole to whole: they are proposed so that all of them fits all of the query."""
    similarity = windows.similarity(query, stretches, recipe)
    return rank(query, stretches, similarity, recipe=recipe.asked(partial="never"))


def _fit_around(span: Span, query: Encoding, film: Encoding, recipe: Recipe) -> list[Span]:
    """The best path around a stretch, if there is one: within half its length before and after it.

    A stretch may be a short part of what the query shows, so all of the query's length has room there.
    """
    length = span.end - span.start
    margin = max(length / 2, float(query.seconds[-1] - query.seconds[0]) - length)
    return fitting_spans(query, cut(film, span.start - margin, span.end + margin), recipe=recipe, count=1)


def _union(*spans: Span) -> Span:
    return Span(min(span.start for span in spans), max(span.end for span in spans))


def _non_overlapping(spans: Iterable[Span], count: int) -> list[Span]:
    """The first `count` spans that overlap none before them."""
    chosen: list[Span] = []
    for span in spans:
        if len(chosen) == count:
            break
        if all(span.end <= other.start or other.end <= span.start for other in chosen):
            chosen.append(span)
    return chosen


def _within_cuts(span: Span, film: Encoding) -> Span:
    """Move ends that reach over a cut by less than a quarter of the stretch back to the cut."""
    cuts = film.seconds[film.shots]
    reach = (span.end - span.start) / 4
    late = cuts[(cuts > span.start) & (cuts < span.start + reach)]
    early = cuts[(cuts > span.end - reach) & (cuts < span.end)]
    return Span(float(late[-1]) if len(late) else span.start, float(early[0]) if len(early) else span.end)


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windows of the query's length over a film: seconds (W, 2) and mean features (W, d)."""

    seconds: NDArray[np.float64]
    means: Floats
    standard: Standard

    def most_similar(self, query: Encoding, count: int) -> list[Span]:
        """The windows whose mean is most similar to the query's; none overlaps a better one."""
        no_trajectory = np.zeros((len(self.means), len(query.trajectory)), np.float32)
        asked = query_vector(query, self.standard, trajectory=False)
        similar = clip_vectors(self.means, no_trajectory, self.standard) @ asked
        ranked = self.seconds[np.argsort(-similar, kind="stable")]
        return _non_overlapping((Span(start, end) for start, end in ranked.tolist()), count)

    def similarity(self, query: Encoding, others: Sequence[Encoding], recipe: Recipe) -> NDArray[np.float64]:
        """Similarity of the query's clip vector to those of other stretches, standardized over the film."""
        asked = query_vector(query, self.standard, trajectory=recipe.trajectory)
        return (clip_vectors_of(others, self.standard) @ asked).astype(np.float64)


def _windows(query: Encoding, film: Encoding) -> _Windows:
    """Windows of four hops, each a quarter of the query; a shorter film is one window."""
    length = len(film.seconds)
    hop = min(max(1, len(query.seconds) // 4), max(1, length // 4))
    starts = np.arange(0, length - 4 * hop + 1, hop) if length >= 4 else np.zeros(1, np.int64)
    stops = np.minimum(starts + 4 * hop, length)
    # A few hops at a time: a copy of all features in double precision would be twice their size.
    sums = np.concatenate(
        [
            np.add.reduceat(part, np.arange(0, len(part), hop), axis=0, dtype=np.float64)
            for part in np.split(film.features, range(64 * hop, length, 64 * hop))
        ]
    )
    means = [
        sums[start // hop : -(-stop // hop)].sum(0) / (stop - start)
        for start, stop in zip(starts, stops, strict=True)
    ]
    step = float(np.median(np.diff(film.seconds))) if length > 1 else 1.0
    seconds = np.stack([film.seconds[starts], film.seconds[stops - 1] + step], axis=1)
    averages = np.stack(means).astype(np.float32)
    return _Windows(seconds, averages, Standard.of([averages]))
