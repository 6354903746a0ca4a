"""Frame maps as CSV and JSON: which frame of the one clip goes with each frame of the other."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

from seasync.align import Alignment
from seasync.align.alignment import Side


def frame_map(
    alignment: Alignment, *, keep: Side = "query"
) -> list[tuple[int, float, int | None, float | None]]:
    """For each frame of the kept clip: its number and seconds, its partner's; None where it was left out.

    Frame numbers are the files', 0-based. The alignment knows them at its samples; between two samples they
    are interpolated, which is exact for a constant frame rate.
    """
    sides = [
        (alignment.query_frames, alignment.query_seconds),
        (alignment.match_frames, alignment.match_seconds),
    ]
    (frames, seconds), (partner_frames, partner_seconds) = sides if keep == "query" else sides[::-1]
    numbers = np.arange(int(frames[0]), int(frames[-1]) + 1)
    times = np.interp(numbers, frames, seconds)
    warp = alignment.warp(keep=keep)
    covered, partners = warp.covers(times), warp.at(times)
    partner_numbers = np.rint(np.interp(partners, partner_seconds, partner_frames)).astype(int)
    rows: list[tuple[int, float, int | None, float | None]] = []
    for number, time, known, partner, partner_time in zip(
        numbers.tolist(),
        times.tolist(),
        covered.tolist(),
        partner_numbers.tolist(),
        partners.tolist(),
        strict=True,
    ):
        rows.append((number, round(time, 6), *((partner, round(partner_time, 6)) if known else (None, None))))
    return rows


def csv_text(alignment: Alignment, *, keep: Side = "query") -> str:
    """One line for each frame of the kept clip; the partner's cells are empty where it has none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    partner = "match" if keep == "query" else "query"
    writer.writerow([f"{keep}_frame", f"{keep}_seconds", f"{partner}_frame", f"{partner}_seconds"])
    writer.writerows(frame_map(alignment, keep=keep))
    return out.getvalue()


def json_text(alignment: Alignment, *, keep: Side = "query") -> str:
    """The alignment as `seasync align --json` prints it, and `"frames"`: the frame map."""
    columns = ("frame", "seconds", "partner_frame", "partner_seconds")
    rows = [dict(zip(columns, row, strict=True)) for row in frame_map(alignment, keep=keep)]
    return json.dumps({**alignment.to_json(), "keep": keep, "frames": rows}, indent=1) + "\n"
