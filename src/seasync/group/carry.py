"""Marks carried from clip to clip: along one alignment, or from a few labeled clips to all others.

Every labeled clip that aligns with a target says where its marks are in the target. So do the nearest of the
other targets, once they have marks themselves: two unlabeled clips often align better than either does with a
labeled one. Answers count by how well each clip aligns, and the mark is where most of them meet. How far they
lie apart says how sure it is; the labeled clips calibrate that, since each is also a target of all others and
its marks are known.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from seasync import marks as marking
from seasync.alignment import MOTION, Alignment, Recipe, Warp
from seasync.clip import Clip
from seasync.encoding import Encoding, Seconds
from seasync.errors import DataError, RenderError, UnknownClips
from seasync.files import Location, Place, atomic_write, expect_writable, fetch
from seasync.group import clock
from seasync.group.clock import Group, Judge, PairProgress, Progress, align_judged, clips_of
from seasync.marks import Encodings, FrameSeconds, Mark, MarkedClips, MarkTable, Row
from seasync.options import Side
from seasync.sea.calibration import judged
from seasync.sea.snapshot import StoredClips
from seasync.sea.sources import is_episode
from seasync.video import frame_table

if TYPE_CHECKING:
    from seasync.sea.sea import Sea

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
        self, clips: Sequence[Clip], encodings: Encodings, *, progress: PairProgress | None = None
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
        numbers = range(len(clips))
        first: list[Votes] = []
        found: list[CarriedMarks] = []

        def report() -> None:
            if progress:
                progress(len(first) + len(found), 2 * len(clips))

        for target in _read(numbers, encodings):
            first.append(self._by_labeled(target))
            report()
        self._choose_pool(first, encodings)
        self._calibrate()
        for number, target in zip(numbers, _read(numbers, encodings), strict=True):
            votes = self._with_helpers(target, first[number], own=number)
            found.append(self._carried(clips[number], votes))
            report()
        return found

    def _by_labeled(self, target: Encoding, *, leave_out: int | None = None) -> Votes:
        """What the labeled clips say, all but `leave_out`."""
        numbers = [n for n in range(len(self.labeled)) if n != leave_out]
        known = [self.labeled[n].encoding for n in numbers]
        chosen = choose_nearest(target, numbers, known, MOST_REFERENCES)
        return self._votes(target, [(n, self.labeled[n].encoding, self._moments[n]) for n in chosen])

    def _with_helpers(
        self, target: Encoding, votes: Votes, *, own: int | None, leave_out: int | None = None
    ) -> Votes:
        """The votes of the labeled clips and those of the target's nearest helpers."""
        pool = [n for n, (number, _, _) in enumerate(self._pool) if number != own]
        chosen = choose_nearest(target, pool, [self._pool[n][1] for n in pool], HELPERS)
        helpers = []
        for n in chosen:
            _, encoding, theirs = self._pool[n]
            theirs = theirs if leave_out is None else theirs.without(leave_out)
            helpers.append((len(self.labeled) + n, encoding, theirs.middle()[0]))
        helping = self._votes(target, helpers)
        return Votes(
            (*votes.sources, *helping.sources),
            np.concatenate([votes.weights, HELPER_SHARE * helping.weights]),
            np.concatenate([votes.moments, helping.moments]),
        )

    def _votes(self, target: Encoding, asked: Sequence[tuple[int, Encoding, Seconds]]) -> Votes:
        """What these clips say, each given by its number, its encoding and the moments of its marks."""
        alignments = align_judged(target, [encoding for _, encoding, _ in asked], self.recipe, self._judge)
        sources, weights, moments = [], [], []
        for (number, _, theirs), alignment in zip(asked, alignments, strict=True):
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
            (n, encoding, first[n]) for n, encoding in zip(sure, _read(sure, encodings), strict=True)
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
        known = np.isfinite(wrong).sum(0)
        trust = known / (known + PRIOR_ERRORS)
        typical = trust * clock.over_takes(np.nanmedian, wrong) + (1 - trust) * PRIOR_SECONDS
        self._typical = np.where(known > 0, typical, PRIOR_SECONDS)
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


