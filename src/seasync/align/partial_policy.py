"""Partial alignment: whether two clips correspond as a whole or in pieces, in order or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.align.any_order import best_pieces_in_any_order
from seasync.align.batched import BatchedCosts
from seasync.align.kernels.vectors import LANES
from seasync.align.matrix import Cells, SolvedPath, disordered_cost
from seasync.align.pieces import Pieces, from_measures, measured
from seasync.align.prices import JUMP_IN_ANY_ORDER, BatchedPrices, Prices, best_pieces
from seasync.align.recipe import Recipe
from seasync.align.scores import ScoredPieces, draq_ratio, order_doubt
from seasync.align.verdict import HALF
from seasync.encoding import Floats
from seasync.errors import FeatureError
from seasync.options import Order, Partial, expect

# Cells of the largest matrix that is searched for pieces: 5 bytes each.
LARGEST = 1 << 25
# By how much the DRAQ of pieces may exceed what they are compared with.
_HARDLY_WORSE = 0.02


class _Weighed(NamedTuple):
    """The matrices of a batch that are solved in pieces, and all pieces that were weighed.

    lanes (C,), sums (C, 5): cost, prices of rows and columns, random and disordered cost of their pieces;
    coverage (C, 2); boxes (P, 5), measures (P, 3), randoms (P,): see `BatchedPrices.all_pieces`.
    """

    lanes: NDArray[np.int64]
    sums: NDArray[np.float64]
    coverage: NDArray[np.float64]
    boxes: NDArray[np.int64]
    measures: NDArray[np.float64]
    randoms: NDArray[np.float64]

    @property
    def pieces(self) -> ScoredPieces:
        """The pieces of the matrices that are solved in pieces."""
        kept = np.zeros(LANES, np.bool_)
        kept[self.lanes] = True
        own = kept[self.boxes[:, 0]]
        return ScoredPieces(self.boxes[own], self.measures[own, 0], self.randoms[own])


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
        if cost.size > LARGEST:
            if self.partial == "auto":
                return Pieces.whole(whole)
            raise FeatureError("the clips are too long to align in part: align shorter spans of them")
        if self.order == "same":
            prices = Prices.of(cost, self.share)
            gain, pieces = best_pieces(cost, prices, anchors)
        else:
            prices = Prices.of(cost, self.share, JUMP_IN_ANY_ORDER)
            whole_if_near = self.partial == "auto"
            gain, pieces = best_pieces_in_any_order(cost, prices, anchors, whole=whole_if_near)
        if self.partial == "auto" and not prices.better(gain, whole.cost):
            return Pieces.whole(whole)
        found = measured(cost, prices, pieces, whole, random)
        sure = False
        if self._depends_on_doubt(found):
            sure = prices.better(gain, whole.cost, float(order_doubt(whole.cost, disordered_cost(cost))))
        return found if self._earns_its_place(found, sure) else Pieces.whole(whole)

    def choose_batched(
        self, batch: BatchedCosts, wholes: list[SolvedPath], moving: list[bool]
    ) -> list[Pieces]:
        """`choose` for every matrix of a batch, in the same order and with exact random costs.

        Motionless pairs stay whole.
        """
        out = [Pieces.whole(whole) for whole in wholes]
        if self.partial == "never":
            return out
        priced, cost = BatchedPrices(batch, self.share), np.array([whole.cost for whole in wholes])
        whole_draq = draq_ratio(cost, [whole.random for whole in wholes])
        found = self._weigh(batch, priced, np.array(moving), cost, whole_draq, None)
        for lane in found.lanes.tolist():
            own, pieces = found.boxes[:, 0] == lane, priced.pieces(lane)
            measures, randoms = found.measures[own].tolist(), found.randoms[own].tolist()
            out[lane] = from_measures(measures, priced.totals[lane], pieces, randoms, wholes[lane])
        return out

    def score_batched(
        self, batch: BatchedCosts, moving: NDArray[np.bool_], *, contrast: bool
    ) -> tuple[NDArray[np.float64], ScoredPieces]:
        """What `choose_batched` finds, without paths and in the same order.

        Parameters
        ----------
        batch : BatchedCosts
            B matrices.
        moving : numpy.ndarray [shape=(B,)]
            Whether something moves in both clips; motionless pairs stay whole and get DRAQ 1.
        contrast : bool
            Whether to measure the contrast; it is 1 otherwise.

        Returns
        -------
        numpy.ndarray [shape=(B, 7)]
            Cost, mean cost of random paths, coverage of query and match, contrast, and DRAQ and cost of both
            clips as a whole.
        ScoredPieces
            The pieces of the matrices that are solved in part.
        """
        cost, random = batch.totals()
        random = np.where(moving, random, cost)
        whole_draq = draq_ratio(cost, random)
        out = np.ones((batch.count, 7))
        out[:, 0], out[:, 1], out[:, 5], out[:, 6] = cost, random, whole_draq, cost
        broken = batch.disordered() if contrast else np.zeros(batch.count)
        pieces = ScoredPieces.none()
        if self.partial != "never":
            priced = BatchedPrices(batch, self.share)
            found = self._weigh(batch, priced, moving, cost, whole_draq, broken if contrast else None)
            chosen, sums, covered = found.lanes, found.sums, found.coverage
            out[chosen, 0], out[chosen, 1], out[chosen, 2:4] = sums[:, 0], sums[:, 3], covered
            in_part = (covered != 1).any(1)
            broken[chosen[in_part]] = sums[in_part, 4]
            pieces = found.pieces
        if contrast:
            out[:, 4] = draq_ratio(out[:, 0], broken)
        return out, pieces

    def _weigh(
        self,
        batch: BatchedCosts,
        priced: BatchedPrices,
        moving: NDArray[np.bool_],
        cost: NDArray[np.float64],
        whole_draq: NDArray[np.float64],
        disordered: NDArray[np.float64] | None,
    ) -> _Weighed:
        """Which matrices of a batch are better solved in pieces, given what the whole paths cost.

        If the cost of paths with the match's order broken is given, it is measured of the pieces as well.
        """
        chosen = np.flatnonzero(moving & (priced.better(cost) | (self.partial == "always")))
        boxes, measures = priced.all_pieces(chosen)
        costs = batch.box_costs(boxes, contrast=disordered is not None)
        sums = np.zeros((batch.count, 5))
        np.add.at(sums, boxes[:, 0], np.hstack([measures, costs.T]))
        sums, totals = sums[chosen], priced.totals[chosen]
        covered = np.divide(sums[:, 1:3], totals, out=np.ones(totals.shape), where=totals > 0)
        kept, if_sure = (
            self._earn_their_place(sums[:, 0], sums[:, 3], covered, whole_draq[chosen], sure)
            for sure in (False, True)
        )
        if (kept != if_sure).any():
            doubt = order_doubt(cost, batch.disordered() if disordered is None else disordered)
            kept |= if_sure & priced.better(cost, doubt)[chosen]
        return _Weighed(chosen[kept], sums[kept], covered[kept], boxes, measures, costs[0])

    def _depends_on_doubt(self, found: Pieces) -> bool:
        """Whether pieces earn their place only if they are sure to be better."""
        return self._earns_its_place(found, True) and not self._earns_its_place(found, False)

    def _earns_its_place(self, found: Pieces, sure: bool) -> bool:
        return bool(self._earn_their_place(found.cost, found.random, found.coverage, found.whole_draq, sure))

    def _earn_their_place(
        self,
        cost: ArrayLike,
        random: ArrayLike,
        coverage: ArrayLike,
        whole_draq: ArrayLike,
        sure: NDArray[np.bool_] | bool,
    ) -> NDArray[np.bool_]:
        """Whether pieces are `sure` to be better and align about as well as the clips as a whole, shape (B,).

        Where little fits, leaving some of it out gains much by chance, but what remains fits worse.
        Pieces of less than half of either clip stay: then nothing aligns, and the whole must not claim it.
        So do those that are not `sure` and above the threshold.
        """
        draq = draq_ratio(cost, random)
        fit = draq < np.maximum(self.recipe.threshold, whole_draq) + _HARDLY_WORSE
        unclaimed = draq >= self.recipe.threshold
        less_than_half = np.max(coverage, -1) < HALF
        asked = self.partial == "always" or self.order == "any"
        return np.asarray(fit & (sure | unclaimed) | less_than_half | asked)

    @property
    def rejoins(self) -> bool:
        """Whether what interrupts a scene may be left out."""
        return self.partial != "never" and self.order == "same"

    @property
    def share(self) -> float:
        """What leaving a frame out costs, as a share of its random price."""
        return self.recipe.threshold if self.recipe.price is None else self.recipe.price
