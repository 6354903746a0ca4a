"""Labels as CSV: phases, key moments, or a row for each frame."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasync.encoding import Seconds
from seasync.errors import DataError, RenderError
from seasync.files import Place, atomic_write, fetch
from seasync.render.composition import Mark
from seasync.render.stills import nearest
from seasync.video import frame_table

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
