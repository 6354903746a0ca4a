"""The timing of two aligned videos: moments, phases and tempo, in words and numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seasync.errors import ServeError
from seasync.options import Side
from seasync.serve.models import Mark, Report, Tempo, TimedMoment, TimedPhase

if TYPE_CHECKING:
    from seasync.alignment import Alignment, Warp


MOST_DIFFERENCES = 5  # moments without a mark
NOTABLE_SECONDS = 0.04  # a frame or so: smaller differences are not worth a sentence
UNSURE_SECONDS = 0.5  # between the earliest and the latest partner that a moment could have
SURE_SECONDS = 0.25  # so long the partners must stay sure for times to count from there
NOTABLE_CHANGE = 0.1  # seconds gained or lost within one stretch of the movement
END, END_SECONDS = "the end", 0.15  # a moment so close to the end is called that
TEMPO_STEP = 1 / 15  # seconds between two values of the tempo curve
FASTEST = 8.0  # the match skips this part of the movement
TEMPO_REACH = 0.2  # seconds to both sides over which a speed is measured


class PairTiming:
    """Times of both videos since the first sure moment, or since a chosen one."""

    def __init__(self, alignment: Alignment, names: Mapping[Side, str], since: float | None) -> None:
        from seasync.alignment.uncertainty import uncertainty_rows

        self.warp: Warp = alignment.warp(keep="query")
        self.names = names
        first, last = self.warp.stretches[0], self.warp.stretches[-1]
        begin = float(first.at(np.array(first.start)))
        self.start: dict[Side, float] = {"query": first.start, "match": begin}
        end = {"query": last.end, "match": float(last.at(np.array(last.end)))}
        self.seconds: dict[Side, float] = {
            "query": end["query"] - self.start["query"],
            "match": end["match"] - self.start["match"],
        }
        rows = np.array(uncertainty_rows(alignment) or [(0.0, 0.0, 0.0)])
        self._known, self._widths = rows[:, 0], rows[:, 2] - rows[:, 1]
        self.sure = self._sure_span()
        self.zero, self.zero_name = self.start, "the start"
        if since is not None:
            if not self.warp.covers(since):
                raise ServeError(f"since: the match has no counterpart at {since:.2f} s", status=422)
            self.zero, self.zero_name = {"query": since, "match": self.warp.at(since)}, "the chosen moment"
        elif self.sure["query"][0] > self.start["query"]:
            self.zero = {side: self.sure[side][0] for side in self.start}
            self.zero_name = "the first sure moment"

    def _sure_span(self) -> dict[Side, tuple[float, float]]:
        """From the first moment whose partner is sure to the last; all of it if hardly anything is unsure."""
        whole: dict[Side, tuple[float, float]] = {
            side: (self.start[side], self.start[side] + self.seconds[side]) for side in self.start
        }
        times = np.concatenate([np.arange(*span, TEMPO_STEP) for span in self.warp.spans])
        sure = np.array([self.is_sure(time) for time in times])
        edges = np.flatnonzero(np.diff(np.concatenate([[False], sure, [False]]).astype(int)))
        runs = [
            (times[first], times[after - 1])
            for first, after in edges.reshape(-1, 2)
            if times[after - 1] - times[first] >= SURE_SECONDS
        ]
        if not runs:
            return whole
        begin, end = whole["query"]
        first = float(runs[0][0]) if runs[0][0] - begin > SURE_SECONDS else begin
        last = float(runs[-1][1]) if end - runs[-1][1] > SURE_SECONDS else end
        match = tuple(
            self.warp.at(one) if one not in (begin, end) else whole["match"][one == end]
            for one in (first, last)
        )
        return {"query": (first, last), "match": (match[0], match[1])}

    @property
    def is_cut(self) -> tuple[bool, bool]:
        """Whether something is unsure before the first sure moment, and after the last."""
        begin, end = self.start["query"], self.start["query"] + self.seconds["query"]
        return self.sure["query"][0] > begin, self.sure["query"][1] < end

    def _inside(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The times from the first sure moment to the last."""
        first, last = self.sure["query"]
        return times[(times >= first) & (times <= last)]

    def _times(self) -> NDArray[np.float64]:
        return self._inside(np.concatenate([np.arange(*span, TEMPO_STEP) for span in self.warp.spans]))

    def later(self, query: float, match: float) -> float:
        """How much later than in the query this moment comes in the match."""
        return (match - self.zero["match"]) - (query - self.zero["query"])

    def is_sure(self, query: float) -> bool:
        """Whether the partner of this moment is known well; it is taken to be where nothing is known."""
        return float(np.interp(query, self._known, self._widths)) <= UNSURE_SECONDS

    def moment(self, name: str, source: str, query: float, match: float) -> TimedMoment:
        later, sure = self.later(query, match), self.is_sure(query) or source == "both"
        how = f"{self.names['match']} is {_apart(later)}" + ("" if sure else " (unsure)")
        return TimedMoment(
            name=name,
            source=source,  # type: ignore[arg-type]
            query=round(query, 4),
            match=round(match, 4),
            later=round(later, 4),
            sure=sure,
            text=f"{_where(name)}, {how}." if source == "difference" else f"{how} at {name}.",
        )

    def differences(self) -> list[TimedMoment]:
        """The moments at which the difference is largest, away from each other.

        Unsure moments are used only if there are no others.
        """
        times = self._times()
        sure = np.array([self.is_sure(time) for time in times])
        times = times[sure] if sure.any() else times
        later = np.array([self.later(time, self.warp.at(float(time))) for time in times])
        apart = max(0.25, self.seconds["query"] / 8)
        found: list[TimedMoment] = []
        for n in np.argsort(-np.abs(later), kind="stable").tolist():
            query = float(times[n])
            if abs(later[n]) < NOTABLE_SECONDS or len(found) == MOST_DIFFERENCES:
                break
            if all(abs(query - one.query) > apart for one in found):
                found.append(self.moment(self._name(query), "difference", query, self.warp.at(query)))
        return found

    def _name(self, query: float) -> str:
        if self.start["query"] + self.seconds["query"] - query < END_SECONDS:
            return END
        since = query - self.zero["query"]
        return f"{abs(since):.2f} s {'before' if since < 0 else 'after'} {self.zero_name}"

    def steepest(self) -> str | None:
        """Where most of the difference arises, in words; None if it grows evenly, or is small or unsure."""
        width = max(0.5, self.seconds["query"] / 8)
        found: list[tuple[float, float, float]] = []  # seconds lost, from when to when
        for span in self.warp.spans:
            times = self._inside(np.arange(*span, TEMPO_STEP))
            if not len(times):
                continue
            later = np.array([self.later(time, self.warp.at(float(time))) for time in times])
            ends = np.minimum(np.searchsorted(times, times + width), len(times) - 1)
            sure = np.array([self.is_sure(time) for time in times])
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

    def phases(self, marked: Sequence[TimedMoment], names: Collection[str]) -> list[TimedPhase]:
        """From mark to mark: phases by their names, else from each key moment to the next."""
        ordered = sorted(marked, key=lambda one: one.query)
        starts = [one for one in ordered if one.name in names] or ordered
        ends = [(one.query, one.match) for one in starts[1:]]
        found = []
        if starts and starts[0].name in names:  # the last phase lasts to the end
            whole = {side: self.start[side] + self.seconds[side] for side in self.start}
            ends.append((max(whole["query"], starts[-1].query), max(whole["match"], starts[-1].match)))
        for one, end in zip(starts, ends, strict=False):
            name = one.name if one.name in names else f"{one.name} to {_name_at(starts, end[0])}"
            after = next((other.sure for other in starts if other.query == end[0]), True)
            found.append(self._phase(name, (one.query, end[0]), (one.match, end[1]), one.sure and after))
        return found

    def _phase(
        self, name: str, query: tuple[float, float], match: tuple[float, float], sure: bool
    ) -> TimedPhase:
        seconds: dict[Side, float] = {"query": query[1] - query[0], "match": match[1] - match[0]}
        difference = seconds["match"] - seconds["query"]
        words = "longer" if difference > 0 else "shorter"
        takes = f"{self.names['match']} takes {seconds['match']:.2f} s for {name}"
        same = abs(difference) < NOTABLE_SECONDS
        than = f", as long as {self.names['query']}" if same else f", {abs(difference):.2f} s {words}"
        return TimedPhase(
            name=name,
            query=query,
            match=match,
            seconds={side: round(value, 4) for side, value in seconds.items()},
            difference=round(difference, 4),
            text=f"{takes}{than}{'' if sure else ' (unsure)'}.",
        )

    def tempo(self) -> list[Tempo]:
        found = []
        for piece in self.warp.stretches:
            reach = min(TEMPO_REACH, (piece.end - piece.start) / 4)
            for time in np.arange(piece.start, piece.end, TEMPO_STEP).tolist():
                middle = min(max(time, piece.start + reach), piece.end - reach)
                around = piece.at(np.asarray([middle - reach, middle + reach]))
                seconds = float(around[1] - around[0])
                speed = 2 * reach / seconds if seconds > 0 else FASTEST
                found.append(Tempo(query=round(time, 4), speed=round(min(speed, FASTEST), 4)))
        return found


