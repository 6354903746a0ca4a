"""Marks, which are named moments and phases of clips, and the files that hold them.

Every command that takes marks reads them here: from CSV, subtitles, ELAN documents, Kinovea's key images and
LeRobot's sub-tasks. A new format is a function that reads it, one that writes it, and a line in `FORMATS`.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree import ElementTree as xml

import numpy as np

from seasync.clip import Clip
from seasync.encoding import Encoding
from seasync.errors import DataError, SeasyncError
from seasync.files import Location, Place, atomic_write, exists, fetch, files_in

if TYPE_CHECKING:
    from pysubs2 import SSAFile


@dataclass(frozen=True)
class Mark:
    """A named moment, or with `end` a named stretch, in seconds of the clip's file.

    Attributes
    ----------
    name : str
    seconds : float
        When it happens, or when it begins.
    end : float or None
        When it ends; None for a moment.
    confidence : float or None
        How likely a mark that was carried over is within the tolerance (0–1); None if a person set it.

    Examples
    --------
    >>> seasync.render.Mark("impact", 1.2).name
    'impact'
    """

    name: str
    seconds: float
    end: float | None = None
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise DataError(f"a mark: expected its name, then its seconds; got {self.name!r} as its name")
        if not math.isfinite(self.seconds) or self.seconds < 0:
            raise DataError(f"mark {self.name!r}: expected 0 or more seconds, got {self.seconds}")
        if self.end is not None and not self.end >= self.seconds:
            raise DataError(
                f"mark {self.name!r}: ends at {self.end:g} s, before its start {self.seconds:g} s"
            )


MarkedClips = Mapping[str, Sequence[Mark]]
"""Marks by clip: its id, its path, or its file's name."""


Encodings = Callable[[Sequence[int]], Sequence[Encoding]]
"""The encodings of clips by their numbers."""


FrameSeconds = Callable[[str, float], float | None]
"""When a frame of a clip is shown, in seconds, by the clip's name; None for a clip that is not known."""


def is_checked(marks: Sequence[Mark]) -> bool:
    """Whether a person has set or checked these marks: at least one of them has no confidence."""
    return any(mark.confidence is None for mark in marks)


def checked_marks(clips: Sequence[Clip], marks: MarkedClips) -> dict[int, Sequence[Mark]]:
    """The marks of those clips, by number, whose marks a person has set or checked.

    Raises
    ------
    DataError
        If there are marks, of whatever clip, and all of them were carried over.
    """
    everywhere = [mark for each in marks.values() for mark in each]
    if everywhere and not is_checked(everywhere):
        raise DataError(
            "every mark has a confidence, so all were carried over; clear the confidence of a clip's marks "
            "when you have checked them"
        )
    return {n: found for n, clip in enumerate(clips) if is_checked(found := marks_of(clip, marks))}


def expect_inside(name: str, clip: Clip, end: float, marks: Iterable[Mark]) -> None:
    """Raise DataError if a mark lies outside its clip, which ends there and is called so in the error."""
    for mark in marks:
        last = max(mark.end or 0.0, mark.seconds)
        if not clip.start <= mark.seconds <= last <= end + 0.05:  # times are rounded in files
            raise DataError(
                f"{name}: the mark {mark.name!r} is at {mark.seconds:g} s, outside the clip "
                f"({clip.start:g}–{end:.2f} s); correct the marks file"
            )


def frame_seconds(clips: Sequence[Clip], encodings: Encodings) -> FrameSeconds:
    """When frames of encoded clips are shown; the videos are not opened, encodings are read when asked for.

    A clip is known by its id, its path, its file's name, or that without ending. Between sampled frames, and
    after the last one, time is even.
    """
    places = {name: n for n, clip in enumerate(clips) for name in clip_names(clip)}

    def seconds(clip: str, frame: float) -> float | None:
        if clip not in places:
            return None
        (encoding,) = encodings([places[clip]])
        frames, times = encoding.frames, encoding.seconds
        step = (times[-1] - times[0]) / max(frames[-1] - frames[0], 1)
        beyond = min(frame - frames[0], 0) + max(frame - frames[-1], 0)
        return float(np.interp(frame, frames, times) + beyond * step)

    return seconds


