"""The timing of a group for people: CSV, JSON, Markdown, or a page with plots."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from html import escape
from importlib import resources
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from seasync.encoding import Seconds
from seasync.errors import RenderError
from seasync.files import Location, Place, write_text
from seasync.group.clock import Group, while_moving
from seasync.group.timing import PhaseTime, Timing
from seasync.marks import csv_text, take_name
from seasync.svg import Svg

MOST_RATIOS = 3  # columns
NOTHING_DIFFERS = "No phase differs by more than a frame or two."
# Those of a phase, but for its take and name; marks have some of them.
_COLUMNS = ("take", "kind", "name", *(each.name for each in fields(PhaseTime)[2:]), "given")


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

    path = Location(file)
    writers: dict[str, Callable[[Group, Timing], str]] = {
        ".csv": lambda group, timing: timing_csv(timing),
        ".json": lambda group, timing: json.dumps(group.to_json() | {"timing": timing.to_json()}, indent=2),
        ".md": timing_markdown,
        ".html": timing_page,
    }
    if path.suffix.lower() not in writers:
        raise RenderError(f"{file}: expected a name that ends in {', '.join(writers)}")
    write_text(path, writers[path.suffix.lower()](group, timing), error=RenderError)


def timing_csv(timing: Timing) -> str:
    """A row for each mark and each phase of each take."""
    rows = []
    exact = ("to_reference", "to_mean")
    for kind, found in (("mark", timing.marks), ("phase", timing.phases)):
        for one in found:
            row = vars(one) | {name: _text(getattr(one, name)) for name in exact}
            row |= {"kind": kind, "name": row.pop(kind)}
            if kind == "mark":
                row |= {"frames": row.pop("frame"), "given": "yes" if row["given"] else "no"}
            rows.append([row.get(name) for name in _COLUMNS])
    return csv_text(_COLUMNS, rows)


def timing_markdown(group: Group, timing: Timing) -> str:
    """What differs in words, then the durations of all phases."""
    lines = [f"# Timing against {timing.reference}", ""]
    lines += [f"- {sentence}" for sentence in timing.words()] or [NOTHING_DIFFERS]
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
            cells.append("–" if phase is None else f"{phase.seconds:.2f}")
            if phase is not None and take != timing.reference and phase.to_reference is not None:
                cells[-1] += f" ({phase.to_reference:+.2f})".replace("-0.00", "+0.00")
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


# The timing of a group as one HTML page with plots, which needs nothing else.


WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 50, 24, 18, 25  # margins of a plot
MOST_WORDS = 12  # sentences
WIDEST_NUMBER = 44  # narrower phases are drawn without their seconds
FASTEST = 4.0  # tempo beyond this is drawn at the edge
COLORS = ("#3366cc", "#dc8a20", "#2a9d6f", "#b5449c", "#c0392b", "#7a6ff0", "#8a8d1f", "#1f9bb0")


def timing_page(group: Group, timing: Timing) -> str:
    """One HTML file that needs nothing else: words, phase bars with outliers first, tempo, distances."""
    said = timing.words()
    words = "".join(f"<li>{escape(sentence)}</li>" for sentence in said[:MOST_WORDS])
    if len(said) > MOST_WORDS:
        words += f"<li>and {len(said) - MOST_WORDS} smaller differences: see the table</li>"
    left_out = "".join(f"<li>{escape(out.clip.name)}: {escape(out.reason)}</li>" for out in group.left_out)
    farthest = [take_name(take.clip) for take, _ in group.outliers()]
    sections = [
        _section("In words", f"<ul>{words}</ul>" if words else f"<p>{NOTHING_DIFFERS}</p>"),
        _section("Phases, the most unusual take first", _phase_bars(timing, [timing.reference, *farthest])),
        _section("Durations in seconds", _table(timing)),
        _section("Tempo, with its spread over the takes", _tempo_plot(group, timing)),
        _section("Ahead of the group, or behind it", _ahead_plot(group, timing, farthest)),
        _section("Not in the group", f"<ul>{left_out}</ul>") if left_out else "",
    ]
    title = f"Timing against {escape(timing.reference)}"
    style = resources.files("seasync.render").joinpath("timing.css").read_text("utf-8")
    takes = "1 take" if len(group.takes) == 1 else f"{len(group.takes)} takes"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body><main><h1>{title}</h1><p>{takes} on the clock of {escape(timing.reference)}.</p>"
        f"{''.join(sections)}</main></body></html>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _table(timing: Timing) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("take", *duration_names(timing)))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in duration_rows(timing)
    )
    return f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _phase_bars(timing: Timing, order: Sequence[str]) -> str:
    """A bar per take, its phases in a row, on one scale."""
    if not timing.phases:
        return "<p>Phases need at least two marks.</p>"
    color = {name: COLORS[n % len(COLORS)] for n, name in enumerate(timing.phase_names)}
    rows = {take: [phase for phase in timing.phases if phase.take == take] for take in timing.takes}
    longest = max(sum(phase.seconds for phase in row) for row in rows.values())
    line = 26
    picture = Svg(WIDTH, line * len(timing.takes) + 6, label="Duration of each phase in each take")
    for n, take in enumerate(name for name in order if name in rows):
        left = 170.0
        picture.add("text", shown_name(timing, take), x=160, y=n * line + 17, text_anchor="end")
        for phase in rows[take]:
            width = (WIDTH - 180) * phase.seconds / max(longest, 1e-9)
            title = f"{phase.phase}: {phase.seconds:.2f} s, {phase.percent:.0f} %"
            box = {"x": left, "y": n * line + 3, "width": max(width, 0.0), "height": 20}
            picture.add("rect", title=title, fill=color[phase.phase], **box)
            if width > WIDEST_NUMBER:
                middle = left + width / 2
                picture.add("text", f"{phase.seconds:.2f} s", class_="inside", x=middle, y=n * line + 17)
            left += width
    return f"{_legend(color)}{picture}"


def _legend(colors: Mapping[str, str]) -> str:
    shown = (
        f'<span><i style="background:{color}"></i>{escape(name)}</span>' for name, color in colors.items()
    )
    return f'<p class="legend">{"".join(shown)}</p>'


def _tempo_plot(group: Group, timing: Timing) -> str:
    """On a scale of ratios: half as fast is as far from the same tempo as twice as fast."""
    mean, spread = while_moving(group, np.log2(group.tempo_mean)), np.log2(group.tempo_spread)
    limit = np.log2(FASTEST)
    return _plot(
        group.percent,
        [("mean of the takes", COLORS[0], np.clip(mean, -limit, limit))],
        label="Tempo beside the reference, while the movement lasts: 2× is twice as fast",
        band=(np.clip(mean - spread, -limit, limit), np.clip(mean + spread, -limit, limit)),
        levels={float(np.log2(tempo)): f"{tempo:g}×" for tempo in (0.25, 0.5, 1, 2, 4)},
        marks=_marks_at(group, timing),
    )


def _ahead_plot(group: Group, timing: Timing, farthest: Sequence[str]) -> str:
    """While something moves: where all stand still, who is ahead means nothing."""
    ahead = while_moving(group, group.ahead)
    rows = {take_name(take.clip): row for take, row in zip(group.takes, ahead, strict=True)}
    lines = [(name, COLORS[n % len(COLORS)], rows[name]) for n, name in enumerate(farthest[: len(COLORS)])]
    return _plot(
        group.percent,
        lines,
        label="Seconds ahead of the group, while the movement lasts",
        levels={0.0: "0"},
        marks=_marks_at(group, timing),
    )


def _marks_at(group: Group, timing: Timing) -> dict[str, float]:
    """Where the reference's marks are, in percent of its time."""
    own = {mark.mark: mark.seconds for mark in timing.marks if mark.take == timing.reference}
    return {name: float(np.interp(at, group.seconds, group.percent)) for name, at in own.items()}


