"""What corresponds in a pair of clips: all of it, parts of it, without interruptions, in another order."""

from __future__ import annotations

from collections.abc import Callable

from seasync.align.cost_pair import CostPair
from seasync.align.interruptions import uninterrupted
from seasync.align.matrix import Cells, SolvedPath
from seasync.align.order_cuts import with_moved_cuts
from seasync.align.partial_policy import LARGEST, PartialPolicy
from seasync.align.pieces import Pieces
from seasync.encoding import Floats


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