def mark_key(clip: Clip) -> str:
    """What a clip is called in a marks file: its path; its id if it is only a part of its file."""
    return clip.id if clip.id and (clip.start > 0 or clip.end is not None) else clip.file


def take_name(clip: Clip) -> str:
    """What a clip is called in tables: its file's name without the ending, and its span if it has one."""
    stem, _, span = clip.name.partition(" ")
    return stem.rpartition(".")[0] + (f" {span}" if span else "") if "." in stem else clip.name


def clip_names(clip: Clip) -> tuple[str, ...]:
    """What a clip may be called in a marks file: its id, its path, its file's name with or without ending."""
    file = clip.file.replace("\\", "/")
    name = file.rpartition("/")[2]
    names = (clip.id, clip.file, file, name, name.rpartition(".")[0] or name, take_name(clip))
    return tuple(dict.fromkeys(each for each in names if each))


def marks_of(clip: Clip, marks: MarkedClips) -> Sequence[Mark]:
    """The marks of a clip, by any of its names."""
    return next((marks[name] for name in clip_names(clip) if name in marks), ())


def mark_names(clips: Iterable[Sequence[Mark]]) -> tuple[str, ...]:
    """All names, ordered by where in their clip the marks come on average."""
    places: dict[str, list[float]] = {}
    for marks in clips:
        ordered = sorted(marks, key=lambda mark: mark.seconds)
        for place, mark in enumerate(ordered):
            places.setdefault(mark.name, []).append(place / len(ordered))
    return tuple(sorted(places, key=lambda name: sum(places[name]) / len(places[name])))


SUBTITLES = (".srt", ".vtt", ".ass", ".ssa")
Reader = Callable[[Location, FrameSeconds | None], MarkedClips]
Writer = Callable[[Location, MarkedClips], None]
# Subtitles of less than this are moments: players do not show shorter ones.
SHOWN_SECONDS = 0.1


def read_marks(file: Place, frame_seconds: FrameSeconds | None = None) -> MarkedClips:
    """Read marks from a file, or from all such files of a folder.

    Parameters
    ----------
    file : path or URI
        A CSV file (see `MarkTable`), subtitles (.srt, .vtt, .ass, .ssa) or ELAN files (.eaf) named like their
        clip, Kinovea files (.kva), or a LeRobot data set's episode table (.parquet).
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


def read_marks_of(clip: Clip, file: Place, frame_seconds: FrameSeconds) -> Sequence[Mark]:
    """The marks of one clip, from a file that may have others too. A file of one clip needs no name in it."""
    found = read_marks(file, frame_seconds)
    if own := marks_of(clip, found):
        return own
    if len(found) > 1:
        known = ", ".join(sorted(found)[:3])
        raise DataError(f"{file}: the marks are of {known}; expected marks of {clip.name}")
    return next(iter(found.values()), ())


def write_marks(file: Place, clips: MarkedClips) -> Location:
    """Write marks to a file; subtitles and .eaf hold one clip each, so several go to a folder.

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
    form, write = expect_format(path)
    if len(clips) == 1 or not form.of_one_clip:
        write(path, clips)
        return path
    folder = path.with_suffix("")
    for clip, marks in clips.items():
        write(folder.join(f"{Location(clip).stem}{path.suffix}"), {clip: marks})
    return folder


def expect_format(file: Place) -> tuple["Format", Writer]:
    """The format of a file to write, and what writes it; DataError if there is none."""
    path = Location(file)
    form = _format(path)
    if form.write is None:
        writable = ", ".join(ending for ending, each in FORMATS.items() if each.write)
        raise DataError(f"{path}: {path.suffix} files are only read; write {writable}")
    return form, form.write


def holds_only_marks(file: Place) -> bool:
    """Whether a file has marks and nothing else; a table has other columns, subtitles have styles."""
    suffix = Location(file).suffix.lower()
    return suffix in FORMATS and suffix not in (".csv", *SUBTITLES)


