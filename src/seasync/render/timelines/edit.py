"""An edit: a clip retimed to another clip's clock, in whole frames, ready to be written for any editor."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal
from xml.etree import ElementTree as xml

import numpy as np

from seasync.alignment import Alignment, Warp
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.files import Location, Place, exists
from seasync.group.clock import clips_of
from seasync.options import Side
from seasync.render.frames import clock_of, frame_rate, in_even_pieces
from seasync.video import AudioInfo, frame_table, probe

Grid = Literal["media", "timeline"]


@dataclass(frozen=True)
class Media:
    """A file as a timeline refers to it."""

    file: Location
    fps: Fraction
    seconds: Fraction
    width: int
    height: int
    audio: AudioInfo | None

    @classmethod
    def of(cls, file: Place) -> "Media":
        table, info = frame_table(file), probe(file)
        fps = standard_rate(frame_rate(table))
        place = Location(file)
        if place.is_local:
            place = Location(place.path.resolve())
        return cls(place, fps, round(table.end * fps) / fps, info.width, info.height, info.audio)

    @property
    def name(self) -> str:
        return self.file.name

    @property
    def uri(self) -> str:
        return self.file.uri


@dataclass(frozen=True)
class Event:
    """Frames `start` to `end` (exclusive) of the timeline show `source_start`–`source_end` seconds evenly."""

    start: int
    end: int
    source_start: Fraction
    source_end: Fraction

    @property
    def frames(self) -> int:
        return self.end - self.start

    @property
    def is_hold(self) -> bool:
        return self.source_start == self.source_end

    def speed(self, rate: Fraction) -> Fraction:
        """1 is the source's own speed."""
        return (self.source_end - self.source_start) * rate / self.frames

    def source_at(self, frame: Fraction | int) -> Fraction:
        share = Fraction(frame - self.start) / self.frames
        return self.source_start + share * (self.source_end - self.source_start)


@dataclass(frozen=True)
class Edit:
    """`media` retimed by `events` onto the clock of `kept`, whose `kept_start` is frame 0 of the timeline.

    error_frames  the largest distance of the events from the warp, in frames of the timeline or of the
                  media, whichever are longer
    """

    name: str
    rate: Fraction
    frames: int
    kept: Media
    kept_start: Fraction
    media: Media
    events: tuple[Event, ...]
    error_frames: float

    @property
    def note(self) -> str:
        """One line for the file itself: what this is and how exact."""
        pieces = "1 linear piece" if len(self.events) == 1 else f"{len(self.events)} linear pieces"
        return (
            f"{self.media.name} retimed to {self.kept.name} by Seasync: {pieces}, "
            f"within {self.error_frames:.2f} frames of the smoothed alignment"
        )

    def spans(self) -> Iterator[tuple[Event, ...]]:
        """Runs of events without a gap or a jump between them."""
        run: list[Event] = []
        for event in self.events:
            if run and (run[-1].end, run[-1].source_end) != (event.start, event.source_start):
                yield tuple(run)
                run = []
            run.append(event)
        if run:
            yield tuple(run)


def edit_of(alignment: Alignment, *, keep: Side = "query", source_rate: Grid = "media") -> Edit:
    """The fewest pieces of even speed that follow the smoothed warp of `alignment` to one frame.

    keep         whose clock the timeline has
    source_rate  what source times are counted in: eighths of frames of the "media", or whole frames of the
                 "timeline" (as EDL and xmeml must)
    """
    kept_clip, clip = clips_of(alignment, keep)
    kept, media = Media.of(kept_clip.file), Media.of(clip.file)
    clock = clock_of(kept_clip)
    rate = timeline_rate(clock.rate)
    first = round(float(clock.seconds[0]) * rate)
    frames = max(1, round(clock.length * rate))
    warp = alignment.warp(keep=keep).smooth()
    name = f"{Location(clip.file).stem} in step with {Location(kept_clip.file).stem}"
    grid = media.fps * 8 if source_rate == "media" else rate
    longer = min(rate, media.fps)
    # Half a frame is left for the editor, which shows whole frames; whole source frames take it themselves.
    # Pieces are joined and rounded: where that costs too much, tighter ones make up for it.
    limit = 0.5 if source_rate == "media" else 1.0
    for bound in (0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05):
        pieces = in_even_pieces(warp, longer, max_error_frames=bound)
        found = events_of(pieces, rate=rate, first=first, frames=frames, grid=grid, until=media.seconds)
        events = tuple(found)
        error = _error(events, warp, rate, first, media.seconds) * float(longer)
        if error <= limit:
            break
    return Edit(name, rate, frames, kept, first / rate, media, events, error)


def events_of(
    warp: Warp, *, rate: Fraction, first: int, frames: int, grid: Fraction, until: Fraction
) -> Iterator[Event]:
    """The linear pieces of `warp` with both ends on whole frames; adjoining ones stay adjoining."""
    for stretch in warp.stretches:
        edges = [min(max(round(time * rate) - first, 0), frames) for time in stretch.times.tolist()]
        seconds = stretch.at(np.asarray([float((edge + first) / rate) for edge in edges]))
        sources = [min(max(round(second * grid) / grid, Fraction(0)), until) for second in seconds.tolist()]
        for (start, end), (source, source_end) in zip(pairwise(edges), pairwise(sources), strict=True):
            if end > start:
                yield Event(start, end, source, source_end)


def _error(events: Sequence[Event], warp: Warp, rate: Fraction, first: int, until: Fraction) -> float:
    """The largest distance in seconds between the events and the warp, over all frames that both know."""
    worst = 0.0
    for event in events:
        frames = range(event.start, event.end)
        # A microsecond later: the frame at which a stretch begins is inside it, however its time is rounded.
        times = np.asarray([float((frame + first) / rate) for frame in frames]) + 1e-6
        shown = np.asarray([float(event.source_at(frame)) for frame in frames])
        wanted = np.clip(warp.at(times), 0, float(until))
        off = np.abs(shown - wanted)[warp.covers(times)]
        worst = max(worst, float(off.max(initial=0.0)))
    return worst


