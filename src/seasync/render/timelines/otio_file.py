"""Clips of an OpenTimelineIO timeline, to be replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from seasync.align import Warp
from seasync.errors import RenderError
from seasync.files import Location, fetch
from seasync.render.timelines.edit import Event, Media
from seasync.render.timelines.formats.otio import track_items
from seasync.render.timelines.rate import standard_rate
from seasync.render.timelines.replace import Slot, found

DEEPEST = 256  # levels of JSON; a timeline within a timeline takes about four


class OtioFile:
    def __init__(self, file: Location, media: Location | None) -> None:
        import opentimelineio as otio

        self.file, self._media = file, media
        try:
            self._timeline = otio.adapters.read_from_string(_sound_json(fetch(file)), "otio_json")
        except (otio.exceptions.OTIOError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise RenderError(f"{file}: cannot be read as OpenTimelineIO ({error})") from error
        if not isinstance(self._timeline, otio.schema.Timeline):
            raise RenderError(f"{file}: expected a timeline, not a {type(self._timeline).__name__}")

    def slots(self) -> list[tuple[str, Callable[[], Slot]]]:
        return [(clip.name, partial(self._slot, clip)) for clip in self._timeline.find_clips()]

    def _slot(self, clip: Any) -> Slot:
        import opentimelineio as otio

        url = getattr(clip.media_reference, "target_url", None)
        if not url:
            raise RenderError(f"{self.file}: the clip {clip.name} refers to no file")
        speed = 1.0
        for effect in clip.effects:
            if isinstance(effect, otio.schema.LinearTimeWarp):
                speed *= 0.0 if isinstance(effect, otio.schema.FreezeFrame) else effect.time_scalar
        if speed <= 0:
            raise RenderError(f"{self.file}: the clip {clip.name} is frozen or runs backwards")
        span, available = clip.trimmed_range(), clip.media_reference.available_range
        start = span.start_time.to_seconds() - (available.start_time.to_seconds() if available else 0.0)
        seconds = span.duration.to_seconds()
        rate = standard_rate(Fraction(span.duration.rate).limit_denominator(1001))
        warp = Warp.through([0.0, seconds], [start, start + seconds * speed])
        file = found(clip.name, url, self._media, self.file)
        return Slot(file, max(1, round(seconds * rate)), rate, warp, clip)

    def put(self, slot: Slot, media: Media, events: Sequence[Event]) -> None:
        """The new clips keep the old one's name, notes, markers and effects, but for those on its time."""
        import opentimelineio as otio

        old = slot.place
        track = old.parent()
        at = track.index(old)
        items = track_items(media, tuple(events), slot.rate, frames=slot.frames)
        for item in items:
            item.name = old.name
            item.metadata.update(old.metadata)
            item.enabled = old.enabled
            item.effects.extend(
                effect.deepcopy() for effect in old.effects if not isinstance(effect, otio.schema.TimeEffect)
            )
        for marker in old.markers:
            self._mark(items, marker, old.trimmed_range().start_time)
        track[at : at + 1] = items

    @staticmethod
    def _mark(items: Sequence[Any], marker: Any, start: Any) -> None:
        """Put a marker of a clip that began at `start` on the one of `items` that is shown then."""
        moment = marker.marked_range.start_time - start
        for item in items:
            length = item.trimmed_range().duration
            if moment < length or item is items[-1]:
                new = marker.deepcopy()
                new.marked_range = type(marker.marked_range)(
                    item.trimmed_range().start_time + moment, marker.marked_range.duration
                )
                item.markers.append(new)
                return
            moment = moment - length

    def save(self, file: Path) -> None:
        import opentimelineio as otio

        otio.adapters.write_to_file(self._timeline, str(file), "otio_json")


def _sound_json(file: Path) -> str:
    """The file's text, if it is JSON of a reasonable depth: OpenTimelineIO crashes or hangs on other text."""
    text = file.read_text(encoding="utf-8-sig")
    level = [json.loads(text)]
    for _ in range(DEEPEST):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return text
    raise ValueError(f"nested more than {DEEPEST} deep")


def _parts(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
