"""Clips with key moments in a CSV file, as GolfDB gives them and as `seasync evaluate annotate` writes them.

events.csv    `clip` and either `events` (frame numbers separated by spaces) or one column per event;
              `label`, `split`, `group`, `player`, `view`, `frames` may stand beside them
clips/…       the videos (or beside the CSV file)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.evaluate.dataset import (
    Dataset,
    Frames,
    Item,
    Phases,
    find_videos,
    parse_integers,
    read_csv,
    require,
)

OTHER_COLUMNS = frozenset({"clip", "label", "split", "group", "player", "view", "frames", "events"})
FORMAT = "it has one row per clip: `clip`, then the frame number of each event"


def load(root: Path) -> Dataset:
    """Load clips with events; they are of one action unless a `label` column or their folders differ."""
    file = require(root / "events.csv", "the events file", FORMAT)
    events = read_events(file)
    rows = {row["clip"]: row for row in read_csv(file, ("clip",))}
    folder = root / "clips" if (root / "clips").is_dir() else root
    videos = find_videos(folder)
    items = []
    for clip, moments in events.items():
        if clip not in videos:
            raise DataError(f"{folder / clip}: named in {file.name} but not there")
        row = rows[clip]
        label = row.get("label") or Path(clip).parent.name or root.resolve().name
        items.append(
            Item(
                clip,
                label,
                row.get("split") or None,
                group=row.get("group") or row.get("player") or None,
                clip=Clip(str(videos[clip]), label=label),
                phases=Phases.between(moments),
                events=moments,
            )
        )
    return Dataset(root.resolve().name, tuple(items), "dinov2-small")


def read_events(file: Path) -> dict[str, Frames]:
    """Read the frame numbers of each clip's events."""
    rows = read_csv(file, ("clip",))
    if not rows:
        raise DataError(f"{file}: no rows; {FORMAT}")
    names = () if "events" in rows[0] else tuple(column for column in rows[0] if column not in OTHER_COLUMNS)
    if not names and "events" not in rows[0]:
        raise DataError(f"{file}: no column of events; {FORMAT}")
    found: dict[str, Frames] = {}
    for row in rows:
        where = f"{file}, {row['clip']}"
        moments = parse_integers(" ".join(row[name] for name in names or ("events",)), where=where)
        frames = parse_integers(row.get("frames") or "", where=where)
        if not len(moments):
            raise DataError(f"{where}: no events; mark at least one, or leave the clip out")
        if len(moments) != len(names or moments):
            raise DataError(f"{where}: {len(moments)} of {len(names)} events; every clip needs all of them")
        if (moments < 0).any() or (np.diff(moments) < 0).any():
            raise DataError(f"{where}: events must be frame numbers in order, got {moments.tolist()}")
        if len(frames) and moments[-1] >= frames[0]:
            raise DataError(f"{where}: an event at frame {moments[-1]} of a clip of {frames[0]} frames")
        found[row["clip"]] = moments
    return found
