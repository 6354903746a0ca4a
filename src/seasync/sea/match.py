"""The result of a search: matches, best first, with a verdict in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from seasync.align import Alignment, Recipe
from seasync.align.fit import Judged
from seasync.clip import Clip
from seasync.json_forms import ClipForm, MatchForm, SearchForm


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
        """Plain values for JSON, as `seasync.json_forms.MatchForm` describes them."""
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
        """Plain values for JSON, as `seasync.json_forms.SearchForm` describes them."""
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
