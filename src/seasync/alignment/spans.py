"""Find where in a long film a whole query fits, streaming over the film in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from seasync.alignment import kernels
from seasync.alignment.costs import CostPair
from seasync.alignment.prepare import prepare
from seasync.alignment.recipe import MOTION, Recipe
from seasync.encoding import Encoding

_REEL = 4096  # samples of a film that are prepared at a time


@dataclass(frozen=True)
class Span:
    """A stretch of a film.

    Attributes
    ----------
    start, end : float
        Seconds of the film.
    """

    start: float
    end: float


def fitting_spans(query: Encoding, film: Encoding, *, recipe: Recipe = MOTION, count: int = 5) -> list[Span]:
    """Find the stretches of a film that fit a whole query best.

    The path uses the query from its first sample to its last and the film from anywhere to anywhere. Each
    frame that it includes earns the recipe's threshold times what it would cost a random path; each cell
    costs. This takes O(n·m) time, and a few numbers per sample of the film besides its features.

    Parameters
    ----------
    query, film : Encoding
        Two encodings of the same encoder.
    recipe : Recipe
    count : int
        How many stretches to return at most.

    Returns
    -------
    list of Span
        Best first; none overlaps another. Empty if nothing moves.
    """
    coarse = replace(recipe, grid_fps=None)
    asked = prepare(query, coarse)

    def pairs() -> Iterator[CostPair]:
        return (CostPair(prepare(reel, coarse), asked, coarse) for reel in _reels(film))

    samples = len(asked)
    sums, seconds, moving = np.zeros(samples), [], False
    for pair in pairs():
        seconds.append(pair.query.seconds)
        moving |= pair.moving
        for _, costs in pair.blocks():
            sums += costs.sum(0, dtype=np.float64)
    if not moving:
        return []
    times, step = np.concatenate(seconds), pair.query.step
    share = recipe.film_price * recipe.threshold
    prices = (share * sums / len(times)).astype(np.float32)
    gains, starts = np.empty(len(times), np.float32), np.empty(len(times), np.int32)
    values, since = np.full(samples, -np.inf, np.float32), np.zeros(samples, np.int32)
    done = 0
    for pair in pairs():
        for first, costs in pair.blocks():
            kernels.solve_film(costs, done + first, prices, share, values, since, gains, starts)
        done += pair.shape[0]
    spans: list[tuple[int, int]] = []
    for end in np.argsort(-gains, kind="stable").tolist():
        start = int(starts[end])
        if len(spans) == count:
            break
        if all(end < other_start or start > other_end for other_start, other_end in spans):
            spans.append((start, end))
    return [Span(float(times[a]), float(times[b]) + step) for a, b in spans]


def _reels(film: Encoding) -> Iterator[Encoding]:
    """The film in parts of bounded length, split at cuts where there are any."""
    first, length = 0, len(film.seconds)
    while first < length:
        last = min(first + _REEL, length)
        cuts = film.shots[(film.shots > first) & (film.shots <= last)]
        if last < length and len(cuts):
            last = int(cuts[-1])
        start, end = film.seconds[first], film.seconds[last] if last < length else np.inf
        streams = tuple(stream.part(start, end) for stream in film.streams)
        yield replace(film, streams=streams)
        first = last
