"""xmeml (Final Cut Pro 7 XML, read by Premiere): a clip item with a constant time remap for each piece."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree as xml

from seasync.render.timelines.edit import Edit, Event, Media, is_drop_frame, xml_document


def xmeml_text(edit: Edit) -> str:
    """The edit as xmeml version 5: the kept clip on the lower track, the retimed one above it."""
    root = xml.Element("xmeml", version="5")
    sequence = xml.SubElement(root, "sequence", id="sequence-1")
    _texts(sequence, name=edit.name, duration=edit.frames)
    _rate(sequence, edit.rate)
    timecode = xml.SubElement(sequence, "timecode")
    _rate(timecode, edit.rate)
    _texts(timecode, frame=0, displayformat="DF" if is_drop_frame(edit.rate) else "NDF")
    video = xml.SubElement(xml.SubElement(sequence, "media"), "video")
    sample = xml.SubElement(xml.SubElement(video, "format"), "samplecharacteristics")
    _texts(sample, width=edit.kept.width, height=edit.kept.height)
    _rate(sample, edit.rate)
    lower, upper = xml.SubElement(video, "track"), xml.SubElement(video, "track")
    whole = Event(0, edit.frames, edit.kept_start, edit.kept_start + edit.frames / edit.rate)
    _clip_item(lower, "kept-1", edit.kept, "file-1", whole, edit.rate, define=True)
    for number, event in enumerate(_representable(edit.events, edit.rate), 1):
        _clip_item(upper, f"retimed-{number}", edit.media, "file-2", event, edit.rate, define=number == 1)
    _texts(xml.SubElement(sequence, "comments"), mastercomment1=edit.note)
    return xml_document(root)


def _clip_item(
    track: xml.Element, name: str, media: Media, file: str, event: Event, rate: Fraction, *, define: bool
) -> None:
    """In and out count frames of the retimed clip: its frame f shows the source's frame speed · f."""
    speed, first = _speed_through_zero(event, rate)
    item = xml.SubElement(track, "clipitem", id=name)
    frames = round(round(media.seconds * rate) / speed) if speed else event.frames
    _texts(item, name=media.name, enabled="TRUE", duration=frames)
    _rate(item, rate)
    _texts(item, start=event.start, end=event.end, **{"in": first, "out": first + event.frames})
    element = xml.SubElement(item, "file", id=file)
    if define:
        _texts(element, name=media.name, pathurl=media.uri)
        _rate(element, media.fps)
        _texts(element, duration=round(media.seconds * media.fps))
        video = xml.SubElement(xml.SubElement(element, "media"), "video")
        sample = xml.SubElement(video, "samplecharacteristics")
        _texts(sample, width=media.width, height=media.height)
    if speed != 1:
        _time_remap(item, event, speed, first)


def _representable(events: Iterable[Event], rate: Fraction) -> Iterator[Event]:
    """`events` in halves, where the format's whole first frames would put them more than half a frame off."""
    for event in events:
        if event.frames == 1 or _off(event, rate) <= Fraction(1, 2):
            yield event
        else:
            middle = event.start + event.frames // 2
            source = event.source_at(middle)
            first = replace(event, end=middle, source_end=source)
            second = replace(event, start=middle, source_start=source)
            yield from _representable((first, second), rate)


def _off(event: Event, rate: Fraction) -> Fraction:
    """How far from the event the clip item that stands for it is, in frames at `rate`."""
    speed, first = _speed_through_zero(event, rate)
    return abs(first * speed - event.source_start * rate) if speed else Fraction(0)


def _speed_through_zero(event: Event, rate: Fraction) -> tuple[Fraction, int]:
    """The constant speed and the whole first frame that together come nearest to the event."""
    speed = event.speed(rate)
    if not speed:
        return speed, round(event.source_start * rate)
    if event.frames == 1:
        return Fraction(1), round(event.source_start * rate)
    first = round(event.source_start * rate / speed)
    return (event.source_start + event.source_end) * rate / (2 * first + event.frames), first


def _time_remap(item: xml.Element, event: Event, speed: Fraction, first: int) -> None:
    effect = xml.SubElement(xml.SubElement(item, "filter"), "effect")
    _texts(effect, name="Time Remap", effectid="timeremap", effectcategory="motion", effecttype="motion")
    _texts(effect, mediatype="video")
    shown = f"{float(speed * 100):.6f}"
    values = {"variablespeed": "0", "speed": shown, "reverse": "FALSE", "frameblending": "FALSE"}
    for name, value in values.items():
        _texts(xml.SubElement(effect, "parameter"), parameterid=name, name=name, value=value)
    graph = xml.SubElement(effect, "parameter")
    _texts(graph, parameterid="graphdict", name="graphdict")
    for when, mark in ((first, "speedkfin"), (first + event.frames, "speedkfout")):
        value = f"{float(when * speed if speed else first):.6f}"
        keyframe = xml.SubElement(graph, "keyframe")
        _texts(keyframe, when=when, value=value, speedvirtualkf="TRUE", **{mark: "TRUE"})
    _texts(xml.SubElement(graph, "interpolation"), name="FCPCurve")


def _rate(parent: xml.Element, rate: Fraction) -> None:
    ntsc = "TRUE" if rate.denominator == 1001 else "FALSE"
    _texts(xml.SubElement(parent, "rate"), timebase=round(rate), ntsc=ntsc)


def _texts(parent: xml.Element, **values: object) -> None:
    for tag, value in values.items():
        xml.SubElement(parent, tag).text = str(value)
