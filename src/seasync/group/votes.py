"""Where other clips say that marks are in a target, and what follows from all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seasync.encoding import Seconds

# Standard deviation of the window around the median. Chosen on half of the golf swings.
NEAR_SECONDS = 0.05


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

    def middle(self) -> tuple[Seconds, Seconds]:
        """The mean of the answers near their median, and how far all lie from it. [shape=(E,) each]

        The median withstands answers that are far off; the mean of those near it is finer than any of them.
        """
        count = self.moments.shape[1]
        middle, spread = np.full(count, np.nan), np.full(count, np.nan)
        for column in range(count):
            known = np.isfinite(self.moments[:, column])
            values, weights = self.moments[known, column], self.weights[known]
            if len(values):
                away = (values - weighted_median(values, weights)) / NEAR_SECONDS
                # The smallest distance is taken out, so that far apart answers keep their weight.
                near = weights * np.exp((np.min(away**2) - away**2) / 2)
                middle[column] = np.average(values, weights=near)
                spread[column] = np.average(np.abs(values - middle[column]), weights=weights)
        return middle, spread


def weighted_median(values: Seconds, weights: Seconds) -> float:
    """Where the weights on both sides are equal, between values in proportion."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(np.interp(sums[-1] / 2, sums - weights[order] / 2, values[order]))
