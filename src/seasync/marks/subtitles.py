"""Marks as subtitles: one file per clip, named like it; each line is a mark with its start and end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasync.errors import DataError
from seasync.files import Location, atomic_write, fetch
from seasync.marks.mark import FrameSeconds, Mark, MarkedClips

if TYPE_CHECKING:
    from pysubs2 import SSAFile

# Subtitles of less than this are moments: players do not show shorter ones.
SHOWN_SECONDS = 0.1


def load(path: Location) -> SSAFile:
    """A file of subtitles, by pysubs2."""
    import pysubs2

    try:
        return pysubs2.load(str(fetch(path)))
    # Its readers take numbers and columns for granted.
    except (pysubs2.Pysubs2Error, ValueError, LookupError, OverflowError, OSError) as error:
        raise DataError(f"{path}: cannot be read as subtitles ({error}); expected UTF-8 text") from error


def read(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """The lines of one file."""
    marks = []
    for event in load(path):
        start, end = event.start / 1000, event.end / 1000
        is_moment = round(end - start, 3) <= SHOWN_SECONDS
        marks.append(Mark(event.plaintext.strip(), start, None if is_moment else end))
    return {path.stem: marks}


def write(path: Location, clips: MarkedClips) -> None:
    """The marks of one clip; of several, a file each in a folder of this name."""
    import pysubs2

    for clip, marks in clips.items():
        subtitles = pysubs2.SSAFile()
        for mark in marks:
            end = mark.seconds + SHOWN_SECONDS if mark.end is None else mark.end
            event = pysubs2.SSAEvent(start=round(mark.seconds * 1000), end=round(end * 1000))
            event.plaintext = mark.name
            subtitles.append(event)
        with atomic_write(one_of(path, clip, len(clips)), make_folder=True, error=DataError) as part:
            subtitles.save(str(part), format_=path.suffix.lower().lstrip("."))


def one_of(path: Location, clip: str, count: int) -> Location:
    """Where the marks of a clip go: the file itself if it is the only clip, else one in a folder."""
    if count == 1:
        return path
    return path.with_suffix("").join(f"{Location(clip).stem}{path.suffix}")
