"""Marks of a few labeled clips carried to all others, each with a confidence.

Every labeled clip that aligns with a target says where its marks are in the target. So do the nearest of the
other targets, once they have marks themselves: two unlabeled clips often align better than either does with a
labeled one. Answers count by how well each clip aligns, and the mark is where most of them meet. How far they
lie apart says how sure it is; the labeled clips calibrate that, since each is also a target of all others and
its marks are known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from seasync.alignment import MOTION, Recipe
from seasync.clip import Clip
from seasync.encoding import Encoding, Seconds
from seasync.errors import DataError
from seasync.group.align_takes import align_judged
from seasync.group.clock import Group, Judge
from seasync.group.mark_recipe import mark_recipe
from seasync.group.nearest import nearest
from seasync.group.timing import marks_of, take_name
from seasync.group.votes import Votes
from seasync.marks import Mark, MarkedClips, expect_some_checked, is_checked, mark_names

# Marks of many clips as a table: a column for each moment that a mark begins or ends with.


Key = tuple[str, int, bool]  # name, how many of this name come before it in its clip, whether it is the end


@dataclass(frozen=True)
class MarkColumns:
    """The columns of a table of marks. A name that comes twice in a clip has two columns."""

    keys: tuple[Key, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, clips: Iterable[Sequence[Mark]]) -> MarkColumns:
        """Columns for all marks of these clips, in the order in which they come."""
        numbered = [_numbered(marks) for marks in clips]
        order = {
            name: place for place, name in enumerate(mark_names([list(each.values()) for each in numbered]))
        }
        keys = {(name, count) for each in numbered for name, count in each}
        ending = {key for each in numbered for key, mark in each.items() if mark.end is not None}
        columns: list[Key] = []
        for name, count in sorted(keys, key=lambda key: (key[1], order[key[0]])):
            columns.append((name, count, False))
            if (name, count) in ending:
                columns.append((name, count, True))
        return cls(tuple(columns))

    def moments(self, marks: Sequence[Mark]) -> Seconds:
        """When each column happens in a clip with these marks; NaN where it has none. [shape=(E,)]"""
        own = _numbered(marks)
        row = np.full(len(self.keys), np.nan)
        for column, (name, count, is_end) in enumerate(self.keys):
            mark = own.get((name, count))
            if mark is not None and (not is_end or mark.end is not None):
                row[column] = mark.end if is_end else mark.seconds
        return row

    def marks(self, moments: Seconds, confidence: Seconds) -> tuple[Mark, ...]:
        """The marks that a row of moments stands for, the less sure of its two ends counting."""
        found: dict[tuple[str, int], Mark] = {}
        for (name, count, is_end), moment, sure in zip(
            self.keys, moments.tolist(), confidence.tolist(), strict=True
        ):
            if not np.isfinite(moment):
                continue
            begun = found.get((name, count))
            if not is_end:
                found[name, count] = Mark(name, max(moment, 0.0), None, round(sure, 3))
            elif begun is not None:
                least = min(sure, begun.confidence or 0.0)
                found[name, count] = Mark(name, begun.seconds, max(moment, begun.seconds), round(least, 3))
        return tuple(sorted(found.values(), key=lambda mark: mark.seconds))


def _numbered(marks: Sequence[Mark]) -> dict[tuple[str, int], Mark]:
    """Marks by their names and how many of the same name come before them."""
    before: Counter[str] = Counter()
    found = {}
    for mark in sorted(marks, key=lambda mark: mark.seconds):
        found[mark.name, before[mark.name]] = mark
        before[mark.name] += 1
    return found


Encodings = Callable[[Sequence[int]], Sequence[Encoding]]

TOLERANCE_SECONDS = 0.1
SURE = 0.9
MOST_REFERENCES = 40  # labeled clips that a target is aligned with
POOL = 200  # carried clips that may help others; they are kept in memory
HELPERS = 20  # of them, the nearest, that a target is aligned with
# What an answer counts: e times less per 0.1 of DRAQ; half if its marks were carried too.
# Chosen on 42 swings.
WEIGHT_BY_DRAQ = 10.0
HELPER_SHARE = 0.5
# With few labeled clips their own errors say little: as many typical errors are put beside theirs.
PRIOR_ERRORS = 3
PRIOR_SECONDS = 0.08
# One labeled clip cannot be checked by another, and all answers share its error: nothing is called sure.
# Without this bound, 31 % of the sure marks from one demonstration of a robot hand were wrong.
MOST_UNCHECKED = 0.85
BATCH = 64  # targets whose features are read at a time


@dataclass(frozen=True, eq=False)
class LabeledClip:
    """A clip whose marks are known."""

    clip: Clip
    encoding: Encoding
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class CarriedMarks:
    """The marks of one clip, carried over.

    Attributes
    ----------
    clip : Clip
    marks : tuple of Mark
        With their confidence; empty if nothing aligns.
    sources : int
        How many clips the marks come from.
    """

    clip: Clip
    marks: tuple[Mark, ...]
    sources: int

    @property
    def confidence(self) -> float:
        """Of the most doubtful mark; 0 without marks."""
        return min((mark.confidence or 0.0 for mark in self.marks), default=0.0)

    @property
    def sure(self) -> bool:
        """Whether every mark is."""
        return self.confidence >= SURE


class Carrier:
    """Carries the marks of labeled clips to others.

    Parameters
    ----------
    labeled : sequence of LabeledClip
    recipe : Recipe
    tolerance_seconds : float
        A mark is right if it is no farther than this from the truth. A confidence is the share that is right.
    judge : callable, optional
        Gives an alignment the verdict of a sea that is calibrated. Default: the verdict of the pair alone.

    Raises
    ------
    DataError
        If no clip has marks.
    """

    def __init__(
        self,
        labeled: Sequence[LabeledClip],
        *,
        recipe: Recipe = MOTION,
        tolerance_seconds: float = TOLERANCE_SECONDS,
        judge: Judge | None = None,
    ) -> None:
        self.labeled = [clip for clip in labeled if clip.marks]
        if not self.labeled:
            raise DataError("no clip has marks: label at least one")
        self.recipe, self.tolerance_seconds = mark_recipe(recipe, self.labeled[0].encoding), tolerance_seconds
        self._judge = judge
        self.columns = MarkColumns.of([clip.marks for clip in self.labeled])
        self._moments = [self.columns.moments(clip.marks) for clip in self.labeled]
        self._pool: list[tuple[int, Encoding, Votes]] = []
        self._typical = np.full(len(self.columns), PRIOR_SECONDS)
        self._ratios = np.empty(0)

    def carry(
        self,
        clips: Sequence[Clip],
        encodings: Encodings,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[CarriedMarks]:
        """Carry the marks to all of these clips.

        Parameters
        ----------
        clips : sequence of Clip
        encodings : callable
            Gives the encodings of clips by their numbers; it is asked for a few at a time, twice.
        progress : callable, optional
            Called with the work done and all of it.

        Returns
        -------
        list of CarriedMarks
            In the order of the clips.
        """
        total = 2 * len(clips)
        first = [self._by_labeled(target) for target in _read(len(clips), encodings, progress, 0, total)]
        self._choose_pool(first, encodings)
        self._calibrate()
        found = []
        for number, target in enumerate(_read(len(clips), encodings, progress, len(clips), total)):
            votes = self._with_helpers(target, first[number], own=number)
            found.append(self._carried(clips[number], votes))
        return found

    def _by_labeled(self, target: Encoding, *, leave_out: int | None = None) -> Votes:
        """What the labeled clips say, all but `leave_out`."""
        numbers = [n for n in range(len(self.labeled)) if n != leave_out]
        numbers = nearest(target, numbers, [self.labeled[n].encoding for n in numbers], MOST_REFERENCES)
        encodings = [self.labeled[n].encoding for n in numbers]
        return self._votes(target, numbers, encodings, [self._moments[n] for n in numbers])

    def _with_helpers(
        self, target: Encoding, votes: Votes, *, own: int | None, leave_out: int | None = None
    ) -> Votes:
        """The votes of the labeled clips and those of the target's nearest helpers."""
        pool = [n for n, (number, _, _) in enumerate(self._pool) if number != own]
        chosen = nearest(target, pool, [self._pool[n][1] for n in pool], HELPERS)
        marks = []
        for n in chosen:
            theirs = self._pool[n][2]
            marks.append((theirs if leave_out is None else theirs.without(leave_out)).middle()[0])
        numbers = [len(self.labeled) + n for n in chosen]
        helping = self._votes(target, numbers, [self._pool[n][1] for n in chosen], marks)
        return Votes(
            (*votes.sources, *helping.sources),
            np.concatenate([votes.weights, HELPER_SHARE * helping.weights]),
            np.concatenate([votes.moments, helping.moments]),
        )

    def _votes(
        self,
        target: Encoding,
        numbers: Sequence[int],
        encodings: Sequence[Encoding],
        marks: Sequence[Seconds],
    ) -> Votes:
        alignments = align_judged(target, encodings, self.recipe, self._judge)
        sources, weights, moments = [], [], []
        for number, alignment, theirs in zip(numbers, alignments, marks, strict=True):
            if alignment.alignable and np.isfinite(theirs).any():
                warp = alignment.warp(keep="match").smooth()
                sources.append(number)
                weights.append(math.exp(-WEIGHT_BY_DRAQ * alignment.draq))
                moments.append(np.where(warp.covers(theirs), warp.at(theirs), np.nan))
        shape = len(sources), len(self.columns)
        return Votes(tuple(sources), np.array(weights), np.array(moments).reshape(shape))

    def _choose_pool(self, first: Sequence[Votes], encodings: Encodings) -> None:
        """Keep the carried clips that most labeled clips agree about."""
        spreads = {n: float(np.nanmean(votes.middle()[1])) for n, votes in enumerate(first) if votes.sources}
        sure = sorted(spreads, key=lambda n: (spreads[n] - len(first[n].sources) * 1e-9, n))[:POOL]
        self._pool = [
            (number, encoding, first[number])
            for begin in range(0, len(sure), BATCH)
            for number, encoding in zip(
                sure[begin : begin + BATCH], encodings(sure[begin : begin + BATCH]), strict=True
            )
        ]

    def _calibrate(self) -> None:
        """Carry the marks of all others to each labeled clip: there the errors are known."""
        errors, spreads = [], []
        for number, clip in enumerate(self.labeled if len(self.labeled) > 1 else ()):
            votes = self._by_labeled(clip.encoding, leave_out=number)
            votes = self._with_helpers(clip.encoding, votes, own=None, leave_out=number)
            middle, spread = votes.middle()
            errors.append(np.abs(middle - self._moments[number]))
            spreads.append(spread)
        if not errors:
            return
        wrong, apart = np.stack(errors), np.stack(spreads)
        for column in range(len(self.columns)):
            known = wrong[np.isfinite(wrong[:, column]), column]
            if len(known):
                trust = len(known) / (len(known) + PRIOR_ERRORS)
                self._typical[column] = trust * np.median(known) + (1 - trust) * PRIOR_SECONDS
        ratios = wrong / np.hypot(apart, self._typical)
        self._ratios = ratios[np.isfinite(ratios)]

    def _carried(self, clip: Clip, votes: Votes) -> CarriedMarks:
        middle, spread = votes.middle()
        sure = np.array([self._confidence(column, apart) for column, apart in enumerate(spread)])
        return CarriedMarks(clip, self.columns.marks(middle, sure), len(votes.sources))

    def _confidence(self, column: int, spread: float) -> float:
        """How likely a mark with answers this far apart is within the tolerance."""
        if not math.isfinite(spread):
            return 0.0
        asked = self.tolerance_seconds / math.hypot(spread, self._typical[column])
        right = float((self._ratios <= asked).sum()) + PRIOR_ERRORS * (1 - math.exp(-asked))
        sure = right / (len(self._ratios) + PRIOR_ERRORS + 1)  # one error that was not seen yet
        return sure if len(self._ratios) else min(sure, MOST_UNCHECKED)


