"""Kinetics-700: the official CSV lists, trimmed clips, and key frames if there are any.

train.csv, validate.csv …             label, youtube_id, time_start, time_end, split
…/<youtube_id>_<start>_<end>.mp4      anywhere below; start and end in seconds, zero-padded or not
key_frames.csv                         clip, events: as `seasync evaluate annotate` writes it (optional)
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.evaluate.data.events import read_events
from seasync.evaluate.dataset import Dataset, IncompleteData, Item, Phases, find_videos, read_csv

SOURCE = "https://github.com/cvdfoundation/kinetics-dataset has the lists and the trimmed clips"
COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split")
SPLITS = {"train": "train", "val": "test", "validate": "test", "validation": "test"}


def load(root: Path) -> Dataset:
    """Load the lists: training clips are the gallery, (marked) validation clips the queries."""
    rows = [row | {"list": str(f)} for f in list_files(root) for row in read_csv(f, COLUMNS)]
    if not rows:
        raise DataError(f"{root}: no CSV list with the columns {', '.join(COLUMNS)}; {SOURCE}")
    files = {key: file for file in find_videos(root).values() if (key := _key(file.stem))}
    marks = root / "key_frames.csv"
    events = read_events(marks) if marks.exists() else {}
    items, missing = [], 0
    for row in rows:
        split = SPLITS.get(row["split"])
        if split is None:
            continue
        key = (row["youtube_id"], *_span(row))
        if key not in files:
            missing += 1
            continue
        file = files[key]
        moments = events.get(file.name, events.get(file.stem))
        if events and split == "test" and moments is None:
            continue
        phases = None if moments is None else Phases.between(moments)
        clip = Clip(str(file), label=row["label"])
        items.append(Item(file.stem, row["label"], split, clip=clip, phases=phases, events=moments))
    if not items:
        raise DataError(f"{root}: none of the {missing} listed clips is there as ID_START_END.mp4; {SOURCE}")
    if missing:
        warnings.warn(f"{root}: {missing} of {len(rows)} listed clips are missing", IncompleteData, 2)
    return Dataset("Kinetics-700", tuple(items), "dinov2-small", paper="Kinetics")


def list_files(root: Path) -> list[Path]:
    """The CSV files with the header of a Kinetics list."""
    found = []
    for file in sorted(root.glob("*.csv")) + sorted(root.glob("annotations/*.csv")):
        with file.open(encoding="utf-8-sig", errors="replace") as opened:
            if "youtube_id" in opened.readline().strip().split(","):
                found.append(file)
    return found


def _key(stem: str) -> tuple[str, int, int] | None:
    found = re.fullmatch(r"(.+)_(\d+)_(\d+)", stem)
    return (found[1], int(found[2]), int(found[3])) if found else None


def _span(row: dict[str, str]) -> tuple[int, int]:
    try:
        return int(float(row["time_start"])), int(float(row["time_end"]))
    except ValueError:
        raise DataError(
            f"{row['list']}: time_start and time_end of {row['youtube_id']} must be seconds, "
            f"got {row['time_start']!r} and {row['time_end']!r}"
        ) from None