def _apart(later: float) -> str:
    if abs(later) < NOTABLE_SECONDS:
        return "in time"
    return f"{abs(later):.2f} s {'later' if later > 0 else 'earlier'}"


def _where(name: str) -> str:
    return f"At {name}" if name == END else name


def _name_at(moments: Sequence[TimedMoment], query: float) -> str:
    return next(one.name for one in moments if one.query == query)


# The compare report: where and by how much the timing of two videos differs, in words and numbers.


SAME_SECONDS = 0.1  # between a mark and a moment without one: closer ones are one moment


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
        Marks of each video. A mark that only one video has is carried over to the other.
    names
        Names of the videos, for the sentences.
    since
        Second of the query from which times count. Default: the first moment whose partner is sure, which is
        the start of what both show unless somebody waits there.

    Returns
    -------
    Report
        Moments with the largest difference first, phases in order of time, and the tempo curve.

    Raises
    ------
    ServeError
        If the match has no counterpart of `since`.
    """
    timing = PairTiming(alignment, names, since)
    marked = [timing.moment(*one) for one in _carried(alignment, marks)]
    phase_names = {mark.name for side in marks for mark in marks[side] if mark.kind == "phase"}
    phases = timing.phases(marked, phase_names)
    found = [one for one in timing.differences() if not _is_marked(one, marked)]
    moments = sorted([*marked, *found], key=lambda one: -abs(one.later))
    doubt = [] if alignment.alignable else ["These two do not align, so their differences mean little."]
    return Report(
        names=dict(names),
        summary=[*doubt, *_summary(timing, moments, phases)],
        start=timing.start,
        zero=timing.zero,
        seconds=timing.seconds,
        moments=moments,
        phases=phases,
        tempo=timing.tempo(),
    )


def report_csv(report: Report) -> str:
    """The report as a table: moments, then phases."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["kind", "name", "query_seconds", "match_seconds", "match_later_seconds", "source", "sure"]
    )
    for one in report.moments:
        values = (f"{value:.3f}" for value in (one.query, one.match, one.later))
        writer.writerow(["moment", one.name, *values, one.source, "yes" if one.sure else "no"])
    for phase in report.phases:
        values = (f"{value:.3f}" for value in (*phase.seconds.values(), phase.difference))
        writer.writerow(["phase duration", phase.name, *values, "", ""])
    return out.getvalue()


