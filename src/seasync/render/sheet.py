"""A contact sheet: the query's frames, and below them the frames of each match that are in step with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seasync.align import Alignment
from seasync.files import Place
from seasync.render.films import query_of
from seasync.render.filmstrip import Strip, partners
from seasync.render.page import FAINT, MATCH, QUERY, page
from seasync.render.schedule import clips_of, clock_of

WIDTH, MARGIN, NAMES, GAP = 1600, 40, 190, 8


def contact_sheet(alignments: Sequence[Alignment], file: Place, *, strips: int = 8) -> None:
    """Draw the query and its matches as rows of frames; a column is one moment.

    Parameters
    ----------
    alignments
        Alignments of one query, in the order to show them. Where a match has no partner, its place is
        empty.
    file
        A path or URI: .svg for vectors, else .png, .jpg or .webp.
    strips
        How many frames in a row.

    Examples
    --------
    >>> alignments = [seasync.align("query.mp4", other) for other in ("a.mp4", "b.mp4")]
    >>> seasync.render.contact_sheet(alignments, "sheet.png")
    """
    query = query_of(alignments)
    moments = clock_of(query).seconds
    times = moments[((np.arange(strips) + 0.5) / strips * len(moments)).astype(int)]
    step = (WIDTH - 2 * MARGIN - NAMES) / strips
    width = int(step) - GAP
    rows = [("query", query.name, QUERY, Strip.of(query.file, times.tolist(), width))]
    for number, alignment in enumerate(alignments, 1):
        match = clips_of(alignment, "query")[1]
        strip = Strip.of(match.file, partners(alignment.warp(keep="query"), times), width)
        rows.append((f"{number}   DRAQ {alignment.draq:.3f}", match.name, MATCH, strip))
    sheet = page(WIDTH, 2 * MARGIN + sum(strip.height for *_, strip in rows), file)
    top = MARGIN
    for title, name, color, strip in rows:
        sheet.text((MARGIN, top + strip.tall / 2 - 14), title, size=20, fill=color, anchor="lm", bold=True)
        sheet.text((MARGIN, top + strip.tall / 2 + 14), _short(name), size=14, fill=FAINT, anchor="lm")
        strip.draw(sheet, [MARGIN + NAMES + (at + 0.5) * step for at in range(strips)], top, color)
        top += strip.height
    sheet.save(file)


def _short(name: str, letters: int = 24) -> str:
    return name if len(name) <= letters else f"{name[: letters // 2 - 1]}…{name[-letters // 2 :]}"
