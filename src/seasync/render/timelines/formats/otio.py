"""OpenTimelineIO: a LinearTimeWarp for each piece, a FreezeFrame where the source holds.

The format is JSON, and written as such: the library of that name has no wheel for Python 3.14. Tests read the
files with the library.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.edit import Edit, Event, Media, edit_of
from seasync.render.timelines.rate import STANDARD

Node = dict[str, Any]
"""An object of the format; its `OTIO_SCHEMA` says which."""


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    write_text(place, otio_text(edit_of(alignment, keep=keep)), error=RenderError)
    return [place]


def otio_text(edit: Edit) -> str:
    """The edit as an OTIO timeline: the kept clip on the lower track, the retimed one above it."""
    kept = clip(edit.kept, span(edit.kept_start, edit.frames / edit.rate, edit.rate), edit.rate)
    retimed = track_items(edit.media, edit.events, edit.rate, frames=edit.frames)
    tracks = [
        _item("Track.1", name, kind="Video", children=children)
        for name, children in (("kept", [kept]), ("retimed", retimed))
    ]
    timeline = {
        "OTIO_SCHEMA": "Timeline.1",
        "name": edit.name,
        "metadata": {"seasync": {"note": edit.note, "error_frames": edit.error_frames}},
        "global_start_time": rational(Fraction(0), edit.rate),
        "tracks": _item("Stack.1", "tracks", children=tracks),
    }
    return json.dumps(timeline, indent=4) + "\n"


def track_items(media: Media, events: tuple[Event, ...], rate: Fraction, *, frames: int) -> list[Node]:
    """Clips (and gaps where no event is) that fill `frames` frames of a track at `rate`."""
    items: list[Node] = []
    now = 0
    for event in (*events, None):
        until = frames if event is None else event.start
        if until > now:
            items.append(_item("Gap.1", "", span(Fraction(0), (until - now) / rate, rate)))
        if event is None:
            break
        # In OTIO a clip's source range starts at its first frame and lasts as long as it does on the track.
        shown = span(event.source_start, event.frames / rate, media_rate(media, rate))
        items.append(clip(media, shown, rate))
        if event.is_hold:
            items[-1]["effects"].append(_time_effect("FreezeFrame", "", Fraction(0)))
        elif (speed := event.speed(rate)) != 1:
            items[-1]["effects"].append(_time_effect("LinearTimeWarp", "retime", speed))
        now = event.end
    return items


def clip(media: Media, shown: Node, rate: Fraction) -> Node:
    """A clip that shows a range of `media` in a timeline at `rate`."""
    reference = {
        "OTIO_SCHEMA": "ExternalReference.1",
        "name": "",
        "metadata": {},
        "available_range": span(Fraction(0), media.seconds, media_rate(media, rate)),
        "available_image_bounds": None,
        "target_url": media.uri,
    }
    references = {"DEFAULT_MEDIA": reference}
    return _item(
        "Clip.2", media.name, shown, media_references=references, active_media_reference_key="DEFAULT_MEDIA"
    )


def media_rate(media: Media, rate: Fraction) -> Fraction:
    """The rate to count `media` in: its own, if that is a standard one, else the timeline's."""
    return media.fps if media.fps in STANDARD else rate


def span(start: Fraction, seconds: Fraction, rate: Fraction) -> Node:
    return {
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": rational(start, rate),
        "duration": rational(seconds, rate),
    }


def rational(seconds: Fraction, rate: Fraction) -> Node:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": float(rate), "value": float(seconds * rate)}


def _item(schema: str, name: str, source_range: Node | None = None, **more: Any) -> Node:
    common: Node = {
        "metadata": {},
        "source_range": source_range,
        "effects": [],
        "markers": [],
        "enabled": True,
    }
    return {"OTIO_SCHEMA": schema, "name": name, **common, **more}


def _time_effect(kind: str, name: str, speed: Fraction) -> Node:
    return {
        "OTIO_SCHEMA": f"{kind}.1",
        "name": name,
        "metadata": {},
        "effect_name": kind,
        "enabled": True,
        "time_scalar": float(speed),
    }
