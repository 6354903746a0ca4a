"""Labels, key moments and subtitles carried from one clip to the other along an alignment."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seasync.align import Alignment, Warp
from seasync.align.alignment import Side
from seasync.encoding import Seconds
from seasync.errors import DataError
from seasync.render.plan import clips_of, has_partner
from seasync.render.stills import nearest
from seasync.video.table import frame_table

SUBTITLES = (".srt", ".vtt", ".ass", ".ssa")
FRAMES = {
    "seconds": "frame",
    "start": "start_frame",
    "end": "end_frame",
}  # the same moment, counted in frames
Row = dict[str, str]


@dataclass(frozen=True)
class Carried:
    """How many labels found their place, and how many have none because nothing corresponds to them."""

    carried: int
    left_out: int


def transfer(alignment: Alignment, labels: str | Path, file: str | Path, *, to: Side = "match") -> Carried:
    """Carry the labels of one clip to the other and write them to `file`.

    labels  subtitles (.srt .vtt .ass .ssa), or a CSV with one of these column sets, and any others beside:
            `start`, `end` (seconds) or `start_frame`, `end_frame` (the end exclusive): phases;
            `seconds` or `frame`: key moments, or, if every frame has a row, labels of frames
    to      the clip the new labels are for; the old ones are the other's

    Seconds and frame numbers count from the beginning of the file, frames from 0. Where nothing corresponds
    there is no label. Labels of frames follow the paper's propagation: each frame takes its partner's row.
    """
    target, source = clips_of(alignment, to)
    path = Path(labels)
    if not path.is_file():
        raise DataError(
            f"{labels}: no such file; expected labels as CSV, or subtitles ({' '.join(SUBTITLES)})"
        )
    way = _Way(
        forth=alignment.warp(keep="match" if to == "query" else "query"),
        back=alignment.warp(keep=to),
        source=frame_table(source.file).seconds,
        target=frame_table(target.file).seconds,
    )
    if path.suffix.lower() in SUBTITLES:
        return _subtitles(path, Path(file), way)
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.DictReader(lines)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    new = list(_carried_rows(path, columns, rows, way))
    with Path(file).open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in new)
    kept = {number for number, _ in new}
    return Carried(len(kept), len(rows) - len(kept))


@dataclass(frozen=True, eq=False)
class _Way:
    """Both directions between the clips, and when the frames of their files are shown."""

    forth: Warp
    back: Warp
    source: Seconds
    target: Seconds

    def moment(self, seconds: float) -> float | None:
        return float(self.forth.at(seconds)) if self.forth.covers(seconds) else None

    def span(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        """Where `start`–`end` went, piece by piece."""
        for first, last in self.forth.spans:
            if max(first, start) < min(last, end):
                yield float(self.forth.at(max(first, start))), float(self.forth.at(min(last, end)))

    def frame(self, seconds: float) -> int:
        """The target's frame nearest to `seconds`."""
        return int(nearest(self.target, np.asarray([seconds]))[0])


def _carried_rows(path: Path, columns: list[str], rows: list[Row], way: _Way) -> Iterator[tuple[int, Row]]:
    """(number of the old row, new row)."""
    names = set(columns)
    if names >= {"start", "end"} or names >= {"start_frame", "end_frame"}:
        for number, row in enumerate(rows):
            start, end = (_seconds(path, number, row, way, edge) for edge in ("start", "end"))
            for first, last in way.span(start, end):
                yield number, _placed(row, way, start=first, end=last)
        return
    if not names & {"seconds", "frame"}:
        raise DataError(
            f"{path}: columns {', '.join(columns)}; expected start and end, start_frame and end_frame, "
            "seconds, or frame"
        )
    times = np.asarray([_seconds(path, number, row, way, "seconds") for number, row in enumerate(rows)])
    if _is_every_frame(times, way.source):
        covered = has_partner(way.back, way.target)
        partners = nearest(times, way.back.at(way.target))
        for frame in np.flatnonzero(covered).tolist():
            number = int(partners[frame])
            yield number, _placed(rows[number], way, seconds=float(way.target[frame]))
        return
    for number, (row, time) in enumerate(zip(rows, times.tolist(), strict=True)):
        moment = way.moment(time)
        if moment is not None:
            yield number, _placed(row, way, seconds=moment)


def _seconds(path: Path, number: int, row: Row, way: _Way, seconds: str) -> float:
    """A row's time; its frame number is exact, so it goes before its seconds."""
    frame = FRAMES[seconds]
    try:
        if row.get(frame):
            at = int(row[frame])
            return float(way.source[at] if at < len(way.source) else way.source[-1] + 1e-3)
        return float(row[seconds])
    except (KeyError, TypeError, ValueError):
        text = row.get(frame) or row.get(seconds)
        raise DataError(
            f"{path}: row {number + 1} has {text!r} as its {frame} or {seconds}; expected a number"
        ) from None


def _placed(row: Row, way: _Way, **times: float) -> Row:
    """`row` with these times, and their frames, in the columns it has for them."""
    new = {name: f"{time:.6f}" for name, time in times.items()}
    new |= {FRAMES[name]: str(way.frame(time)) for name, time in times.items()}
    return {column: new.get(column, value) for column, value in row.items()}


def _is_every_frame(times: Seconds, frames: Seconds) -> bool:
    """Whether the rows go frame by frame: key moments leave frames between them."""
    numbers = nearest(frames, times)
    return len(numbers) > 2 and bool((np.diff(numbers) == 1).all())


def _subtitles(path: Path, file: Path, way: _Way) -> Carried:
    import pysubs2

    subtitles = pysubs2.load(str(path))
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
    subtitles.save(str(file))
    return Carried(carried, total - carried)
