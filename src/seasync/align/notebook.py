"""How an alignment shows itself in a notebook: its verdict and its path, as one small picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seasync.align.alignment import Alignment

SIZE, MARGIN = 260, 34


def alignment_html(alignment: Alignment) -> str:
    """The verdict, and the path over the seconds of both clips."""
    names = [
        clip.name if clip else name for clip, name in ((alignment.query, "query"), (alignment.match, "match"))
    ]
    times = alignment.query_seconds, alignment.match_seconds
    ends = [(float(seconds[0]), float(seconds[-1])) for seconds in times]

    def place(seconds: float, side: int) -> float:
        first, last = ends[side]
        share = (seconds - first) / max(last - first, 1e-9)
        return MARGIN + (SIZE - MARGIN) * share if side == 0 else (SIZE - MARGIN) * (1 - share)

    lines = []
    for piece in alignment.pieces:
        cells = alignment.path[piece.start : piece.stop].tolist()
        points = " ".join(f"{place(times[0][i], 0):.1f},{place(times[1][j], 1):.1f}" for i, j in cells)
        lines.append(f'<polyline points="{points}" fill="none" stroke="#3366cc" stroke-width="2"/>')
    middle, side = (SIZE + MARGIN) / 2, SIZE - MARGIN
    axes = (
        f'<text x="{middle}" y="{SIZE - 6}" text-anchor="middle">{escape(names[0])}, seconds</text>'
        f'<text transform="rotate(-90)" x="{-side / 2}" y="12" text-anchor="middle">'
        f"{escape(names[1])}, seconds</text>"
        f'<rect x="{MARGIN}" y="0" width="{side}" height="{side}" fill="none" stroke="#8888"/>'
    )
    picture = (
        f'<svg width="{SIZE + 10}" height="{SIZE}" font-size="11" fill="currentColor" role="img" '
        f'aria-label="Alignment path">{axes}{"".join(lines)}</svg>'
    )
    return f"<p>{escape(alignment.summary)}</p>{picture}"
