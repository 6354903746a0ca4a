"""MLT XML (Kdenlive, Shotcut, melt): a chain with a `timeremap` link, the carried sound on its own track."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree as xml

from seasync.files import Place
from seasync.render.timelines.edit import Edit, Event


def mlt_text(edit: Edit, *, sound: Place | None = None) -> str:
    """The edit as MLT XML: the kept clip on the lower track, the retimed one above it.

    sound  the retimed clip's sound, already carried onto the timeline's clock: MLT's own is late
    """
    root = xml.Element("mlt", LC_NUMERIC="C", title=edit.name, producer="main")
    root.append(xml.Comment(f" {edit.note.replace('--', '—')} "))
    width, height = edit.kept.width, edit.kept.height
    shape = Fraction(width, height)
    profile = {
        "description": edit.name,
        "width": width,
        "height": height,
        "progressive": 1,
        "sample_aspect_num": 1,
        "sample_aspect_den": 1,
        "display_aspect_num": shape.numerator,
        "display_aspect_den": shape.denominator,
        "frame_rate_num": edit.rate.numerator,
        "frame_rate_den": edit.rate.denominator,
        "colorspace": 709,
    }
    xml.SubElement(root, "profile", {name: str(value) for name, value in profile.items()})
    first = round(edit.kept_start * edit.rate)
    _chain(root, "kept", edit.kept.file, first + edit.frames)
    tracks = [("kept", [(0, edit.frames, "kept", first)])]
    retimed = []
    for number, span in enumerate(edit.spans(), 1):
        start, end = span[0].start, span[-1].end
        link = xml.SubElement(_chain(root, f"retimed{number}", edit.media.file, end), "link")
        link.set("mlt_service", "timeremap")
        # Debian's melt reads `map`, newer ones `time_map`.
        table = _time_map(span, 1 / edit.media.fps)
        _properties(link, map=table, time_map=table, image_mode="nearest", pitch=1)
        retimed.append((start, end, f"retimed{number}", start))
    tracks.append(("retimed", retimed))
    if sound is not None:
        _chain(root, "sound", sound, edit.frames)
        tracks.append(("sound", [(0, edit.frames, "sound", 0)]))
    for name, entries in tracks:
        _playlist(root, name, entries)
    tractor = xml.SubElement(root, "tractor", id="main", out=str(edit.frames - 1))
    for name, _ in tracks:
        track = xml.SubElement(tractor, "track", producer=f"track_{name}")
        if name == "retimed" and sound is not None:
            track.set("hide", "audio")
    for number in range(1, len(tracks)):
        transition = xml.SubElement(tractor, "transition")
        _properties(transition, a_track=0, b_track=number, mlt_service="mix", always_active=1, sum=1)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, "unicode") + "\n"


def _time_map(span: tuple[Event, ...], source_frame: Fraction) -> str:
    """`timeline frame=source second` pairs. MLT shows the last frame begun; half a frame on: the nearest."""
    points = [(event.start, event.source_start) for event in span] + [(span[-1].end, span[-1].source_end)]
    return ";".join(f"{frame}={float(source + source_frame / 2):.6f}" for frame, source in points)


def _chain(root: xml.Element, name: str, file: Place, frames: int) -> xml.Element:
    chain = xml.SubElement(root, "chain", id=name, out=str(frames - 1))
    _properties(chain, length=frames, resource=str(file), mlt_service="avformat")
    return chain


def _playlist(root: xml.Element, name: str, entries: list[tuple[int, int, str, int]]) -> None:
    """`entries`: (timeline start, end, producer, producer's first frame)."""
    playlist = xml.SubElement(root, "playlist", id=f"track_{name}")
    now = 0
    for start, end, producer, first in entries:
        if start > now:
            xml.SubElement(playlist, "blank", length=str(start - now))
        last = first + end - start - 1
        xml.SubElement(playlist, "entry", {"producer": producer, "in": str(first), "out": str(last)})
        now = end


def _properties(parent: xml.Element, **values: object) -> None:
    for name, value in values.items():
        xml.SubElement(parent, "property", name=name).text = str(value)
