"""CMX3600 edit decision lists: one event for each piece, true source in and out, its speed as `M2`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.edit import Edit, Event, edit_of
from seasync.render.timelines.rate import frame_of, is_drop_frame, timecode


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    write_text(place, edl_text(edit_of(alignment, keep=keep, source_rate="timeline")), error=RenderError)
    return [place]


def edl_text(edit: Edit) -> str:
    """The edit as an EDL; source time codes are counted at the timeline's rate, from the first frame."""
    first = frame_of("01:00:00;00" if is_drop_frame(edit.rate) else "01:00:00:00", edit.rate)
    lines = [
        f"TITLE: {edit.name}",
        f"FCM: {'DROP FRAME' if is_drop_frame(edit.rate) else 'NON-DROP FRAME'}",
        "",
    ]
    for number, event in enumerate(edit.events, 1):
        lines += event_lines(number, event, edit.rate, edit.media.name, record_start=first)
    lines += [f"* {edit.note}"]
    return "\n".join(lines) + "\n"


def event_lines(
    number: int,
    event: Event,
    rate: Fraction,
    clip_name: str,
    *,
    record_start: int,
    channel: str = "V",
    drop: bool | None = None,
) -> Iterator[str]:
    """The lines of one event; `record_start` is the timeline's first frame, `drop` is as in `timecode`."""
    source = round(event.source_start * rate)
    # A held frame is one frame long at the source.
    source_end = source + 1 if event.is_hold else round(event.source_end * rate)
    codes = [timecode(frame, rate, drop=drop) for frame in (source, source_end)]
    codes += [timecode(record_start + frame, rate, drop=drop) for frame in (event.start, event.end)]
    yield f"{number:03}  AX       {channel:<5} C        {' '.join(codes)}"
    if event.is_hold or source_end - source != event.frames:
        speed = 0.0 if event.is_hold else float((source_end - source) * rate / event.frames)
        yield f"M2   AX       {speed:07.3f}                {codes[0].replace(';', ':')}"
    yield f"* FROM CLIP NAME: {clip_name}"
    if event.is_hold:
        yield "* FREEZE FRAME"
