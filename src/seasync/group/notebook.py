"""How notebooks show a group: its tempo as a picture, its takes as a table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from seasync.encoding import Seconds

if TYPE_CHECKING:
    from seasync.group.clock import Group

WIDTH, HEIGHT, MARGIN = 420, 130, 8
SLOWEST, FASTEST = 0.4, 2.5  # beyond, a curve leaves the picture


def group_html(group: Group) -> str:
    """The tempo of all takes with its mean, a table of the takes, and who was left out."""
    rows = "".join(
        f"<tr><td>{escape(take.clip.name)}</td><td>{take.alignment.draq:.3f}</td>"
        f"<td>{distance:.2f} s</td></tr>"
        for take, distance in group.outliers()
    )
    left_out = "".join(f"<li>{escape(out.clip.name)}: {escape(out.reason)}</li>" for out in group.left_out)
    return (
        f"<p>{len(group.takes)} takes on the clock of <b>{escape(group.reference.name)}</b></p>"
        f"{_tempo_picture(group)}"
        f"<table><tr><th>take</th><th>DRAQ</th><th>distance from the group</th></tr>{rows}</table>"
        + (f"<p>Not in the group:</p><ul>{left_out}</ul>" if left_out else "")
    )


def _tempo_picture(group: Group) -> str:
    """Tempo beside the reference over its time: each take thin, the mean thick, the same tempo dashed."""
    across = MARGIN + (WIDTH - 2 * MARGIN) * group.percent / 100

    def curve(tempo: Seconds, style: str) -> str:
        known = np.isfinite(tempo)
        share = np.log(np.clip(tempo[known], SLOWEST, FASTEST) / SLOWEST) / np.log(FASTEST / SLOWEST)
        up = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * share
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across[known], up, strict=True))
        return f'<polyline fill="none" {style} points="{points}"/>'

    parts = [curve(np.ones(len(across)), 'stroke="#888" stroke-dasharray="4 4"')]
    parts += [curve(row, 'stroke="#3366cc" stroke-opacity="0.3"') for row in group.tempo]
    parts.append(curve(group.tempo_mean, 'stroke="#e8441f" stroke-width="2.5"'))
    label = "Tempo beside the reference; above the dashed line, takes are faster"
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}"><title>{label}</title>'
        f"{''.join(parts)}</svg>"
    )
