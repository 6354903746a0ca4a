"""Marks as CSV: one row per mark, or one row per clip with a column of frame numbers for each event."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from seasync.errors import DataError
from seasync.files import Location, atomic_write, fetch
from seasync.marks.mark import FrameSeconds, Mark, MarkedClips

COLUMNS = ("clip", "name", "seconds", "end", "confidence")
# Columns of an events table that describe the clip and are no event.
DESCRIBING = frozenset({"clip", "label", "split", "group", "player", "view", "frames"})


def read(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """Marks of all clips of the table. Without a column `clip`, they are of the clip named like it."""
    columns, rows = _table(path)
    one_mark_a_row = "name" in columns and {"seconds", "frame"} & set(columns)
    if "clip" not in columns:
        if not one_mark_a_row:
            expected = "commas between the columns" if ";" in "".join(columns) else "a column 'clip'"
            raise DataError(f"{path}: columns {', '.join(columns) or 'none'}; expected {expected}")
        rows = [(number, {"clip": path.stem, **row}) for number, row in rows]
    found: dict[str, list[Mark]] = {}
    for number, row in rows:
        marks = (
            _mark(path, number, row, frame_seconds)
            if one_mark_a_row
            else _events(path, number, row, frame_seconds)
        )
        found.setdefault(row["clip"], []).extend(marks)
    return {clip: sorted(marks, key=lambda mark: mark.seconds) for clip, marks in found.items()}


def write(path: Location, clips: MarkedClips) -> None:
    """One row per mark."""
    with atomic_write(path, error=DataError) as part, part.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(COLUMNS)
        for clip, marks in clips.items():
            for mark in marks:
                end = "" if mark.end is None else f"{mark.end:.6f}"
                sure = "" if mark.confidence is None else f"{mark.confidence:.3f}"
                writer.writerow([clip, mark.name, f"{mark.seconds:.6f}", end, sure])


def _table(path: Location) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    try:
        with fetch(path).open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened, restval="")
            columns, rows = list(reader.fieldnames or ()), [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read ({error}); expected a CSV of marks in UTF-8") from error
    # Cells beyond the header, and those of columns without a name, mean nothing.
    named = [(number, {name: cell for name, cell in row.items() if name}) for number, row in rows]
    return columns, named


def _mark(
    path: Location, number: int, row: dict[str, str], frame_seconds: FrameSeconds | None
) -> Iterator[Mark]:
    def moment(second: str, frame: str) -> float | None:
        if row.get(frame):
            return _of_frame(path, number, row["clip"], row[frame], frame_seconds)
        return _number(path, number, second, row[second]) if row.get(second) else None

    start = moment("seconds", "frame")
    if start is None and not row.get("frame"):
        raise DataError(f"{path}, line {number}: expected a number under 'seconds' or 'frame'")
    if start is not None:
        sure = _number(path, number, "confidence", row["confidence"]) if row.get("confidence") else None
        yield Mark(row["name"], start, moment("end", "end_frame"), sure)


def _events(
    path: Location, number: int, row: dict[str, str], frame_seconds: FrameSeconds | None
) -> Iterator[Mark]:
    for name, value in row.items():
        if name not in DESCRIBING and value:
            moment = _of_frame(path, number, row["clip"], value, frame_seconds)
            if moment is not None:
                yield Mark(name, moment)


def _of_frame(
    path: Location, number: int, clip: str, frame: str, frame_seconds: FrameSeconds | None
) -> float | None:
    if frame_seconds is None:
        raise DataError(f"{path}: counts in frames; expected seconds, or the clips' own frame times")
    return frame_seconds(clip, _number(path, number, "frame", frame))


def _number(path: Location, number: int, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{path}, line {number}: {column} is {text!r}; expected a number") from None
