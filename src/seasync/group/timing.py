"""When each mark happens in each take, how long phases last, how that differs: in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import DataError
from seasync.group.clock import Group
from seasync.group.timing_rows import Clock, Ends, MarkTime, PhaseTime, mark_times, phase_times
from seasync.marks import Mark, MarkedClips, clip_names, mark_names

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