def carry_over_sea(
    sea: Sea,
    marks: MarkedClips | Place,
    *,
    label: str | None = None,
    where: str | None = None,
    recipe: Recipe = MOTION,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    progress: Progress | None = None,
) -> tuple[list[LabeledClip], list[CarriedMarks]]:
    """Carry the marks of a sea's labeled clips to all its others.

    Parameters
    ----------
    sea : Sea
    marks : mapping or path
        Marks of some clips, by id, path or file name; or a marks file (see `seasync.marks.read_marks`). A
        clip counts as labeled if a mark of it has no confidence: then a person has set or checked it.
    label, where : str, optional
        Only clips with this label, or that fulfil this SQL condition.
    recipe : Recipe
    tolerance_seconds : float
        Confidence is how likely a mark is this near to the truth.
    progress : callable, optional
        Called with what is being done, how much is done, and of how much.

    Returns
    -------
    labeled : list of LabeledClip
    carried : list of CarriedMarks
        All other clips, in the order they were added.

    Raises
    ------
    DataError
        If no clip of the sea has marks, or a mark lies outside its clip.

    Warns
    -----
    UnknownClips
        If some marks are of clips that the sea does not have.
    """
    stored = StoredClips.of(sea.record.snapshot(), label=label, where=where)
    if isinstance(marks, str | PathLike):
        marks = marking.read_marks(marks, marking.frame_seconds(stored.clips, stored.encodings))
    marks = from_episodes(stored, marks)
    own = marking.checked_marks(stored.clips, marks)
    if not own:
        known = ", ".join(sorted(marks)[:3]) or "no clip"
        raise DataError(f"the marks are of {known}: expected clips of this sea, by id, path or file name")
    _warn_of_unknown(sea, marks, stored.clips)
    for n, found in own.items():
        marking.expect_inside(stored.clips[n].name, stored.clips[n], float(stored.ends[n]), found)
    judge = partial(judged, stored.snapshot)
    report = None if progress is None else (lambda done, total: progress("carrying marks", done, total))
    return _carry_to_rest(stored.clips, own, stored.encodings, recipe, tolerance_seconds, judge, report)


def _warn_of_unknown(sea: Sea, marks: MarkedClips, chosen: Sequence[Clip]) -> None:
    """Warn of marks that are of no clip of the sea, whether it was chosen or not."""
    if rest := marks.keys() - _names(chosen):
        rest -= _names(sea.record.snapshot().clips())
    if rest:
        some = ", ".join(sorted(rest)[:3]) + (", …" if len(rest) > 3 else "")
        warnings.warn(
            f"marks of {len(rest)} clips that are not in this sea are ignored: {some}",
            UnknownClips,
            stacklevel=3,
        )


def _names(clips: Sequence[Clip]) -> set[str]:
    return {name for clip in clips for name in marking.clip_names(clip)}


def carry_in_group(
    group: Group, marks: MarkedClips, *, tolerance_seconds: float = TOLERANCE_SECONDS
) -> dict[str, tuple[Mark, ...]]:
    """The marks of every take of a group by its name: those it has, else those carried from the others."""
    clips = [take.clip for take in group.members]
    own = marking.checked_marks(clips, marks)

    def encodings(numbers: Sequence[int]) -> list[Encoding]:
        return [group.members[n].encoding for n in numbers]

    _, carried = _carry_to_rest(clips, own, encodings, group.recipe, tolerance_seconds, group.judge)
    rest = iter(carried)
    return {
        marking.take_name(clip): tuple(own[n]) if n in own else next(rest).marks
        for n, clip in enumerate(clips)
    }


def _carry_to_rest(
    clips: Sequence[Clip],
    own: Mapping[int, Sequence[Mark]],
    encodings: Encodings,
    recipe: Recipe,
    tolerance_seconds: float,
    judge: Judge | None,
    progress: PairProgress | None = None,
) -> tuple[list[LabeledClip], list[CarriedMarks]]:
    """The clips that have marks of their own, by number, and the marks of all others."""
    labeled = [
        LabeledClip(clips[n], encoding, tuple(own[n]))
        for n, encoding in zip(own, encodings(list(own)), strict=True)
    ]
    carrier = Carrier(labeled, recipe=recipe, tolerance_seconds=tolerance_seconds, judge=judge)
    rest = [n for n in range(len(clips)) if n not in own]
    return labeled, carrier.carry(
        [clips[n] for n in rest], lambda numbers: encodings([rest[n] for n in numbers]), progress=progress
    )


