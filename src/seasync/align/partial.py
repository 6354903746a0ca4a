"""Partial alignment: whether the whole of two clips corresponds, or pieces of them, in order or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seasync.align.batch import Abreast, random_cost_many
from seasync.align.kernels import partial as kernels
from seasync.align.matrix import Cells, Path, Solved, random_cost
from seasync.align.order import best_pieces_in_any_order
from seasync.align.priced import PricedLanes, Prices, best_pieces
from seasync.align.recipe import Recipe
from seasync.encoding import Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial, expect

# Cells of the largest matrix that is searched for pieces: 5 bytes each.
_LARGEST = 1 << 25


@dataclass(frozen=True, eq=False)
class Parts:
    """Pieces of a path, in the query's order, the share of both clips' prices that they cover, and what the
    whole path costs."""

    pieces: list[Solved]
    coverage: tuple[float, float]
    whole_cost: float

    @classmethod
    def whole(cls, path: Solved) -> Parts:
        return cls([path], (1.0, 1.0), path.cost)

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
        """Checked, with "auto" decided where there is nothing to decide; held: by a band."""
        expect("partial", partial, Partial)
        expect("order", order, Order)
        if held and (partial == "always" or order == "any"):
            raise FeatureError("a band is for whole clips: leave it out, or partial and order")
        if order == "any" and partial == "never":
            raise FeatureError("order='any' takes clips apart: it needs partial='auto' or 'always'")
        if held or (partial == "auto" and recipe.price is None and order == "same"):
            partial = "never"
        return cls(recipe, partial, order)

    def parts(
        self, cost: Floats | None, whole: Solved, random: Callable[[Floats], float], anchors: Cells = ()
    ) -> Parts:
        """The whole path through cost (n, m), or pieces if asked for or better; without cost, it stays.

        random   gives the mean cost of random paths through a box around a piece
        anchors  cells that the pieces must pass
        """
        if self.partial == "never" or cost is None:
            return Parts.whole(whole)
        if cost.size > _LARGEST:
            if self.partial == "auto":
                return Parts.whole(whole)
            raise FeatureError("the clips are too long to align in part: align shorter spans of them")
        prices = Prices.of(cost, self.share)
        if self.order == "same":
            gain, pieces = best_pieces(cost, prices, anchors)
        else:
            gain, pieces = best_pieces_in_any_order(cost, prices, anchors)
        if self.partial == "auto" and not prices.better(gain, whole.cost):
            return Parts.whole(whole)
        randoms = [random(box) for box in _boxes(cost, pieces)]
        return _parts(cost, prices, pieces, randoms, whole)

    def parts_abreast(
        self, abreast: Abreast, costs: list[Floats], wholes: list[Solved], moving: list[bool]
    ) -> list[Parts]:
        """`parts` of every lane that is moving, with exact random costs."""
        if self.order == "any":
            pairs = zip(costs, wholes, moving, strict=True)
            return [self.parts(cost if moves else None, whole, random_cost) for cost, whole, moves in pairs]
        out = [Parts.whole(whole) for whole in wholes]
        if self.partial == "never":
            return out
        priced = PricedLanes(abreast, costs, self.share)
        apart: dict[int, tuple[Prices, list[Path]]] = {}
        for lane, (whole, moves) in enumerate(zip(wholes, moving, strict=True)):
            prices = priced.prices(lane)
            if moves and (self.partial == "always" or prices.better(priced.gains[lane], whole.cost)):
                apart[lane] = prices, priced.pieces(lane)
        boxes = [box for lane, (_, pieces) in apart.items() for box in _boxes(costs[lane], pieces)]
        randoms = iter(random_cost_many(boxes))
        for lane, (prices, pieces) in apart.items():
            own = [next(randoms) for _ in pieces]
            out[lane] = _parts(costs[lane], prices, pieces, own, wholes[lane])
        return out

    @property
    def share(self) -> float:
        """Of its random price, what leaving a frame out costs."""
        return self.recipe.threshold if self.recipe.price is None else self.recipe.price


def _boxes(cost: Floats, pieces: list[Path]) -> list[Floats]:
    """The part of the matrix around each piece."""
    corners = ((piece[0].tolist(), piece[-1].tolist()) for piece in pieces)
    return [cost[i : k + 1, j : last + 1] for (i, j), (k, last) in corners]


def _parts(cost: Floats, prices: Prices, pieces: list[Path], randoms: list[float], whole: Solved) -> Parts:
    solved, covered = [], [0.0, 0.0]
    for piece, random in zip(pieces, randoms, strict=True):
        along, rows, columns = kernels.measure(cost, prices.rows, prices.columns, piece)
        solved.append(Solved(piece, along, random))
        covered = [covered[0] + rows, covered[1] + columns]
    of_query, of_match = (a / b if b > 0 else 1.0 for a, b in zip(covered, prices.totals, strict=True))
    return Parts(solved, (of_query, of_match), whole.cost)
