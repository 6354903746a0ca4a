"""When each mark happens in each take, how long phases last, how that differs: in numbers and words.

A pair is a group of two: `compare_timing` says more of it, also where no mark is.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import Alignment, Warp
from seasync.encoding import Indices, Seconds
from seasync.errors import DataError
from seasync.group.clock import Group, frame_length, over_takes
from seasync.marks import Mark, MarkedClips, csv_text, expect_inside, mark_names, marks_of, take_name
from seasync.options import Side

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
    mean = over_takes(np.nanmean, np.stack(list(since.values())))
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
    mean = over_takes(np.nanmean, np.stack(list(lasting.values())))
    rows = []
    for take, durations in lasting.items():
        total, frame = float(np.nansum(durations)) or 1.0, frame_length(*clocks[take])
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


def _first(row: Seconds) -> float:
    known = row[np.isfinite(row)]
    return float(known[0]) if len(known) else np.nan


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
        told = [one for one in self.phases if abs(one.to_reference_frames or 0.0) >= WORTH_SAYING_FRAMES]
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
    clips = [group.reference, *(take.clip for take in group.takes)]
    marked = {take_name(clip): found for clip in clips if (found := marks_of(clip, marks))}
    own = {take: _moments(found) for take, found in marked.items()}
    if not own:
        known = ", ".join(sorted(marks)[:3]) or "none"
        raise DataError(f"the marks are of {known}: expected marks of the reference or of one of the takes")
    ends = {take_name(take.clip): take.alignment.ends[1] for take in group.takes}
    ends[take_name(group.reference)] = group.takes[0].alignment.ends[0] if group.takes else np.inf
    for clip in clips:
        name = take_name(clip)
        expect_inside(name, clip, ends[name], own.get(name, ()))
    names = mark_names(own.values())
    reference = take_name(group.reference)
    backward = [
        (take.alignment.warp(keep="match").smooth(), own.get(take_name(take.clip), ()))
        for take in group.takes
    ]
    times = {reference: _in_reference(names, own.get(reference, ()), backward)}
    for take in group.takes:
        name = take_name(take.clip)
        times[name] = _in_take(names, own.get(name, ()), times[reference], take.warp)
    lasting = {mark.name for found in marked.values() for mark in found if mark.end is not None}
    phases = _phases(names, lasting)
    clocks = _clocks(group)
    return Timing(
        reference,
        tuple(times),
        names,
        tuple(mark_times(times, names, own, clocks, reference)),
        tuple(phase_times(times, phases, clocks, reference)),
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


def _in_reference(
    names: Sequence[str], own: Sequence[Mark], takes: Sequence[tuple[Warp, Sequence[Mark]]]
) -> Seconds:
    """When each mark happens in the reference: its own marks, else the median of what the takes say."""
    given = {mark.name: mark.seconds for mark in own}
    answers: dict[str, list[float]] = {name: [] for name in names}
    for backward, marks in takes:
        for mark in marks:
            if backward.covers(mark.seconds):
                answers[mark.name].append(backward.at(mark.seconds))
    return np.array(
        [given.get(name, float(np.median(answers[name])) if answers[name] else np.nan) for name in names]
    )


def _in_take(names: Sequence[str], own: Sequence[Mark], on_reference: Seconds, forward: Warp) -> Seconds:
    """When each mark happens in a take: its own marks, else where the reference's go."""
    given = {mark.name: mark.seconds for mark in own}
    carried = np.where(forward.covers(on_reference), forward.at(on_reference), np.nan).tolist()
    return np.array([given.get(name, moment) for name, moment in zip(names, carried, strict=True)])


# The timing of a pair: marks, and the moments and stretches where the two differ most.


Span = tuple[float, float]
_FOR_PYDANTIC: Mapping[str, object] = {"use_attribute_docstrings": True}  # for the HTTP API
Source = Literal["both", "query", "match", "difference"]


@dataclass(frozen=True, kw_only=True)
class TimedMoment:
    """A moment that both videos reach, and how much later the match reaches it."""

    __pydantic_config__ = _FOR_PYDANTIC

    name: str
    """Name of the mark, or where the moment is."""
    source: Source
    """Which video has the mark (the other time is carried over), or a large difference."""
    query: float
    """Seconds in the query."""
    match: float
    """Seconds in the match."""
    later: float
    """How much later it comes in the match, in seconds; below 0 if earlier."""
    sure: bool
    """Whether the time in the match is known to about a quarter of a second."""
    text: str = field(metadata={"examples": ["b.mp4 is 0.21 s later at the top."]})
    """The same in words."""