def _read(numbers: Sequence[int], encodings: Encodings) -> Iterator[Encoding]:
    """The encodings of these clips one by one; a batch is in memory."""
    for begin in range(0, len(numbers), BATCH):
        yield from encodings(numbers[begin : begin + BATCH])


# Which clips are asked, and on which grid.


# Change over less time is mostly noise. Chosen on half of the golf players, at 30 frames per second.
LEAST_CHANGE_SECONDS = 1 / 15


def mark_recipe(recipe: Recipe, encoding: Encoding) -> Recipe:
    """The recipe with two grid points per sampled frame, and change seen over one of them.

    A match on screen gains from a calm alignment, a mark from an exact one. At 7.5 sampled frames per second
    nothing but the grid changes; at more than 15, change is still seen over 1/15 s.
    """
    seconds = encoding.seconds
    if len(seconds) < 2 or recipe.grid_fps is None:
        return recipe
    rate = (len(seconds) - 1) / max(float(seconds[-1] - seconds[0]), 1e-9)
    finest = max(1 / rate, LEAST_CHANGE_SECONDS)
    change = recipe.change_seconds and min(recipe.change_seconds, finest)
    grid = recipe.grid_fps if recipe.grid_fps >= 1.8 * rate else 2 * rate
    return replace(recipe, grid_fps=grid, change_seconds=change)


def choose_nearest(
    target: Encoding, numbers: Sequence[int], encodings: Sequence[Encoding], most: int
) -> list[int]:
    """At most so many of the numbers: those whose encodings take the most similar course."""
    if len(numbers) <= most:
        return list(numbers)
    courses = np.stack([encoding.trajectory for encoding in encodings])
    lengths = np.linalg.norm(courses, axis=1) * np.linalg.norm(target.trajectory)
    similarity = courses @ target.trajectory / np.maximum(lengths, 1e-12)
    return [numbers[n] for n in np.argsort(-similarity, kind="stable")[:most].tolist()]


# What the clips say, and what follows from it.


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
                away = (values - clock.weighted_median(values, weights)) / NEAR_SECONDS
                # The smallest distance is taken out, so that far apart answers keep their weight.
                near = weights * np.exp((np.min(away**2) - away**2) / 2)
                middle[column] = np.average(values, weights=near)
                spread[column] = np.average(np.abs(values - middle[column]), weights=weights)
        return middle, spread


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
            name: place
            for place, name in enumerate(marking.mark_names([list(each.values()) for each in numbered]))
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


# Marks of LeRobot episodes: named by the episode's number, counted from its start. In layout v3 an episode is
# a part of a longer file. A sea keeps the episode's name as a tag of its clip.


def from_episodes(stored: StoredClips, marks: MarkedClips) -> MarkedClips:
    """The same marks; those of episodes by the ids of the clips that show them, in seconds of the file."""
    found = dict(marks)
    for clip, tags in zip(stored.clips, stored.tags, strict=True):
        for name in filter(is_episode, tags):
            if name in marks and clip.id:
                found.pop(name, None)
                found[clip.id] = [_moved(mark, clip.start) for mark in marks[name]]
    return found


def named_for(
    stored: StoredClips, found: Iterable[tuple[Clip, Sequence[Mark]]], to: Place
) -> dict[str, Sequence[Mark]]:
    """Marks as the file `to` names them: a .parquet by episode, others by path or id."""
    rows = [(clip, marks) for clip, marks in found if marks]
    if Location(to).suffix.lower() != ".parquet":
        return {marking.mark_key(clip): marks for clip, marks in rows}
    names = {
        clip.id: name
        for clip, tags in zip(stored.clips, stored.tags, strict=True)
        for name in filter(is_episode, tags)
    }
    for clip, _ in rows:
        if clip.id not in names:
            raise DataError(
                f"{to}: {clip.name} is no episode of a LeRobot data set; write .csv, "
                "or add the data set with `seasync add lerobot:DIR`"
            )
    return {names[clip.id]: [_moved(mark, -clip.start) for mark in marks] for clip, marks in rows}


