"""Frame maps as CSV and JSON: which frame of the one clip goes with each frame of the other."""

from __future__ import annotations

import csv
import io
import json

from seasync.align import Alignment
from seasync.options import Side
from seasync.render.plan import clips_of, frames_at, has_partner
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


def csv_text(alignment: Alignment, *, keep: Side = "query") -> str:
    """One line for each frame of the kept clip; the partner's cells are empty where it has none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    other = "match" if keep == "query" else "query"
    writer.writerow([f"{side}_{unit}" for side in (keep, other) for unit in ("frame", "seconds")])
    writer.writerows(frame_map(alignment, keep=keep))
    return out.getvalue()


def json_text(alignment: Alignment, *, keep: Side = "query") -> str:
    """The alignment as `seasync align --json` prints it, and the frame map as `frames`."""
    columns = ("frame", "seconds", "partner_frame", "partner_seconds")
    rows = [dict(zip(columns, row, strict=True)) for row in frame_map(alignment, keep=keep)]
    return json.dumps({**alignment.to_json(), "keep": keep, "frames": rows}, indent=1) + "\n"
