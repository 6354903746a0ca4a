"""The rows of a timing: when marks happen in each take, and how long its phases last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seasync.encoding import Indices, Seconds
from seasync.marks import Mark

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
