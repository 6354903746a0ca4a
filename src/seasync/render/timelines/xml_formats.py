"""The XML formats: MLT (Shotcut, melt), FCPXML (Final Cut Pro, DaVinci Resolve) and xmeml (Premiere).

MLT has a chain with a `timeremap` link, and the carried sound on its own track. FCPXML has a piecewise linear
time map, and its clips can be replaced. xmeml, which is Final Cut Pro 7 XML, has a clip item with a constant
time remap for each piece.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
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


def mlt_text(edit: Edit, *, sound: Location | None = None) -> str:
    """The edit as an MLT project: the kept clip on the lower track, the retimed one above it.

    The layout is that of Shotcut's own projects: a tractor with the property `shotcut`, a black background,
    a playlist for each track. Without these, Shotcut opens the file as one clip that cannot be edited.

    Parameters
    ----------
    edit
        What to write.
    sound
        The retimed clip's sound, already carried onto the timeline's clock: MLT's own is late.
    """
    root = xml.Element("mlt", LC_NUMERIC="C", title=edit.name, producer="main")
    root.append(xml.Comment(f" {edit.note.replace('--', '—')} "))
    _profile(root, edit)
    _properties(xml.SubElement(root, "playlist", id="main_bin"), xml_retain=1)
    first = round(edit.kept_start * edit.rate)
    _chain(root, "kept", edit.kept.file, first + edit.frames)
    retimed = []
    for number, span in enumerate(edit.spans(), 1):
        start, end = span[0].start, span[-1].end
        link = xml.SubElement(_chain(root, f"retimed{number}", edit.media.file, end), "link")
        link.set("mlt_service", "timeremap")
        # Debian's melt reads `map`, newer ones `time_map`.
        table = _time_map(span, 1 / edit.media.fps)
        _properties(link, map=table, time_map=table, image_mode="nearest", pitch=1)
        retimed.append((start, end, f"retimed{number}", start))
    _black(root, edit.frames)
    _playlist(root, "background", [(0, edit.frames, "black", 0)])
    _playlist(root, "track_kept", [(0, edit.frames, "kept", first)], video=1, name="V1")
    _playlist(root, "track_retimed", retimed, video=1, name="V2")
    tracks = [("background", ""), ("track_kept", ""), ("track_retimed", "audio" if sound is not None else "")]
    if sound is not None:
        _chain(root, "sound", sound, edit.frames)
        _playlist(root, "track_sound", [(0, edit.frames, "sound", 0)], audio=1, name="A1")
        tracks.append(("track_sound", "video"))
    tractor = xml.SubElement(root, "tractor", id="main", out=str(edit.frames - 1))
    _properties(tractor, **{"shotcut": 1, "shotcut:projectAudioChannels": 2, "shotcut:projectFolder": 0})
    for name, hidden in tracks:
        xml.SubElement(tractor, "track", {"producer": name} | ({"hide": hidden} if hidden else {}))
    for number in range(1, len(tracks)):
        transition = xml.SubElement(tractor, "transition")
        _properties(transition, a_track=0, b_track=number, mlt_service="mix", always_active=1, sum=1)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, "unicode") + "\n"


def _profile(root: xml.Element, edit: Edit) -> None:
    """The picture is the kept clip's, with even sides: most encoders refuse odd ones."""
    width, height = (side + side % 2 for side in (edit.kept.width, edit.kept.height))
    profile: dict[str, object] = {
        "description": edit.name,
        "width": width,
        "height": height,
        "progressive": 1,
    }
    display = Fraction(width, height)
    for name, ratio in (("sample_aspect", 1), ("display_aspect", display), ("frame_rate", edit.rate)):
        profile |= {f"{name}_num": ratio.numerator, f"{name}_den": ratio.denominator}
    profile["colorspace"] = 709
    xml.SubElement(root, "profile", {name: str(value) for name, value in profile.items()})


def _black(root: xml.Element, frames: int) -> None:
    black = xml.SubElement(root, "producer", {"id": "black", "in": "0", "out": str(frames - 1)})
    _properties(black, length=frames, eof="pause", resource=0, aspect_ratio=1, mlt_service="color")
    _properties(black, mlt_image_format="rgba", **{"set.test_audio": 0})


def _time_map(span: tuple[Event, ...], source_frame: Fraction) -> str:
    """`timeline frame=source second` pairs. MLT shows the last frame begun; half a frame on: the nearest."""
    points = [(event.start, event.source_start) for event in span] + [(span[-1].end, span[-1].source_end)]
    return ";".join(f"{frame}={float(source + source_frame / 2):.6f}" for frame, source in points)


def _chain(root: xml.Element, name: str, file: Location, frames: int) -> xml.Element:
    chain = xml.SubElement(root, "chain", id=name, out=str(frames - 1))
    _properties(chain, length=frames, resource=str(file), mlt_service="avformat")
    _properties(chain, **{"shotcut:caption": file.name})
    return chain


def _playlist(
    root: xml.Element, track: str, entries: list[tuple[int, int, str, int]], **shotcut: object
) -> None:
    """`entries`: (timeline start, end, producer, producer's first frame); `shotcut`: its own properties."""
    playlist = xml.SubElement(root, "playlist", id=track)
    _properties(playlist, **{f"shotcut:{key}": value for key, value in shotcut.items()})
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


FCPXML_VERSION = "1.10"


def fcpxml_text(edit: Edit) -> str:
    """The edit as an FCPXML project: the kept clip in the storyline, the retimed one connected above it."""
    root = xml.Element("fcpxml", version=FCPXML_VERSION)
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
