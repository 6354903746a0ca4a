"""A better clip into an edit: the same place, the same duration, retimed to the old clip's key moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seasync.alignment import Alignment, Warp
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write, expect_writable, fetch
from seasync.group.clock import clips_of
from seasync.render.frames import in_even_pieces
from seasync.render.timelines.edit import Event, Media, Slot, events_of
from seasync.render.timelines.edl import EdlFile
from seasync.render.timelines.fcpxml import FcpxmlFile
from seasync.render.timelines.otio import OtioFile

LONGEST_FRAMES = 24 * 3600 * 120  # a day at 120 frames per second


# A timeline with its clips. `slots` gives their names in order, and what gives their slots (or says why that
# cannot be); `put` replaces one of them by events; `save` writes a file.
EditFile = EdlFile | FcpxmlFile | OtioFile
READERS: dict[str, type[EditFile]] = {".otio": OtioFile, ".fcpxml": FcpxmlFile, ".edl": EdlFile}


@dataclass(frozen=True)
class Replaced:
    """What went out, what came in, and how well they fit."""

    old: Clip
    new: Clip
    alignment: Alignment
    pieces: int


def replace_clip(
    timeline: Place,
    clip: str,
    find: Callable[[Clip], Alignment],
    file: Place,
    *,
    media: Place | None = None,
) -> Replaced:
    """Write a timeline with another clip in the place of one of its own.

    All else in the timeline stays, the clip's name too (in an EDL the name is the file's: a comment keeps
    the old one). Where nothing corresponds, the new clip continues at its own speed.

    Parameters
    ----------
    timeline
        An .otio, .fcpxml or .edl file; a path or URI.
    clip
        The clip's name in the timeline, or its number, counted from 1.
    find
        Gives the alignment of the old clip (the query) with the new one, such as
        `lambda query: sea.search(query, k=1)[0].alignment`.
    file
        Where to write the new timeline. It has the format of `timeline` and must be another file.
    media
        A folder with files whose path the timeline does not know. EDLs know only names.

    Returns
    -------
    Replaced
        What went out, what came in, and how well they fit.

    Raises
    ------
    RenderError
        If the timeline cannot be read, has no such clip, or the clip cannot be replaced.

    Examples
    --------
    >>> sea = seasync.Sea("footage.sea")
    >>> best = lambda query: sea.search(query, k=1)[0].alignment
    >>> replaced = seasync.render.replace_clip("edit.otio", "shot-12", best, "new.otio")
    """
    suffix = Location(timeline).suffix.lower()
    opened = _open(Location(timeline), None if media is None else Location(media))
    slot = _chosen(str(timeline), opened.slots(), clip)
    if slot.frames > LONGEST_FRAMES:
        raise RenderError(f"{timeline}: the clip {clip} has {slot.frames:.3g} frames, more than any video")
    if Location(file).suffix.lower() != suffix:
        raise RenderError(f"{file}: expected a name that ends in {suffix}, as {timeline} does")
    expect_writable(file, sources=[timeline], error=RenderError)
    alignment = find(slot.clip)
    new = clips_of(alignment, "query")[1]
    source = Media.of(new.file)
    events = _events(slot, alignment.warp(keep="query").smooth(), source, in_frames=suffix == ".edl")
    opened.put(slot, source, events)
    with atomic_write(file, error=RenderError) as part:
        opened.save(part)
    return Replaced(slot.clip, new, alignment, len(events))


def _open(timeline: Location, media: Location | None) -> EditFile:
    if not fetch(timeline).is_file():
        raise RenderError(f"{timeline}: no such file; expected a timeline (.otio, .fcpxml or .edl)")
    suffix = timeline.suffix.lower()
    if suffix in READERS:
        return READERS[suffix](timeline, media)
    raise RenderError(
        f"{timeline}: clips are replaced in .otio, .fcpxml and .edl timelines, not in {suffix!r}"
    )


def _chosen(timeline: str, slots: Sequence[tuple[str, Callable[[], Slot]]], clip: str) -> Slot:
    named = [number for number, (name, _) in enumerate(slots, 1) if name == clip]
    if not named and clip.isdigit() and 1 <= int(clip) <= len(slots):
        named = [int(clip)]
    if len(named) == 1:
        return slots[named[0] - 1][1]()
    known = ", ".join(f"{number} {name}" for number, (name, _) in enumerate(slots, 1)) or "none"
    problem = f"{len(named)} clips are named {clip}: give its number" if named else f"no clip is named {clip}"
    raise RenderError(f"{timeline}: {problem}; there are {known}")


def _events(slot: Slot, warp: Warp, media: Media, *, in_frames: bool) -> tuple[Event, ...]:
    """The slot's frames along the warp; it is followed beyond its spans, so that the slot is filled."""
    times = np.append(np.arange(slot.frames), slot.frames) / float(slot.rate)
    values = np.maximum.accumulate(np.clip(warp.at(slot.warp.at(times)), 0, float(media.seconds)))
    pieces = in_even_pieces(Warp.through(times, values), min(slot.rate, media.fps), max_error_frames=0.4)
    grid = slot.rate if in_frames else media.fps * 8
    found = events_of(pieces, rate=slot.rate, first=0, frames=slot.frames, grid=grid, until=media.seconds)
    return tuple(found)
