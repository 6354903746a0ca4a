"""Whether an alignment counts, and which number decides it."""

from __future__ import annotations

from dataclasses import dataclass

from seasync.align.recipe import Recipe

LIKELY = 0.5  # from this likelihood on, clips count as alignable
# Where DRAQ decides: pieces are chosen because they fit, so they must fit better by this much, and cover this
# share of one clip.
STRICTER = 0.02
HALF = 0.5


@dataclass(frozen=True)
class Verdict:
    """The decision on one alignment: by its likelihood, or by DRAQ where that is not known.

    The same DRAQ means different things for different footage, the same likelihood does not. It counts what a
    partial alignment leaves out already.

    Attributes
    ----------
    draq : float
        Of the path.
    coverage : tuple of float
        Share of the movement in the query, and in the match, that the path covers.
    whole : bool
        Whether the path covers both clips in one piece.
    recipe : Recipe
        Its threshold decides without a likelihood.
    likelihood : float, optional
        Probability, at even odds, that both clips show the same movement.
    """

    draq: float
    coverage: tuple[float, float]
    whole: bool
    recipe: Recipe
    likelihood: float | None = None

    @property
    def threshold(self) -> float:
        """DRAQ must be below this, where it decides."""
        return round(self.recipe.threshold - (0 if self.whole else STRICTER), 9)

    @property
    def covers_enough(self) -> bool:
        """Whether the pieces cover enough of one clip for DRAQ to count."""
        return self.whole or max(self.coverage) >= HALF

    @property
    def alignable(self) -> bool:
        """The decision."""
        if self.likelihood is not None:
            return self.likelihood >= LIKELY
        return self.draq < self.threshold and self.covers_enough

    @property
    def reason(self) -> str:
        """The number that decides, and its limit."""
        shares = f"{self.coverage[0]:.0%} of the query and {self.coverage[1]:.0%} of the match"
        of_parts = "" if self.whole else f" for {shares}"
        if self.likelihood is not None:
            limit = "" if self.alignable else f", less than {LIKELY:.0%}"
            return (
                f"{per_cent(self.likelihood)} likely the same movement{limit}; DRAQ {self.draq:.3f}{of_parts}"
            )
        if not self.covers_enough:
            return f"only {shares} correspond; at least half of one is needed"
        relation = "below" if self.draq < self.threshold else "not below"
        return f"DRAQ {shown(self.draq, self.threshold)}{of_parts}, {relation} {self.threshold:g}"


def shown(value: float, limit: float) -> str:
    """`value` with three digits, or as many as it takes to stay on its side of the limit."""
    digits = next((n for n in range(3, 9) if (round(value, n) < limit) == (value < limit)), 9)
    return f"{value:.{digits}f}"


def per_cent(likelihood: float) -> str:
    """A likelihood in percent, with as many digits as it takes to stay on its side of the limit."""
    if not 0.005 <= likelihood <= 0.995:
        return "over 99%" if likelihood > LIKELY else "under 1%"
    sides = (n for n in range(7) if (round(likelihood, n + 2) < LIKELY) == (likelihood < LIKELY))
    return f"{likelihood:.{next(sides, 7)}%}"
