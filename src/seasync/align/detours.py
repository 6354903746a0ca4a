"""Ways from clip to clip, and where two of them lead one after the other.

A consensus of ten matches follows ninety of them. So they are kept as solved, without an `Alignment` each,
and maps of time are plain arrays where a way has one piece.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.align.alignment import Alignment, end_of
from seasync.align.cost_pair import CostPair
from seasync.align.kernels import courses as kernels
from seasync.align.likelihood import likelihood
from seasync.align.pieces import Pieces
from seasync.align.prepare import PreparedClip, prepare
from seasync.align.recipe import Recipe
from seasync.align.scores import draq_of
from seasync.align.solve import as_alignment, solve_pairs
from seasync.align.verdict import Verdict
from seasync.align.warp import Warp
from seasync.encoding import Encoding, Seconds
from seasync.options import Partial, Side


class Course(NamedTuple):
    """A map of time in one stretch: knots, where it ends, and where the other clip ends; see `Stretch`."""

    times: Seconds
    values: Seconds
    end: float
    last: float

    @classmethod
    def read(
        cls,
        path: NDArray[np.int32],
        seconds: tuple[Seconds, Seconds],
        steps: tuple[float, float],
        side: Side,
        recipe: Recipe,
        ends: tuple[float, float] = (math.inf, math.inf),
    ) -> Course:
        """Read it off a path without jumps; `Alignment.warp` explains how."""
        kept, other = (0, 1) if side == "query" else (1, 0)
        times, values, last = kernels.knots(
            path[:, kept], path[:, other], seconds[kept], seconds[other], recipe.readout == "mean"
        )
        end = max(min(end_of(seconds[kept], last, steps[kept]), ends[kept]), float(times[-1]))
        return cls(times, values, end, ends[other])


@dataclass(frozen=True, eq=False)
class DirectWay:
    """The way that an alignment describes."""

    alignment: Alignment
    _read: dict[Side, Course | Warp] = field(default_factory=dict)

    def map_of(self, side: Side) -> Course | Warp:
        """The map of time that keeps this side."""
        if side not in self._read:
            one = self.alignment
            if len(one.pieces) > 1 or one.anchors:
                self._read[side] = one.warp(side)
            else:
                self._read[side] = Course.read(
                    one.path[one.pieces[0].start : one.pieces[0].stop],
                    (one.query_seconds, one.match_seconds),
                    (one.query_step, one.match_step),
                    side,
                    one.recipe,
                    one.ends,
                )
        return self._read[side]

    def at(self, moments: Seconds) -> Seconds:
        """Where the way leads from moments of the query, shape (N,), increasing; as `Warp.at`."""
        there = self.map_of("query")
        if isinstance(there, Warp):
            return there.at(moments)
        out = np.empty(len(moments))
        kernels.course_at(moments, there.times, there.values, there.last, out)
        return out


@dataclass(frozen=True, eq=False)
class SolvedWay:
    """The way between two clips whose pair is solved."""

    pair: CostPair
    found: Pieces

    @cached_property
    def draq(self) -> float:
        """DRAQ of the way."""
        return draq_of(self.found.cost, self.found.random)

    @cached_property
    def alignable(self) -> bool:
        """Whether the clips correspond."""
        found, pair = self.found, self.pair
        likely = likelihood(pair.query, pair.match, min(found.score, found.whole_draq), pair.recipe)
        whole = len(found.pieces) == 1 and min(found.coverage) == 1
        return Verdict(self.draq, found.coverage, whole, pair.recipe, likely).alignable

    def map_of(self, side: Side) -> Course | Warp:
        """The map of time that keeps this side."""
        pair, found = self.pair, self.found
        if len(found.pieces) > 1:
            return as_alignment(pair, found).warp(side)
        seconds, steps = (pair.query.seconds, pair.match.seconds), (pair.query.step, pair.match.step)
        return Course.read(found.pieces[0].path, seconds, steps, side, pair.recipe)


def onward_ways(
    helpers: Sequence[int],
    matches: Sequence[Encoding | PreparedClip],
    recipe: Recipe,
    partial: Partial,
) -> dict[tuple[int, int], tuple[SolvedWay, Side]]:
    """The way from each helper to all other matches, by their numbers, and the side it keeps.

    A pair is aligned once: the way back is the same path, read from the other side.
    """
    clips = [prepare(match, recipe) for match in matches]
    chosen = [(h, n) for h in helpers for n in range(len(clips)) if n != h and (n > h or n not in helpers)]
    solved = solve_pairs([(clips[h], clips[n]) for h, n in chosen], recipe=recipe, partial=partial)
    ways: dict[tuple[int, int], tuple[SolvedWay, Side]] = {}
    for (h, n), each in zip(chosen, solved, strict=True):
        way = SolvedWay(*each)
        ways |= {(h, n): (way, "query"), (n, h): (way, "match")}
    return ways


def follow(moments: Seconds, first: DirectWay, side: Side, second: SolvedWay, onward_side: Side) -> Seconds:
    """Where a detour leads from `moments`, shape (N,), increasing; NaN where it is not defined."""
    there, onward = first.map_of(side), second.map_of(onward_side)
    if isinstance(there, Course) and isinstance(onward, Course):
        out = np.empty(len(moments))
        kernels.follow(moments, *there, *onward, out)
        return out
    there, onward = (_as_warp(each) for each in (there, onward))
    between = there.at(moments)
    defined = there.covers(moments) & onward.covers(between)
    return np.where(defined, onward.at(between), np.nan)


def _as_warp(course: Course | Warp) -> Warp:
    from seasync.align.warp import Stretch

    if isinstance(course, Warp):
        return course
    return Warp((Stretch(course.times, course.values, course.end, last=course.last),))