def _carried(
    alignment: Alignment, marks: Mapping[Side, Sequence[Mark]]
) -> list[tuple[str, str, float, float]]:
    """Every mark in both videos: (name, which video has it, query seconds, match seconds)."""
    own: dict[Side, dict[str, float]] = {
        side: {mark.name: mark.seconds for mark in marks.get(side, ())} for side in ("query", "match")
    }
    forward, backward = alignment.warp(keep="query"), alignment.warp(keep="match")
    found: list[tuple[str, str, float, float]] = []
    for name, seconds in own["query"].items():
        if name in own["match"]:
            found.append((name, "both", seconds, own["match"][name]))
        elif forward.covers(seconds):
            found.append((name, "query", seconds, forward.at(seconds)))
    for name, seconds in own["match"].items():
        if name not in own["query"] and backward.covers(seconds):
            found.append((name, "match", backward.at(seconds), seconds))
    return found


def _is_marked(one: TimedMoment, marked: Sequence[TimedMoment]) -> bool:
    """Whether a mark is so close that it says the same with a name."""
    return any(abs(one.query - mark.query) < SAME_SECONDS for mark in marked)


def _summary(timing: PairTiming, moments: Sequence[TimedMoment], phases: Sequence[TimedPhase]) -> list[str]:
    notable = [one for one in moments if abs(one.later) >= NOTABLE_SECONDS]
    marked = [one for one in notable if one.source != "difference"] or notable
    longest = sorted(phases, key=lambda one: -abs(one.difference))
    sentences = [one.text for one in marked[:3]]
    sentences += [one.text for one in longest[:2] if abs(one.difference) >= NOTABLE_SECONDS]
    if sentences and (steepest := timing.steepest()):
        sentences.insert(0, steepest)
    return [*_overall(timing), *(sentences or ["No moment differs by more than a frame or so."])]


def _overall(timing: PairTiming) -> list[str]:
    """How long both take, from the first sure moment to the last."""
    names, (begin, end) = timing.names, timing.sure["query"]
    query, match = (timing.sure[side][1] - timing.sure[side][0] for side in timing.start)
    speed = query / match if match else 1.0
    both = f"{names['match']} takes {match:.2f} s for what {names['query']} does in {query:.2f} s"
    found = [both + (f" ({speed:.2f}× the speed)." if abs(speed - 1) >= 0.03 else ": the same speed.")]
    outside = [
        when for when, is_left_out in zip(("before", "after"), timing.is_cut, strict=True) if is_left_out
    ]
    if outside:
        found.append(
            f"Only {begin:.2f}–{end:.2f} s of {names['query']} are compared: {' and '.join(outside)} that, "
            "frames look too much alike to say which belong together."
        )
    return found
