"""What corresponds in two clips: all of both, or the pieces that gain most by leaving the rest out.

A frame's random price is what a random path would spend on it: its mean cost with the other clip's frames,
times the mean number of cells that such a path has in a row. Leaving a frame out costs a share of that. The
best path weighs it against the cost of its cells, and may jump ahead where both clips show something that the
other one lacks. It is taken if it gains clearly more than the path through both clips as a whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import kernels
from seasync.alignment.costs import BatchedCosts, scratch
from seasync.alignment.judge import ScoredPieces, Scores, draq_ratio
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import Cells, Path, SolvedPath, disordered_cost, solve_whole
from seasync.alignment.recipe import Recipe
from seasync.encoding import Floats, Indices
from seasync.errors import FeatureError

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Cells of the largest matrix that is searched for pieces: 5 bytes each.
LARGEST = 1 << 25


def gains_clearly(gain: Any, whole_price: Any, whole_cost: Any, recipe: Recipe) -> Any:
    """Whether leaving something out gains clearly more than the path through both clips as a whole.

    Parameters
    ----------
    gain : float or array_like
        Prices of all frames that the best pieces enter, minus the costs of their cells and jumps.
    whole_price : float or array_like
        Random price of both clips together.
    whole_cost : float or array_like
        Cost of the path through both clips as a whole.
    recipe : Recipe
        Its `margin` says how much is clear.
    """
    return gain - (recipe.frame_price * whole_price - whole_cost) > recipe.margin * whole_cost


@dataclass(frozen=True, eq=False)
class Prices:
    """What leaving out each frame costs, of one pair or of LANES pairs side by side.

    Attributes
    ----------
    rows : numpy.ndarray [shape=(n, lanes)], float32
        The price of each of the query's frames.
    columns : numpy.ndarray [shape=(m, lanes)], float32
        The same for the match.
    totals : numpy.ndarray [shape=(lanes, 2)], float64
        The sums of both.
    recipe : Recipe
    """

    rows: Floats
    columns: Floats
    totals: Doubles
    recipe: Recipe

    @classmethod
    def of(cls, cost: Floats, recipe: Recipe) -> "Prices":
        """Compute the prices of a cost matrix, shape (n, m)."""
        rows, columns = np.array(cost.shape)[:, None]
        cells = np.ascontiguousarray(cost)
        return cls(*kernels.price_frames(cells, rows, columns, recipe.frame_price), recipe)

    @classmethod
    def of_batch(cls, batch: BatchedCosts, recipe: Recipe) -> "Prices":
        """Compute the prices of all matrices of a batch."""
        return cls(*kernels.price_frames(batch.cells, batch.rows, batch.columns, recipe.frame_price), recipe)

    @cached_property
    def whole(self) -> Doubles:
        """The random price of both clips together, shape (lanes,)."""
        return np.asarray(self.totals.sum(1) / self.recipe.frame_price)

    @property
    def jumps(self) -> Floats:
        """The cost of a jump, shape (lanes,)."""
        recipe = self.recipe
        share = recipe.jump if recipe.order == "same" else recipe.jump_in_any_order
        return (share * self.whole).astype(np.float32)

    @property
    def anchor(self) -> np.float32:
        """A reward that makes one cell worth more than all the rest."""
        return np.float32(1 + 2 * self.whole[0])

    def gain(self, cost: Floats, pieces: Sequence[Path]) -> float:
        """What these pieces of a path gain, given the cost matrix, shape (n, m)."""
        gain = sum(rows + columns - along for along, rows, columns in self.measure(cost, pieces))
        return float(gain) - float(self.jumps[0]) * (len(pieces) - 1)

    def measure(self, cost: Floats, pieces: Sequence[Path]) -> list[tuple[float, float, float]]:
        """What each piece costs, and the prices of the rows and of the columns it enters."""
        return [kernels.measure(cost, self.rows, self.columns, piece) for piece in pieces]


# One cost matrix.


def best_pieces(cost: Floats, prices: Prices, anchors: Cells = ()) -> tuple[float, list[Path]]:
    """Find the best path with jumps.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], float32
    prices : Prices
    anchors : sequence of (int, int)
        Cells that it must pass, in the same order in both clips.

    Returns
    -------
    float
        What the path gains.
    list of numpy.ndarray [shape=(L, 2)]
        Its pieces, in order in both clips.
    """
    if anchors:
        return _pieces_through(sorted(anchors), cost, prices)
    moves, sources = np.empty(cost.shape, np.uint8), np.empty(cost.shape, np.int32)
    cells = np.ascontiguousarray(cost)
    gains, ends = kernels.solve_priced(cells, prices.rows, prices.columns, prices.jumps, moves, sources)
    return float(gains[0]), split(*kernels.trace_priced(moves, sources, int(ends[0])))


def split(path: Path, breaks: NDArray[np.int64]) -> list[Path]:
    """The pieces of a path, given where each begins, and where the last one ends."""
    return [path[a:b] for a, b in pairwise(breaks.tolist())]


def _pieces_through(anchors: Cells, cost: Floats, prices: Prices) -> tuple[float, list[Path]]:
    """Go from anchor to anchor: in the box between two, both corners get a reward above all else."""
    n, m = cost.shape
    pieces: list[Path] = []
    for (i, j), (k, last) in pairwise([(0, 0), *anchors, (n - 1, m - 1)]):
        box = cost[i : k + 1, j : last + 1].copy()
        for corner, cell in (((i, j), (0, 0)), ((k, last), (-1, -1))):
            box[cell] = -prices.anchor if corner in anchors else box[cell]
        there = replace(prices, rows=prices.rows[i : k + 1], columns=prices.columns[j : last + 1])
        found = [piece + np.array([i, j], np.int32) for piece in best_pieces(box, there)[1]]
        if pieces:  # the last one ends where the first of these begins
            found[0] = np.concatenate([pieces.pop(), found[0][1:]])
        pieces += found
    return prices.gain(cost, pieces), pieces


def choose_pieces(cost: Floats | None, whole: SolvedPath, recipe: Recipe, anchors: Cells = ()) -> list[Path]:
    """The pieces of one pair; none if its clips are aligned as a whole.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], optional
        None if it is too large to keep.
    whole : SolvedPath
        The path from end to end.
    recipe : Recipe
    anchors : sequence of (int, int)
        Cells that the pieces must pass.
    """
    from seasync.alignment.any_order import best_pieces_in_any_order

    if not recipe.takes_apart:
        return []
    if cost is None or cost.size > LARGEST:
        if recipe.partial == "auto":
            return []
        raise FeatureError("the clips are too long to align in part: align shorter spans of them")
    prices = Prices.of(cost, recipe)
    find = best_pieces if recipe.order == "same" else best_pieces_in_any_order
    gain, pieces = find(cost, prices, anchors)
    clearly = gains_clearly(gain, prices.whole[0], whole.cost, recipe)
    if recipe.partial == "auto" and not clearly:
        return []
    return pieces


def rejoin_scenes(
    cost: Floats, whole: SolvedPath, recipe: Recipe, rows: Indices, columns: Indices
) -> list[Path]:
    """The pieces of one pair without what interrupts a scene; none if that gains nothing.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)]
    whole : SolvedPath
        The path from end to end.
    recipe : Recipe
    rows, columns : numpy.ndarray [shape=(k,)], numpy.ndarray [shape=(l,)]
        Grid points of the query and of the match without the interruption.
    """
    inner = np.ascontiguousarray(cost[np.ix_(rows, columns)])
    solved = solve_whole(inner)
    pieces: list[Path] = []
    for path in choose_pieces(inner, solved, recipe) or [solved.path]:
        cells = np.stack([rows[path[:, 0]], columns[path[:, 1]]], axis=1).astype(np.int32)
        for part in np.split(cells, np.flatnonzero((np.diff(cells, axis=0) > 1).any(1)) + 1):
            # A frame on both sides of a jump belongs to the piece before it.
            new = part[(part > pieces[-1][-1]).all(1)] if pieces else part
            pieces += [new] if len(new) else []
    prices = Prices.of(cost, recipe)
    # It is in sight that something is foreign, so any gain counts.
    better = prices.gain(cost, pieces) > recipe.frame_price * prices.whole[0] - whole.cost
    return pieces if better else []


def score_pair(
    cost: Floats | None,
    whole: SolvedPath,
    pieces: Sequence[Path],
    recipe: Recipe,
    random: Callable[[Floats], float],
    *,
    contrast: bool,
) -> Scores:
    """Scores of one pair, with its path.

    Parameters
    ----------
    cost : numpy.ndarray [shape=(n, m)], optional
        None if it is too large to keep.
    whole : SolvedPath
        The path from end to end.
    pieces : sequence of numpy.ndarray [shape=(L, 2)]
        None for the clips as a whole.
    recipe : Recipe
    random : callable
        Gives the mean cost of random paths through a matrix.
    contrast : bool
        Whether to measure the contrast; it is 1 otherwise.
    """
    boxes = [] if cost is None else [cost]
    found, covered = ScoredPieces.none(), np.ones(2)
    total, chance = whole.cost, whole.random
    if cost is not None and pieces:
        prices, corners = Prices.of(cost, recipe), [_corners_of(piece) for piece in pieces]
        boxes = [cost[top : top + rows, left : left + columns] for top, left, rows, columns in corners]
        measures = np.array(prices.measure(cost, pieces))
        found = ScoredPieces(
            np.array([(0, *box) for box in corners]), measures[:, 0], np.array([random(box) for box in boxes])
        )
        total, chance = measures[:, 0].sum(), found.randoms.sum()
        covered = _coverage_of(measures[:, 1:].sum(0), prices.totals[0])
    broken = [cost] if cost is not None and (covered == 1).all() else boxes
    against = sum(map(disordered_cost, broken)) if contrast and boxes else 0.0
    contrasted = draq_ratio(total, against) if against else 1.0
    row = total, chance, *covered, contrasted, draq_ratio(whole.cost, whole.random), whole.cost
    return Scores(*np.array(row, np.float64)[:, None], pieces=found, paths=(tuple(pieces) or (whole.path,),))


def _coverage_of(entered: Doubles, totals: Doubles) -> Doubles:
    """Share of the prices that pieces enter, shape (..., 2); clips that cost nothing are covered."""
    return np.divide(entered, totals, out=np.ones(totals.shape), where=totals > 0)


def _corners_of(piece: Path) -> tuple[int, int, int, int]:
    """First row and column of the box around a piece, and how many rows and columns it has."""
    (top, left), (last, right) = piece[0].tolist(), piece[-1].tolist()
    return top, left, last + 1 - top, right + 1 - left


# Many cost matrices side by side.


def score_batch(batch: BatchedCosts, moving: Flags, recipe: Recipe, *, paths: bool, contrast: bool) -> Scores:
    """Scores of every matrix of a batch, with the paths if they are asked for.

    Parameters
    ----------
    batch : BatchedCosts
        B matrices.
    moving : numpy.ndarray [shape=(B,)]
        Whether something moves in both clips. Motionless pairs stay whole and get DRAQ 1: nothing
        distinguishes a good path from a bad one.
    recipe : Recipe
        In the same order.
    paths : bool
        Whether to trace the paths.
    contrast : bool
        Whether to measure the contrast; it is 1 otherwise.
    """
    traced: list[tuple[Path, ...]] = []
    if paths:
        solved = batch.solve()
        traced = [(each.path,) for each in solved]
        whole_cost, random = np.array([(each.cost, each.random) for each in solved]).T
    else:
        whole_cost, random = batch.totals()
    cost, random, covered = whole_cost.copy(), np.where(moving, random, whole_cost), np.ones((batch.count, 2))
    whole_draq, pieces = draq_ratio(whole_cost, random), ScoredPieces.none()
    broken = batch.disordered() if contrast else np.zeros(batch.count)
    if recipe.takes_apart:
        prices, size = Prices.of_batch(batch, recipe), (batch.n, batch.m * LANES)
        where = scratch("priced", np.uint8, *size), scratch("sources", np.int32, *size)
        gains, ends = kernels.solve_priced(batch.cells, prices.rows, prices.columns, prices.jumps, *where)
        whole_price, gains = prices.whole[: batch.count], gains[: batch.count].astype(np.float64)
        clearly = gains_clearly(gains, whole_price, whole_cost, recipe)
        chosen = np.flatnonzero(moving & (clearly | (recipe.partial == "always")))
        boxes, measures = kernels.take_pieces(batch.cells, prices.rows, prices.columns, *where, ends, chosen)
        of_boxes = batch.box_costs(boxes, contrast=contrast)
        sums = np.zeros((batch.count, 5))
        np.add.at(sums, boxes[:, 0], np.hstack([measures, of_boxes.T]))
        sums = sums[chosen]
        cost[chosen], random[chosen] = sums[:, 0], sums[:, 3]
        covered[chosen] = _coverage_of(sums[:, 1:3], prices.totals[chosen])
        in_part = (covered[chosen] != 1).any(1)
        broken[chosen[in_part]] = sums[in_part, 4]
        pieces = ScoredPieces(boxes, measures[:, 0], of_boxes[0])
        for lane in chosen.tolist() if paths else ():
            path = kernels.trace_priced(*where, int(ends[lane]), lane=lane, lanes=LANES)
            traced[lane] = tuple(split(*path))
    columns = np.stack([cost, random, *covered.T, draq_ratio(cost, broken), whole_draq, whole_cost])
    return Scores(*columns, pieces=pieces, paths=tuple(traced))
