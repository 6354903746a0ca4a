"""Find where in a long film a whole query fits, streaming over the film in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import kernels
from seasync.alignment.costs import CostPair
from seasync.alignment.prepare import prepare
from seasync.alignment.recipe import MOTION, Recipe
from seasync.encoding import Encoding, Floats, Seconds

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


@dataclass(frozen=True, eq=False)
class EndingPaths:
    """For each grid point of a film, the best path through a whole query that ends there.

    Attributes
    ----------
    seconds : numpy.ndarray [shape=(n,)]
        When the grid points are shown.
    step : float
        Seconds that the last one lasts.
    motion : numpy.ndarray [shape=(n,)], float32
        How much moves there.
    gains : numpy.ndarray [shape=(n,)], float32
        The prices of all frames that the path enters, minus its cost.
    starts : numpy.ndarray [shape=(n,)], int32
        The grid point where it begins.
    fits : numpy.ndarray [shape=(n,)]
        The gain as a share of the prices: 1 if the path costs nothing, 0 if it is not worth its prices.
    """

    seconds: Seconds
    step: float
    motion: Floats
    gains: Floats
    starts: NDArray[np.int32]
    fits: Seconds

    def span(self, start: int, end: int) -> Span:
        """From when to when the grid points `start` to `end` are shown."""
        return Span(float(self.seconds[start]), float(self.seconds[end]) + self.step)


def ending_paths(
    query: Encoding, film: Encoding, recipe: Recipe, *, span: Span | None = None
) -> EndingPaths | None:
    """Solve a whole query, or one `span` of it, against any part of a film; None if nothing moves.

    The path uses the query from its first grid point to its last and the film from anywhere to anywhere. Each
    frame that it includes earns the recipe's threshold times what it would cost a random path; each cell
    costs. This takes O(n·m) time, and a few numbers per grid point of the film besides its features.
    """
    asked = prepare(query, recipe)

    def pairs() -> Iterator[CostPair]:
        return (CostPair(prepare(reel, recipe), asked, recipe) for reel in _reels(film))

    part = slice(*np.searchsorted(asked.seconds, (span.start, span.end))) if span else slice(0, len(asked))
    points = part.stop - part.start
    sums, seconds, motion, rows, moving = np.zeros(points), [], [], [np.zeros(1)], False
    share = recipe.film_price * recipe.threshold
    for pair in pairs():
        seconds.append(pair.query.seconds)
        motion.append(pair.motion[0])
        moving |= pair.moving
        for _, costs in pair.blocks():
            own = costs[:, part]
            sums += own.sum(0, dtype=np.float64)
            rows.append(share * own.mean(1, dtype=np.float64))
    if not moving:
        return None
    times, grid = np.concatenate(seconds), pair.query
    prices = (share * sums / len(times)).astype(np.float32)
    gains, starts = np.empty(len(times), np.float32), np.empty(len(times), np.int32)
    values, since = np.full(points, -np.inf, np.float32), np.zeros(points, np.int32)
    done = 0
    for pair in pairs():
        for first, costs in pair.blocks():
            own = np.ascontiguousarray(costs[:, part])
            kernels.solve_film(own, done + first, prices, share, values, since, gains, starts)
        done += pair.shape[0]
    entered = np.concatenate(rows).cumsum()
    fits = gains / (prices.sum() + entered[1:] - entered[starts])
    return EndingPaths(times, grid.step / grid.factor, np.concatenate(motion), gains, starts, fits)


def fitting_spans(query: Encoding, film: Encoding, *, recipe: Recipe = MOTION, count: int = 5) -> list[Span]:
    """Find the stretches of a film that fit a whole query best, as `ending_paths` says.

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
    paths = ending_paths(query, film, replace(recipe, grid_fps=None))
    if paths is None:
        return []
    spans: list[tuple[int, int]] = []
    for end in np.argsort(-paths.gains, kind="stable").tolist():
        start = int(paths.starts[end])
        if len(spans) == count:
            break
        if all(end < other_start or start > other_end for other_start, other_end in spans):
            spans.append((start, end))
    return [paths.span(*span) for span in spans]


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
