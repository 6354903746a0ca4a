"""FCPXML (Final Cut Pro, DaVinci Resolve): one clip with a piecewise linear time map in rational seconds."""

from __future__ import annotations

import math
from fractions import Fraction
from xml.etree import ElementTree as xml

from seasync.alignment import Alignment
from seasync.errors import RenderError
from seasync.files import Location, write_text
from seasync.options import Side
from seasync.render.timelines.edit import Edit, Event, Media, edit_of
from seasync.render.timelines.rate import is_drop_frame

VERSION = "1.10"


def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    write_text(place, fcpxml_text(edit_of(alignment, keep=keep)), error=RenderError)
    return [place]


def fcpxml_text(edit: Edit) -> str:
    """The edit as an FCPXML project: the kept clip in the storyline, the retimed one connected above it."""
    root = xml.Element("fcpxml", version=VERSION)
    resources = xml.SubElement(root, "resources")
    add_format(resources, "r1", edit.rate, edit.kept)
    kept, media = (add_media(resources, number, media) for number, media in ((2, edit.kept), (4, edit.media)))
    event = xml.SubElement(xml.SubElement(root, "library"), "event", name="Seasync")
    project = xml.SubElement(event, "project", name=edit.name)
    length = seconds(edit.frames / edit.rate)
    drop = "DF" if is_drop_frame(edit.rate) else "NDF"
    sequence = xml.SubElement(project, "sequence", format="r1", duration=length, tcStart="0s", tcFormat=drop)
    xml.SubElement(sequence, "note").text = edit.note
    storyline = xml.SubElement(
        xml.SubElement(sequence, "spine"),
        "asset-clip",
        ref=kept,
        name=edit.kept.name,
        offset="0s",
        start=seconds(edit.kept_start),
        duration=length,
    )
    for span in edit.spans():
        offset = edit.kept_start + span[0].start / edit.rate  # connected clips count on their parent's clock
        storyline.append(retimed_clip(span, edit.rate, ref=media, name=edit.media.name, media=edit.media))
        storyline[-1].set("lane", "1")
        storyline[-1].set("offset", seconds(offset))
    return document(root)


def retimed_clip(
    events: tuple[Event, ...], rate: Fraction, *, ref: str, name: str, media: Media
) -> xml.Element:
    """An `asset-clip` that plays `events` (adjoining). Its map covers the whole media: before and after the
    events the source runs at its own speed, as Resolve shows black where a map ends early."""
    first, last = events[0], events[-1]
    lead = math.ceil(first.source_start * rate) / rate  # clip time of the first event, on a frame
    points = [(lead + (event.start - first.start) / rate, event.source_start) for event in events]
    end = lead + (last.end - first.start) / rate
    points.append((end, last.source_end))
    if first.source_start > 0:
        points.insert(0, (Fraction(0), Fraction(0)))
    if last.source_end < media.seconds:
        points.append((end + media.seconds - last.source_end, media.seconds))
    clip = xml.Element("asset-clip", ref=ref, name=name)
    clip.set("start", seconds(lead))
    clip.set("duration", seconds((last.end - first.start) / rate))
    time_map = xml.SubElement(clip, "timeMap", frameSampling="floor")
    for time, value in points:
        xml.SubElement(time_map, "timept", time=seconds(time), value=seconds(value), interp="linear")
    return clip


def add_media(resources: xml.Element, number: int, media: Media) -> str:
    """Add the format of `media` as resource `r<number>` and its asset as the next one; give the latter."""
    add_format(resources, f"r{number}", media.fps, media)
    asset = xml.SubElement(
        resources,
        "asset",
        id=f"r{number + 1}",
        name=media.name,
        start="0s",
        duration=seconds(media.seconds),
        hasVideo="1",
        format=f"r{number}",
    )
    if media.audio:
        asset.set("hasAudio", "1")
        asset.set("audioSources", "1")
        asset.set("audioChannels", str(media.audio.channels))
        asset.set("audioRate", str(media.audio.rate))
    xml.SubElement(asset, "media-rep", kind="original-media", src=media.uri)
    return f"r{number + 1}"


def add_format(resources: xml.Element, name: str, rate: Fraction, media: Media) -> None:
    xml.SubElement(
        resources,
        "format",
        id=name,
        frameDuration=seconds(1 / rate),
        width=str(media.width),
        height=str(media.height),
    )


def seconds(value: Fraction) -> str:
    """Rational seconds as FCPXML writes them.

    >>> seconds(Fraction(1001, 30000)), seconds(Fraction(5))
    ('1001/30000s', '5s')
    """
    return f"{value.numerator}s" if value.denominator == 1 else f"{value.numerator}/{value.denominator}s"


def document(root: xml.Element) -> str:
    xml.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE fcpxml>\n' + xml.tostring(root, "unicode") + "\n"
    )