def _plot(
    x: Seconds,
    lines: Sequence[tuple[str, str, Seconds]],
    *,
    label: str,
    levels: Mapping[float, str],
    marks: Mapping[str, float],
    band: tuple[Seconds, Seconds] | None = None,
) -> str:
    values = np.concatenate([*(line for _, _, line in lines), *(band or ()), np.zeros(1)])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) * 0.08, 0.02)
    low, high = low - margin, high + margin

    def across(percent: Any) -> Any:
        return LEFT + (WIDTH - LEFT - RIGHT) * percent / 100

    def up(value: Any) -> Any:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    ticks = {low + margin: f"{low + margin:.2f} s", high - margin: f"{high - margin:.2f} s", **levels}
    ticks = ticks if len(levels) == 1 else {at: text for at, text in levels.items() if low <= at <= high}
    picture = Svg(WIDTH, HEIGHT, label=label)
    for at in (at for at in levels if low <= at <= high):
        kind, y = "axis" if at == 0 else "level", up(at)
        picture.add("line", class_=kind, x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y)
    written = -np.inf  # where the last name ends: names that would lie over each other are left out
    for name, at in marks.items():
        place, half = across(at), 3.5 * len(name)
        picture.add("line", title=name, class_="level", x1=place, x2=place, y1=TOP, y2=HEIGHT - BOTTOM)
        if place - half > written:
            picture.add("text", name, x=place, y=TOP - 4, text_anchor="middle")
            written = place + half
    if band is not None:
        known = np.isfinite(band[0]) & np.isfinite(band[1])
        there, back = x[known], x[known][::-1]
        outline = np.concatenate([band[1][known], band[0][known][::-1]])
        picture.line(across(np.concatenate([there, back])), up(outline), "polygon", class_="band")
    for name, color, line in lines:
        picture.line(across(x), up(line), title=name, stroke=color)
    for at, text in ticks.items():
        picture.add("text", text, x=LEFT - 6, y=up(at) + 4, text_anchor="end")
    for at in (0, 25, 50, 75, 100):
        picture.add("text", f"{at} %", x=across(at), y=HEIGHT - 6, text_anchor="middle")
    legend = _legend({name: color for name, color, _ in lines})
    return f"<p>{escape(label)}.</p>{legend}{picture}"
