"""Where other clips say that marks are in a target, and what follows from all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seasync.encoding import Seconds


@dataclass(frozen=True, eq=False)
class Votes:
    """Where other clips say that marks are in one target.

    Attributes
    ----------
    sources : tuple of int
        Numbers of the clips that align with the target: labeled ones, then helpers.
    weights : ndarray [shape=(S,)]
    moments : ndarray [shape=(S, E)]
        Seconds of the target; NaN where a clip has no such mark, or nothing corresponds to it.
    """

    sources: tuple[int, ...]
    weights: Seconds
    moments: Seconds

    def without(self, source: int) -> Votes:
        """The votes of all other clips."""
        kept = np.array([number != source for number in self.sources], bool)
        rest = tuple(number for number in self.sources if number != source)
        return Votes(rest, self.weights[kept], self.moments[kept])

    def median(self) -> tuple[Seconds, Seconds]:
        """The weighted median of each mark, and how far the answers lie from it. [shape=(E,) each]"""
        count = self.moments.shape[1]
        middle, spread = np.full(count, np.nan), np.full(count, np.nan)
        for column in range(count):
            known = np.isfinite(self.moments[:, column])
            values, weights = self.moments[known, column], self.weights[known]
            if len(values):
                middle[column] = weighted_median(values, weights)
                spread[column] = np.average(np.abs(values - middle[column]), weights=weights)
        return middle, spread


def weighted_median(values: Seconds, weights: Seconds) -> float:
    """Where the weights on both sides are equal, between values in proportion."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(np.interp(sums[-1] / 2, sums - weights[order] / 2, values[order]))
