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

from seasync.align.batch import Abreast
from seasync.align.kernels import partial as kernels
from seasync.align.matrix import Path, Solved, random_cost
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

    The random prices themselves are rows / share and columns / share.
    """

    rows: Floats
    columns: Floats
    share: float

    @property
    def whole(self) -> float:
        """The random price of both clips."""
        return float(self.rows.sum(dtype=np.float64) + self.columns.sum(dtype=np.float64)) / self.share

    @property
    def jump(self) -> np.float32:
        return np.float32(_JUMP * self.whole)

    def better(self, gain: float, dtw_cost: float) -> bool:
        """Whether a partial path of that gain beats the whole path of that cost."""
        return gain - (self.share * self.whole - dtw_cost) > _MARGIN * self.whole

    def coverage(self, path: Path) -> tuple[float, float]:
        """The share of both clips' prices that the path covers: frames without movement hardly count."""
        shares = []
        for side, prices in ((0, self.rows), (1, self.columns)):
            covered = prices[np.unique(path[:, side])].sum(dtype=np.float64)
            shares.append(float(covered / prices.sum(dtype=np.float64)))
        return shares[0], shares[1]


def prices_of(cost: Floats, recipe: Recipe) -> Prices:
    """The prices of a cost matrix (n, m)."""
    n, m = cost.shape
    rows, columns = np.empty(n, np.float32), np.empty(m, np.float32)
    kernels.mean_costs(cost, rows, columns)
    share = recipe.threshold if recipe.price is None else recipe.price
    across = n / (n + m)
    factor = np.float32(share * (1 - across * (1 - across)))
    return Prices(rows * factor, columns * factor, share)


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
        prices = prices_of(cost, self.recipe)
        gain, pieces = best_pieces(cost, prices)
        if self.partial == "auto" and not prices.better(gain, whole.cost):
            return Parts([whole])
        return self._parts(cost, prices, pieces, random)

    def parts_abreast(
        self, abreast: Abreast, costs: list[Floats], wholes: list[Solved], moving: list[bool]
    ) -> list[Parts]:
        """`parts` of every lane that is moving; only paths that are worth it are traced."""
        if self.partial == "never":
            return [Parts([whole]) for whole in wholes]
        prices = [prices_of(cost, self.recipe) for cost in costs]
        gains = abreast.gains(*zip(*((each.rows, each.columns, each.jump) for each in prices), strict=True))
        worth = [
            moves and (self.partial == "always" or price.better(gain, whole.cost))
            for moves, price, gain, whole in zip(moving, prices, gains, wholes, strict=True)
        ]
        return [
            self._parts(cost, price, best_pieces(cost, price)[1], random_cost) if apart else Parts([whole])
            for apart, cost, price, whole in zip(worth, costs, prices, wholes, strict=True)
        ]

    def _parts(
        self, cost: Floats, prices: Prices, pieces: list[Path], random: Callable[[Floats], float]
    ) -> Parts:
        if self.order == "any":
            pieces = [*pieces, *further_pieces(cost, prices, pieces)]
        pieces.sort(key=lambda piece: int(piece[0, 0]))
        solved = []
        for piece in pieces:
            (top, left), (bottom, right) = piece[0], piece[-1] + 1
            along = cost[piece[:, 0], piece[:, 1]].sum(dtype=np.float64)
            solved.append(Solved(piece, float(along), random(cost[top:bottom, left:right])))
        return Parts(solved, prices.coverage(np.concatenate(pieces)))


def best_pieces(cost: Floats, prices: Prices) -> tuple[float, list[Path]]:
    """The gain of the best path with jumps, and its pieces (L, 2), in order in both clips."""
    gain, path, breaks = kernels.priced_path(cost, prices.rows, prices.columns, prices.jump)
    return float(gain), [path[a:b] for a, b in pairwise(breaks)]


def further_pieces(cost: Floats, prices: Prices, pieces: list[Path]) -> Iterator[Path]:
    """Pieces out of order, the best first, of frames that no piece before has taken."""
    rows, columns, left = prices.rows.copy(), prices.columns.copy(), cost.copy()
    for _ in range(_ROUNDS):
        for piece in pieces:
            i, j = piece.T
            left[i], left[:, j] = _CLOSED, _CLOSED
        gain, path, _ = kernels.priced_path(left, rows, columns, np.float32(np.inf))
        if gain < _AGAIN * prices.whole:
            return
        yield path
        pieces = [path]
