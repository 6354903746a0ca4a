"""Which module reads and writes which marks file. A new format is one module and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seasync.errors import DataError
from seasync.files import Location, Place, exists, files_in
from seasync.marks import csv_marks, elan, kinovea, lerobot_subtasks, subtitles
from seasync.marks.mark import FrameSeconds, MarkedClips

Reader = Callable[[Location, FrameSeconds | None], MarkedClips]
Writer = Callable[[Location, MarkedClips], None]


@dataclass(frozen=True)
class Format:
    """How marks files of one ending are read and written; some hold the marks of one clip only."""

    read: Reader
    write: Writer | None
    of_one_clip: bool = False


FORMATS: dict[str, Format] = {
    ".csv": Format(csv_marks.read, csv_marks.write),
    ".srt": Format(subtitles.read, subtitles.write, of_one_clip=True),
    ".vtt": Format(subtitles.read, subtitles.write, of_one_clip=True),
    ".eaf": Format(elan.read, elan.write, of_one_clip=True),
    ".kva": Format(kinovea.read, None),
    ".parquet": Format(lerobot_subtasks.read, lerobot_subtasks.write),
}


def read_marks(file: Place, frame_seconds: FrameSeconds | None = None) -> MarkedClips:
    """Read marks from a file, or from all such files of a folder.

    Parameters
    ----------
    file : path or URI
        A CSV file (columns `clip`, `name`, and `seconds` or `frame`; or `clip` and one column of frame
        numbers per event), a CSV file without `clip`, subtitles (.srt, .vtt) or ELAN files (.eaf) named like
        their clip, Kinovea files (.kva), or a LeRobot data set's episode table (.parquet).
    frame_seconds : callable, optional
        Gives the seconds of a clip's frame, for files that count in frames.

    Returns
    -------
    mapping of str to sequence of Mark

    Raises
    ------
    DataError
        If the file cannot be read as marks.
    """
    place = Location(file)
    if exists(place):
        return _format(place).read(place, frame_seconds)
    files = [each for each in files_in(place) if each.suffix.lower() in FORMATS]
    if files:
        return {clip: marks for each in files for clip, marks in read_marks(each, frame_seconds).items()}
    if place.is_local and place.path.is_dir():
        raise DataError(f"{file}: a folder without marks; expected files such as {', '.join(FORMATS)}")
    raise DataError(f"{file}: no such file; expected marks as {', '.join(FORMATS)}")


def write_marks(file: Place, clips: MarkedClips) -> Location:
    """Write marks to a file; .srt, .vtt and .eaf hold one clip each, so several go to a folder.

    Returns
    -------
    Location
        The file, or the folder: `all` for `all.srt`.

    Raises
    ------
    DataError
        If the ending is unknown or the format is only read.
    """
    path = Location(file)
    form = _format(path)
    if form.write is None:
        raise DataError(f"{path}: {path.suffix} files are only read; write {', '.join(_writable())}")
    form.write(path, clips)
    return path.with_suffix("") if form.of_one_clip and len(clips) > 1 else path


def _writable() -> list[str]:
    return [ending for ending, each in FORMATS.items() if each.write]


def _format(path: Location) -> Format:
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path}: expected marks as {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]