# CSV: a row for each mark, or a row for each clip with a column of frame numbers for each event.


COLUMNS = ("clip", "name", "seconds", "end", "confidence")
# The same moments, counted in frames.
FRAMES = {"seconds": "frame", "start": "start_frame", "end": "end_frame"}
NO_NAMES = frozenset({"", "clip", "kind", "confidence", *FRAMES, *FRAMES.values()})
# Columns of a table of events that describe the clip and are no event.
DESCRIBING = frozenset({"", "clip", "label", "split", "group", "player", "view", "frames"})
Row = dict[str, str]


@dataclass(frozen=True)
class MarkTable:
    """A CSV of marks.

    Either a row is a mark: it has `start` and `end`, `start_frame` and `end_frame` (the end exclusive),
    `seconds`, or `frame` (these two with `end` or `end_frame` if it lasts), and a name in the column `name`,
    or in the first that means nothing else; `clip` and `confidence` are optional. Or a row is a `clip`, and
    each column that does not describe it has the frame of an event; `events` has the frames of them all.
    """

    path: Location
    columns: list[str]
    rows: list[Row]

    @classmethod
    def read(cls, file: Place) -> "MarkTable":
        """Read a table; DataError if it has no column of times and none of clips."""
        path = Location(file)
        try:
            with fetch(path).open(newline="", encoding="utf-8-sig") as opened:
                reader = csv.DictReader(opened)
                table = cls(path, list(reader.fieldnames or ()), list(reader))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{path}: cannot be read ({reason}); expected a CSV of marks in UTF-8") from error
        if "clip" not in table.columns:
            table.expect_times("a column 'clip', or ")
        return table

    @property
    def has_spans(self) -> bool:
        """Whether every row has a start and an end."""
        return {"start", "end"} <= set(self.columns) or {"start_frame", "end_frame"} <= set(self.columns)

    @property
    def has_times(self) -> bool:
        return self.has_spans or bool({"seconds", "frame"} & set(self.columns))

    @property
    def has_events(self) -> bool:
        """Whether a row is a clip, and its cells are the frames of events."""
        is_of_marks = {"name", "seconds", "frame"} & set(self.columns)
        return "clip" in self.columns and not (self.has_times and is_of_marks)

    def expect_times(self, otherwise: str = "") -> None:
        """Raise DataError unless each row has a time."""
        if not self.has_times:
            columns = ", ".join(self.columns) or "none"
            named = "start and end, start_frame and end_frame, seconds, or frame"
            expected = "commas between the columns" if ";" in columns else f"{otherwise}{named}"
            raise DataError(f"{self.path}: columns {columns}; expected {expected}")

    def expect_full_rows(self) -> None:
        """Raise DataError unless each row has one cell for each column."""
        for number, row in enumerate(self.rows, 1):
            if set(row) != set(self.columns) or None in row.values():
                count = len(self.columns)
                raise DataError(
                    f"{self.path}: row {number} does not have {count} values, one for each column"
                )

    def marks(self, frame_seconds: FrameSeconds | None) -> MarkedClips:
        """The marks of each clip, in order of time."""
        found: dict[str, list[Mark]] = {}
        for number, row in enumerate(self.rows):
            read = self._events if self.has_events else self._mark
            found.setdefault(self._clip(row), []).extend(read(number, frame_seconds))
        return {clip: sorted(marks, key=lambda mark: mark.seconds) for clip, marks in found.items()}

    def event_frames(self, row: Row) -> list[tuple[str, str]]:
        """The names and frame numbers of a clip's events; the number is empty where there is none."""
        if "events" in self.columns:
            frames = re.findall(r"[^\s;,]+", row.get("events") or "")
            return [(str(n), frame) for n, frame in enumerate(frames, 1)]
        return [(name, row.get(name) or "") for name in self.columns if name not in DESCRIBING]

    def moment(self, number: int, name: str, frame_seconds: FrameSeconds | None) -> float | None:
        """The time `name` of a row. Its frame, if it has one, is exact and goes before its seconds.

        None if it counts in frames of a clip that is not known.
        """
        row, meaning = self.rows[number], f"{FRAMES[name]} or {name}"
        frame, second = row.get(FRAMES[name]), row.get(name)
        if frame and (frame_seconds is not None or not second):
            return self._of_frame(number, meaning, frame, frame_seconds)
        return self._number(number, meaning, second)

    def lasts(self, number: int) -> bool:
        """Whether a row has an end."""
        row = self.rows[number]
        return self.has_spans or bool(row.get("end") or row.get("end_frame"))

    def _mark(self, number: int, frame_seconds: FrameSeconds | None) -> Iterator[Mark]:
        row = self.rows[number]
        names = [column for column in self.columns if column not in NO_NAMES]
        if not names:
            columns = ", ".join(self.columns)
            raise DataError(f"{self.path}: columns {columns}; expected one with names beside the times")
        start = self.moment(number, "start" if self.has_spans else "seconds", frame_seconds)
        if start is not None:
            end = self.moment(number, "end", frame_seconds) if self.lasts(number) else None
            sure = self._number(number, "confidence", row["confidence"]) if row.get("confidence") else None
            yield Mark(row.get("name" if "name" in names else names[0]) or "", start, end, sure)

    def _events(self, number: int, frame_seconds: FrameSeconds | None) -> Iterator[Mark]:
        for name, frame in self.event_frames(self.rows[number]):
            moment = self._of_frame(number, name, frame, frame_seconds) if frame else None
            if moment is not None:
                yield Mark(name, moment)

    def _of_frame(
        self, number: int, meaning: str, frame: str, frame_seconds: FrameSeconds | None
    ) -> float | None:
        if frame_seconds is None:
            raise DataError(f"{self.path}: counts in frames; expected seconds, or the clips' own frame times")
        return frame_seconds(self._clip(self.rows[number]), self._number(number, meaning, frame))

    def _clip(self, row: Row) -> str:
        return (row.get("clip") or "") if "clip" in self.columns else self.path.stem

    def _number(self, number: int, meaning: str, text: str | None) -> float:
        try:
            value = float(text or "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataError(
                f"{self.path}: row {number + 1} has {text or ''!r} as its {meaning}; expected a number"
            )
        return value


