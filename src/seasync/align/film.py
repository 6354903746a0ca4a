"""Where in a long film a whole query fits: streamed over the film, in memory that does not grow with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seasync.align.cost import CostPair
from seasync.align.kernels import film as kernels
from seasync.align.recipe import MOTION, Recipe
from seasync.align.track import prepare
from seasync.encoding import Encoding

# Mean number of cells a random path spends on a frame, as a share of one: of two clips of equal length.
_RANDOM_SHARE = 0.75


@dataclass(frozen=True)
class Span:
    """A stretch of a film, in seconds."""

    start: float
    end: float


def fitting_spans(query: Encoding, film: Encoding, *, recipe: Recipe = MOTION, count: int = 5) -> list[Span]:
    """The `count` best stretches of the film for the whole query, none overlapping another, best first.

    The query is used from its first sample to its last, the film from anywhere to anywhere. Each frame taken
    in earns the recipe's threshold times what it would cost a random path; each cell of the path is paid for.
    Time O(n·m), memory O(n + m).
    """
    coarse = replace(recipe, grid_fps=None)
    pair = CostPair(prepare(film, coarse), prepare(query, coarse), coarse)
    frames, samples = pair.shape
    if not pair.moving:
        return []
    sums = np.zeros(samples)
    for _, costs in pair.blocks():
        kernels.add_column_sums(costs, sums)
    share = _RANDOM_SHARE * recipe.threshold
    prices = (share * sums / frames).astype(np.float32)
    gains, starts = np.empty(frames, np.float32), np.empty(frames, np.int64)
    best, since = np.full(samples, -np.inf, np.float32), np.zeros(samples, np.int64)
    for first, costs in pair.blocks():
        kernels.stream_gains(costs, first, prices, share, gains, starts, best, since)
    seconds, step = pair.query.seconds, pair.query.step
    spans: list[tuple[int, int]] = []
    for end in np.argsort(-gains, kind="stable").tolist():
        start = int(starts[end])
        if len(spans) == count:
            break
        if all(end < other_start or start > other_end for other_start, other_end in spans):
            spans.append((start, end))
    return [Span(float(seconds[a]), float(seconds[b]) + step) for a, b in spans]
