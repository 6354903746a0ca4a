"""How well two clips fit, without the path between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from seasync.align.grid import Grid
from seasync.align.recipe import Recipe
from seasync.align.scores import Scores, draq_of, score_of
from seasync.align.verdict import Verdict
from seasync.json_forms import PieceForm, ScoresForm


@dataclass(frozen=True)
class Piece:
    """A stretch of the path without a jump.

    Attributes
    ----------
    start, stop : int
        Its cells are ``path[start:stop]``.
    query, match : (float, float)
        Its span in either file, in seconds.
    dtw_cost, random_cost : float
        Its cost, and the mean cost of random paths through the box around it.
    cheapest_cost : float, optional
        Cost of the cheapest path through the piece, which DRAQ counts, if other matches moved its cells.
    """

    start: int
    stop: int
    query: tuple[float, float]
    match: tuple[float, float]
    dtw_cost: float
    random_cost: float
    cheapest_cost: float | None = None

    @property
    def scored_cost(self) -> float:
        """Cost of the cheapest path through the piece."""
        return self.dtw_cost if self.cheapest_cost is None else self.cheapest_cost

    @cached_property
    def draq(self) -> float:
        """DRAQ of this piece alone."""
        return draq_of(self.scored_cost, self.random_cost)


class Judged:
    """What follows from the costs, pieces and coverage of two clips."""

    recipe: Recipe
    dtw_cost: float
    random_cost: float
    pieces: tuple[Piece, ...]
    coverage: tuple[float, float]
    likelihood: float | None

    @cached_property
    def draq(self) -> float:
        """Cost of the cheapest path over the mean cost of random ones: 0 is perfect, 1 is mere chance."""
        moved = any(piece.cheapest_cost is not None for piece in self.pieces)
        cost = sum(piece.scored_cost for piece in self.pieces) if moved else self.dtw_cost
        return draq_of(cost, self.random_cost)

    @property
    def whole(self) -> bool:
        """Whether the path covers both clips in one piece."""
        return len(self.pieces) == 1 and min(self.coverage) == 1

    @property
    def score(self) -> float:
        """DRAQ, raised by the share of the query that is left out; ranks matches, lower is better."""
        return score_of(self.draq, self.coverage[0])

    @property
    def alignable(self) -> bool:
        """Whether the clips correspond; see `decision`."""
        return self.decision.alignable

    @cached_property
    def decision(self) -> Verdict:
        """What decides whether the clips correspond: `alignable`, `reason`."""
        return Verdict(self.draq, self.coverage, self.whole, self.recipe, self.likelihood)

    @property
    def summary(self) -> str:
        """The verdict and the number that decides it, in one line."""
        return f"{self.verdict} ({self.decision.reason})"

    @property
    def brief(self) -> str:
        """The verdict in a word or two, for tables."""
        return ("aligns" if self.whole else "in part") if self.alignable else "–"

    @property
    def verdict(self) -> str:
        """In words: whether the clips align, and which parts of them."""
        if not self.alignable:
            return "does not align"
        if self.whole:
            return "aligns in full"
        of_query, of_match = " of the query", " of the match"
        spans = []
        for piece in self.pieces:
            spans.append(f"{_span(piece.query)}{of_query} with {_span(piece.match)}{of_match}")
            of_query = of_match = ""
        return f"aligns in part: {', '.join(spans)}"

    def scores(self) -> ScoresForm:
        """How well the clips align, in the form that JSON has."""
        return ScoresForm(
            recipe=self.recipe.name,
            draq=self.draq,
            likelihood=self.likelihood,
            threshold=self.decision.threshold,
            dtw_cost=self.dtw_cost,
            random_cost=self.random_cost,
            score=self.score,
            coverage={"query": self.coverage[0], "match": self.coverage[1]},
            pieces=[
                PieceForm(query=piece.query, match=piece.match, draq=piece.draq) for piece in self.pieces
            ],
            alignable=self.alignable,
            verdict=self.verdict,
            reason=self.decision.reason,
        )

    def pieces_until(self, ends: tuple[float, float]) -> tuple[Piece, ...]:
        """The pieces, none of which reaches beyond the `ends` of the clips, in seconds."""
        return tuple(
            replace(piece, query=_until(piece.query, ends[0]), match=_until(piece.match, ends[1]))
            for piece in self.pieces
        )


@dataclass(frozen=True, eq=False)
class Fit(Judged):
    """How well two clips align: what an `Alignment` says, without its path.

    The pieces have no cells, so `start` and `stop` of each are 0.
    """

    recipe: Recipe
    dtw_cost: float
    random_cost: float
    pieces: tuple[Piece, ...]
    coverage: tuple[float, float] = (1.0, 1.0)
    likelihood: float | None = None

    @classmethod
    def of(cls, scores: Scores, n: int, query: Grid, match: Grid, recipe: Recipe) -> Fit:
        """The fit of the query and candidate `n`, out of the scores of all."""
        cost, random = float(scores.dtw_cost[n]), float(scores.random_cost[n])
        pieces = tuple(
            Piece(0, 0, query.span(top, top + rows - 1), match.span(left, left + columns - 1), *costs)
            for (_, top, left, rows, columns), *costs in scores.pieces.of(n)
        )
        if not pieces:
            pieces = (Piece(0, 0, query.whole, match.whole, cost, random),)
        coverage = float(scores.query_coverage[n]), float(scores.match_coverage[n])
        return cls(recipe, cost, random, pieces, coverage)

    def until(self, ends: tuple[float, float]) -> Self:
        """The same, with nothing beyond the `ends` of the clips, in seconds."""
        return replace(self, pieces=self.pieces_until(ends))


def _until(span: tuple[float, float], end: float) -> tuple[float, float]:
    return span[0], max(span[0], min(span[1], end))


def _span(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.1f}–{seconds[1]:.1f} s"