def _moved(mark: Mark, seconds: float) -> Mark:
    end = None if mark.end is None else max(mark.end + seconds, 0.0)
    return replace(mark, seconds=max(mark.seconds + seconds, 0.0), end=end)


# Marks, subtitles and labels of frames carried from one clip to another, along their alignment.


@dataclass(frozen=True)
class Carried:
    """How many labels found their place, and how many have none because nothing corresponds to them."""

    carried: int
    left_out: int


def transfer(alignment: Alignment, labels: Place, file: Place, *, to: Side = "match") -> Carried:
    """Carry the labels of one clip to the other and write them to `file`.

    Seconds and frame numbers count from the beginning of the file, frames from 0. Where nothing corresponds
    there is no label. Labels of frames follow the paper's propagation: each frame takes its partner's row.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    labels
        Subtitles (.srt .vtt .ass .ssa), or a CSV with one of these sets of columns, and any others beside
        them: `start` and `end` (seconds) or `start_frame` and `end_frame` (the end exclusive) for phases;
        `seconds` or `frame` for key moments, or, if every frame has a row, for labels of frames. Or marks of
        another program (.eaf .kva .parquet).
    file
        Where to write the new labels: a path or URI. Subtitles become subtitles, a table a table; marks of
        another program become any file that holds marks.
    to
        The clip the new labels are for. The old ones are the other's.

    Returns
    -------
    Carried
        How many labels were carried, and how many have no place.

    Raises
    ------
    DataError
        If the labels cannot be read or `file` cannot hold them.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> carried = seasync.render.transfer(alignment, "query.srt", "other.srt").carried
    """
    target, source = clips_of(alignment, to)
    expect_labels(labels, file)
    time_map = _TimeMap(
        forth=alignment.warp(keep="match" if to == "query" else "query"),
        back=alignment.warp(keep=to),
        source=frame_table(source.file).seconds,
        target=frame_table(target.file).seconds,
    )
    if marking.holds_only_marks(labels) or marking.holds_only_marks(file):
        marks = marking.read_marks_of(source, labels, frame_clock(source.file))
        found = [(mark, list(time_map.marks(mark))) for mark in marks]
        new = sorted((each for _, moved in found for each in moved), key=lambda mark: mark.seconds)
        marking.write_marks(file, {marking.mark_key(target): new})
        count = sum(bool(moved) for _, moved in found)
        return Carried(count, len(found) - count)
    if Location(labels).suffix.lower() in marking.SUBTITLES:
        return _carry_subtitles(Location(labels), file, time_map)
    table = MarkTable.read(labels)
    table.expect_times()
    table.expect_full_rows()
    rows = list(_carry_rows(table, frame_clock(source.file), time_map))
    cells = ([row[column] for column in table.columns] for _, row in rows)
    marking.write_csv(file, table.columns, cells, error=RenderError)
    kept = len({number for number, _ in rows})
    return Carried(kept, len(table.rows) - kept)


def expect_labels(labels: Place, file: Place) -> None:
    """Raise DataError unless these labels can be carried over into a file of this name."""
    if not fetch(labels).is_file():
        raise DataError(
            f"{labels}: no such file; expected a CSV of labels, or subtitles {' '.join(marking.SUBTITLES)}"
        )
    expect_writable(file, sources=[labels], error=RenderError)
    old, new = (Location(place).suffix.lower() for place in (labels, file))
    if marking.holds_only_marks(labels) or marking.holds_only_marks(file):
        marking.expect_format(file)
    elif (old in marking.SUBTITLES) != (new in marking.SUBTITLES):
        raise DataError(
            f"{file}: subtitles become subtitles ({' '.join(marking.SUBTITLES)}), a table a table (.csv)"
        )


def frame_clock(file: Place) -> FrameSeconds:
    """When the frames of a video are shown, whatever its clip is called."""

    def seconds(_: str, frame: float) -> float:
        shown = frame_table(file).seconds
        # An exclusive end may be the frame after the last.
        return float(np.interp(frame, np.arange(len(shown)), shown, right=shown[-1] + 1.0))

    return seconds


