"""FCPXML (Final Cut Pro, DaVinci Resolve): write projects with a piecewise linear time map; replace clips."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np

from seasync.alignment import Warp
from seasync.errors import RenderError
from seasync.files import Location
from seasync.marks import parse_xml
from seasync.render.timelines.edit import Edit, Event, Media, Slot, find_media, is_drop_frame, xml_document

VERSION = "1.10"


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
    spine, start = xml.SubElement(sequence, "spine"), seconds(edit.kept_start)
    shown = {"ref": kept, "name": edit.kept.name, "offset": "0s", "start": start, "duration": length}
    storyline = xml.SubElement(spine, "asset-clip", shown)
    for span in edit.spans():
        offset = edit.kept_start + span[0].start / edit.rate  # connected clips count on their parent's clock
        retimed = retimed_clip(span, edit.rate, ref=media, name=edit.media.name, media=edit.media)
        retimed.attrib |= {"lane": "1", "offset": seconds(offset)}
        storyline.append(retimed)
    return xml_document(root)


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
    length = seconds((last.end - first.start) / rate)
    clip = xml.Element("asset-clip", ref=ref, name=name, start=seconds(lead), duration=length)
    time_map = xml.SubElement(clip, "timeMap", frameSampling="floor")
    for time, value in points:
        xml.SubElement(time_map, "timept", time=seconds(time), value=seconds(value), interp="linear")
    return clip


def add_media(resources: xml.Element, number: int, media: Media) -> str:
    """Add the format of `media` as resource `r<number>` and its asset as the next one; give the latter."""
    form, name = f"r{number}", f"r{number + 1}"
    add_format(resources, form, media.fps, media)
    asset = xml.SubElement(resources, "asset", id=name, name=media.name, start="0s")
    asset.attrib |= {"duration": seconds(media.seconds), "hasVideo": "1", "format": form}
    if media.audio:
        channels, rate = str(media.audio.channels), str(media.audio.rate)
        asset.attrib |= {"hasAudio": "1", "audioSources": "1", "audioChannels": channels, "audioRate": rate}
    xml.SubElement(asset, "media-rep", kind="original-media", src=media.uri)
    return name


def add_format(resources: xml.Element, name: str, rate: Fraction, media: Media) -> None:
    size = {"width": str(media.width), "height": str(media.height)}
    xml.SubElement(resources, "format", {"id": name, "frameDuration": seconds(1 / rate), **size})


def seconds(value: Fraction) -> str:
    """Rational seconds as FCPXML writes them.

    >>> seconds(Fraction(1001, 30000)), seconds(Fraction(5))
    ('1001/30000s', '5s')
    """
    return f"{value.numerator}s" if value.denominator == 1 else f"{value.numerator}/{value.denominator}s"


LONGEST_SECONDS = 10**8  # three years


class FcpxmlFile:
    def __init__(self, file: Location, media: Location | None) -> None:
        self.file, self._media = file, media
        self._root = parse_xml(file, "FCPXML project", raises=RenderError)
        resources = self._root.find("resources")
        sequence = self._root.find(".//sequence")
        if self._root.tag != "fcpxml" or resources is None or sequence is None:
            raise RenderError(f"{file}: expected an FCPXML project with resources and a sequence")
        self._resources = resources
        self._rate = self._frame_rate(sequence.get("format", ""))

    def slots(self) -> list[tuple[str, Callable[[], Slot]]]:
        clips = self._root.findall(".//sequence//asset-clip")
        return [(clip.get("name", ""), partial(self._slot, clip)) for clip in clips]

    def _slot(self, clip: xml.Element) -> Slot:
        name = clip.get("name", "")
        asset = self._resource("asset", clip.get("ref", ""))
        if asset is None:
            raise RenderError(f"{self.file}: the clip {name} refers to no asset; relink it in your editor")
        copy = asset.find("media-rep")
        url = asset.get("src", copy.get("src", "") if copy is not None else "")
        begin = self._time(asset.get("start", "0s"))
        start = self._time(clip.get("start", "0s"))
        length = self._time(clip.get("duration", asset.get("duration", "0s")))
        points = [
            (self._time(p.get("time", "0s")), self._time(p.get("value", "0s")))
            for p in clip.findall("timeMap/timept")
        ]
        times = [Fraction(0), *(at - start for at, _ in points if 0 < at - start < length), length]
        if points:
            known, values = ([float(column) for column in pair] for pair in zip(*points, strict=True))
            shown = np.interp([float(at + start) for at in times], known, values)
        else:
            shown = np.asarray([float(at + start) for at in times])
        if (np.diff(shown) < 0).any():
            raise RenderError(f"{self.file}: the clip {name} runs backwards; choose another")
        warp = Warp.through([float(at) for at in times], shown - float(begin))
        place = find_media(name, url, self._media, self.file)
        return Slot(place, round(length * self._rate), self._rate, warp, clip)

    def put(self, slot: Slot, media: Media, events: Sequence[Event]) -> None:
        """Only the clip's media, start and time map change; what is connected to it stays where it was."""
        clip = slot.place
        numbers = [
            int(each.get("id", "")[1:]) for each in self._resources if each.get("id", "")[1:].isdigit()
        ]
        ref = add_media(self._resources, max(numbers, default=0) + 1, media)
        new = retimed_clip(tuple(events), slot.rate, ref=ref, name=clip.get("name", media.name), media=media)
        shift = self._time(new.get("start", "0s")) - self._time(clip.get("start", "0s"))
        for child in clip:
            if child.get("offset") is not None:
                child.set("offset", seconds(self._time(child.get("offset", "0s")) + shift))
        for old in [child for child in clip if child.tag in ("timeMap", "conform-rate")]:
            clip.remove(old)
        notes = sum(child.tag == "note" for child in clip)
        clip.insert(notes, new[0])
        for name in ("ref", "name", "start", "duration"):
            clip.set(name, new.get(name, ""))
        clip.attrib.pop("format", None)

    def save(self, file: Path) -> None:
        file.write_text(xml_document(self._root), encoding="utf-8")

    def _resource(self, kind: str, name: str) -> xml.Element | None:
        """The resource with this id. No path expression: a quote in the id would end it."""
        return next((each for each in self._resources.iterfind(kind) if each.get("id") == name), None)

    def _frame_rate(self, name: str) -> Fraction:
        form = self._resource("format", name)
        step = self._time(form.get("frameDuration", "0s")) if form is not None else Fraction(0)
        if not step:
            raise RenderError(f"{self.file}: the sequence's format {name} has no frameDuration")
        return 1 / step

    def _time(self, text: str) -> Fraction:
        try:
            found = Fraction(text.removesuffix("s"))
        except (ValueError, ZeroDivisionError) as error:
            raise RenderError(
                f"{self.file}: {text[:40]!r} is not a time; expected 1001/30000s or 5s"
            ) from error
        if abs(found) > LONGEST_SECONDS:
            raise RenderError(f"{self.file}: {text[:40]!r} is longer than any video")
        return found
