"""The compare report: where and by how much the timing of two videos differs, in words and numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from seasync.options import Side
from seasync.serve.models import Mark, Report, Tempo, TimedMoment, TimedPhase

if TYPE_CHECKING:
    from seasync.align import Alignment, Warp

MOST_DIFFERENCES = 5  # moments without a mark
NOTABLE_SECONDS = 0.04  # a frame or so: smaller differences are not worth a sentence
TEMPO_STEP = 1 / 15  # seconds between two values of the tempo curve
FASTEST = 8.0  # the match skips this part of the movement
TEMPO_REACH = 0.2  # seconds to both sides over which a speed is measured


def compare_timing(
    alignment: Alignment, marks: Mapping[Side, Sequence[Mark]], names: Mapping[Side, str]
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

    Returns
    -------
    Report
        Moments with the largest difference first, phases in order of time, and the tempo curve.
    """
    timing = _Timing(alignment, names)
    marked = [timing.moment(*one) for one in _carried(alignment, marks)]
    phase_names = {mark.name for side in marks for mark in marks[side] if mark.kind == "phase"}
    phases = timing.phases(marked, phase_names)
    moments = sorted([*marked, *timing.differences()], key=lambda one: -abs(one.later))
    return Report(
        names=dict(names),
        summary=_summary(timing, moments, phases),
        start=timing.start,
        seconds=timing.seconds,
        moments=moments,
        phases=phases,
        tempo=timing.tempo(),
    )


def report_csv(report: Report) -> str:
    """The report as a table: moments, then phases."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["kind", "name", "query_seconds", "match_seconds", "match_later_seconds", "source"])
    for one in report.moments:
        values = (f"{value:.3f}" for value in (one.query, one.match, one.later))
        writer.writerow(["moment", one.name, *values, one.source])
    for phase in report.phases:
        values = (f"{value:.3f}" for value in (*phase.seconds.values(), phase.difference))
        writer.writerow(["phase duration", phase.name, *values, ""])
    return out.getvalue()


class _Timing:
    """Times of both videos since the start of what both show."""

    def __init__(self, alignment: Alignment, names: Mapping[Side, str]) -> None:
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

    def later(self, query: float, match: float) -> float:
        """How much later, since the common start, the match is."""
        return (match - self.start["match"]) - (query - self.start["query"])

    def moment(self, name: str, source: str, query: float, match: float) -> TimedMoment:
        later = self.later(query, match)
        how = f"{self.names['match']} is {_apart(later)}"
        return TimedMoment(
            name=name,
            source=source,  # type: ignore[arg-type]
            query=round(query, 4),
            match=round(match, 4),
            later=round(later, 4),
            text=f"{name}, {how}." if source == "difference" else f"{how} at {name}.",
        )

    def differences(self) -> list[TimedMoment]:
        """The moments at which the difference is largest, away from each other."""
        times = self._times()
        later = np.array([self.later(time, self.warp.at(float(time))) for time in times])
        apart = max(0.25, self.seconds["query"] / 8)
        found: list[TimedMoment] = []
        for n in np.argsort(-np.abs(later), kind="stable").tolist():
            query = float(times[n])
            if abs(later[n]) < NOTABLE_SECONDS or len(found) == MOST_DIFFERENCES:
                break
            if all(abs(query - one.query) > apart for one in found):
                name = f"{query - self.start['query']:.2f} s after the start"
                found.append(self.moment(name, "difference", query, self.warp.at(query)))
        return found

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
            found.append(self._phase(name, (one.query, end[0]), (one.match, end[1])))
        return found

    def _phase(self, name: str, query: tuple[float, float], match: tuple[float, float]) -> TimedPhase:
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
            text=f"{takes}{than}.",
        )

    def tempo(self) -> list[Tempo]:
        found = []
        for start, end in self.warp.spans:
            reach = min(TEMPO_REACH, (end - start) / 4)
            for time in np.arange(start, end, TEMPO_STEP).tolist():
                middle = min(max(time, start + reach), end - reach)
                seconds = self.warp.at(middle + reach) - self.warp.at(middle - reach)
                speed = 2 * reach / seconds if seconds > 0 else FASTEST
                found.append(Tempo(query=round(time, 4), speed=round(min(speed, FASTEST), 4)))
        return found

    def _times(self) -> np.ndarray:
        parts = [np.arange(start, end, TEMPO_STEP) for start, end in self.warp.spans]
        return np.concatenate(parts)


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


def _summary(timing: _Timing, moments: Sequence[TimedMoment], phases: Sequence[TimedPhase]) -> list[str]:
    query, match = timing.seconds["query"], timing.seconds["match"]
    speed = query / match if match else 1.0
    names = timing.names
    both = f"{names['match']} takes {match:.2f} s for what {names['query']} does in {query:.2f} s"
    overall = both + (f" ({speed:.2f}× the speed)." if abs(speed - 1) >= 0.03 else ": the same speed.")
    notable = [one for one in moments if abs(one.later) >= NOTABLE_SECONDS]
    marked = [one for one in notable if one.source != "difference"] or notable
    longest = sorted(phases, key=lambda one: -abs(one.difference))
    sentences = [one.text for one in marked[:3]]
    sentences += [one.text for one in longest[:2] if abs(one.difference) >= NOTABLE_SECONDS]
    return [overall, *(sentences or ["No moment differs by more than a frame or so."])]


def _apart(later: float) -> str:
    if abs(later) < NOTABLE_SECONDS:
        return "in time"
    return f"{abs(later):.2f} s {'later' if later > 0 else 'earlier'}"


def _name_at(moments: Sequence[TimedMoment], query: float) -> str:
    return next(one.name for one in moments if one.query == query)
