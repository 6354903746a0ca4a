"""Find what a film repeats, and where each repetition begins and ends, without a template or with one.

Every stretch of the film is tried as a template: its best paths through the rest of the film are those of
`spans`, and repetitions are the stretches, none over another, that gain most together. A template must pay
for itself. So one cycle gains more than two, and half a cycle leaves the other half unexplained.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import kernels
from seasync.alignment.costs import CostPair, in_threads
from seasync.alignment.prepare import prepare
from seasync.alignment.recipe import MOTION, Recipe
from seasync.alignment.spans import EndingPaths, Span, ending_paths
from seasync.encoders.encoder import cut
from seasync.encoding import Encoding, Floats, Indices, Seconds

Flags = NDArray[np.bool_]
Points = NDArray[np.integer[Any]]
Numbers = NDArray[np.floating[Any]]
SHORTEST = 0.6  # seconds of a template: below it, what repeats is a tremble
FIT = 0.4  # a repetition fits its template at least so well; foreign footage rarely does
DOUBTFUL, SURE = 0.25, 0.55  # the fits between which a count could be right
OTHERS = 0.6  # and at least this share of what the others fit: of a film that repeats well, chance fits .4
TEMPO = 2.2  # a repetition is at most so many times slower or faster than its template
REST = 0.3  # how much a template is preferred whose repetitions begin and end where little moves
MOVEMENTS = 4  # a film shows this many different ones at most
WINDOW, HOP = 512, 256  # samples in which templates are sought: 68 and 34 seconds
LONGER = 1.25  # from one length of template to the next
SHIFT = 6  # templates of one length begin a sixth of it apart
AROUND = 4.3  # seconds around a template that its frames are centered with, as those of the film are
MOST = 12  # templates of all windows together that are tried on the whole film
STILL = 0.03  # share of a repetition's motion, at each end, that is the pause before or after it
COMPARED = 200  # templates whose repetitions are looked at closely


@dataclass(frozen=True)
class Repetition:
    """One time that a film shows a movement.

    Attributes
    ----------
    start, end : float
        Seconds of the film.
    fit : float
        How well it fits the template: 1 if the path between them costs nothing, 0 for chance.
    """

    start: float
    end: float
    fit: float


@dataclass(frozen=True)
class Movement:
    """A movement that a film repeats.

    Attributes
    ----------
    repetitions : tuple of Repetition
        In order of time; none overlaps another.
    template : Span, optional
        The stretch of the film that all of them fit best; None if the template came from elsewhere.
    bounds : (int, int)
        The fewest and the most repetitions that could be right: those that surely fit, and all that might.
    """

    repetitions: tuple[Repetition, ...]
    template: Span | None
    bounds: tuple[int, int]


def find_movements(
    film: Encoding, *, recipe: Recipe = MOTION, template: Encoding | Span | None = None
) -> list[Movement]:
    """Find the movements that a film repeats.

    Parameters
    ----------
    film : Encoding
    recipe : Recipe
    template : Encoding or Span, optional
        One repetition of the movement: of the same encoder, or a stretch of the film itself. Default: the
        stretch is found.

    Returns
    -------
    list of Movement
        The one that explains most of the film first. Without a template, each has two repetitions or more.
    """
    if template is not None:
        own = template if isinstance(template, Span) else None
        if isinstance(template, Span):
            paths = _paths_of(template, film, recipe)
        else:
            paths = ending_paths(template, film, recipe)
        if paths is None:
            return []
        given = _Placed.of(paths, np.ones(len(paths.seconds), bool), _length(template))
        return [given.movement(own)] if given.spans else []
    known = {}
    for span in _proposed(film, recipe):
        if paths := _paths_of(span, film, recipe):
            known[span] = paths
    if not known:
        return []
    free = np.ones(len(next(iter(known.values())).seconds), bool)
    found: list[Movement] = []
    while len(found) < MOVEMENTS:
        placed = {span: _Placed.of(paths, free, _length(span)) for span, paths in known.items()}
        best = max(placed, key=lambda span: placed[span].gain)
        if len(placed[best].spans) < 2 or placed[best].gain <= 0:
            break
        movement = placed[best].movement(best)
        if found and movement.bounds[0] < 2:  # what is left of a film fits by chance
            break
        found.append(movement)
        for start, end in placed[best].spans:
            free[start : end + 1] = False
    return found


def _paths_of(span: Span, film: Encoding, recipe: Recipe) -> EndingPaths | None:
    """The paths through a stretch of the film itself."""
    around = cut(film, span.start - AROUND, span.end + AROUND)
    return ending_paths(around, film, recipe, span=span)


def _length(template: Encoding | Span) -> float:
    if isinstance(template, Span):
        return template.end - template.start
    return float(template.seconds[-1] - template.seconds[0])


@dataclass(frozen=True, eq=False)
class _Placed:
    """The repetitions of one template: grid points (first, last) of each, and what they gain beside it."""

    paths: EndingPaths
    free: Flags
    seconds: float
    spans: list[tuple[int, int]]
    gain: float

    @classmethod
    def of(cls, paths: EndingPaths, free: Flags, seconds: float, fit: float = FIT) -> "_Placed":
        """Place a template of that many seconds where the film is still free."""
        allowed = _allowed(paths.gains, paths.starts, paths.fits, seconds / paths.step, fit)
        taken = np.concatenate([[0], np.cumsum(~free)])
        allowed &= taken[1:] == taken[paths.starts]
        total, chosen = _schedule(np.where(allowed, paths.gains, 0)[None], paths.starts[None])
        spans = _trace(chosen[0], paths.starts)
        least = OTHERS * float(np.median([paths.fits[end] for _, end in spans])) if spans else 0.0
        if fit == FIT and least > FIT:
            return cls.of(paths, free, seconds, least)
        own = max((float(paths.gains[end]) for _, end in spans), default=0.0)
        return cls(paths, free, seconds, spans, float(total[0]) - own)

    def _moving(self, start: int, end: int) -> tuple[int, int]:
        """A repetition without the pauses at its ends: they cost hardly anything, so paths enter them."""
        moved = np.cumsum(self.paths.motion[start : end + 1], dtype=np.float64)
        first, last = np.searchsorted(moved, (STILL * moved[-1], (1 - STILL) * moved[-1]))
        return start + int(first), start + int(last)

    def movement(self, template: Span | None) -> Movement:
        """What users see of it."""
        whole = [self.paths.span(*self._moving(*span)) for span in self.spans]
        fits = [float(self.paths.fits[end]) for _, end in self.spans]
        might = self.of(self.paths, self.free, self.seconds, DOUBTFUL).spans
        bounds = sum(fit >= SURE for fit in fits), max(len(might), len(fits))
        found = (Repetition(span.start, span.end, fit) for span, fit in zip(whole, fits, strict=True))
        return Movement(tuple(found), template, bounds)


def _allowed(gains: Numbers, starts: Points, fits: Numbers, length: float | Points, fit: float) -> Flags:
    """Which paths, one per last row, fit well enough and are neither too slow nor too fast."""
    lasts = np.arange(gains.shape[-1]) - starts + 1
    allowed: Flags = (gains > 0) & (fits > fit) & (lasts <= TEMPO * length) & (lasts * TEMPO >= length)
    return allowed


def _schedule(gains: Numbers, starts: Points) -> tuple[Seconds, Flags]:
    """The most that stretches gain of which none overlaps another, for each of T templates.

    gains, starts (T, n): what the stretch that ends at each point gains (0: there is none), and where it
    begins. Returns the totals, shape (T,), and whether a stretch pays that ends at each point, shape (T, n).
    """
    count, length = gains.shape
    totals, chosen, rows = np.zeros((length + 1, count)), np.zeros((count, length), bool), np.arange(count)
    possible = np.any(gains > 0, axis=0)
    for end in range(length):
        if not possible[end]:
            totals[end + 1] = totals[end]
            continue
        there = totals[starts[:, end], rows] + gains[:, end]
        chosen[:, end] = (gains[:, end] > 0) & (there > totals[end])
        totals[end + 1] = np.where(chosen[:, end], there, totals[end])
    return totals[length], chosen


def _trace(chosen: Flags, starts: Points) -> list[tuple[int, int]]:
    """The first and last points of the stretches of one template, in order."""
    spans, end = [], len(chosen) - 1
    while end >= 0:
        if chosen[end]:
            spans.append((int(starts[end]), end))
            end = int(starts[end])
        end -= 1
    return spans[::-1]


# Templates: stretches of a film that explain much of what surrounds them.


def _proposed(film: Encoding, recipe: Recipe) -> list[Span]:
    """The best template of each window of the film, and of what that leaves."""
    coarse = replace(recipe, grid_fps=None)
    found = in_threads(lambda part: _templates(part, coarse), list(_parts(film)))
    ranked = sorted((each for templates in found for each in templates), key=lambda each: -each[0])
    return list(dict.fromkeys(span for _, span in ranked))[:MOST]


def _parts(film: Encoding) -> Iterator[Encoding]:
    length = len(film.seconds)
    for first in range(0, max(length - HOP, 1), HOP):
        end = film.seconds[first + WINDOW] if first + WINDOW < length else np.inf
        yield cut(film, float(film.seconds[first]), float(end))


def _templates(part: Encoding, recipe: Recipe) -> list[tuple[float, Span]]:
    """What the best templates of a part of the film are worth, and where they are."""
    clip = prepare(part, recipe)
    pair = CostPair(clip, clip, recipe)
    if not pair.moving or len(clip) < 4:
        return []
    spans = _stretches(len(clip), max(3, math.ceil(SHORTEST / clip.step)))
    gains, starts, fits = _paths(pair.matrix(), spans, recipe.film_price * recipe.threshold)
    lengths = (spans[:, 1] - spans[:, 0])[:, None]
    gains = np.where(_allowed(gains, starts, fits, lengths, FIT), gains, 0)
    own = gains[np.arange(len(spans)), spans[:, 1] - 1]
    motion = np.minimum(np.convolve(np.pad(pair.motion[0], 1, mode="edge"), np.ones(3) / 3, "valid"), 2)
    found: list[tuple[float, Span]] = []
    while len(found) < MOVEMENTS:
        totals, chosen = _schedule(gains, starts)
        saved = totals - own
        ranked = np.argsort(-saved, kind="stable")[:COMPARED]
        if saved[ranked[0]] <= 0:
            break
        traced = {int(k): _trace(chosen[k], starts[k]) for k in ranked if saved[k] > saved[ranked[0]] / 2}
        # A cycle may begin anywhere, but where the film begins and ends it, most repetitions are complete.
        # Of the beginnings that are left, people choose those where little moves.
        most = len(traced[int(ranked[0])])
        traced = {k: own for k, own in traced.items() if len(own) >= most}
        if most < 2:
            break
        worth = {k: saved[k] * (1 - REST * motion[np.array(own)].mean()) for k, own in traced.items()}
        best = max(worth, key=worth.__getitem__)
        first, stop = spans[best].tolist()
        end = float(clip.seconds[stop]) if stop < len(clip) else float(clip.seconds[-1]) + clip.step
        found.append((float(worth[best]), Span(float(clip.seconds[first]), end)))
        taken = np.zeros(len(clip) + 1, np.int64)
        for start, last in traced[best]:
            taken[start + 1 : last + 2] = 1
        taken = taken.cumsum()
        gains = np.where(taken[1:] == taken[starts], gains, 0)
    return found


def _stretches(length: int, shortest: int) -> Indices:
    """The first sample of each template, and the one after its last, shape (T, 2)."""
    spans, size = [], shortest
    while size <= length // 2 + 1:
        spans += [(first, first + size) for first in range(0, length - size + 1, max(1, size // SHIFT))]
        size = max(size + 1, round(size * LONGER))
    return np.array(spans, np.int64).reshape(-1, 2)


def _paths(cost: Floats, spans: Indices, share: float) -> tuple[Floats, Points, Floats]:
    """`ending_paths` of every template, out of the cost of the film with itself: three arrays of (T, n)."""
    shape = len(spans), len(cost)
    gains, starts, fits = np.empty(shape, np.float32), np.empty(shape, np.int32), np.empty(shape, np.float32)
    prices = share * cost.mean(0)
    for k, (first, stop) in enumerate(spans.tolist()):
        costs, own = np.ascontiguousarray(cost[:, first:stop]), prices[first:stop]
        values, since = np.full(len(own), -np.inf, np.float32), np.zeros(len(own), np.int32)
        kernels.solve_film(costs, 0, own, share, values, since, gains[k], starts[k])
        entered = np.append(0, (share * costs.mean(1)).cumsum())
        fits[k] = gains[k] / (own.sum() + entered[1:] - entered[starts[k]])
    return gains, starts, fits
