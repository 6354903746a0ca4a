"""Frame maps as JSON."""

from __future__ import annotations

import json

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.frame_map import frame_map


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    """The alignment as `seasync align --json` prints it, and the frame map as `frames`."""
    columns = ("frame", "seconds", "partner_frame", "partner_seconds")
    rows = [dict(zip(columns, row, strict=True)) for row in frame_map(alignment, keep=keep)]
    text = json.dumps({**alignment.to_json(), "keep": keep, "frames": rows}, indent=1) + "\n"
    write_text(place, text, error=RenderError)
    return [place]
