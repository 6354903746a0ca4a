"""When each mark happens in each take, how long phases last, how that differs: in numbers and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Seconds
from seasync.errors import DataError
from seasync.group.clock import AlignedTake, Group
from seasync.marks import Mark, MarkedClips, clip_names, mark_names

# A difference smaller than this many frames is not put into words: marks are no more exact than that.
WORTH_SAYING_FRAMES = 1.5


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
    to_reference_frames : float or None
    to_reference_percent : float or None
        Difference to the reference as a share of the reference's duration.
    """

    take: str
    phase: str
    seconds: float
    frames: float
    percent: float
    to_reference: float | None
    to_mean: float | None
    to_reference_frames: float | None
    to_reference_percent: float | None


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
    own = {take_name(clip): found for clip in _clips(group) if (found := marks_of(clip, marks))}
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
    frame_seconds = {reference: group.frame_seconds} | {
        take_name(take.clip): _frame_seconds(take) for take in group.takes
    }
    return Timing(
        reference,
        tuple(times),
        names,
        tuple(_mark_times(group, times, names, own)),
        tuple(_phase_times(times, names, frame_seconds, reference)),
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
            if not clip.start <= mark.seconds <= ends[name]:
                raise DataError(
                    f"{name}: the mark {mark.name!r} is at {mark.seconds:g} s, outside the clip "
                    f"({clip.start:g}–{ends[name]:.2f} s); correct the marks file"
                )


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


def _frame_seconds(take: AlignedTake) -> float:
    frames, seconds = take.alignment.match_frames, take.alignment.match_seconds
    return float((seconds[-1] - seconds[0]) / max(frames[-1] - frames[0], 1)) or 1 / 30


def _mark_times(
    group: Group, times: Mapping[str, Seconds], names: Sequence[str], own: Mapping[str, Sequence[Mark]]
) -> list[MarkTime]:
    since = {take: row - _first(row) for take, row in times.items()}
    mean = _column_means(np.stack(list(since.values())))
    reference = since[take_name(group.reference)]
    grids = {
        take_name(take.clip): (take.alignment.match_seconds, take.alignment.match_frames)
        for take in group.takes
    }
    if group.takes:
        first = group.takes[0].alignment
        grids[take_name(group.reference)] = (first.query_seconds, first.query_frames)
    rows = []
    for take, row in times.items():
        given = {mark.name for mark in own.get(take, ())}
        frames = np.interp(row, *grids[take])
        for n, name in enumerate(names):
            if np.isfinite(row[n]):
                rows.append(
                    MarkTime(
                        take,
                        name,
                        round(float(row[n]), 6),
                        round(float(frames[n])),
                        round(float(since[take][n]), 6),
                        _difference(since[take][n], reference[n]),
                        _difference(since[take][n], mean[n]),
                        name in given,
                    )
                )
    return rows


def _phase_times(
    times: Mapping[str, Seconds], names: Sequence[str], frame_seconds: Mapping[str, float], reference: str
) -> list[PhaseTime]:
    phases = [f"{first} to {second}" for first, second in pairwise(names)]
    lasting = {take: np.diff(row) for take, row in times.items()}
    mean = _column_means(np.stack(list(lasting.values())))
    rows = []
    for take, durations in lasting.items():
        total = float(np.nansum(durations)) or 1.0
        for n, phase in enumerate(phases):
            if not np.isfinite(durations[n]):
                continue
            to_reference = _difference(durations[n], lasting[reference][n])
            share = float(lasting[reference][n])
            rows.append(
                PhaseTime(
                    take,
                    phase,
                    round(float(durations[n]), 6),
                    round(float(durations[n]) / frame_seconds[take], 2),
                    round(100 * float(durations[n]) / total, 2),
                    to_reference,
                    _difference(durations[n], mean[n]),
                    None if to_reference is None else round(to_reference / frame_seconds[take], 2),
                    round(100 * to_reference / share, 1) if to_reference is not None and share > 0 else None,
                )
            )
    return rows


def _first(row: Seconds) -> float:
    known = row[np.isfinite(row)]
    return float(known[0]) if len(known) else np.nan


def _column_means(rows: Seconds) -> Seconds:
    known = np.isfinite(rows)
    means: Seconds = np.where(known, rows, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    return means


def _difference(value: float, other: float) -> float | None:
    return round(float(value - other), 6) if np.isfinite(value) and np.isfinite(other) else None
