"""The alignment of two clips: the path, its scores, and the warps read off it."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seasync.alignment.costs import CostPair
from seasync.alignment.judge import Scores, Verdict, draq_of, draq_ratio, score_of
from seasync.alignment.matrix import Path, random_cost
from seasync.alignment.partial import LARGEST, Prices, best_pieces
from seasync.alignment.prepare import Grid, end_of
from seasync.alignment.recipe import Recipe
from seasync.alignment.warp import Stretch, Warp, speed_warnings
from seasync.clip import Clip
from seasync.encoding import Floats, Indices, Seconds
from seasync.forms import AlignmentForm, PieceForm, RunnerUpForm, ScoresForm
from seasync.options import Side, expect

# How well two clips fit, without the path between them.


# Mean errors of key events against `typical_width`, in seconds, of the ten nearest clips of falls, robots and
# golf swings: nine of ten of a set that was left out stay below the bound.
USUAL_ERROR, MOST_ERROR, ERROR_GROWS = 0.28, 0.67, 0.65


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
    product: float | None = None
    likelihood: float | None = None

    @classmethod
    def of(cls, scores: Scores, n: int, query: Grid, match: Grid, recipe: Recipe) -> "Fit":
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


@dataclass(frozen=True)
class RunnerUp:
    """Another way to pair two clips that fits about as well.

    Attributes
    ----------
    query, match : (float, float)
        From when to when it goes, in seconds of each file.
    later : float
        How much later in the match moments of the query come than the alignment says, in seconds.
    draq : float
        DRAQ of this part alone.
    coverage : (float, float)
        Share of the movement in the query, and in the match, that it covers.
    """

    query: tuple[float, float]
    match: tuple[float, float]
    later: float
    draq: float
    coverage: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Alignment(Judged):
    """How two clips correspond in time.

    Attributes
    ----------
    recipe : Recipe
        How the clips were compared.
    path : numpy.ndarray [shape=(L, 2)], int32
        Pairs of grid points (query, match), increasing within each piece.
    query_seconds, match_seconds : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        Times of the grid points in their files.
    query_frames, match_frames : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        Numbers of the file frames nearest to them, counted from 0.
    query_motion, match_motion : numpy.ndarray [shape=(n,)], numpy.ndarray [shape=(m,)]
        How much moves there, 1 on average.
    query_step, match_step : float
        Seconds between sampled frames.
    dtw_cost, random_cost : float
        Cost of the path, and mean cost of random paths through the same pieces. DRAQ counts the cheapest
        path, which costs less if other matches corrected `path`.
    pieces : tuple of Piece
        One piece unless the clips were aligned in part.
    coverage : (float, float)
        Share of the movement in the query, and in the match, that the path covers.
    likelihood : float, optional
        Probability, at even odds, that both show the same movement; it decides the verdict. None if it is
        not known for this encoder and recipe: then DRAQ decides.
    query, match : Clip, optional
        The clips, if they come from files.
    anchors : tuple of (float, float)
        Moments (query, match) that the path had to pass; warps pass them exactly.
    ends : (float, float)
        Where query and match end in their files, in seconds, if known.
    cost : numpy.ndarray [shape=(n, m)], optional
        The cost matrix, if it was kept.
    pair : CostPair, optional
        What the costs are computed from.
    product : float, optional
        (1 − similarity) · score, from which the likelihood is computed; None without clip vectors.

    Examples
    --------
    >>> seasync.align("query.mp4", "other.mp4").draq < 1
    True
    """

    recipe: Recipe
    path: NDArray[np.int32]
    query_seconds: Seconds
    match_seconds: Seconds
    query_frames: Indices
    match_frames: Indices
    query_motion: Floats
    match_motion: Floats
    query_step: float
    match_step: float
    dtw_cost: float
    random_cost: float
    pieces: tuple[Piece, ...]
    coverage: tuple[float, float] = (1.0, 1.0)
    query: Clip | None = None
    match: Clip | None = None
    anchors: tuple[tuple[float, float], ...] = ()
    ends: tuple[float, float] = (math.inf, math.inf)
    cost: Floats | None = field(default=None, repr=False)
    likelihood: float | None = None
    pair: CostPair | None = field(default=None, repr=False)
    product: float | None = None

    def _repr_html_(self) -> str:

        return alignment_html(self)

    def __repr__(self) -> str:
        size = f"{len(self.query_seconds)}×{len(self.match_seconds)}"
        return f"Alignment({size} by {self.recipe.name}, DRAQ {self.draq:.3f}, {self.verdict})"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What to check, in words: long stretches at an absurd speed, and movements that may repeat.

        None if the clips do not align.
        """
        if not self.alignable:
            return ()
        found = speed_warnings(self.warp(keep="query"), self.warp(keep="match"))
        return (*found, *([runner_up_warning(self.runners_up)] if self.runners_up else []))

    @cached_property
    def runners_up(self) -> tuple[RunnerUp, ...]:
        """Other ways to pair the clips that fit about as well, as where a movement repeats.

        None without a cost matrix, with anchors, in any order, or if the clips do not align.
        """
        if not self.alignable or self.anchors or self.recipe.order == "any":
            return ()
        return find_runners_up(self)

    def of(self, query: Clip | None, match: Clip | None, *, ends: tuple[float, float]) -> "Alignment":
        """The alignment as one of these clips; nothing reaches beyond their `ends`, in seconds."""
        return replace(self, query=query, match=match, ends=ends, pieces=self.pieces_until(ends))

    def warp(self, keep: Side = "query") -> Warp:
        """The map from one clip's seconds to the other's.

        Every grid point of the kept clip has exactly one partner. A point that the path pairs several times
        takes its first partner or the mean of all, as the recipe's `readout` says.

        Parameters
        ----------
        keep : {"query", "match"}
            The clip whose time stays as it is.

        Returns
        -------
        Warp
        """
        expect("keep", keep, Side)
        side = 0 if keep == "query" else 1
        times, others = (self.query_seconds, self.match_seconds)[:: 1 - 2 * side]
        motion = self.query_motion if keep == "query" else self.match_motion
        step = self.query_step if keep == "query" else self.match_step
        stretches = []
        for piece in self.pieces:
            cells = self.path[piece.start : piece.stop]
            kept, partners = cells[:, side], others[cells[:, 1 - side]]
            first = np.flatnonzero(np.diff(kept, prepend=-1))  # points never go back within a piece
            indices = kept[first]
            if self.recipe.readout == "first":
                values = partners[first]
            else:
                values = np.add.reduceat(partners, first) / np.diff(first, append=len(kept))
            end = max(min(end_of(times, indices[-1], step), self.ends[side]), float(times[indices[-1]]))
            trust = motion[indices].astype(float)
            stretch = Stretch(times[indices], values, end, trust, self.ends[1 - side])
            for anchor in self._anchors_in(cells):
                stretch = stretch.through(anchor[side], anchor[1 - side])
            stretches.append(stretch)
        return Warp(tuple(stretches))

    @property
    def uncertainty(self) -> NDArray[np.float64] | None:
        """The earliest and latest partner of each of the query's grid points, (n, 2) seconds of the match.

        A moment is sure if the path gets much more expensive as soon as it pairs the moment with another one,
        and unsure where it can bend at little cost: where nothing moves, or where everything looks alike.
        None without a cost matrix.
        """
        return partner_bounds(self)

    @property
    def typical_uncertainty(self) -> float | None:
        """By how many seconds the partner of a typical moment could be off, weighted by what moves."""
        return typical_width(self)

    @property
    def expected_error(self) -> tuple[float, float] | None:
        """By how many seconds its moments are off on average: what is usual, and what nine of ten stay below.

        Both grow with `typical_uncertainty`. None without a cost matrix.
        """
        width = typical_width(self)
        return None if width is None else (USUAL_ERROR * width**ERROR_GROWS, MOST_ERROR * width**ERROR_GROWS)

    def _anchors_in(self, cells: NDArray[np.int32]) -> Iterator[tuple[float, float]]:
        """The anchors whose cell is among these."""
        for query, match in self.anchors:
            place = np.abs(self.query_seconds - query).argmin(), np.abs(self.match_seconds - match).argmin()
            if (cells == place).all(1).any():
                yield query, match

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON, as `seasync.forms.AlignmentForm` describes them."""
        return asdict(self.form())

    def form(self) -> AlignmentForm:
        """The alignment in the form that JSON has."""
        i, j = self.path.T
        rows = zip(
            self.query_frames[i].tolist(),
            self.query_seconds[i].round(6).tolist(),
            self.match_frames[j].tolist(),
            self.match_seconds[j].round(6).tolist(),
            strict=True,
        )
        return AlignmentForm(
            **vars(self.scores()),
            path=list(rows),
            warnings=list(self.warnings),
            runners_up=[RunnerUpForm(**vars(one)) for one in self.runners_up],
            uncertainty=uncertainty_rows(self),
            expected_error=self.expected_error,
        )


# Runners-up: other ways to pair the clips. In a series of push-ups, one cycle looks like the next, and the
# best path may be off by whole cycles. The best path that stays away from it tells: where nothing repeats, it
# fits much worse, or a small part only.


MOST_RUNNERS_UP = 4
AWAY = 0.5  # seconds from the path, and its typical uncertainty more, that a runner-up stays away
# Of 32 pairs of series it names 26 with these, of 57 pairs of single movements 2.
AS_GOOD, COVERED = 0.9, 0.5  # share of what the path saves per frame; of the movement of one of the clips


def find_runners_up(alignment: Alignment) -> tuple[RunnerUp, ...]:
    """The runners-up of an alignment that has its cost matrix, the best first; none if it has not."""
    cost, width = alignment.cost, alignment.typical_uncertainty
    if cost is None or width is None or cost.size > LARGEST or len(alignment.match_seconds) < 2:
        return ()
    prices = Prices.of(cost, alignment.recipe)
    step = float(np.median(np.diff(alignment.match_seconds)))
    reach = max(1, round((AWAY + width) / step))
    left = cost.copy()
    barred = 1 + float(prices.anchor)  # a cell that costs as much as all prices together is never worth it
    own = np.sum(prices.measure(cost, [alignment.path[one.start : one.stop] for one in alignment.pieces]), 0)
    saved, totals = 1 - own[0] / max(own[1] + own[2], 1e-12), prices.totals[0]
    warp = alignment.warp(keep="query")
    found: list[RunnerUp] = []
    path = alignment.path
    while saved > 0 and len(found) < MOST_RUNNERS_UP:
        _bar(left, path, reach, barred)
        pieces = best_pieces(left, prices)[1]
        measured = prices.measure(cost, pieces)
        best = int(np.argmax([rows + columns - along for along, rows, columns in measured]))
        path, (along, rows, columns) = pieces[best], measured[best]
        coverage = rows / max(totals[0], 1e-12), columns / max(totals[1], 1e-12)
        if 1 - along / max(rows + columns, 1e-12) < AS_GOOD * saved or max(coverage) < COVERED:
            break
        (top, first), (bottom, last) = path[0], path[-1]
        query, match = alignment.query_seconds[path[:, 0]], alignment.match_seconds[path[:, 1]]
        random = random_cost(cost[top : bottom + 1, first : last + 1])
        found.append(
            RunnerUp(
                (float(query[0]), float(query[-1])),
                (float(match[0]), float(match[-1])),
                float(np.median(match - warp.at(query))),
                float(draq_ratio(along, random)),
                coverage,
            )
        )
    return tuple(found)


def _bar(cost: Floats, path: Path, reach: int, price: float) -> None:
    """Make the cells around a path too expensive."""
    for i, j in path.tolist():
        cost[i, max(0, j - reach) : j + reach + 1] = price


def runner_up_warning(found: tuple[RunnerUp, ...]) -> str:
    """What the runners-up mean, in words."""
    apart = " or ".join(f"{abs(one.later):.2f} s {'later' if one.later > 0 else 'earlier'}" for one in found)
    return (
        f"the movement may repeat: {found[0].query[0]:.1f}–{found[0].query[1]:.1f} s of the query would fit "
        f"about as well {apart} in the match; an anchor says which repetition belongs to which"
    )


# How an alignment shows itself in a notebook: its verdict and its path, as one small picture.


SIZE, MARGIN = 260, 34


def alignment_html(alignment: Alignment) -> str:
    """The verdict, and the path over the seconds of both clips."""
    names = [
        clip.name if clip else name for clip, name in ((alignment.query, "query"), (alignment.match, "match"))
    ]
    times = alignment.query_seconds, alignment.match_seconds
    ends = [(float(seconds[0]), float(seconds[-1])) for seconds in times]

    def place(seconds: float, side: int) -> float:
        first, last = ends[side]
        share = (seconds - first) / max(last - first, 1e-9)
        return MARGIN + (SIZE - MARGIN) * share if side == 0 else (SIZE - MARGIN) * (1 - share)

    lines = []
    for piece in alignment.pieces:
        cells = alignment.path[piece.start : piece.stop].tolist()
        points = " ".join(f"{place(times[0][i], 0):.1f},{place(times[1][j], 1):.1f}" for i, j in cells)
        lines.append(f'<polyline points="{points}" fill="none" stroke="#3366cc" stroke-width="2"/>')
    middle, side = (SIZE + MARGIN) / 2, SIZE - MARGIN
    axes = (
        f'<text x="{middle}" y="{SIZE - 6}" text-anchor="middle">{escape(names[0])}, seconds</text>'
        f'<text transform="rotate(-90)" x="{-side / 2}" y="12" text-anchor="middle">'
        f"{escape(names[1])}, seconds</text>"
        f'<rect x="{MARGIN}" y="0" width="{side}" height="{side}" fill="none" stroke="#8888"/>'
    )
    picture = (
        f'<svg width="{SIZE + 10}" height="{SIZE}" font-size="11" fill="currentColor" role="img" '
        f'aria-label="Alignment path">{axes}{"".join(lines)}</svg>'
    )
    return f"<p>{escape(alignment.summary)}</p>{picture}"


_LARGEST = 1 << 22  # cells: 64 MB of totals


def partner_bounds(alignment: "Alignment") -> NDArray[np.float64] | None:
    """The earliest and the latest partner that each moment of the query could have.

    These are the partners on any path through the same pieces that is hardly more expensive than the cheapest
    one: by at most 3.5 % of the geometric mean of its cost and that of random paths. In nine of ten cases the
    true partner lies within; the partner that the alignment gives always does.

    Parameters
    ----------
    alignment : Alignment
        With its cost matrix.

    Returns
    -------
    numpy.ndarray [shape=(n, 2)], optional
        Seconds of the match for each grid point of the query; NaN where the alignment leaves it out. ``None``
        without a cost matrix, or if the clips are too long.
    """
    cost, bounds = alignment.cost, np.full((len(alignment.query_seconds), 2), np.nan)
    if cost is None or cost.size > _LARGEST:
        return None
    warp = alignment.warp(keep="query")
    for piece in alignment.pieces:
        (i, j), (k, last) = alignment.path[piece.start], alignment.path[piece.stop - 1]
        rows = slice(int(i), int(k) + 1)
        more = alignment.recipe.tolerance * math.sqrt(max(piece.random_cost * piece.dtw_cost, 0.0))
        seconds: Seconds = alignment.match_seconds[reachable_columns(cost[rows, j : last + 1], more) + j]
        partner = warp.at(alignment.query_seconds[rows])
        bounds[rows] = np.stack([np.minimum(seconds[0], partner), np.maximum(seconds[1], partner)], axis=1)
    return bounds


def reachable_columns(cost: Floats, more: float) -> Indices:
    """The first and last column in each row on a path that costs at most `more` than the cheapest, (2, n)."""
    ahead, back = _totals(cost), _totals(cost[::-1, ::-1])[::-1, ::-1]
    reached = ahead + back - cost <= ahead[-1, -1] + more + 1e-9
    return np.stack([reached.argmax(1), cost.shape[1] - 1 - reached[:, ::-1].argmax(1)])


def _totals(cost: Floats) -> NDArray[np.float64]:
    """The cost of the cheapest path from the first cell to each, (n, m)."""
    sums = np.cumsum(cost, axis=1, dtype=np.float64)
    out = np.empty(cost.shape)
    above = np.full(cost.shape[1] + 1, np.inf)
    above[0] = 0.0  # where all paths begin: diagonally before the first cell
    for row, to, before in zip(sums, out, sums - cost, strict=True):
        # A path enters the row at some cell, from above or diagonally, and goes right from there.
        entered = np.minimum(above[:-1], above[1:]) - before
        np.add(np.minimum.accumulate(entered), row, out=to)
        above[0], above[1:] = np.inf, to
    return out


def uncertainty_rows(alignment: "Alignment") -> list[tuple[float, float, float]] | None:
    """`partner_bounds` beside the query's seconds, where they are known."""
    if (bounds := partner_bounds(alignment)) is None:
        return None
    table = np.column_stack([alignment.query_seconds, bounds])[np.isfinite(bounds[:, 0])].round(6)
    return [(query, earliest, latest) for query, earliest, latest in table.tolist()]


def typical_width(alignment: "Alignment") -> float | None:
    """Half the width of `partner_bounds` at a typical moment, in seconds: the median, weighted by motion."""
    bounds = partner_bounds(alignment)
    if bounds is None:
        return None
    known = np.isfinite(bounds[:, 0])
    widths, motion = np.diff(bounds[known])[:, 0] / 2, alignment.query_motion[known].astype(np.float64)
    order = np.argsort(widths)
    reached = np.cumsum(motion[order])
    return float(widths[order][np.searchsorted(reached, reached[-1] / 2)])
