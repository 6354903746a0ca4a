"""What a search gives: matches, best first, and what to say of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seasync.align import Alignment, Recipe
from seasync.clip import Clip


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

    def to_json(self) -> dict[str, Any]:
        return {
            "clip": (self.part or self.clip).id,
            "file": self.clip.file,
            "start": self.clip.start,
            "end": self.end,
            "label": self.clip.label,
            "similarity": self.similarity,
            "draq": self.draq,
            "dtw_cost": self.dtw_cost,
            "coverage": dict(zip(("query", "match"), self.alignment.coverage, strict=True)),
            "alignability": self.alignability,
            "better_than": self.better_than,
            "alignable": self.alignable,
            "verdict": self.alignment.verdict,
        }


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

    @property
    def verdict(self) -> str:
        """In words: how many align, or that nothing does."""
        if self.best_draq is None:
            return "Nothing to compare with: no other clip of the sea fulfils what was asked for."
        count = sum(match.alignable for match in self)
        if count:
            return f"{count} of {len(self)} {'aligns' if count == 1 else 'align'}."
        return (
            f"Nothing here aligns: the best DRAQ of {self.candidates} candidates is {self.best_draq:.3f}, "
            f"alignable is below {self.recipe.threshold:g}."
        )

    def to_json(self) -> dict[str, Any]:
        query = self.query
        return {
            "query": query and {"file": query.file, "start": query.start, "end": query.end, "clip": query.id},
            "encoder": self.encoder,
            "recipe": self.recipe.name,
            "candidates": self.candidates,
            "best_draq": self.best_draq,
            "verdict": self.verdict,
            "matches": [{"rank": rank, **match.to_json()} for rank, match in enumerate(self, 1)],
        }