def _write_csv(path: Location, clips: MarkedClips) -> None:
    rows = []
    for clip, marks in clips.items():
        for mark in marks:
            end = "" if mark.end is None else f"{mark.end:.6f}"
            sure = "" if mark.confidence is None else f"{mark.confidence:.3f}"
            rows.append((clip, mark.name, f"{mark.seconds:.6f}", end, sure))
    write_csv(path, COLUMNS, rows, error=DataError)


def write_csv(
    file: Place, columns: Sequence[str], rows: Iterable[Sequence[object]], *, error: type[SeasyncError]
) -> None:
    """Write a table as CSV, with the same line ends everywhere."""
    with atomic_write(file, error=error) as part:
        part.write_bytes(csv_text(columns, rows).encode())


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


# Subtitles: one file for each clip, named like it; each line is a mark with its start and end.


def load_subtitles(path: Location) -> "SSAFile":
    """A file of subtitles, by pysubs2."""
    import pysubs2

    try:
        return pysubs2.load(str(fetch(path)))
    # Its readers take numbers and columns for granted.
    except (pysubs2.Pysubs2Error, ValueError, LookupError, OverflowError, OSError) as error:
        raise DataError(f"{path}: cannot be read as subtitles ({error}); expected UTF-8 text") from error


def _read_subtitles(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    lines = load_subtitles(path)
    return {path.stem: [_shown(each.plaintext.strip(), each.start / 1000, each.end / 1000) for each in lines]}


def _write_subtitles(path: Location, clips: MarkedClips) -> None:
    import pysubs2

    subtitles = pysubs2.SSAFile()
    for mark in (mark for marks in clips.values() for mark in marks):
        event = pysubs2.SSAEvent(start=round(mark.seconds * 1000), end=round(_shown_until(mark) * 1000))
        event.plaintext = mark.name
        subtitles.append(event)
    with atomic_write(path, make_folder=True, error=DataError) as part:
        subtitles.save(str(part), format_=path.suffix.lower().lstrip("."))


def _shown(name: str, start: float, end: float) -> Mark:
    return Mark(name, start, None if round(end - start, 3) <= SHOWN_SECONDS else end)


def _shown_until(mark: Mark) -> float:
    return mark.seconds + SHOWN_SECONDS if mark.end is None else mark.end


# ELAN (.eaf): one document for each clip, annotations of tiers that are aligned with time.


TIER = "seasync"


def _read_elan(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """The annotations of one document, by the name of its media file."""
    root = parse_xml(path, "ELAN document")
    slots = {slot.get("TIME_SLOT_ID"): slot.get("TIME_VALUE") for slot in root.iter("TIME_SLOT")}
    media = root.find("./HEADER/MEDIA_DESCRIPTOR")
    url = "" if media is None else media.get("RELATIVE_MEDIA_URL") or media.get("MEDIA_URL") or ""
    # By hand: `urlsplit` refuses some names that ELAN writes, such as those with a bracket.
    clip = unquote(re.split("[?#]", url)[0]).rpartition("/")[2] or path.stem
    marks = []
    for annotation in root.iter("ALIGNABLE_ANNOTATION"):
        start, end = (slots.get(annotation.get(side)) for side in ("TIME_SLOT_REF1", "TIME_SLOT_REF2"))
        if start is None or end is None:
            raise DataError(f"{path}: an annotation has no time; align it in ELAN first")
        try:
            first, last = int(start) / 1000, int(end) / 1000
        except (ValueError, OverflowError) as error:
            raise DataError(f"{path}: {error}; expected times in whole milliseconds") from error
        marks.append(_shown((annotation.findtext("ANNOTATION_VALUE") or "").strip(), first, last))
    return {clip: sorted(marks, key=lambda mark: mark.seconds)}


def _write_elan(path: Location, clips: MarkedClips) -> None:
    """One document, with all marks of its clip on one tier."""
    ((clip, marks),) = clips.items()
    name, kind = Location(clip).name, "default-lt"
    root = xml.Element("ANNOTATION_DOCUMENT", AUTHOR="Seasync", DATE="", FORMAT="3.0", VERSION="3.0")
    header = xml.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    xml.SubElement(header, "MEDIA_DESCRIPTOR", MEDIA_URL=name, MIME_TYPE="video/*", RELATIVE_MEDIA_URL=name)
    order = xml.SubElement(root, "TIME_ORDER")
    tier = xml.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=kind, TIER_ID=TIER)
    for number, mark in enumerate(marks, 1):
        slots = [f"ts{2 * number - 1}", f"ts{2 * number}"]
        for slot, time in zip(slots, (mark.seconds, _shown_until(mark)), strict=True):
            xml.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(round(time * 1000)))
        ends = {f"TIME_SLOT_REF{end}": slot for end, slot in enumerate(slots, 1)}
        outer = xml.SubElement(tier, "ANNOTATION")
        inner = xml.SubElement(outer, "ALIGNABLE_ANNOTATION", {"ANNOTATION_ID": f"a{number}"} | ends)
        xml.SubElement(inner, "ANNOTATION_VALUE").text = mark.name
    details = {"GRAPHIC_REFERENCES": "false", "LINGUISTIC_TYPE_ID": kind, "TIME_ALIGNABLE": "true"}
    xml.SubElement(root, "LINGUISTIC_TYPE", details)
    xml.indent(root)
    with atomic_write(path, make_folder=True, error=DataError) as part:
        xml.ElementTree(root).write(part, encoding="UTF-8", xml_declaration=True)


