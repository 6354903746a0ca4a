"""Labels, key moments and subtitles carried from one clip to the other along an alignment."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasync.alignment import Alignment, Warp
from seasync.encoding import Seconds
from seasync.errors import DataError, RenderError
from seasync.files import Location, Place, atomic_write, expect_writable, fetch
from seasync.marks.subtitles import load as load_subtitles
from seasync.options import Side
from seasync.render.composition import Mark
from seasync.render.frames import clips_of, has_partner, nearest
from seasync.video import frame_table

# Labels as CSV: phases, key moments, or a row for each frame.


Row = dict[str, str]
# The same moments, counted in frames.
FRAMES = {"seconds": "frame", "start": "start_frame", "end": "end_frame"}


@dataclass(frozen=True)
class LabelTable:
    """`rows` of `columns`: times (the names above) and whatever stands beside them."""

    path: Path
    columns: list[str]
    rows: list[Row]

    @classmethod
    def read(cls, path: Path) -> LabelTable:
        try:
            with path.open(newline="", encoding="utf-8-sig") as lines:
                reader = csv.DictReader(lines)
                table = cls(path, list(reader.fieldnames or ()), list(reader))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(
                f"{path}: cannot be read ({reason}); expected a CSV of labels in UTF-8"
            ) from error
        if not table.has_phases and not {"seconds", "frame"} & set(table.columns):
            columns = ", ".join(table.columns) or "none"
            named = "start and end, start_frame and end_frame, seconds, or frame"
            expected = "commas between the columns" if ";" in columns else named
            raise DataError(f"{path}: columns {columns}; expected {expected}")
        for number, row in enumerate(table.rows, 1):
            if set(row) != set(table.columns) or None in row.values():
                raise DataError(
                    f"{path}: row {number} does not have {len(table.columns)} values, one for each column"
                )
        return table

    @property
    def has_phases(self) -> bool:
        return {"start", "end"} <= set(self.columns) or {"start_frame", "end_frame"} <= set(self.columns)

    def seconds(self, name: str, frames: Seconds) -> Seconds:
        """(rows,) the time `name` of each row; its frame, if given, is exact and goes before its seconds.

        frames  when the frames of the video are shown
        """
        return np.asarray([self._second(number, name, frames) for number in range(len(self.rows))])

    def _second(self, number: int, name: str, frames: Seconds) -> float:
        row = self.rows[number]
        frame, second = row.get(FRAMES[name]), row.get(name)
        try:
            if not frame:
                return float(second or "")
            # An exclusive end may be the frame after the last.
            return float(np.interp(int(frame), np.arange(len(frames)), frames, right=frames[-1] + 1.0))
        except (ValueError, OverflowError):
            raise DataError(
                f"{self.path}: row {number + 1} has {frame or second!r} as its {FRAMES[name]} or {name}; "
                "expected a number"
            ) from None

    def goes_frame_by_frame(self, frames: Seconds) -> bool:
        """Whether consecutive frames have a row each: key moments leave frames between them."""
        if self.has_phases or len(self.rows) < 3:
            return False
        return bool((np.diff(nearest(frames, self.seconds("seconds", frames))) == 1).all())

    def write(self, path: Place, rows: list[Row]) -> None:
        with (
            atomic_write(path, error=RenderError) as part,
            part.open("w", newline="", encoding="utf-8") as out,
        ):
            writer = csv.DictWriter(out, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def read_marks(file: Place, video: Place) -> list[Mark]:
    """Read key moments or phases to show in a film.

    Parameters
    ----------
    file
        A CSV as `transfer` takes it. The names are in its first column that is not a time.
    video
        The video they belong to: it gives frame numbers their times.

    Returns
    -------
    list of Mark

    Raises
    ------
    DataError
        If the file cannot be read or has no column with names.

    Examples
    --------
    >>> [mark.text for mark in seasync.render.read_marks("keys.csv", "query.mp4")]
    ['up', 'down']
    """
    table, frames = LabelTable.read(fetch(file)), frame_table(video).seconds
    names = [column for column in table.columns if column not in {*FRAMES, *FRAMES.values()}]
    if not names:
        raise DataError(
            f"{file}: columns {', '.join(table.columns)}; expected one with names beside the times"
        )
    starts = table.seconds("start" if table.has_phases else "seconds", frames).tolist()
    ends = table.seconds("end", frames).tolist() if table.has_phases else [None] * len(starts)
    texts = [row[names[0]] for row in table.rows]
    return [Mark(start, text, end) for start, text, end in zip(starts, texts, ends, strict=True)]


SUBTITLES = (".srt", ".vtt", ".ass", ".ssa")


@dataclass(frozen=True)
class Carried:
    """How many labels found their place, and how many have none because nothing corresponds to them."""

    carried: int
    left_out: int


def transfer(alignment: Alignment, labels: Place, file: Place, *, to: Side = "match") -> Carried:
    """Carry the labels of one clip to the other and write them to `file`.

    Seconds and frame numbers count from the beginning of the file, frames from 0. Where nothing corresponds
    there is no label. Labels of frames follow the paper's propagation: each frame takes its partner's row.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    labels
        Subtitles (.srt .vtt .ass .ssa), or a CSV with one of these sets of columns, and any others beside
        them: `start` and `end` (seconds) or `start_frame` and `end_frame` (the end exclusive) for phases;
        `seconds` or `frame` for key moments, or, if every frame has a row, for labels of frames.
    file
        Where to write the new labels: a path or URI. Subtitles become subtitles, a table a table.
    to
        The clip the new labels are for. The old ones are the other's.

    Returns
    -------
    Carried
        How many labels were carried, and how many have no place.

    Raises
    ------
    DataError
        If the labels cannot be read or `file` cannot hold them.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> carried = seasync.render.transfer(alignment, "query.srt", "other.srt").carried
    """
    target, source = clips_of(alignment, to)
    expect_labels(labels, file)
    path = fetch(labels)
    way = _Way(
        forth=alignment.warp(keep="match" if to == "query" else "query"),
        back=alignment.warp(keep=to),
        source=frame_table(source.file).seconds,
        target=frame_table(target.file).seconds,
    )
    if path.suffix.lower() in SUBTITLES:
        return _subtitles(path, file, way)
    table = LabelTable.read(path)
    new = list(_carried(table, way))
    table.write(file, [row for _, row in new])
    kept = len({number for number, _ in new})
    return Carried(kept, len(table.rows) - kept)


def expect_labels(labels: Place, file: Place) -> None:
    """Raise DataError unless these labels can be carried over into a file of this name."""
    if not fetch(labels).is_file():
        raise DataError(
            f"{labels}: no such file; expected a CSV of labels, or subtitles {' '.join(SUBTITLES)}"
        )
    expect_writable(file, sources=[labels], error=RenderError)
    old, new = (Location(place).suffix.lower() for place in (labels, file))
    if (old in SUBTITLES) != (new in SUBTITLES):
        raise DataError(f"{file}: subtitles become subtitles ({' '.join(SUBTITLES)}), a table a table (.csv)")


@dataclass(frozen=True, eq=False)
class _Way:
    """Both directions between the clips, and when the frames of their files are shown."""

    forth: Warp
    back: Warp
    source: Seconds
    target: Seconds

    def span(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        """Where `start`–`end` went, piece by piece."""
        for stretch in self.forth.stretches:
            first, last = max(stretch.start, start), min(stretch.end, end)
            if first < last:
                there = stretch.at(np.asarray([first, last]))
                yield float(there[0]), float(there[1])

    def placed(self, row: Row, **times: float) -> Row:
        """`row` with these times, and their frames, in the columns it has for them."""
        new = {name: f"{time:.6f}" for name, time in times.items()}
        frames = nearest(self.target, np.asarray(list(times.values()))).tolist()
        new |= {FRAMES[name]: str(frame) for name, frame in zip(times, frames, strict=True)}
        return {column: new.get(column, value) for column, value in row.items()}


def _carried(table: LabelTable, way: _Way) -> Iterator[tuple[int, Row]]:
    """(number of the old row, new row)."""
    if table.has_phases:
        starts, ends = (table.seconds(name, way.source).tolist() for name in ("start", "end"))
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if end < start:
                raise DataError(
                    f"{table.path}: row {number + 1} ends at {end:g} s, before its start {start:g} s"
                )
            for first, last in way.span(start, end):
                yield number, way.placed(table.rows[number], start=first, end=last)
        return
    times = table.seconds("seconds", way.source)
    if table.goes_frame_by_frame(way.source):
        yield from _propagated(table, times, way)
        return
    for number, time in enumerate(times.tolist()):
        if way.forth.covers(time):
            yield number, way.placed(table.rows[number], seconds=way.forth.at(time))


def _propagated(table: LabelTable, times: Seconds, way: _Way) -> Iterator[tuple[int, Row]]:
    """Each frame of the target with the row of the frame it corresponds to, if that has one."""
    partners = way.back.at(way.target)
    rows = nearest(times, partners)
    is_there = np.abs(times[rows] - partners) < np.diff(times).max()
    for frame in np.flatnonzero(has_partner(way.back, way.target) & is_there).tolist():
        number = int(rows[frame])
        yield number, way.placed(table.rows[number], seconds=float(way.target[frame]))


def _subtitles(path: Path, file: Place, way: _Way) -> Carried:
    subtitles = load_subtitles(Location(path))
    events, carried = [], 0
    shortest = float(np.median(np.diff(way.target))) if len(way.target) > 1 else 0.04
    for event in subtitles:
        pieces = list(way.span(event.start / 1000, event.end / 1000))
        carried += bool(pieces)
        for start, end in pieces:
            moved = event.copy()
            moved.start, moved.end = round(start * 1000), round(max(end, start + shortest) * 1000)
            events.append(moved)
    total = len(subtitles)
    subtitles.events = sorted(events, key=lambda event: event.start)
    with atomic_write(file, error=RenderError) as part:
        subtitles.save(str(part))
    return Carried(carried, total - carried)
