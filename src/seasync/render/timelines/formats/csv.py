"""Frame maps as CSV."""

from __future__ import annotations

import csv
import io

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.frame_map import frame_map


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    """One line for each frame of the kept clip; the partner's cells are empty where it has none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    other = "match" if keep == "query" else "query"
    writer.writerow([f"{side}_{unit}" for side in (keep, other) for unit in ("frame", "seconds")])
    writer.writerows(frame_map(alignment, keep=keep))
    write_text(place, out.getvalue(), error=RenderError)
    return [place]