@dataclass(frozen=True, kw_only=True)
class TimedPhase:
    """A phase of the movement, and how long it takes in each video."""

    __pydantic_config__ = _FOR_PYDANTIC

    name: str
    query: Span
    """Start and end in the query, in seconds."""
    match: Span
    seconds: dict[Side, float]
    """Duration in each video."""
    difference: float
    """Seconds that the match takes longer."""
    text: str


@dataclass(frozen=True, kw_only=True)
class Tempo:
    """How fast the match moves at a moment of the query: 1 is the same speed, above 1 is faster."""

    query: float
    speed: float


@dataclass(frozen=True, kw_only=True)
class Report:
    """The timing of two videos compared."""

    __pydantic_config__ = _FOR_PYDANTIC

    names: dict[Side, str]
    summary: list[str]
    """The main differences in words, largest first."""
    start: dict[Side, float]
    """Where what both show starts, in seconds of each video."""
    seconds: dict[Side, float]
    """How long it takes in each video."""
    zero: dict[Side, float]
    """From when `later` counts, in seconds of each video."""
    moments: list[TimedMoment]
    """Largest difference first."""
    phases: list[TimedPhase]
    """In order of time."""
    tempo: list[Tempo]
    """Speed of the match relative to the query."""


MOST_DIFFERENCES = 5  # moments without a mark
SAME_SECONDS = 0.1  # between a mark and a moment without one: closer ones are one moment
NOTABLE_SECONDS = 0.04  # a frame or so: smaller differences are not worth a sentence
UNSURE_SECONDS = 0.5  # between the earliest and the latest partner that a moment of either video could have
SURE_SECONDS = 0.25  # so long the partners must stay sure for times to count from there
UNSURE_SHARE = 1 / 3  # of the time compared: ends less sure than that do not say how long it takes
SAME_SHARE = 0.15  # of the time compared: only ends that are surer can say that two take the same time
EDGE = 0.02  # share of the motion at either end that does not count as the movement
NOTABLE_SPEED = 0.03  # a smaller difference of speeds is too close to say
NOTABLE_CHANGE = 0.1  # seconds gained or lost within one stretch of the movement
NO_MOMENT_DIFFERS = "No moment differs by more than a frame or so."
NOT_ALIGNED = "These two do not align, so their timing cannot be compared."
ENDS_UNSURE = "Where the movement begins and ends is too unsure to say which is faster."
END, END_SECONDS = "the end", 0.15  # a moment so close to the end is called that
TEMPO_STEP = 1 / 15  # seconds between two values of the tempo curve
FASTEST = 8.0  # the match skips this part of the movement
TEMPO_REACH = 0.2  # seconds to both sides over which a speed is measured


def compare_timing(
    alignment: Alignment,
    marks: Mapping[Side, Sequence[Mark]],
    names: Mapping[Side, str],
    *,
    since: float | None = None,
) -> Report:
    """Compare the timing of two aligned videos.

    Parameters
    ----------
    alignment
        The solved alignment.
    marks
        Marks of each video. A mark that only one video has is carried over to the other. A mark with an end
        begins a phase that lasts until the next one.
    names
        Names of the videos, for the sentences.
    since
        Second of the query from which times count. Default: the first moment at which both move and whose
        partner is sure, which is the start of what both show unless somebody waits there.

    Returns
    -------
    Report
        Moments with the largest difference first, phases in order of time, and the tempo curve. If the two do
        not align, the summary says only that, and moments and phases are those that both have marks of.

    Raises
    ------
    DataError
        If the match has no counterpart of `since`.
    """
    timing = PairTiming(alignment, names, since)
    marked = timing.marked(alignment, marks.get("query", ()), marks.get("match", ()))
    if not alignment.alignable:  # nothing can be carried over
        marked = [one for one in marked if one.source == "both"]
    lasting = {mark.name for each in marks.values() for mark in each if mark.end is not None}
    phases = timing.phases(marked, lasting)
    # A mark so close that it says the same with a name stands for a moment.
    found = [
        one
        for one in (timing.differences() if alignment.alignable else ())
        if all(abs(one.query - mark.query) >= SAME_SECONDS for mark in marked)
    ]
    moments = sorted([*marked, *found], key=lambda one: -abs(one.later))
    return Report(
        names=dict(names),
        summary=timing.summary(moments, phases) if alignment.alignable else [NOT_ALIGNED],
        start=timing.start,
        zero=timing.zero,
        seconds={side: timing.end[side] - timing.start[side] for side in timing.start},
        moments=moments,
        phases=phases,
        tempo=_pair_tempo(timing.warp),
    )


