"""An edit: a clip retimed to another clip's clock, in whole frames, ready to be written for any editor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np

from seasync.alignment import Alignment, Warp
from seasync.files import Location, Place
from seasync.options import Side
from seasync.render.frames import clips_of, clock_of, frame_rate, in_even_pieces
from seasync.render.timelines.rate import standard_rate, timeline_rate
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
    def of(cls, file: Place) -> Media:
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
        events = tuple(
            events_of(pieces, rate=rate, first=first, frames=frames, grid=grid, until=media.seconds)
        )
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
