"""Timelines that editing programs open: an alignment as an edit, in each program's own format.

A format is a function `write(alignment, place, *, keep)` that returns the files it wrote. To add one, write
its module, and add its ending to `WRITERS` and to `seasync.options.TimelineFormat`.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from seasync import plugins
from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, Place, write_text
from seasync.group.clock import clips_of, has_partner
from seasync.options import Side
from seasync.render.frames import frames_at
from seasync.render.timelines import edl, fcpxml, mlt, otio, xmeml
from seasync.video import frame_table

Row = tuple[int, float, int | None, float | None]


def known_formats() -> tuple[str, ...]:
    """The endings of all formats, those of installed packages too."""
    return (*WRITERS, *(f".{name}" for name in plugins.names("timelines")))


def export(alignment: Alignment, file: Place, *, keep: Side = "query") -> list[Path | Location]:
    """Write `alignment` as a timeline that shows the other clip on the clock of the kept one.

    All formats but .csv and .json follow the smoothed warp to one frame, in as few pieces of even speed as
    that takes, and say so in the file. Where the alignment is partial, the timeline has gaps.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI. Its ending decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro,
        Resolve), .edl (CMX3600), .mlt (Shotcut, melt), .xml (xmeml, for Premiere), .csv or .json (frame
        by frame).
    keep
        The clip whose clock the timeline has.

    Returns
    -------
    list of Path or Location
        The files written. An .mlt has its sound beside it.

    Raises
    ------
    RenderError
        If the format is unknown, the file cannot be written, or the alignment does not know its files.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> files = seasync.render.export(alignment, "sync.otio")
    """
    place = Location(file)
    suffix = place.suffix.lower()
    if suffix in WRITERS:
        written = WRITERS[suffix](alignment, place, keep=keep)
    elif plugin := plugins.find("timelines", suffix.removeprefix(".")):
        written = plugin.run(lambda write: list(map(Location, write(alignment, place, keep=keep))))
    else:
        raise RenderError(
            f"{file}: no timeline format is named {suffix!r}; expected one of {' '.join(known_formats())}"
        )
    # As callers know them: paths, unless they are at a URI.
    return [each.path if each.is_local else each for each in written]


def write_csv(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    """One line for each frame of the kept clip; the partner's cells are empty where it has none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    other = "match" if keep == "query" else "query"
    writer.writerow([f"{side}_{unit}" for side in (keep, other) for unit in ("frame", "seconds")])
    writer.writerows(frame_map(alignment, keep=keep))
    write_text(place, out.getvalue(), error=RenderError)
    return [place]


def write_json(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    """The alignment as `seasync align --json` prints it, and the frame map as `frames`."""
    columns = ("frame", "seconds", "partner_frame", "partner_seconds")
    rows = [dict(zip(columns, row, strict=True)) for row in frame_map(alignment, keep=keep)]
    text = json.dumps({**alignment.to_json(), "keep": keep, "frames": rows}, indent=1) + "\n"
    write_text(place, text, error=RenderError)
    return [place]


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


WRITERS = {
    ".csv": write_csv,
    ".json": write_json,
    ".otio": otio.write,
    ".fcpxml": fcpxml.write,
    ".edl": edl.write,
    ".mlt": mlt.write,
    ".xml": xmeml.write,
}
"""What writes the files of each ending."""
