"""Partial alignment: whether two clips correspond as a whole or in pieces, in order or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.alignment.any_order import best_pieces_in_any_order, edited, pieces_of, with_moved_cuts
from seasync.alignment.costs import BatchedCosts, CostPair
from seasync.alignment.judge import HALF, ScoredPieces, draq_of, draq_ratio, order_doubt
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Cells, Path, SolvedPath, disordered_cost, solve_whole
from seasync.alignment.prepare import PreparedClip
from seasync.alignment.prices import (
    JUMP_IN_ANY_ORDER,
    BatchedPrices,
    Pieces,
    Prices,
    best_pieces,
    from_measures,
    measured,
)
from seasync.alignment.recipe import Recipe
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


# Interrupted scenes: foreign footage in the middle of a movement, which continues afterwards.


# Shots show one scene if 1 − cosine of their mean features is below this. Halves of golf swings, pitches,
# push-ups and yoga poses differ by .24 at most from each other, and by .35 at least from foreign footage. Of
# 30 films that were written and encoded, one has foreign footage that looks more alike (.27).
_ALIKE = 0.3
# The interruption is foreign if the clips without it have a DRAQ below this share of what they have with it.
# Chosen on golf swings: where another player shows the middle of a swing, it belongs to the movement.
_CLEARLY_BETTER = 0.85


def is_interrupted(clip: PreparedClip) -> bool:
    """Whether a scene of the clip is interrupted and continues."""
    return _samples_of_scene(clip) is not None


def uninterrupted(
    pair: CostPair,
    cost: Floats,
    whole: SolvedPath,
    policy: PartialPolicy,
    random: Callable[[Floats], float],
) -> Pieces | None:
    """Solve a pair without the interruptions of its clips, and see whether they fit clearly better then.

    Parameters
    ----------
    pair : CostPair
    cost : numpy.ndarray [shape=(n, m)]
        Its cost matrix.
    whole : SolvedPath
        Its path from end to end.
    policy : PartialPolicy
        What else may be left out.
    random : callable
        Gives the mean cost of random paths through a matrix.

    Returns
    -------
    Pieces or None
        The paths on the grids of the clips as they are, measured by the pair's own costs. Its `whole_cost`
        and `whole_random` are those without interruptions. None if the clips do not fit clearly better then.
    """
    query, rows = _rejoined(pair.query, pair.recipe)
    match, columns = _rejoined(pair.match, pair.recipe)
    rejoined = CostPair(query, match, pair.recipe)
    if (query is pair.query and match is pair.match) or not rejoined.moving:
        return None
    costs = rejoined.matrix()
    penalty = pair.recipe.penalty * float(costs.mean(dtype=np.float64))
    solved = replace(solve_whole(costs, penalty=penalty), random=random(costs))
    if draq_of(solved.cost, solved.random) >= _CLEARLY_BETTER * draq_of(whole.cost, whole.random):
        return None
    pieces: list[Path] = []
    for piece in policy.choose(costs, solved, random).pieces:
        pieces_of(np.stack([rows[piece.path[:, 0]], columns[piece.path[:, 1]]], axis=1), pieces)
    return measured(cost, Prices.of(cost, policy.share), pieces, solved, random)


def _samples_of_scene(clip: PreparedClip) -> NDArray[np.bool_] | None:
    """The samples of the clip without what interrupts its longest interrupted scene, shape (T,).

    None if there is no such scene, or if several streams would have to be taken apart.
    """
    features, shots = clip.lead.features, clip.lead.shots
    if len(shots) < 3 or len(clip.streams) > 1:
        return None
    lengths = np.diff(np.append(shots, len(features)))
    sums = np.add.reduceat(features, shots, axis=0, dtype=np.float64)
    directions = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    alike = 1 - directions @ directions.T < _ALIKE
    best, longest = None, 0
    for scene in alike:
        first, last = np.flatnonzero(scene)[[0, -1]]
        kept = scene.copy()
        kept[:first] = kept[last + 1 :] = True
        if not kept.all() and lengths[scene].sum() > longest:
            best, longest = np.repeat(kept, lengths), lengths[scene].sum()
    return best


def _rejoined(clip: PreparedClip, recipe: Recipe) -> tuple[PreparedClip, NDArray[np.int32]]:
    """The clip without its interruption, and which of the clip's grid points each of its own is, (n,)."""
    kept = _samples_of_scene(clip)
    if kept is None:
        return clip, np.arange(len(clip), dtype=np.int32)
    return edited(clip, np.flatnonzero(kept), recipe)


# What corresponds in a pair of clips: all of it, parts of it, without interruptions, in another order.


def choose_pieces(
    pair: CostPair,
    cost: Floats | None,
    whole: SolvedPath,
    policy: PartialPolicy,
    random: Callable[[Floats], float],
    anchors: Cells = (),
) -> Pieces:
    """`PartialPolicy.choose`, which knows costs alone, for a pair whose clips can be put together again.

    With anchors, clips stay as they are.
    """
    if not pair.moving or cost is None:
        return Pieces.whole(whole)
    as_they_are = bool(anchors) or cost.size > LARGEST
    if policy.rejoins and not as_they_are:
        rejoined = uninterrupted(pair, cost, whole, policy, random)
        if rejoined is not None:
            return rejoined
    found = policy.choose(cost, whole, random, anchors)
    if policy.order == "same" or as_they_are:
        return found
    return with_moved_cuts(pair, cost, whole, found, policy.share, random)
