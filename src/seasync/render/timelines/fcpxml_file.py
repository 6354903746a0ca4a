"""Clips of an FCPXML project, to be replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np

from seasync.alignment import Warp
from seasync.errors import RenderError
from seasync.files import Location
from seasync.marks.elan import parse_xml
from seasync.render.timelines.edit import Event, Media
from seasync.render.timelines.formats.fcpxml import add_media, document, retimed_clip, seconds
from seasync.render.timelines.replace import Slot, found

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
        start, length = (
            self._time(clip.get("start", "0s")),
            self._time(clip.get("duration", asset.get("duration", "0s"))),
        )
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
        return Slot(
            found(name, url, self._media, self.file), round(length * self._rate), self._rate, warp, clip
        )

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
        file.write_text(document(self._root), encoding="utf-8")

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
            found = time(text)
        except (ValueError, ZeroDivisionError) as error:
            raise RenderError(
                f"{self.file}: {text[:40]!r} is not a time; expected 1001/30000s or 5s"
            ) from error
        if abs(found) > LONGEST_SECONDS:
            raise RenderError(f"{self.file}: {text[:40]!r} is longer than any video")
        return found


def time(text: str) -> Fraction:
    """Rational seconds as FCPXML writes them.

    >>> time("1001/30000s"), time("5s")
    (Fraction(1001, 30000), Fraction(5, 1))
    """
    return Fraction(text.removesuffix("s"))
