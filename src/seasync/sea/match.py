"""What a search gives: matches, best first, and what to say of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from seasync.align import Alignment, Recipe
from seasync.clip import Clip
from seasync.json_forms import MatchForm, SearchForm


@dataclass(frozen=True, eq=False)
class Match:
    """A clip of the sea that was found for a query, aligned with it.

    duration      of the clip, in seconds
    similarity    of the clip vectors, 1 at most
    alignability  how likely it is the same kind of movement (0–1, at even odds); None if not calibrated
    better_than   share of random pairs of the sea that fit worse, where there is no calibration
    alignment     which moment goes with which
    part          the clip it was found by, where that is part of a film and the film around it fits better
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
        """Cost of the alignment over that of random ones: lower is better."""
        return self.alignment.draq

    @property
    def dtw_cost(self) -> float:
        return self.alignment.dtw_cost

    @property
    def alignable(self) -> bool:
        """Whether the recipe takes that for a correspondence."""
        return self.alignment.alignable

    @property
    def end(self) -> float:
        """Where the clip ends in its file, in seconds."""
        return self.clip.start + self.duration if self.clip.end is None else self.clip.end

    def form(self, rank: int) -> MatchForm:
        """The match in the form that JSON has; `rank` counts from 1."""
        clip = self.part or self.clip
        return MatchForm(
            **vars(self.alignment.scores()),
            rank=rank,
            clip=clip.form(end=clip.start + self.duration),
            match_start=self.clip.start if self.part else None,
            match_end=self.end if self.part else None,
            similarity=self.similarity,
            alignability=self.alignability,
            better_than=self.better_than,
        )

    def to_json(self, rank: int = 1) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.json_forms.MatchForm` describes them."""
        return asdict(self.form(rank))


class Matches(list[Match]):
    """The matches of one query, best first.

    candidates  how many were looked at; best_draq is the lowest of all of theirs, None if there were none
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
        if self.best_draq is None:
            return "Nothing to compare with: no other clip of the sea fulfils what was asked for."
        count = sum(match.alignable for match in self)
        if count:
            return f"{count} of {len(self)} {'aligns' if count == 1 else 'align'}."
        best = f"the best DRAQ of {self.candidates} candidates is {self.best_draq:.3f}"
        if not self:
            return f"Every candidate was left out: {best}."
        limit = self.recipe.threshold
        nearest = min(self, key=lambda match: match.draq).alignment.decision
        why = (
            f", the limit is {limit:g}"
            if self.best_draq >= limit
            else f"; of the nearest match, {nearest.reason}"
        )
        likely = self[0].alignability or 0
        but = " The first shows the same kind of movement ({:.0%} likely), but its timing cannot be aligned."
        return f"Nothing here aligns: {best}{why}." + (but.format(likely) if likely > 0.5 else "")

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.json_forms.SearchForm` describes them."""
        form = SearchForm(
            query=None if self.query is None else self.query.form(),
            encoder=self.encoder,
            recipe=self.recipe.name,
            threshold=self.recipe.threshold,
            candidates=self.candidates,
            best_draq=self.best_draq,
            verdict=self.verdict,
            matches=[match.form(rank) for rank, match in enumerate(self, 1)],
        )
        return asdict(form)
