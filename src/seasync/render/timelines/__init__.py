"""Timelines of editing programs: an alignment as an edit, in each program's format; clips replaced in them.

A format is a function `write(alignment, place, *, keep)` that returns the files it wrote. To add one, write
its module, and add its ending to `WRITERS` and to `seasync.options.TimelineFormat`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasync import plugins
from seasync.alignment import Alignment, Warp
from seasync.clip import Clip
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write, expect_writable, fetch, write_text
from seasync.group.clock import clips_of, has_partner
from seasync.marks import csv_text
from seasync.options import Side
from seasync.render.frames import frames_at, in_even_pieces
from seasync.render.sound import write_sound
from seasync.render.timelines import edl, otio, xml_formats
from seasync.render.timelines.edit import Edit, Event, Grid, Media, Slot, edit_of, events_of
from seasync.video import frame_table

Row = tuple[int, float, int | None, float | None]
Writer = Callable[..., list[Location]]
"""`write(alignment, place, keep=…)` gives the files that it wrote."""


def known_formats() -> tuple[str, ...]:
    """The endings of all formats, those of installed packages too."""
    return (*WRITERS, *(f".{name}" for name in plugins.names("timelines")))


def export(alignment: Alignment, file: Place, *, keep: Side = "query") -> list[Path | Location]:
    """Write `alignment` as a timeline that shows the other clip on the clock of the kept one.

    All formats but .csv and .json follow the smoothed warp to one frame, in as few pieces of even speed as
    that takes, and say so in the file. Where the alignment is partial, the timeline has gaps.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI. Its ending decides the format: .otio (OpenTimelineIO), .fcpxml (Final Cut Pro,
        Resolve), .edl (CMX3600), .mlt (Shotcut, melt), .xml (xmeml, for Premiere), .csv or .json (frame
        by frame).
    keep
        The clip whose clock the timeline has.

    Returns
    -------
    list of Path or Location
        The files written. An .mlt has its sound beside it.

    Raises
    ------
    RenderError
        If the format is unknown, the file cannot be written, or the alignment does not know its files.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> files = seasync.render.export(alignment, "sync.otio")
    """
    place = Location(file)
    suffix = place.suffix.lower()
    if suffix in WRITERS:
        written = WRITERS[suffix](alignment, place, keep=keep)
    elif plugin := plugins.find("timelines", suffix.removeprefix(".")):
        written = plugin.run(lambda write: list(map(Location, write(alignment, place, keep=keep))))
    else:
        raise RenderError(
            f"{file}: no timeline format is named {suffix!r}; expected one of {' '.join(known_formats())}"
        )
    # As callers know them: paths, unless they are at a URI.
    return [each.path if each.is_local else each for each in written]


def frames_csv(alignment: Alignment, keep: Side) -> str:
    """One line for each frame of the kept clip; the partner's cells are empty where it has none."""
    other = "match" if keep == "query" else "query"
    columns = [f"{side}_{unit}" for side in (keep, other) for unit in ("frame", "seconds")]
    return csv_text(columns, frame_map(alignment, keep=keep))


def frames_json(alignment: Alignment, keep: Side) -> str:
    """The alignment as `seasync align --json` prints it, and the frame map as `frames`."""
    columns = ("frame", "seconds", "partner_frame", "partner_seconds")
    rows = [dict(zip(columns, row, strict=True)) for row in frame_map(alignment, keep=keep)]
    return json.dumps({**alignment.to_json(), "keep": keep, "frames": rows}, indent=1) + "\n"


def _write_mlt(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
    """Write the project, and beside it the retimed clip's sound as .wav, if it has any."""
    sound = place.with_suffix(".wav")
    if sound.is_local:
        sound = Location(sound.path.resolve())
    other: Side = "match" if keep == "query" else "query"
    has_sound = write_sound(alignment, sound, keep=keep, audio=other)
    text = xml_formats.mlt_text(edit_of(alignment, keep=keep), sound=sound if has_sound else None)
    write_text(place, text, error=RenderError)
    return [place, sound] if has_sound else [place]


def frame_map(alignment: Alignment, *, keep: Side = "query") -> list[Row]:
    """For each frame of the kept clip its number and seconds, and its partner's; None where it has none.

    Numbers and seconds count from the beginning of the files, numbers from 0.
    """
    kept, other = clips_of(alignment, keep)
    table, others = frame_table(kept.file), frame_table(other.file)
    warp = alignment.warp(keep=keep)
    numbers = table.shown(kept.start, kept.end)
    times = table.seconds[numbers.start : numbers.stop]
    partners, known = frames_at(others, warp.at(times)), has_partner(warp, times)
    rows: list[Row] = []
    for number, time, partner, is_known in zip(numbers, times.tolist(), partners, known, strict=True):
        found = (int(partner), round(float(others.seconds[partner]), 6)) if is_known else (None, None)
        rows.append((number, round(time, 6), *found))
    return rows


def _text_writer(text_of: Callable[[Alignment, Side], str]) -> Writer:
    """The writer of a format that is one file of text."""

    def write(alignment: Alignment, place: Location, *, keep: Side) -> list[Location]:
        write_text(place, text_of(alignment, keep), error=RenderError)
        return [place]

    return write


def _edit_writer(text_of: Callable[[Edit], str], source_rate: Grid = "media") -> Writer:
    """The writer of a format that says what an `Edit` does."""
    return _text_writer(
        lambda alignment, keep: text_of(edit_of(alignment, keep=keep, source_rate=source_rate))
    )


WRITERS: dict[str, Writer] = {
    ".csv": _text_writer(frames_csv),
    ".json": _text_writer(frames_json),
    ".otio": _edit_writer(otio.otio_text),
    ".fcpxml": _edit_writer(xml_formats.fcpxml_text),
    ".edl": _edit_writer(edl.edl_text, "timeline"),
    ".mlt": _write_mlt,
    ".xml": _edit_writer(xml_formats.xmeml_text),
}
"""What writes the files of each ending."""


# A better clip into an edit: the same place, the same duration, retimed to the old clip's key moments.


LONGEST_FRAMES = 24 * 3600 * 120  # a day at 120 frames per second


# A timeline with its clips. `slots` gives their names in order, and what gives their slots (or says why that
# cannot be); `put` replaces one of them by events; `save` writes a file.
EditFile = edl.EdlFile | xml_formats.FcpxmlFile | otio.OtioFile
READERS: dict[str, type[EditFile]] = {
    ".otio": otio.OtioFile,
    ".fcpxml": xml_formats.FcpxmlFile,
    ".edl": edl.EdlFile,
}


@dataclass(frozen=True)
class Replaced:
    """What went out, what came in, and how well they fit."""

    old: Clip
    new: Clip
    alignment: Alignment
    pieces: int


def replace_clip(
    timeline: Place, clip: str, find: Callable[[Clip], Alignment], file: Place, *, media: Place | None = None
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
