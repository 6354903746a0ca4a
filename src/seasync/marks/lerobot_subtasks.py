"""Marks as sub-tasks of LeRobot episodes: a table with one row per episode.

`episode_index`, then the lists `subtask_names`, `subtask_start_times`, `subtask_end_times` (seconds from the
start of the episode): the columns that LeRobot's annotation tools add to `meta/episodes`.
"""

from __future__ import annotations

import re

from seasync.errors import DataError
from seasync.files import Location, atomic_write, fetch
from seasync.marks.mark import FrameSeconds, Mark, MarkedClips

NAMES, STARTS, ENDS = "subtask_names", "subtask_start_times", "subtask_end_times"


def read(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """Sub-tasks by episode, as `episode_000012`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(fetch(path))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{path}: cannot be read as a table of episodes ({error})") from error
    if missing := [name for name in ("episode_index", NAMES, STARTS, ENDS) if name not in table.column_names]:
        raise DataError(f"{path}: no column {missing[0]!r}; expected sub-tasks as LeRobot annotates them")
    found = {}
    for row in table.select(["episode_index", NAMES, STARTS, ENDS]).to_pylist():
        parts = zip(row[NAMES] or (), row[STARTS] or (), row[ENDS] or (), strict=True)
        found[f"episode_{row['episode_index']:06d}"] = [Mark(name, start, end) for name, start, end in parts]
    return found


def write(path: Location, clips: MarkedClips) -> None:
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
        names = [mark.name for mark in marks]
        rows[index] = {"episode_index": index, NAMES: names, STARTS: starts, ENDS: ends}
    with atomic_write(path, error=DataError) as part:
        parquet.write_table(pa.Table.from_pylist([rows[index] for index in sorted(rows)]), part)