def parse_xml(path: Location, kind: str, *, raises: type[SeasyncError] = DataError) -> xml.Element:
    """The root of an XML file that is not trusted: one that defines entities is refused."""
    try:
        text = fetch(path).read_bytes()
        if b"<!ENTITY" in text:
            raise raises(f"{path}: defines XML entities; expected a plain {kind}")
        # Without entities nothing expands, and expat opens no other files.
        return xml.fromstring(text)  # nosec B314
    except (OSError, xml.ParseError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise raises(f"{path}: cannot be read as an {kind} ({error})") from error


# Kinovea (.kva): its key images, by title.


def _read_kinovea(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """The key images of one file. Times are counted in time stamps, whose rate the file states."""
    root = parse_xml(path, "Kinovea file")
    try:
        rate = float(root.findtext("AverageTimeStampsPerSecond") or "")
        first = float(root.findtext("FirstTimeStamp") or 0)
        marks = []
        for number, frame in enumerate(root.iter("Keyframe"), 1):
            # In the two spellings that Kinovea has used.
            stamp = float(frame.findtext("Timestamp") or frame.findtext("Position") or "")
            marks.append(Mark(frame.findtext("Title") or f"key {number}", (stamp - first) / rate))
    except (ValueError, ZeroDivisionError) as error:
        raise DataError(f"{path}: expected key images with time stamps, as Kinovea saves them") from error
    video = (root.findtext("OriginalFilename") or path.stem).replace("\\", "/").rpartition("/")[2]
    return {video: sorted(marks, key=lambda mark: mark.seconds)}


# LeRobot (.parquet): sub-tasks, a row for each episode, in the columns that LeRobot's annotation tools add
# to `meta/episodes`. Seconds count from the start of the episode.


EPISODE, NAMES = "episode_index", "subtask_names"
STARTS, ENDS = "subtask_start_times", "subtask_end_times"


def _read_episodes(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """Sub-tasks by episode, as `episode_000012`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = [EPISODE, NAMES, STARTS, ENDS]
    try:
        table = parquet.read_table(fetch(path))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as a table of episodes ({error})") from error
    if missing := [name for name in columns if name not in table.column_names]:
        raise DataError(f"{path}: no column {missing[0]!r}; expected sub-tasks as LeRobot annotates them")
    found = {}
    for row in table.select(columns).to_pylist():
        parts = zip(row[NAMES] or (), row[STARTS] or (), row[ENDS] or (), strict=True)
        found[f"episode_{row[EPISODE]:06d}"] = [Mark(name, start, end) for name, start, end in parts]
    return found


def _write_episodes(path: Location, clips: MarkedClips) -> None:
    """One row per episode; a moment becomes a sub-task that lasts until the next."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows: dict[int, dict[str, object]] = {}
    for clip, marks in clips.items():
        number = re.search(r"(\d+)(?:\.\w+)?$", clip)
        if number is None:
            raise DataError(f"{clip}: expected a name that ends in the episode's number, as episode_000012")
        index, starts = int(number[1]), [mark.seconds for mark in marks]
        following = [*starts[1:], *starts[-1:]]
        ends = [later if mark.end is None else mark.end for mark, later in zip(marks, following, strict=True)]
        rows[index] = {EPISODE: index, NAMES: [mark.name for mark in marks], STARTS: starts, ENDS: ends}
    with atomic_write(path, error=DataError) as part:
        parquet.write_table(pa.Table.from_pylist([rows[index] for index in sorted(rows)]), part)


@dataclass(frozen=True)
class Format:
    """How marks files of one ending are read and written; some hold the marks of one clip only."""

    read: Reader
    write: Writer | None
    of_one_clip: bool = False


FORMATS = {
    ".csv": Format(lambda path, frame_seconds: MarkTable.read(path).marks(frame_seconds), _write_csv),
    **dict.fromkeys(SUBTITLES, Format(_read_subtitles, _write_subtitles, of_one_clip=True)),
    ".eaf": Format(_read_elan, _write_elan, of_one_clip=True),
    ".kva": Format(_read_kinovea, None),
    ".parquet": Format(_read_episodes, _write_episodes),
}


def _format(path: Location) -> Format:
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path}: expected marks as {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]
