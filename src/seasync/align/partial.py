"""Partial alignment: the stretches of two clips that correspond, in order or not.

A frame's random price is what a random path would spend on it: its mean cost with the other clip's frames,
times the mean number of cells that such a path has in a row. Leaving a frame out costs a share of that, the
recipe's `price`; the best path weighs it against the cost of its cells, and may jump ahead where both clips
hold something foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from seasync.align.batch import Abreast, random_cost_many, reserve
from seasync.align.kernels import lanes
from seasync.align.kernels import partial as kernels
from seasync.align.matrix import Path, Solved
from seasync.align.recipe import Recipe
from seasync.encoding import Floats
from seasync.errors import FeatureError

Partial = Literal["auto", "never", "always"]
Order = Literal["same", "any"]

# Shares of the random price of both clips, whole:
_JUMP = 0.025  # what a jump costs
_MARGIN = 0.02  # what leaving something out must gain over the whole path
_AGAIN = 0.01  # what a further piece out of order must gain
_ROUNDS = 5
# A cell that no path enters.
_CLOSED = np.float32(1e9)
# Cells of the largest matrix that is searched for pieces: 5 bytes each.
_LARGEST = 1 << 25


@dataclass(frozen=True, eq=False)
class Prices:
    """What the frames of a pair are worth: rows (n,), columns (m,) float32, `share` of their random prices.

    totals  the sums of both
    """

    rows: Floats
    columns: Floats
    totals: tuple[float, float]
    share: float

    @classmethod
    def of(cls, cost: Floats, share: float) -> Prices:
        """The prices of a cost matrix (n, m)."""
        rows, columns = (np.empty(length, np.float32) for length in cost.shape)
        return cls(rows, columns, kernels.prices(cost, share, rows, columns), share)

    @property
    def whole(self) -> float:
        """The random price of both clips."""
        return sum(self.totals) / self.share

    @property
    def jump(self) -> np.float32:
        return np.float32(_JUMP * self.whole)

    def better(self, gain: float, dtw_cost: float) -> bool:
        """Whether a partial path of that gain beats the whole path of that cost."""
        return gain - (self.share * self.whole - dtw_cost) > _MARGIN * self.whole


def best_pieces(cost: Floats, prices: Prices) -> tuple[float, list[Path]]:
    """The gain of the best path with jumps, and its pieces (L, 2), in order in both clips."""
    gain, path, breaks = kernels.priced_path(cost, prices.rows, prices.columns, prices.jump)
    return float(gain), [path[a:b] for a, b in pairwise(breaks)]


def further_pieces(cost: Floats, prices: Prices, pieces: list[Path]) -> Iterator[Path]:
    """Pieces out of order, the best first, of frames that no piece before has taken."""
    left = cost.copy()
    for _ in range(_ROUNDS):
        for piece in pieces:
            i, j = piece.T
            left[i], left[:, j] = _CLOSED, _CLOSED
        gain, path, _ = kernels.priced_path(left, prices.rows, prices.columns, np.float32(np.inf))
        if gain < _AGAIN * prices.whole:
            return
        yield path
        pieces = [path]


class PricedLanes:
    """`Prices` and `best_pieces` of every lane of a block of cost matrices, computed together."""

    def __init__(self, abreast: Abreast, costs: list[Floats], share: float) -> None:
        self.costs, self.share = costs, share
        count, n, m = lanes.LANES, abreast.n, abreast.m
        self.rows, self.columns = np.empty((n, count), np.float32), np.empty(m * count, np.float32)
        self.totals, self.ends = np.empty((count, 2)), np.empty(count, np.int32)
        gains = np.empty(count, np.float32)
        self.moves = reserve("moves", np.uint8, n, m * count)
        self.places = reserve("places", np.int32, n + 1, (m + 1) * count)
        kernels.lane_prices(
            abreast.planes, abreast.rows, abreast.columns, share, self.rows, self.columns, self.totals
        )
        jumps = (_JUMP * (self.totals.sum(1) / share)).astype(np.float32)
        kernels.lane_gains(
            abreast.planes, abreast.rows, abreast.columns, self.rows, self.columns, jumps,
            self.moves, self.places, gains, self.ends,
        )  # fmt: skip
        self.gains: list[float] = gains.tolist()

    def prices(self, lane: int) -> Prices:
        n, m = self.costs[lane].shape
        columns = self.columns.reshape(-1, lanes.LANES)[:m, lane].copy()
        return Prices(self.rows[:n, lane].copy(), columns, tuple(self.totals[lane].tolist()), self.share)

    def pieces(self, lane: int) -> list[Path]:
        path, breaks = kernels.trace(self.moves, self.places, self.ends[lane], lane, lanes.LANES)
        return [path[a:b] for a, b in pairwise(breaks)]


@dataclass(frozen=True, eq=False)
class Parts:
    """Pieces of a path, in the query's order, and the share of both clips' prices that they cover."""

    pieces: list[Solved]
    coverage: tuple[float, float] = (1.0, 1.0)

    @property
    def cost(self) -> float:
        return sum(piece.cost for piece in self.pieces)

    @property
    def random(self) -> float:
        return sum(piece.random for piece in self.pieces)


@dataclass(frozen=True)
class Manner:
    """How much of two clips must correspond, and in what order: see `align_encodings`."""

    recipe: Recipe
    partial: Partial
    order: Order

    @classmethod
    def of(cls, recipe: Recipe, partial: Partial, order: Order, *, held: bool = False) -> Manner:
        """Checked, with "auto" decided where there is nothing to decide; held: by anchors or a band."""
        if partial not in ("auto", "never", "always") or order not in ("same", "any"):
            expected = "partial 'auto', 'never' or 'always' and order 'same' or 'any'"
            raise ValueError(f"expected {expected}, got {partial = }, {order = }")
        if held and (partial == "always" or order == "any"):
            raise FeatureError("anchors and a band are for whole clips: leave them out, or partial and order")
        if order == "any" and partial == "never":
            raise FeatureError("order='any' takes clips apart: it needs partial='auto' or 'always'")
        if held or (partial == "auto" and recipe.price is None and order == "same"):
            partial = "never"
        return cls(recipe, partial, order)

    def parts(self, cost: Floats | None, whole: Solved, random: Callable[[Floats], float]) -> Parts:
        """The whole path through cost (n, m), or pieces if asked for or better; without cost, it stays.

        random  gives the mean cost of random paths through a box around a piece
        """
        if self.partial == "never" or cost is None:
            return Parts([whole])
        if cost.size > _LARGEST:
            if self.partial == "auto":
                return Parts([whole])
            raise FeatureError("the clips are too long to align in part: align shorter spans of them")
        prices = Prices.of(cost, self.share)
        gain, pieces = best_pieces(cost, prices)
        if self.partial == "auto" and not prices.better(gain, whole.cost):
            return Parts([whole])
        pieces = self._ordered(cost, prices, pieces)
        randoms = [random(box) for box in _boxes(cost, pieces)]
        return _parts(cost, prices, pieces, randoms)

    def parts_abreast(
        self, abreast: Abreast, costs: list[Floats], wholes: list[Solved], moving: list[bool]
    ) -> list[Parts]:
        """`parts` of every lane that is moving, with exact random costs."""
        out = [Parts([whole]) for whole in wholes]
        if self.partial == "never":
            return out
        priced = PricedLanes(abreast, costs, self.share)
        apart: dict[int, tuple[Prices, list[Path]]] = {}
        for lane, (whole, moves) in enumerate(zip(wholes, moving, strict=True)):
            prices = priced.prices(lane)
            if moves and (self.partial == "always" or prices.better(priced.gains[lane], whole.cost)):
                apart[lane] = prices, self._ordered(costs[lane], prices, priced.pieces(lane))
        boxes = [box for lane, (_, pieces) in apart.items() for box in _boxes(costs[lane], pieces)]
        randoms = iter(random_cost_many(boxes))
        for lane, (prices, pieces) in apart.items():
            out[lane] = _parts(costs[lane], prices, pieces, [next(randoms) for _ in pieces])
        return out

    @property
    def share(self) -> float:
        """Of its random price, what leaving a frame out costs."""
        return self.recipe.threshold if self.recipe.price is None else self.recipe.price

    def _ordered(self, cost: Floats, prices: Prices, pieces: list[Path]) -> list[Path]:
        """`pieces`, with further ones if any order will do, as they come in the query."""
        if self.order == "any":
            pieces = [*pieces, *further_pieces(cost, prices, pieces)]
        return sorted(pieces, key=lambda piece: int(piece[0, 0]))


def _boxes(cost: Floats, pieces: list[Path]) -> list[Floats]:
    """The part of the matrix around each piece."""
    corners = ((piece[0].tolist(), piece[-1].tolist()) for piece in pieces)
    return [cost[i : k + 1, j : last + 1] for (i, j), (k, last) in corners]


def _parts(cost: Floats, prices: Prices, pieces: list[Path], randoms: list[float]) -> Parts:
    solved, covered = [], [0.0, 0.0]
    for piece, random in zip(pieces, randoms, strict=True):
        along, rows, columns = kernels.measure(cost, prices.rows, prices.columns, piece)
        solved.append(Solved(piece, along, random))
        covered = [covered[0] + rows, covered[1] + columns]
    of_query, of_match = (a / b if b > 0 else 1.0 for a, b in zip(covered, prices.totals, strict=True))
    return Parts(solved, (of_query, of_match))