class PairTiming:
    """Times of both videos since the first sure moment, or since a chosen one."""

    def __init__(self, alignment: Alignment, names: Mapping[Side, str], since: float | None) -> None:
        from seasync.alignment.result import uncertainty_rows

        self.warp, self.names = alignment.warp(keep="query"), names
        first, last = self.warp.stretches[0], self.warp.stretches[-1]
        self.start: dict[Side, float] = {
            "query": first.start,
            "match": float(first.at(np.array(first.start))),
        }
        self.end: dict[Side, float] = {"query": last.end, "match": float(last.at(np.array(last.end)))}
        rows = np.array(uncertainty_rows(alignment) or [(0.0, 0.0, 0.0)])
        self._known, self._widths = rows[:, 0], _widths(rows, self.warp)
        self.sure = self._sure_span(alignment)
        self.zero, self.zero_name = self.start, "the start"
        if since is not None:
            if not self.warp.covers(since):
                raise DataError(f"since: the match has no counterpart at {since:.2f} s")
            self.zero, self.zero_name = {"query": since, "match": self.warp.at(since)}, "the chosen moment"
        elif self.sure["query"][0] > self.start["query"]:
            self.zero = {side: self.sure[side][0] for side in self.start}
            self.zero_name = "the first sure moment"

    def _sure_span(self, alignment: Alignment) -> dict[Side, Span]:
        """From when to when both move and their partners are sure; where none is sure, all that moves.

        The first and the last fiftieth of that motion are left out: they can be far from the rest, where
        somebody fidgets before the movement.
        """
        begin, end = self.start["query"], self.end["query"]
        times, motion = alignment.query_seconds, _common_motion(alignment)
        is_sure = np.concatenate([[False], self.are_sure(times) & self.warp.covers(times), [False]])
        sure = np.zeros(len(times), bool)
        for run in np.flatnonzero(np.diff(is_sure.astype(int))).reshape(-1, 2).tolist():
            here = times[slice(*run)]
            sure[slice(*run)] = _lasts(here) and _lasts(self.warp.at(here))
        moved = np.cumsum(np.where(sure, motion, 0.0) if motion[sure].any() else motion)
        if not moved[-1]:
            return {"query": (begin, end), "match": (self.start["match"], self.end["match"])}
        first, last = times[np.searchsorted(moved, moved[-1] * np.array([EDGE, 1 - EDGE]))].tolist()
        first = first if first - begin > SURE_SECONDS else begin
        last = last if end - last > SURE_SECONDS else end
        match = (
            self.start["match"] if first == begin else self.warp.at(first),
            self.end["match"] if last == end else self.warp.at(last),
        )
        return {"query": (first, last), "match": match}

    def are_sure(self, query: Seconds) -> NDArray[np.bool_]:
        """Whether the partners of moments are known well; they are taken to be where nothing is known."""
        return np.asarray(np.interp(query, self._known, self._widths) <= UNSURE_SECONDS)

    def later(self, query: Seconds, match: Seconds) -> Seconds:
        """How much later than in the query moments come in the match."""
        return (match - self.zero["match"]) - (query - self.zero["query"])

    def _times(self) -> list[Seconds]:
        """The moments of each span, from the first sure moment to the last."""
        first, last = self.sure["query"]
        spans = (np.arange(*span, TEMPO_STEP) for span in self.warp.spans)
        return [times[(times >= first) & (times <= last)] for times in spans]

    def marked(self, alignment: Alignment, query: Sequence[Mark], match: Sequence[Mark]) -> list[TimedMoment]:
        """Every mark that is in both videos, or has a counterpart in the other."""
        names = tuple(dict.fromkeys(mark.name for mark in (*query, *match)))
        on_query = _in_reference(names, query, [(alignment.warp(keep="match"), match)])
        on_match = _in_take(names, match, on_query, self.warp)
        own, others = {mark.name for mark in query}, {mark.name for mark in match}
        return [
            self._moment(name, "match" if name not in own else "both" if name in others else "query", *times)
            for name, *times in zip(names, on_query.tolist(), on_match.tolist(), strict=True)
            if np.isfinite(times).all()
        ]

    def _moment(self, name: str, source: Source, query: float, match: float) -> TimedMoment:
        later = float(self.later(np.array(query), np.array(match)))
        sure = source == "both" or bool(self.are_sure(np.array(query)))
        direction = "later" if later > 0 else "earlier"
        apart = "in time" if abs(later) < NOTABLE_SECONDS else f"{abs(later):.2f} s {direction}"
        how = f"{self.names['match']} is {apart}" + ("" if sure else " (unsure)")
        where = f"At {name}" if name == END else name
        return TimedMoment(
            name=name,
            source=source,
            query=round(query, 4),
            match=round(match, 4),
            later=round(later, 4),
            sure=sure,
            text=f"{where}, {how}." if source == "difference" else f"{how} at {name}.",
        )

    def differences(self) -> list[TimedMoment]:
        """The moments at which the difference is largest, away from each other.

        Unsure moments are used only if there are no others.
        """
        times = np.concatenate(self._times())
        sure = self.are_sure(times)
        times = times[sure] if sure.any() else times
        match = self.warp.at(times)
        later = self.later(times, match)
        apart = max(0.25, (self.end["query"] - self.start["query"]) / 8)
        found: list[TimedMoment] = []
        for n in np.argsort(-np.abs(later), kind="stable").tolist():
            query = float(times[n])
            if abs(later[n]) < NOTABLE_SECONDS or len(found) == MOST_DIFFERENCES:
                break
            if all(abs(query - one.query) > apart for one in found):
                found.append(self._moment(self._name(query), "difference", query, float(match[n])))
        return found

    def _name(self, query: float) -> str:
        if self.end["query"] - query < END_SECONDS:
            return END
        since = query - self.zero["query"]
        return f"{abs(since):.2f} s {'before' if since < 0 else 'after'} {self.zero_name}"

    def phases(self, marked: Sequence[TimedMoment], names: Set[str]) -> list[TimedPhase]:
        """From mark to mark: phases by their names, else from each key moment to the next."""
        ordered = sorted(marked, key=lambda one: one.query)
        starts = [one for one in ordered if one.name in names] or ordered
        points = [(one.name, one.query, one.match, one.sure) for one in starts]
        if starts and starts[0].name in names:  # the last phase lasts to the end
            last = starts[-1]
            end = max(self.end["query"], last.query), max(self.end["match"], last.match)
            points.append((END, *end, True))
        found = []
        for (name, query, match, sure), (until, query_end, match_end, end_sure) in pairwise(points):
            lasts: dict[Side, float] = {"query": query_end - query, "match": match_end - match}
            longer = lasts["match"] - lasts["query"]
            name = name if name in names else f"{name} to {until}"
            than = f"{abs(longer):.2f} s {'longer' if longer > 0 else 'shorter'}"
            if abs(longer) < NOTABLE_SECONDS:
                than = f"as long as {self.names['query']}"
            unsure = "" if sure and end_sure else " (unsure)"
            phase = TimedPhase(
                name=name,
                query=(query, query_end),
                match=(match, match_end),
                seconds={side: round(seconds, 4) for side, seconds in lasts.items()},
                difference=round(longer, 4),
                text=f"{self.names['match']} takes {lasts['match']:.2f} s for {name}, {than}{unsure}.",
            )
            found.append(phase)
        return found

    def summary(self, moments: Sequence[TimedMoment], phases: Sequence[TimedPhase]) -> list[str]:
        """The main differences in sentences."""
        notable = [one for one in moments if abs(one.later) >= NOTABLE_SECONDS]
        marked = [one for one in notable if one.source != "difference"] or notable
        longest = sorted(phases, key=lambda one: -abs(one.difference))
        sentences = [one.text for one in marked[:3]]
        sentences += [one.text for one in longest[:2] if abs(one.difference) >= NOTABLE_SECONDS]
        if sentences and (steepest := self._steepest()):
            sentences.insert(0, steepest)
        return [*self._overall(bool(sentences)), *sentences]

    def _steepest(self) -> str | None:
        """Where most of the difference arises, in words; None if it grows evenly, or is small or unsure."""
        width = max(0.5, (self.end["query"] - self.start["query"]) / 8)
        found: list[tuple[float, float, float]] = []  # seconds lost, from when to when
        for times in filter(len, self._times()):
            later, sure = self.later(times, self.warp.at(times)), self.are_sure(times)
            ends = np.minimum(np.searchsorted(times, times + width), len(times) - 1)
            lost = np.where(sure & sure[ends], later[ends] - later, 0)
            lost[times[ends] - times < width / 2] = 0  # too close to the end to say from when to when
            n = int(np.argmax(np.abs(lost)))
            found.append((float(lost[n]), float(times[n]), float(times[ends[n]])))
        if not found:
            return None
        most, start, end = max(found, key=lambda one: abs(one[0]))
        query, match = (self.sure[side][1] - self.sure[side][0] for side in self.start)
        evenly = abs(match - query) * width / max(query, width)
        if abs(most) < max(NOTABLE_CHANGE, 2 * evenly):
            return None
        change = f"{self.names['match']} {'loses' if most > 0 else 'gains'} {abs(most):.2f} s"
        begin, stop = self._name(start), self._name(end)
        if stop != END:  # "from 0.5 s to 1 s after the start", "from 0.5 s before to 1 s after …"
            same = stop.partition(" s ")[2]
            begin = begin.removesuffix(f" {same}").removesuffix(f" {self.zero_name}")
        return f"From {begin} to {stop}, {change}."

    def _overall(self, differ: bool) -> list[str]:
        """How long both take, from the first sure moment to the last; `differ`: whether any moment does."""
        names, (begin, end) = self.names, self.sure["query"]
        query, match = (self.sure[side][1] - self.sure[side][0] for side in self.start)
        speed = query / match if match else 1.0
        found = [f"{names['match']} takes {match:.2f} s for what {names['query']} does in {query:.2f} s"]
        shorter = min(query, match)
        unsure = float(np.interp(self.sure["query"], self._known, self._widths).mean())
        if unsure > max(UNSURE_SECONDS, UNSURE_SHARE * shorter):
            found = [ENDS_UNSURE]
        elif abs(speed - 1) >= NOTABLE_SPEED:
            found[0] += f" ({speed:.2f}× the speed)."
        elif differ or unsure > SAME_SHARE * shorter:
            found[0] += ": too close to say which is faster."
        else:
            found = [f"{found[0]}: the same speed.", NO_MOMENT_DIFFERS]
        cut = {"before": begin > self.start["query"], "after": end < self.end["query"]}
        share = (end - begin) / max(self.end["query"] - self.start["query"], 1e-9)
        if outside := [when for when, is_cut in cut.items() if is_cut]:
            found.append(
                f"Only {begin:.2f}–{end:.2f} s of {names['query']} ({share:.0%}) are compared: "
                f"{' and '.join(outside)} that, hardly anything moves, or frames look too much alike to "
                "say which belong together."
            )
        return found