@dataclass(frozen=True, eq=False)
class _TimeMap:
    """Both directions between the clips, and when the frames of their files are shown."""

    forth: Warp
    back: Warp
    source: Seconds
    target: Seconds

    def spans(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        """Where `start`–`end` went, piece by piece."""
        for stretch in self.forth.stretches:
            first, last = max(stretch.start, start), min(stretch.end, end)
            if first < last:
                there = stretch.at(np.asarray([first, last]))
                yield float(there[0]), float(there[1])

    def marks(self, mark: Mark) -> Iterator[Mark]:
        """A mark where it went: a stretch in parts, if the alignment has a gap there."""
        if mark.end is not None:
            for first, last in self.spans(mark.seconds, mark.end):
                yield replace(mark, seconds=max(first, 0.0), end=max(first, last, 0.0))
        elif self.forth.covers(mark.seconds):
            yield replace(mark, seconds=max(self.forth.at(mark.seconds), 0.0))

    def placed(self, row: Row, **times: float) -> Row:
        """`row` with these times, and their frames, in the columns it has for them."""
        new = {name: f"{time:.6f}" for name, time in times.items()}
        frames = clock.nearest(self.target, np.asarray(list(times.values()))).tolist()
        new |= {marking.FRAMES[name]: str(frame) for name, frame in zip(times, frames, strict=True)}
        return {column: new.get(column, value) for column, value in row.items()}


def _carry_rows(table: MarkTable, frames: FrameSeconds, time_map: _TimeMap) -> Iterator[tuple[int, Row]]:
    """(number of the old row, new row)."""
    begin = "start" if table.has_spans else "seconds"
    numbers = range(len(table.rows))
    times = np.array([table.moment(number, begin, frames) for number in numbers], np.float64)
    ends = {number: table.moment(number, "end", frames) for number in numbers if table.lasts(number)}
    shown = clock.nearest(time_map.source, times)
    # Consecutive frames have a row each: key moments leave frames between them.
    if not ends and len(times) >= 3 and (np.diff(shown) == 1).all():
        yield from _propagate(table, times, time_map)
        return
    for number, time in zip(numbers, times.tolist(), strict=True):
        end = ends.get(number)
        if end is None:
            if time_map.forth.covers(time):
                yield number, time_map.placed(table.rows[number], **{begin: time_map.forth.at(time)})
        elif end < time:
            raise DataError(f"{table.path}: row {number + 1} ends at {end:g} s, before its start {time:g} s")
        else:
            for first, last in time_map.spans(time, end):
                yield number, time_map.placed(table.rows[number], **{begin: first, "end": last})


def _propagate(table: MarkTable, times: Seconds, time_map: _TimeMap) -> Iterator[tuple[int, Row]]:
    """Each frame of the target with the row of the frame it corresponds to, if that has one."""
    partners = time_map.back.at(time_map.target)
    rows = clock.nearest(times, partners)
    is_there = np.abs(times[rows] - partners) < np.diff(times).max()
    for frame in np.flatnonzero(clock.has_partner(time_map.back, time_map.target) & is_there).tolist():
        number = int(rows[frame])
        yield number, time_map.placed(table.rows[number], seconds=float(time_map.target[frame]))


def _carry_subtitles(labels: Location, file: Place, time_map: _TimeMap) -> Carried:
    subtitles = marking.load_subtitles(labels)
    events, carried = [], 0
    shortest = float(np.median(np.diff(time_map.target))) if len(time_map.target) > 1 else 0.04
    for event in subtitles:
        pieces = list(time_map.spans(event.start / 1000, event.end / 1000))
        carried += bool(pieces)
        for start, end in pieces:
            moved = event.copy()
            moved.start, moved.end = round(start * 1000), round(max(end, start + shortest) * 1000)
            events.append(moved)
    total = len(subtitles)
    subtitles.events = sorted(events, key=lambda event: event.start)
    with atomic_write(file, error=RenderError) as part:
        subtitles.save(str(part))
    return Carried(carried, total - carried)
