"""Frame maps: which frame of the one clip goes with each frame of the other."""

from __future__ import annotations

from seasync.alignment import Alignment
from seasync.options import Side
from seasync.render.frames import clips_of, frames_at, has_partner
from seasync.video import frame_table

Row = tuple[int, float, int | None, float | None]


def frame_map(alignment: Alignment, *, keep: Side = "query") -> list[Row]:
    """For each frame of the kept clip its number and seconds, and its partner's; None where it has none.

    Numbers and seconds count from the beginning of the files, numbers from 0.
    """
    kept, other = clips_of(alignment, keep)
    table, others = frame_table(kept.file), frame_table(other.file)
    warp = alignment.warp(keep=keep)
    numbers = table.shown(kept.start, kept.end)
    times = table.seconds[numbers.start : numbers.stop]
    partners, known = frames_at(others, warp.at(times)), has_partner(warp, times)
    rows: list[Row] = []
    for number, time, partner, is_known in zip(numbers, times.tolist(), partners, known, strict=True):
        found = (int(partner), round(float(others.seconds[partner]), 6)) if is_known else (None, None)
        rows.append((number, round(time, 6), *found))
    return rows
