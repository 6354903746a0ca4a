"""The compare report: where and by how much the timing of two videos differs, in words and numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from seasync.options import Side
from seasync.serve.models import Mark, Report, TimedMoment, TimedPhase
from seasync.serve.pair_timing import NOTABLE_SECONDS, PairTiming

if TYPE_CHECKING:
    from seasync.align import Alignment

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
