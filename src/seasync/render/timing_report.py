"""The timing of a group for people: CSV, JSON, Markdown, or a page with plots."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean, pstdev

from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write
from seasync.group.clock import Group
from seasync.group.timing import Timing

MOST_RATIOS = 3  # columns
_COLUMNS = (
    "take",
    "kind",
    "name",
    "seconds",
    "frames",
    "percent",
    "to_reference",
    "to_mean",
    "to_reference_frames",
    "to_mean_frames",
    "to_reference_percent",
    "to_mean_percent",
    "given",
)


def write_timing(group: Group, timing: Timing, file: Place) -> None:
    """Write the timing of a group; the ending decides how.

    Parameters
    ----------
    group : Group
    timing : Timing
    file : str or Path
        `.csv` (a row per mark and per phase), `.json`, `.md`, or `.html` (a page with plots).

    Raises
    ------
    RenderError
        If the file has another ending.

    Examples
    --------
    >>> group = seasync.align_group("model.mp4", "pupils/")
    >>> seasync.render.write_timing(group, group.timing("model.csv"), "timing.html")
    """
    from seasync.render.timing_page import timing_page

    path = Location(file)
    writers: dict[str, Callable[[Group, Timing], str]] = {
        ".csv": lambda group, timing: timing_csv(timing),
        ".json": lambda group, timing: json.dumps(group.to_json() | {"timing": timing.to_json()}, indent=2),
        ".md": timing_markdown,
        ".html": timing_page,
    }
    if path.suffix.lower() not in writers:
        raise RenderError(f"{file}: expected a name that ends in {', '.join(writers)}")
    text = writers[path.suffix.lower()](group, timing)
    with atomic_write(path, error=RenderError) as part:
        part.write_text(text, encoding="utf-8")


def timing_csv(timing: Timing) -> str:
    """A row for each mark and each phase of each take."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for mark in timing.marks:
        writer.writerow(
            {
                "take": mark.take,
                "kind": "mark",
                "name": mark.mark,
                "seconds": mark.seconds,
                "frames": mark.frame,
                "to_reference": _text(mark.to_reference),
                "to_mean": _text(mark.to_mean),
                "given": "yes" if mark.given else "no",
            }
        )
    for phase in timing.phases:
        writer.writerow(
            {
                "take": phase.take,
                "kind": "phase",
                "name": phase.phase,
                "seconds": phase.seconds,
                "frames": phase.frames,
                "percent": phase.percent,
                "to_reference": _text(phase.to_reference),
                "to_mean": _text(phase.to_mean),
                "to_reference_frames": phase.to_reference_frames,
                "to_mean_frames": phase.to_mean_frames,
                "to_reference_percent": phase.to_reference_percent,
                "to_mean_percent": phase.to_mean_percent,
            }
        )
    return out.getvalue()


def timing_markdown(group: Group, timing: Timing) -> str:
    """What differs in words, then the durations of all phases."""
    lines = [f"# Timing against {timing.reference}", ""]
    lines += [f"- {sentence}" for sentence in timing.words()] or [
        "No phase differs by more than a frame or two."
    ]
    if timing.phases:
        names = duration_names(timing)
        lines += ["", "| take | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
        lines += ["| " + " | ".join(cells) + " |" for cells in duration_rows(timing)]
    if group.left_out:
        lines += ["", "Not in the group:", ""]
        lines += [f"- {out.clip.name}: {out.reason}" for out in group.left_out]
    return "\n".join(lines) + "\n"


def duration_names(timing: Timing) -> list[str]:
    """The columns of `duration_rows` but the first: the phases; if they are few, also their ratios."""
    return [*timing.phase_names, *(f"{first} : {second}" for first, second in _ratios(timing))]


def _ratios(timing: Timing) -> list[tuple[str, str]]:
    """Phases that follow each other, such as backswing and downswing; none if the table would be too wide."""
    pairs = list(pairwise(timing.phase_names))
    return pairs if len(pairs) <= MOST_RATIOS else []


def duration_rows(timing: Timing) -> list[list[str]]:
    """A row per take: its name, the durations of its phases, and their ratios; last, the mean of all."""
    known = {(phase.take, phase.phase): phase for phase in timing.phases}
    rows = []
    for take in timing.takes:
        cells = [shown_name(timing, take)]
        for name in timing.phase_names:
            phase = known.get((take, name))
            if phase is None:
                cells.append("–")
            elif take == timing.reference or phase.to_reference is None:
                cells.append(f"{phase.seconds:.2f}")
            else:
                cells.append(f"{phase.seconds:.2f} ({phase.to_reference:+.2f})".replace("-0.00", "+0.00"))
        for first, second in _ratios(timing):
            one, other = known.get((take, first)), known.get((take, second))
            is_known = one is not None and other is not None and other.seconds > 0
            cells.append(f"{one.seconds / other.seconds:.1f} : 1" if is_known and one and other else "–")
        rows.append(cells)
    return [*rows, _mean_row(timing)] if len(timing.takes) > 2 else rows


def _mean_row(timing: Timing) -> list[str]:
    """Mean and standard deviation of each phase over all takes, and the mean of each ratio."""
    lasting: dict[str, dict[str, float]] = {}
    for phase in timing.phases:
        lasting.setdefault(phase.phase, {})[phase.take] = phase.seconds
    cells = ["mean ± spread"]
    for name in timing.phase_names:
        seconds = list(lasting[name].values())
        cells.append(f"{fmean(seconds):.2f} ± {pstdev(seconds):.2f}")
    for first, second in _ratios(timing):
        both = [take for take in lasting[first] if lasting[second].get(take, 0.0) > 0]
        ratios = [lasting[first][take] / lasting[second][take] for take in both]
        cells.append(f"{fmean(ratios):.1f} : 1" if ratios else "–")
    return cells


def shown_name(timing: Timing, take: str) -> str:
    """A take's name in tables and plots; the reference is called so."""
    return f"{take} (reference)" if take == timing.reference else take


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