@dataclass(frozen=True)
class Slot:
    """A clip of a timeline: `frames` at `rate` that show `file`, and how.

    warp   from seconds of the slot to seconds of the file
    place  where it is, for the format that read it
    """

    file: Location
    frames: int
    rate: Fraction
    warp: Warp
    place: Any

    @property
    def clip(self) -> Clip:
        start, end = (float(self.warp.at(second)) for second in (0.0, float(self.frames / self.rate)))
        return Clip(str(self.file), max(0.0, start), end)


def find_media(name: str, url: str, folder: Location | None, timeline: Location) -> Location:
    """The file a timeline means: at its path or URI, beside the timeline, or in `folder`."""
    # Some write `file:/path`, with one slash.
    named = Location(re.sub("^file:/(?!/)", "file:///", url) or name)
    place = Location(named.path) if named.is_local else named
    beside = [base.join(place.name) for base in (folder, timeline.parent) if base]
    if place.scheme is None:
        beside.insert(0, timeline.parent.join(place.text))
    for candidate in (place, *beside):
        if exists(candidate):
            return candidate
    raise RenderError(
        f"{timeline}: the file of the clip {name} is not at {place}; name its folder with --media"
    )


def xml_document(root: xml.Element) -> str:
    """The text of an XML file whose document type is named like its root."""
    xml.indent(root)
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE {root.tag}>\n'
    return head + xml.tostring(root, "unicode") + "\n"


# Frame rates and time codes as editing programs count them.


STANDARD = [Fraction(base * 1000, per) for base in (24, 30, 48, 60, 120) for per in (1000, 1001)]
STANDARD += [Fraction(25), Fraction(50), Fraction(100)]
"""The rates that editing programs have names for."""


def standard_rate(fps: Fraction) -> Fraction:
    """The standard rate within 0.05 % of `fps` (cameras and muxers write 29.978 for 29.97), else `fps`."""
    nearest = min(STANDARD, key=lambda rate: abs(rate - fps))
    return nearest if abs(nearest - fps) <= fps / 2000 else fps.limit_denominator(1001)


def timeline_rate(fps: Fraction) -> Fraction:
    """The standard rate for a timeline that shows every frame of a video at `fps`.

    Editing programs offer only standard rates. For another one, such as a GIF's 12.5, the result is the
    lowest standard rate that is a multiple of it, else the lowest that is higher, else the highest.

    Examples
    --------
    >>> timeline_rate(Fraction(25, 2)), timeline_rate(Fraction(2997, 100)), timeline_rate(Fraction(33, 2))
    (Fraction(25, 1), Fraction(30000, 1001), Fraction(24000, 1001))
    """
    nearest = standard_rate(fps)
    higher = [rate for rate in sorted(STANDARD) if rate >= nearest] or [max(STANDARD)]
    multiples = [rate for rate in higher if standard_rate(rate / max(1, round(rate / fps))) == nearest]
    return next(iter(multiples), higher[0])


DROP_RATES = (Fraction(30000, 1001), Fraction(60000, 1001))


def is_drop_frame(rate: Fraction) -> bool:
    """29.97 and 59.94 are counted in drop-frame time code, so that an hour of it lasts an hour."""
    return rate in DROP_RATES


def timecode(frame: int, rate: Fraction, *, drop: bool | None = None) -> str:
    """`hh:mm:ss:ff` of frame number `frame`, or `hh:mm:ss;ff` in drop-frame time code.

    Parameters
    ----------
    frame
        Frame number, counted from 0 at 00:00:00:00.
    rate
        Frames per second. Time codes count in whole numbers: 30 per second at 29.97.
    drop
        Whether to count drop-frame. None: at the rates for which `is_drop_frame` holds.

    Examples
    --------
    >>> timecode(1800, Fraction(30000, 1001)), timecode(17982, Fraction(30000, 1001))
    ('00:01:00;02', '00:10:00;00')
    >>> timecode(1800, Fraction(30000, 1001), drop=False)
    '00:01:00:00'
    """
    base = round(rate)
    is_drop = is_drop_frame(rate) if drop is None else drop
    if is_drop:
        dropped = base // 15  # numbers skipped each minute, but not each tenth: 2 at 29.97, 4 at 59.94
        tens, rest = divmod(frame, 600 * base - 9 * dropped)
        minutes = max(0, rest - dropped) // (60 * base - dropped)
        frame += dropped * (9 * tens + minutes)
    seconds, frames = divmod(frame, base)
    separator = ";" if is_drop else ":"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{separator}{frames:02}"


def frame_of(code: str, rate: Fraction, *, drop: bool | None = None) -> int:
    """The frame number of a time code.

    Parameters
    ----------
    code
        `hh:mm:ss:ff`, with `;` or `.` before the frames in drop-frame time code.
    rate
        Frames per second.
    drop
        Whether the code counts drop-frame. None: as its separator says.

    Examples
    --------
    >>> frame_of("00:01:00;02", Fraction(30000, 1001))
    1800
    """
    base = round(rate)
    hours, minutes, seconds, frames = (int(part) for part in re.split("[:;.]", code))
    frame = ((hours * 60 + minutes) * 60 + seconds) * base + frames
    if has_drop_separator(code) if drop is None else drop:
        total = hours * 60 + minutes
        frame -= base // 15 * (total - total // 10)
    return frame


def has_drop_separator(code: str) -> bool:
    return ";" in code or "." in code
