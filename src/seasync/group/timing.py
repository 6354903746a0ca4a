"""When each mark happens in each take, how long phases last, how that differs: in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Indices, Seconds
from seasync.errors import DataError
from seasync.group.clock import Group
from seasync.marks import Mark, MarkedClips, clip_names, mark_names

# The rows of a timing: when marks happen in each take, and how long its phases last.


Clock = tuple[Seconds, Indices]  # seconds of a take, and the frames shown then
Ends = tuple[int, int]


@dataclass(frozen=True)
class MarkTime:
    """One mark in one take.

    Attributes
    ----------
    take, mark : str
    seconds, frame : float, int
        When it happens, in seconds and frames of the take's file.
    after_start : float
        Seconds since the take's first mark.
    to_reference, to_mean : float or None
        `after_start` minus the reference's, and minus the mean of all takes, in seconds.
    given : bool
        Whether the take had this mark itself; otherwise it was carried over.
    """

    take: str
    mark: str
    seconds: float
    frame: int
    after_start: float
    to_reference: float | None
    to_mean: float | None
    given: bool


@dataclass(frozen=True)
class PhaseTime:
    """How long one phase lasts in one take.

    Attributes
    ----------
    take, phase : str
    seconds, frames, percent : float
        Its duration, also in frames of the take and as a share of all its phases together.
    to_reference, to_mean : float or None
        Difference to the reference's duration, and to the mean of all takes, in seconds.
    to_reference_frames, to_mean_frames : float or None
        The same differences in frames of the take.
    to_reference_percent, to_mean_percent : float or None
        The same as shares of the reference's duration, and of the mean.
    """

    take: str
    phase: str
    seconds: float
    frames: float
    percent: float
    to_reference: float | None
    to_mean: float | None
    to_reference_frames: float | None
    to_mean_frames: float | None
    to_reference_percent: float | None
    to_mean_percent: float | None


def mark_times(
    times: Mapping[str, Seconds],
    names: Sequence[str],
    own: Mapping[str, Sequence[Mark]],
    clocks: Mapping[str, Clock],
    reference: str,
) -> list[MarkTime]:
    """A row for each mark of each take; `times` has the seconds of the marks by take."""
    since = {take: row - _first(row) for take, row in times.items()}
    mean = _column_means(np.stack(list(since.values())))
    rows = []
    for take, row in times.items():
        given = {mark.name for mark in own.get(take, ())}
        frames = np.interp(row, *clocks[take])
        for n, name in enumerate(names):
            if np.isfinite(row[n]):
                rows.append(
                    MarkTime(
                        take,
                        name,
                        round(float(row[n]), 6),
                        round(float(frames[n])),
                        round(float(since[take][n]), 6),
                        _difference(since[take][n], since[reference][n]),
                        _difference(since[take][n], mean[n]),
                        name in given,
                    )
                )
    return rows


def phase_times(
    times: Mapping[str, Seconds], phases: Mapping[str, Ends], clocks: Mapping[str, Clock], reference: str
) -> list[PhaseTime]:
    """A row for each phase of each take; a phase is given by the columns of `times` that are its ends."""
    ends = np.array(list(phases.values()), np.int64).reshape(-1, 2)  # also of no phase
    lasting = {take: row[ends[:, 1]] - row[ends[:, 0]] for take, row in times.items()}
    mean = _column_means(np.stack(list(lasting.values())))
    rows = []
    for take, durations in lasting.items():
        total, frame = float(np.nansum(durations)) or 1.0, _frame_seconds(*clocks[take])
        for n, phase in enumerate(phases):
            if not np.isfinite(durations[n]):
                continue
            to_reference = _difference(durations[n], lasting[reference][n])
            to_mean = _difference(durations[n], mean[n])
            rows.append(
                PhaseTime(
                    take,
                    phase,
                    round(float(durations[n]), 6),
                    round(float(durations[n]) / frame, 2),
                    round(100 * float(durations[n]) / total, 2),
                    to_reference,
                    to_mean,
                    _ratio(to_reference, frame, 2),
                    _ratio(to_mean, frame, 2),
                    _ratio(to_reference, float(lasting[reference][n]) / 100, 1),
                    _ratio(to_mean, float(mean[n]) / 100, 1),
                )
            )
    return rows


def _frame_seconds(seconds: Seconds, frames: Indices) -> float:
    return float((seconds[-1] - seconds[0]) / max(frames[-1] - frames[0], 1)) or 1 / 30


def _first(row: Seconds) -> float:
    known = row[np.isfinite(row)]
    return float(known[0]) if len(known) else np.nan


def _column_means(rows: Seconds) -> Seconds:
    known = np.isfinite(rows)
    means: Seconds = np.where(known, rows, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    return means


def _difference(value: float, other: float) -> float | None:
    return round(float(value - other), 6) if np.isfinite(value) and np.isfinite(other) else None


def _ratio(value: float | None, unit: float, digits: int) -> float | None:
    return round(value / unit, digits) if value is not None and unit > 0 else None


# A difference smaller than this many frames is not put into words: marks are no more exact than that.
WORTH_SAYING_FRAMES = 1.5
ENDS = " ends"  # after a phase's name: the moment it ends


@dataclass(frozen=True)
class Timing:
    """The timing of a group: marks and phases of every take, the reference first.

    Attributes
    ----------
    reference : str
        The reference's name.
    takes : tuple of str
        All takes, the reference first.
    names : tuple of str
        The marks, in order.
    marks : tuple of MarkTime
    phases : tuple of PhaseTime
    """

    reference: str
    takes: tuple[str, ...]
    names: tuple[str, ...]
    marks: tuple[MarkTime, ...]
    phases: tuple[PhaseTime, ...]

    @property
    def phase_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(phase.phase for phase in self.phases))

    def words(self) -> list[str]:
        """What differs from the reference, the largest difference first, in sentences."""
        told = [
            phase
            for phase in self.phases
            if phase.to_reference is not None
            and phase.to_reference_frames is not None
            and abs(phase.to_reference_frames) >= WORTH_SAYING_FRAMES
        ]
        return [sentence(phase) for phase in sorted(told, key=lambda p: -abs(p.to_reference or 0.0))]

    def to_json(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "reference": self.reference,
            "takes": list(self.takes),
            "marks": [vars(mark) for mark in self.marks],
            "phases": [vars(phase) for phase in self.phases],
            "words": self.words(),
        }


def sentence(phase: PhaseTime) -> str:
    """One difference in words, such as "p012: backswing 0.21 s longer than the reference (+18 %)."."""
    difference = phase.to_reference or 0.0
    share = "" if phase.to_reference_percent is None else f" ({phase.to_reference_percent:+.0f} %)"
    longer = "longer" if difference > 0 else "shorter"
    return f"{phase.take}: {phase.phase} {abs(difference):.2f} s {longer} than the reference{share}."


def timing_of(group: Group, marks: MarkedClips) -> Timing:
    """The timing of a group by marks on the reference, or on any of its takes.

    Parameters
    ----------
    group : Group
    marks : mapping of str to sequence of Mark
        Marks by the name, path or id of their clip. Marks of clips that are not in the group are ignored.

    Raises
    ------
    DataError
        If no clip of the group has marks, or a mark lies outside its clip.
    """
    marked = {take_name(clip): found for clip in _clips(group) if (found := marks_of(clip, marks))}
    own = {take: _moments(found) for take, found in marked.items()}
    if not own:
        known = ", ".join(sorted(marks)[:3]) or "none"
        raise DataError(f"the marks are of {known}: expected marks of the reference or of one of the takes")
    _expect_inside(group, own)
    names = mark_names(own.values())
    reference = take_name(group.reference)
    on_reference = _on_reference(group, own, names)
    times = {reference: on_reference}
    for take, row in zip(group.takes, group.at(on_reference), strict=True):
        name = take_name(take.clip)
        given = {mark.name: mark.seconds for mark in own.get(name, ())}
        times[name] = np.array([given.get(mark, moment) for mark, moment in zip(names, row, strict=True)])
    phases = _phases(
        names, {mark.name for found in marked.values() for mark in found if mark.end is not None}
    )
    clocks = _clocks(group)
    return Timing(
        reference,
        tuple(times),
        names,
        tuple(mark_times(times, names, own, clocks, reference)),
        tuple(phase_times(times, phases, clocks, reference)),
    )


def take_name(clip: Clip) -> str:
    """What a take is called in tables: its file's name without the ending, and its span if it has one."""
    stem, _, span = clip.name.partition(" ")
    return stem.rpartition(".")[0] + (f" {span}" if span else "") if "." in stem else clip.name


