"""Timelines that editing programs open: an alignment as an edit, in each program's own format."""

from __future__ import annotations

from pathlib import Path

from seasync.align import Alignment
from seasync.errors import RenderError
from seasync.files import Location, Place, write_text
from seasync.options import Side, TimelineFormat, suffixes
from seasync.render.timelines.edit import edit_of
from seasync.render.timelines.edl import edl_text
from seasync.render.timelines.fcpxml import fcpxml_text
from seasync.render.timelines.mlt import mlt_text
from seasync.render.timelines.otio import otio_text
from seasync.render.timelines.table import csv_text, json_text
from seasync.render.timelines.xmeml import xmeml_text

FORMATS = suffixes(TimelineFormat)


def export(alignment: Alignment, file: Place, *, keep: Side = "query") -> list[Path | Location]:
    """Write `alignment` as a timeline that shows the other clip on the clock of the kept one.

    The name decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro, Resolve), .edl (CMX3600),
    .mlt (Kdenlive, Shotcut), .xml (xmeml, for Premiere), .csv or .json (frame by frame). Where the alignment
    is partial, the timeline has gaps. All but the last two follow the smoothed warp to one frame in as few
    pieces as that takes, and say so in the file. Gives the files written: an .mlt has its sound beside it.
    """
    place = Location(file)
    suffix = place.suffix.lower()
    if suffix in (".csv", ".json"):
        text = csv_text(alignment, keep=keep) if suffix == ".csv" else json_text(alignment, keep=keep)
    elif suffix == ".edl":
        text = edl_text(edit_of(alignment, keep=keep, source_rate="timeline"))
    elif suffix == ".xml":
        text = xmeml_text(edit_of(alignment, keep=keep))
    elif suffix == ".mlt":
        return _mlt(alignment, place, keep)
    elif suffix in (".otio", ".fcpxml"):
        edit = edit_of(alignment, keep=keep)
        text = otio_text(edit) if suffix == ".otio" else fcpxml_text(edit)
    else:
        raise RenderError(
            f"{file}: no timeline format is named {suffix!r}; expected one of {' '.join(FORMATS)}"
        )
    write_text(place, text, error=RenderError)
    return [_written(place)]


def _mlt(alignment: Alignment, place: Location, keep: Side) -> list[Path | Location]:
    from seasync.render.soundtrack import write_sound

    sound = place.with_suffix(".wav")
    if sound.is_local:
        sound = Location(sound.path.resolve())
    other: Side = "match" if keep == "query" else "query"
    has_sound = write_sound(alignment, sound, keep=keep, audio=other)
    edit = edit_of(alignment, keep=keep)
    write_text(place, mlt_text(edit, sound=sound if has_sound else None), error=RenderError)
    return [_written(each) for each in (place, sound)[: 1 + has_sound]]


def _written(place: Location) -> Path | Location:
    """As callers know it: a path, unless it is at a URI."""
    return place.path if place.is_local else place
