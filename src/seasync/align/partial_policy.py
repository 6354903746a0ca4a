"""Partial alignment: whether two clips correspond as a whole or in pieces, in order or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from seasync.align.any_order import best_pieces_in_any_order
from seasync.align.batched import BatchedCosts, disordered_cost_many
from seasync.align.kernels import priced_paths as kernels
from seasync.align.matrix import Cells, Path, SolvedPath, random_cost
from seasync.align.prices import BatchedPrices, Prices, best_pieces
from seasync.align.recipe import Recipe
from seasync.align.scores import draq_ratio
from seasync.align.verdict import HALF
from seasync.encoding import Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial, expect

# Cells of the largest matrix that is searched for pieces: 5 bytes each.
_LARGEST = 1 << 25
# By how much the DRAQ of pieces may exceed what they are compared with.
_HARDLY_WORSE = 0.02


@dataclass(frozen=True, eq=False)
class Pieces:
    """The path between two clips, in one or more pieces.

    Attributes
    ----------
    pieces : list of SolvedPath
        In the query's order.
    coverage : (float, float)
        Share of the query's and of the match's random price that they cover.
    whole_cost, whole_random : float
        Cost of the path that covers both clips as a whole, and mean cost of random paths through both.
    contrast : float
        Cost over that of paths through the same pieces with the match's order broken; 1 if not measured.
    """

    pieces: list[SolvedPath]
    coverage: tuple[float, float]
    whole_cost: float
    whole_random: float
    contrast: float = 1.0

    @classmethod
    def whole(cls, path: SolvedPath) -> Pieces:
        """Both clips as a whole, in one piece."""
        return cls([path], (1.0, 1.0), path.cost, path.random)

    @property
    def cost(self) -> float:
        """Cost of all pieces."""
        return sum(piece.cost for piece in self.pieces)

    @property
    def random(self) -> float:
        """Mean cost of random paths through the boxes around the pieces."""
        return sum(piece.random for piece in self.pieces)

    @property
    def whole_draq(self) -> float:
        """DRAQ of both clips as a whole."""
        return float(draq_ratio(self.whole_cost, self.whole_random))


@dataclass(frozen=True)
class PartialPolicy:
    """How much of two clips must correspond, and in what order; see `align_encodings`."""

    recipe: Recipe
    partial: Partial
    order: Order

    @classmethod
    def of(cls, recipe: Recipe, partial: Partial, order: Order, *, banded: bool = False) -> PartialPolicy:
        """Check the options, and turn "auto" into "never" where pieces are not an option.

        Raises
        ------
        ValueError
            If `partial` or `order` is not one of its allowed values.
        FeatureError
            If the options contradict each other.
        """
        expect("partial", partial, Partial)
        expect("order", order, Order)
        if banded and (partial == "always" or order == "any"):
            raise FeatureError(
                "a band works only with whole clips: leave out band, or leave out partial and order"
            )
        if order == "any" and partial == "never":
            raise FeatureError("order='any' takes clips apart: it needs partial='auto' or 'always'")
        if banded or (partial == "auto" and recipe.price is None and order == "same"):
            partial = "never"
        return cls(recipe, partial, order)

    def choose(
        self,
        cost: Floats | None,
        whole: SolvedPath,
        random: Callable[[Floats], float],
        anchors: Cells = (),
    ) -> Pieces:
        """The whole path, or pieces if they are asked for or clearly better.

        Parameters
        ----------
        cost : numpy.ndarray [shape=(n, m)], optional
            Without it the whole path stays.
        whole : SolvedPath
            The path from end to end.
        random : callable
            Gives the mean cost of random paths through a box around a piece.
        anchors : sequence of (int, int)
            Cells that the pieces must pass.
        """
        if self.partial == "never" or cost is None:
            return Pieces.whole(whole)
        if cost.size > _LARGEST:
            if self.partial == "auto":
                return Pieces.whole(whole)
            raise FeatureError("the clips are too long to align in part: align shorter spans of them")
        prices = Prices.of(cost, self.share)
        if self.order == "same":
            gain, pieces = best_pieces(cost, prices, anchors)
        else:
            gain, pieces = best_pieces_in_any_order(cost, prices, anchors)
        if self.partial == "auto" and not prices.better(gain, whole.cost):
            return Pieces.whole(whole)
        randoms = [random(box) for box in _boxes(cost, pieces)]
        measures = [kernels.measure(cost, prices.rows, prices.columns, piece) for piece in pieces]
        found = _measured(measures, prices.totals, pieces, randoms, whole)
        return found if self._earns_its_place(found, whole) else Pieces.whole(whole)

    def choose_batched(
        self, batch: BatchedCosts, wholes: list[SolvedPath], moving: list[bool], *, contrast: bool = False
    ) -> list[Pieces]:
        """`choose` for every matrix of a batch, with exact random costs; motionless pairs stay whole.

        With `contrast`, for a batch of one query, their contrast is measured too.
        """
        out = [Pieces.whole(whole) for whole in wholes]
        broken = batch.disordered().tolist() if contrast else []
        if contrast:
            out = [_contrasted(*pair) for pair in zip(out, broken, strict=True)]
        if self.partial == "never":
            return out
        if self.order == "any":
            costs = {lane: batch.matrix(lane) for lane, moves in enumerate(moving) if moves}
            return [self.choose(costs.get(lane), whole, random_cost) for lane, whole in enumerate(wholes)]
        priced = BatchedPrices(batch, self.share)
        better = priced.better([whole.cost for whole in wholes])
        chosen = [
            lane for lane, moves in enumerate(moving) if moves and (self.partial == "always" or better[lane])
        ]
        pieces = {lane: priced.pieces(lane) for lane in chosen}
        boxes = [(lane, *_corners(piece)) for lane, some in pieces.items() for piece in some]
        randoms, disordered = map(iter, batch.box_costs(boxes, contrast=contrast).tolist())
        for lane, some in pieces.items():
            own = [next(randoms) for _ in some]
            against = sum(next(disordered) for _ in some)
            measures = [priced.measure(lane, piece) for piece in some]
            found = _measured(measures, priced.totals[lane], some, own, wholes[lane])
            if not self._earns_its_place(found, wholes[lane]):
                continue
            if contrast:
                whole_again = found.coverage == (1.0, 1.0)
                found = _contrasted(found, broken[lane] if whole_again else against)
            out[lane] = found
        return out

    def _earns_its_place(self, pieces: Pieces, whole: SolvedPath) -> bool:
        """Whether the pieces align by themselves, or at least about as well as the clips as a whole.

        Where little fits, leaving some of it out gains much by chance, but what remains fits worse.
        Pieces of less than half of either clip stay: then nothing aligns, and the whole must not claim it.
        """
        if self.partial == "always" or self.order == "any" or max(pieces.coverage) < HALF:
            return True
        draq, whole_draq = draq_ratio([pieces.cost, whole.cost], [pieces.random, whole.random])
        return bool(draq < max(self.recipe.threshold, whole_draq) + _HARDLY_WORSE)

    @property
    def share(self) -> float:
        """What leaving a frame out costs, as a share of its random price."""
        return self.recipe.threshold if self.recipe.price is None else self.recipe.price


def with_contrast(costs: Sequence[Floats], found: Sequence[Pieces]) -> list[Pieces]:
    """The same pieces with their contrast measured in the boxes around them."""
    boxes = [
        [cost] if each.coverage == (1.0, 1.0) else _boxes(cost, [piece.path for piece in each.pieces])
        for cost, each in zip(costs, found, strict=True)
    ]
    totals = iter(disordered_cost_many([box for some in boxes for box in some]))
    broken = [sum(next(totals) for _ in some) for some in boxes]
    return [_contrasted(each, against) for each, against in zip(found, broken, strict=True)]


def _contrasted(pieces: Pieces, against: float) -> Pieces:
    return replace(pieces, contrast=float(draq_ratio(pieces.cost, against)))


def _boxes(cost: Floats, pieces: list[Path]) -> list[Floats]:
    """The part of the matrix around each piece."""
    corners = map(_corners, pieces)
    return [cost[top : top + rows, left : left + columns] for top, left, rows, columns in corners]


def _corners(piece: Path) -> tuple[int, int, int, int]:
    """First row and column of the box around a piece, and how many rows and columns it has."""
    (top, left), (last, right) = piece[0].tolist(), piece[-1].tolist()
    return top, left, last + 1 - top, right + 1 - left


def _measured(
    measures: Sequence[tuple[float, float, float]],
    totals: Sequence[float],
    pieces: list[Path],
    randoms: list[float],
    whole: SolvedPath,
) -> Pieces:
    """Pieces with their costs and their coverage; each was measured as by `kernels.measure`."""
    solved = [
        SolvedPath(piece, along, random)
        for piece, (along, _, _), random in zip(pieces, measures, randoms, strict=True)
    ]
    covered = sum(rows for _, rows, _ in measures), sum(columns for _, _, columns in measures)
    of_query, of_match = (float(a / b) if b > 0 else 1.0 for a, b in zip(covered, totals, strict=True))
    return Pieces(solved, (of_query, of_match), whole.cost, whole.random)