def doubtful_first(carried: Sequence[CarriedMarks]) -> list[CarriedMarks]:
    """Those that a person should check, the most doubtful first."""
    return sorted((each for each in carried if not each.sure), key=lambda each: each.confidence)


def confirmed(carried: CarriedMarks, encoding: Encoding) -> LabeledClip:
    """A carried clip after a person has checked it: it now counts as labeled."""
    marks = tuple(replace(mark, confidence=None) for mark in carried.marks)
    return LabeledClip(carried.clip, encoding, marks)


def expect_inside(labeled: Sequence[LabeledClip], ends: Sequence[float]) -> None:
    """Raise DataError if a mark lies outside its clip, which ends there."""
    for clip, end in zip(labeled, ends, strict=True):
        for mark in clip.marks:
            if not clip.clip.start <= mark.seconds <= max(mark.end or 0.0, mark.seconds) <= end + 0.05:
                raise DataError(
                    f"{clip.clip.name}: the mark {mark.name!r} is at {mark.seconds:g} s, outside the clip "
                    f"({clip.clip.start:g}–{end:.2f} s); correct the marks file"
                )


def carry_in_group(
    group: Group, marks: MarkedClips, *, tolerance_seconds: float = TOLERANCE_SECONDS
) -> dict[str, tuple[Mark, ...]]:
    """The marks of every take of a group by its name: those it has, else those carried from the others."""
    found = {n: tuple(marks_of(take.clip, marks)) for n, take in enumerate(group.members)}
    own = {n: each for n, each in found.items() if is_checked(each)}
    expect_some_checked(marks)
    labeled = [LabeledClip(group.members[n].clip, group.members[n].encoding, own[n]) for n in own]
    rest = [take for n, take in enumerate(group.members) if n not in own]
    carrier = Carrier(labeled, recipe=group.recipe, tolerance_seconds=tolerance_seconds, judge=group.judge)
    carried = iter(
        carrier.carry([take.clip for take in rest], lambda numbers: [rest[n].encoding for n in numbers])
    )
    return {
        take_name(take.clip): own[n] if n in own else next(carried).marks
        for n, take in enumerate(group.members)
    }


def _read(
    count: int,
    encodings: Encodings,
    progress: Callable[[int, int], None] | None,
    done: int,
    total: int,
) -> Iterator[Encoding]:
    for begin in range(0, count, BATCH):
        numbers = range(begin, min(begin + BATCH, count))
        for number, encoding in zip(numbers, encodings(numbers), strict=True):
            yield encoding
            if progress:
                progress(done + number + 1, total)
