"""Whether an alignment counts, and which number decides it."""

from __future__ import annotations

from dataclasses import dataclass

from seasync.align.recipe import Recipe

# Pieces are chosen because they fit, so they must fit better by this much, and cover this share of one clip.
STRICTER = 0.02
HALF = 0.5


@dataclass(frozen=True)
class Verdict:
    """The decision on one alignment.

    Attributes
    ----------
    draq : float
        Of the path.
    coverage : tuple of float
        Share of the movement in the query, and in the match, that the path covers.
    whole : bool
        Whether the path covers both clips in one piece.
    recipe : Recipe
        Its threshold decides.
    """

    draq: float
    coverage: tuple[float, float]
    whole: bool
    recipe: Recipe

    @property
    def threshold(self) -> float:
        """DRAQ must be below this."""
        return round(self.recipe.threshold - (0 if self.whole else STRICTER), 9)

    @property
    def covers_enough(self) -> bool:
        return self.whole or max(self.coverage) >= HALF

    @property
    def alignable(self) -> bool:
        return self.draq < self.threshold and self.covers_enough

    @property
    def reason(self) -> str:
        """The number that decides, and its limit."""
        shares = f"{self.coverage[0]:.0%} of the query and {self.coverage[1]:.0%} of the match"
        if not self.covers_enough:
            return f"only {shares} correspond; at least half of one is needed"
        relation = "below" if self.draq < self.threshold else "not below"
        of_parts = "" if self.whole else f" for {shares}"
        return f"DRAQ {shown(self.draq, self.threshold)}{of_parts}, {relation} {self.threshold:g}"


def shown(value: float, limit: float) -> str:
    """`value` with three digits, or as many as it takes to stay on its side of the limit."""
    digits = next((n for n in range(3, 9) if (round(value, n) < limit) == (value < limit)), 9)
    return f"{value:.{digits}f}"