def _widths(rows: NDArray[np.float64], warp: Warp) -> Seconds:
    """How far moments could be off in either video: `rows` (n, 3) are moments, their first and last partners.

    While one video waits, the partners of its moments are known, but not the other way round: many moments
    have the same one.
    """
    widths: Seconds = rows[:, 2] - rows[:, 1]
    for start, end in warp.spans:
        here = (rows[:, 0] >= start) & (rows[:, 0] <= end)
        times, earliest, latest = rows[here].T
        partners = warp.at(times).clip(earliest, latest)
        first, after = np.searchsorted(latest, partners), np.searchsorted(earliest, partners, side="right")
        widths[here] = np.maximum(widths[here], times[after - 1] - times[first])
    return widths


def _common_motion(alignment: Alignment) -> Seconds:
    """How much moves in both videos at each of the query's grid points, (n,); nothing where one waits."""
    query, match = alignment.path.T
    shares = [
        motion[side] / np.bincount(side)[side]
        for side, motion in ((query, alignment.query_motion), (match, alignment.match_motion))
    ]
    return np.bincount(query, np.minimum(*shares), len(alignment.query_seconds)).astype(np.float64)


def _lasts(times: Seconds) -> bool:
    return bool(times[-1] - times[0] >= SURE_SECONDS)


def _pair_tempo(warp: Warp) -> list[Tempo]:
    found = []
    for piece in warp.stretches:
        reach = min(TEMPO_REACH, (piece.end - piece.start) / 4)
        for time in np.arange(piece.start, piece.end, TEMPO_STEP).tolist():
            middle = min(max(time, piece.start + reach), piece.end - reach)
            around = piece.at(np.asarray([middle - reach, middle + reach]))
            seconds = float(around[1] - around[0])
            speed = 2 * reach / seconds if seconds > 0 else FASTEST
            found.append(Tempo(query=round(time, 4), speed=round(min(speed, FASTEST), 4)))
    return found


def report_csv(report: Report) -> str:
    """The report of a pair as a table: moments, then phases."""
    rows = []
    for one in report.moments:
        values = (f"{value:.3f}" for value in (one.query, one.match, one.later))
        rows.append(("moment", one.name, *values, one.source, "yes" if one.sure else "no"))
    for phase in report.phases:
        values = (f"{value:.3f}" for value in (*phase.seconds.values(), phase.difference))
        rows.append(("phase duration", phase.name, *values, "", ""))
    columns = ["kind", "name", "query_seconds", "match_seconds", "match_later_seconds", "source", "sure"]
    return csv_text(columns, rows)
