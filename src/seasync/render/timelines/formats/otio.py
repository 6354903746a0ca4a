"""OpenTimelineIO: a LinearTimeWarp for each piece, a FreezeFrame where the source holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from seasync.align import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.edit import Edit, Event, Media, edit_of
from seasync.render.timelines.rate import STANDARD


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    write_text(place, otio_text(edit_of(alignment, keep=keep)), error=RenderError)
    return [place]


def otio_text(edit: Edit) -> str:
    """The edit as an OTIO timeline: the kept clip on the lower track, the retimed one above it."""
    import opentimelineio as otio

    timeline = otio.schema.Timeline(edit.name)
    timeline.global_start_time = rational(Fraction(0), edit.rate)
    timeline.metadata["seasync"] = {"note": edit.note, "error_frames": edit.error_frames}
    kept = otio.schema.Track("kept", kind=otio.schema.TrackKind.Video)
    kept.append(
        otio.schema.Clip(
            edit.kept.name,
            reference(edit.kept, edit.rate),
            span(edit.kept_start, edit.frames / edit.rate, edit.rate),
        )
    )
    retimed = otio.schema.Track("retimed", kind=otio.schema.TrackKind.Video)
    retimed.extend(track_items(edit.media, edit.events, edit.rate, frames=edit.frames))
    timeline.tracks.extend([kept, retimed])
    return str(otio.adapters.write_to_string(timeline, "otio_json"))


def track_items(media: Media, events: tuple[Event, ...], rate: Fraction, *, frames: int) -> list[Any]:
    """Clips (and gaps where no event is) that fill `frames` frames of a track at `rate`."""
    import opentimelineio as otio

    items: list[Any] = []
    now = 0
    for event in (*events, None):
        until = frames if event is None else event.start
        if until > now:
            items.append(otio.schema.Gap(source_range=span(Fraction(0), (until - now) / rate, rate)))
        if event is None:
            break
        # In OTIO a clip's source range starts at its first frame and lasts as long as it does on the track.
        clip = otio.schema.Clip(
            media.name,
            reference(media, rate),
            span(event.source_start, event.frames / rate, media_rate(media, rate)),
        )
        if event.is_hold:
            clip.effects.append(otio.schema.FreezeFrame())
        elif (speed := event.speed(rate)) != 1:
            clip.effects.append(otio.schema.LinearTimeWarp(name="retime", time_scalar=float(speed)))
        items.append(clip)
        now = event.end
    return items


def reference(media: Media, rate: Fraction) -> Any:
    """`media` for a timeline at `rate`."""
    import opentimelineio as otio

    available = span(Fraction(0), media.seconds, media_rate(media, rate))
    return otio.schema.ExternalReference(media.uri, available)


def media_rate(media: Media, rate: Fraction) -> Fraction:
    """The rate to count `media` in: its own, if that is a standard one, else the timeline's."""
    return media.fps if media.fps in STANDARD else rate


def span(start: Fraction, seconds: Fraction, rate: Fraction) -> Any:
    import opentimelineio as otio

    return otio.opentime.TimeRange(rational(start, rate), rational(seconds, rate))


def rational(seconds: Fraction, rate: Fraction) -> Any:
    import opentimelineio as otio

    return otio.opentime.RationalTime(float(seconds * rate), float(rate))
