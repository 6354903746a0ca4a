"""The timing of a group as one HTML page with plots, which needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from seasync.encoding import Seconds
from seasync.group.clock import Group
from seasync.group.timing import Timing, take_name
from seasync.render.timing_report import duration_rows

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 50, 24, 15, 25  # margins of a plot
COLORS = ("#3366cc", "#dc8a20", "#2a9d6f", "#b5449c", "#c0392b", "#7a6ff0", "#8a8d1f", "#1f9bb0")


def timing_page(group: Group, timing: Timing) -> str:
    """One HTML file that needs nothing else: words, phase bars with outliers first, tempo, distances."""
    words = "".join(f"<li>{escape(sentence)}</li>" for sentence in timing.words())
    left_out = "".join(f"<li>{escape(out.clip.name)}: {escape(out.reason)}</li>" for out in group.left_out)
    farthest = [take_name(take.clip) for take, _ in group.outliers()]
    sections = [
        _section(
            "In words",
            f"<ul>{words}</ul>" if words else "<p>No phase differs by more than a frame or two.</p>",
        ),
        _section("Phases, the most unusual take first", _phase_bars(timing, [timing.reference, *farthest])),
        _section("Durations in seconds", _table(timing)),
        _section("Tempo, with its spread over the takes", _tempo_plot(group)),
        _section("Ahead of the group, or behind it", _ahead_plot(group, farthest)),
        _section("Not in the group", f"<ul>{left_out}</ul>") if left_out else "",
    ]
    title = f"Timing against {escape(timing.reference)}"
    takes = "1 take" if len(group.takes) == 1 else f"{len(group.takes)} takes"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_CSS}</style></head>'
        f"<body><main><h1>{title}</h1><p>{takes} on the clock of {escape(timing.reference)}.</p>"
        f"{''.join(sections)}</main></body></html>"
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _table(timing: Timing) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("take", *timing.phase_names))
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
    longest = max(
        sum(phase.seconds for phase in timing.phases if phase.take == take) for take in timing.takes
    )
    rows, line = [], 26
    for n, take in enumerate(name for name in order if name in timing.takes):
        left = 170.0
        rows.append(f'<text x="160" y="{n * line + 17}" text-anchor="end">{escape(take)}</text>')
        for phase in timing.phases:
            if phase.take == take:
                width = (WIDTH - 180) * phase.seconds / max(longest, 1e-9)
                title = f"{phase.phase}: {phase.seconds:.2f} s, {phase.percent:.0f} %"
                rows.append(
                    f'<rect x="{left:.1f}" y="{n * line + 3}" width="{max(width, 0):.1f}" height="20" '
                    f'fill="{color[phase.phase]}"><title>{escape(title)}</title></rect>'
                )
                left += width
    legend = "".join(
        f'<span><i style="background:{shade}"></i>{escape(name)}</span>' for name, shade in color.items()
    )
    height = line * len(timing.takes) + 6
    return f'<p class="legend">{legend}</p>' + _svg(height, "Duration of each phase in each take", rows)


def _tempo_plot(group: Group) -> str:
    mean, factor = group.tempo_mean, group.tempo_spread
    return _plot(
        group.percent,
        [("mean of the takes", COLORS[0], mean)],
        label="Tempo beside the reference; 1 is the same",
        band=(mean / factor, mean * factor),
        level=1.0,
    )


def _ahead_plot(group: Group, farthest: Sequence[str]) -> str:
    rows = {take_name(take.clip): row for take, row in zip(group.takes, group.ahead, strict=True)}
    lines = [(name, COLORS[n % len(COLORS)], rows[name]) for n, name in enumerate(farthest[: len(COLORS)])]
    return _plot(group.percent, lines, label="Seconds ahead of the group", level=0.0)


def _plot(
    x: Seconds,
    lines: Sequence[tuple[str, str, Seconds]],
    *,
    label: str,
    level: float,
    band: tuple[Seconds, Seconds] | None = None,
) -> str:
    values = np.concatenate([*(line for _, _, line in lines), *(band or ()), np.array([level])])
    values = values[np.isfinite(values)]
    low, high = float(values.min()), float(values.max())
    margin = max((high - low) * 0.08, 0.02)
    low, high = low - margin, high + margin

    def across(percent: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * percent / 100

    def up(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)

    def points(at: Seconds, values: Seconds) -> str:
        return " ".join(
            f"{across(a):.1f},{up(v):.1f}" for a, v in zip(at.tolist(), values.tolist(), strict=True)
        )

    parts = [
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(level):.1f}" y2="{up(level):.1f}"/>'
    ]
    if band is not None:
        known = np.isfinite(band[0]) & np.isfinite(band[1])
        outline = points(x[known], band[1][known]) + " " + points(x[known][::-1], band[0][known][::-1])
        parts.append(f'<polygon class="band" points="{outline}"/>')
    for name, color, line in lines:
        known = np.isfinite(line)
        course = f'points="{points(x[known], line[known])}"'
        parts.append(f'<polyline stroke="{color}" {course}><title>{escape(name)}</title></polyline>')
    parts += [
        f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>'
        for value in (low + margin, level, high - margin)
    ]
    parts += [
        f'<text x="{across(at):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{at} %</text>'
        for at in (0, 25, 50, 75, 100)
    ]
    legend = "".join(
        f'<span><i style="background:{color}"></i>{escape(name)}</span>' for name, color, _ in lines
    )
    return f'<p>{escape(label)}.</p><p class="legend">{legend}</p>' + _svg(HEIGHT, label, parts)


def _svg(height: int, label: str, parts: Sequence[str]) -> str:
    opening = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return opening + "".join(parts) + "</svg>"


_CSS = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 }
main { max-width: 820px; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.15rem; margin-top: 2rem }
svg { width: 100%; height: auto }
svg text { font-size: 12px; fill: currentColor }
polyline { fill: none; stroke-width: 2 }
.axis { stroke: currentColor; opacity: .4 }
.band { fill: #3366cc; opacity: .18 }
.legend span { margin-right: 1rem; white-space: nowrap }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; border-radius: 2px }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem }
td, th { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8884 }
td:first-child, th:first-child { text-align: left }
"""