def marks_of(clip: Clip, marks: MarkedClips) -> Sequence[Mark]:
    """The marks of a clip, by any of its names."""
    return next((marks[name] for name in (*clip_names(clip), take_name(clip)) if name in marks), ())


def _clips(group: Group) -> list[Clip]:
    return [group.reference, *(take.clip for take in group.takes)]


def _expect_inside(group: Group, own: Mapping[str, Sequence[Mark]]) -> None:
    ends = {take_name(take.clip): take.alignment.ends[1] for take in group.takes}
    ends[take_name(group.reference)] = group.takes[0].alignment.ends[0] if group.takes else np.inf
    for clip in _clips(group):
        name = take_name(clip)
        for mark in own.get(name, ()):
            if not clip.start <= mark.seconds <= ends[name] + 0.05:  # times are rounded in files
                raise DataError(
                    f"{name}: the mark {mark.name!r} is at {mark.seconds:g} s, outside the clip "
                    f"({clip.start:g}–{ends[name]:.2f} s); correct the marks file"
                )


def _moments(marks: Sequence[Mark]) -> list[Mark]:
    """The marks as moments: a phase as its two ends."""
    ends = [Mark(f"{mark.name}{ENDS}", mark.end) for mark in marks if mark.end is not None]
    return [Mark(mark.name, mark.seconds) for mark in marks] + ends


def _phases(names: Sequence[str], marked: Set[str]) -> dict[str, Ends]:
    """The columns in which each phase begins and ends: marked phases, else from each mark to the next."""
    column = {name: n for n, name in enumerate(names)}
    if marked:
        return {name: (column[name], column[f"{name}{ENDS}"]) for name in names if name in marked}
    return {f"{first} to {second}": (column[first], column[second]) for first, second in pairwise(names)}


def _clocks(group: Group) -> dict[str, Clock]:
    clocks: dict[str, Clock] = {}
    for take in group.takes:
        both = take.alignment
        clocks.setdefault(take_name(group.reference), (both.query_seconds, both.query_frames))
        clocks[take_name(take.clip)] = both.match_seconds, both.match_frames
    return clocks


def _on_reference(group: Group, own: Mapping[str, Sequence[Mark]], names: Sequence[str]) -> Seconds:
    """When each mark happens in the reference: its own marks, else the median of what the takes say."""
    given = {mark.name: mark.seconds for mark in own.get(take_name(group.reference), ())}
    answers: dict[str, list[float]] = {name: [] for name in names}
    for take in group.takes:
        back = take.alignment.warp(keep="match").smooth()
        for mark in own.get(take_name(take.clip), ()):
            if back.covers(mark.seconds):
                answers[mark.name].append(back.at(mark.seconds))
    return np.array(
        [given.get(name, float(np.median(answers[name])) if answers[name] else np.nan) for name in names]
    )
