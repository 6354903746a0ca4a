"""OpenTimelineIO: write timelines, and replace clips of timelines.

The format is JSON, and written as such: the library of that name has no wheel for Python 3.14. Tests read the
files with the library.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from seasync.alignment import Warp
from seasync.errors import RenderError
from seasync.files import Location, fetch
from seasync.render.timelines.edit import STANDARD, Edit, Event, Media, Slot, find_media, standard_rate

Node = dict[str, Any]
"""An object of the format; its `OTIO_SCHEMA` says which."""


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
    begin, length = rational(start, rate), rational(seconds, rate)
    return {"OTIO_SCHEMA": "TimeRange.1", "start_time": begin, "duration": length}


def rational(seconds: Fraction, rate: Fraction) -> Node:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": float(rate), "value": float(seconds * rate)}


def _item(schema: str, name: str, source_range: Node | None = None, **more: Any) -> Node:
    common: Node = {"metadata": {}, "source_range": source_range, "effects": [], "markers": []}
    return {"OTIO_SCHEMA": schema, "name": name, **common, "enabled": True, **more}


def _time_effect(kind: str, name: str, speed: Fraction) -> Node:
    common: Node = {"OTIO_SCHEMA": f"{kind}.1", "name": name, "metadata": {}, "effect_name": kind}
    return common | {"enabled": True, "time_scalar": float(speed)}


DEEPEST = 256  # levels of JSON; a timeline within a timeline takes about four
TIME_EFFECTS = ("TimeEffect", "LinearTimeWarp", "FreezeFrame")
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)


class OtioFile:
    def __init__(self, file: Location, media: Location | None) -> None:
        self.file, self._media = file, media
        try:
            self._timeline = _read(fetch(file))
            if (kind := _kind(self._timeline)) != "Timeline":
                raise RenderError(f"{file}: expected a timeline, not a {kind}")
            self._clips = list(_clips(self._timeline["tracks"]))
        except _MALFORMED as error:
            raise RenderError(f"{file}: cannot be read as OpenTimelineIO ({error})") from error

    def slots(self) -> list[tuple[str, Callable[[], Slot]]]:
        return [(str(clip.get("name")), partial(self._slot, track, clip)) for track, clip in self._clips]

    def _slot(self, track: list[Node], clip: Node) -> Slot:
        name = str(clip.get("name"))
        try:
            media = _media(clip)
            speed = math.prod(
                0.0 if _kind(effect) == "FreezeFrame" else float(effect["time_scalar"])
                for effect in clip.get("effects") or ()
                if _kind(effect) in ("LinearTimeWarp", "FreezeFrame")
            )
            available = media.get("available_range")
            start, seconds = _start(_shown(clip)), _seconds(_shown(clip)["duration"])
            start -= _start(available) if available else 0.0
            rate = standard_rate(Fraction(_shown(clip)["duration"]["rate"]).limit_denominator(1001))
            url = media.get("target_url")
        except _MALFORMED as error:
            raise RenderError(f"{self.file}: the clip {name} cannot be read ({error!r})") from error
        if not url:
            raise RenderError(f"{self.file}: the clip {name} refers to no file; relink it in your editor")
        if speed <= 0:
            raise RenderError(f"{self.file}: the clip {name} is frozen or runs backwards; choose another")
        if seconds <= 0:
            raise RenderError(f"{self.file}: the clip {name} has no length; choose another")
        warp = Warp.through([0.0, seconds], [start, start + seconds * speed])
        file = find_media(name, str(url), self._media, self.file)
        return Slot(file, max(1, round(seconds * rate)), rate, warp, (track, clip))

    def put(self, slot: Slot, media: Media, events: Sequence[Event]) -> None:
        """The new clips keep the old one's name, notes, markers and effects, but for those on its time."""
        track, old = slot.place
        items = track_items(media, tuple(events), slot.rate, frames=slot.frames)
        for item in items:
            kept = {name: deepcopy(old[name]) for name in ("metadata", "enabled", "color") if name in old}
            item.update(kept, name=old["name"])
            item["effects"] += [
                deepcopy(effect) for effect in old.get("effects") or () if _kind(effect) not in TIME_EFFECTS
            ]
        for marker in old.get("markers") or ():
            self._mark(items, marker, _start(_shown(old)))
        at = next(number for number, each in enumerate(track) if each is old)
        track[at : at + 1] = items

    def _mark(self, items: Sequence[Node], marker: Node, start: float) -> None:
        """Put a marker of a clip that began at `start` seconds on the one of `items` that is shown then."""
        try:
            moment = _start(marker["marked_range"]) - start
            rate = Fraction(marker["marked_range"]["start_time"]["rate"])
        except _MALFORMED as error:
            raise RenderError(f"{self.file}: a marker cannot be read ({error!r})") from error
        for item in items:
            length = _seconds(item["source_range"]["duration"])
            if moment < length or item is items[-1]:
                new = deepcopy(marker)
                at = _start(item["source_range"]) + moment
                new["marked_range"]["start_time"] = rational(Fraction(at), rate)
                item["markers"].append(new)
                return
            moment -= length

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(self._timeline, indent=4) + "\n", encoding="utf-8")


def _read(file: Path) -> Any:
    """The file's JSON, if it is of a reasonable depth."""
    text = file.read_text(encoding="utf-8-sig")
    timeline = json.loads(text)
    level = [timeline]
    for _ in range(DEEPEST):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return timeline
    raise ValueError(f"nested more than {DEEPEST} deep")


def _parts(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def _kind(node: Any) -> str:
    """The schema without its version: files of all versions have what is used here."""
    return str(node["OTIO_SCHEMA"]).partition(".")[0]


def _clips(composition: Node) -> Iterator[tuple[list[Node], Node]]:
    """Each clip, and the list that it is in, in order; those within stacks and tracks too."""
    children = composition["children"]
    if not isinstance(children, list):
        raise TypeError(f"children: expected a list, not {children!r}")
    for child in children:
        if _kind(child) == "Clip":
            yield children, child
        elif "children" in child:
            yield from _clips(child)


def _media(clip: Node) -> Node:
    """The media that a clip shows; before version 2 of the schema it had only one."""
    if "media_references" in clip:
        found: Node | None = clip["media_references"][clip["active_media_reference_key"]]
    else:
        found = clip.get("media_reference")
    return found or {}


def _shown(clip: Node) -> Node:
    """The range of its media that a clip shows."""
    shown: Node = clip.get("source_range") or _media(clip)["available_range"]
    return shown


def _start(span: Node) -> float:
    return _seconds(span["start_time"])


def _seconds(time: Node) -> float:
    seconds = float(time["value"]) / float(time["rate"])
    if not math.isfinite(seconds):
        raise ValueError(f"{time['value']} / {time['rate']} is no time")
    return seconds
