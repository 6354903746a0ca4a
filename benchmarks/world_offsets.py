"""How much of an error is a fixed offset of single clips, as `benchmarks.world` measures it.

A label that stands too early in one clip makes every alignment with that clip wrong by as much, in either
direction. So does a moment that looks as if it came earlier there. Neither depends on the path: alignments
that agree with each other through any third clip err by differences of such offsets alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.world_sets import Doubles

_STEPS = 30
_NEAR_MS = 3.0  # closer than this, an error counts as zero


def without_offsets(errors: Mapping[tuple[int, int], Doubles]) -> float:
    """The mean distance that is left when each clip may shift each of its events by one amount.

    Parameters
    ----------
    errors : mapping of (int, int) to numpy.ndarray [shape=(E,)]
        Where the alignment of a query with a match (by their numbers) puts each of the events, minus the
        truth, in ms.

    Returns
    -------
    float
        Mean absolute distance, in ms. The offsets are those that make it smallest.
    """
    pairs, signed = np.array(list(errors)), np.array(list(errors.values()))
    sides = np.zeros((len(pairs), pairs.max() + 1))
    rows = np.arange(len(pairs))
    sides[rows, pairs[:, 0]], sides[rows, pairs[:, 1]] = 1, -1
    return float(np.mean([np.abs(_rest(sides, event)).mean() for event in signed.T]))


def _rest(sides: Doubles, errors: Doubles) -> Doubles:
    """Errors minus sides · offsets, with the offsets of the smallest mean: least squares, weighted anew."""
    weights = np.ones(len(errors))
    for _ in range(_STEPS):
        offsets = np.linalg.lstsq(sides * weights[:, None], errors * weights, rcond=None)[0]
        rest = errors - sides @ offsets
        weights = 1 / np.sqrt(np.maximum(np.abs(rest), _NEAR_MS))
    return np.asarray(rest)
