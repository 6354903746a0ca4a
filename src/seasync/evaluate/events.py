"""Key moments in CSV files, as GolfDB gives them, and a page for marking them."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

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
from seasync.files import Location, write_text
from seasync.marks.files import MarkTable

EVENTS_FORMAT = "it has one row per clip: `clip`, then the frame number of each event"


def load_events(root: Path) -> Dataset:
    """Load clips with events; they are of one action unless a `label` column or their folders differ."""
    file = require(root / "events.csv", "the events file", EVENTS_FORMAT)
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
        raise DataError(f"{file}: no rows; {EVENTS_FORMAT}")
    table = MarkTable(Location(file), list(rows[0]), rows)
    events: dict[str, list[tuple[str, str]]] = {}
    for row in rows:  # a clip each, or an event each
        found = table.event_frames(row) if table.has_events else [(row.get("name", ""), row.get("frame", ""))]
        events.setdefault(row["clip"], []).extend(found)
    names = {name for found in events.values() for name, _ in found}
    if not names and "events" not in table.columns:
        raise DataError(f"{file}: no column of events; {EVENTS_FORMAT}")
    count = None if "events" in table.columns else len(names)
    lengths = {row["clip"]: row.get("frames") or "" for row in rows}
    moments = {}
    for clip, found in events.items():
        where = f"{file}, {clip}"
        numbers = parse_integers(" ".join(frame for _, frame in found), where=where)
        frames = parse_integers(lengths[clip], where=where)
        if not len(numbers):
            raise DataError(f"{where}: no events; mark at least one, or leave the clip out")
        if count is not None and len(numbers) != count:
            raise DataError(f"{where}: {len(numbers)} of {count} events; every clip needs all of them")
        if (numbers < 0).any() or (np.diff(numbers) < 0).any():
            raise DataError(f"{where}: events must be frame numbers in order, got {numbers.tolist()}")
        if len(frames) and numbers[-1] >= frames[0]:
            raise DataError(f"{where}: an event at frame {numbers[-1]} of a clip of {frames[0]} frames")
        moments[clip] = numbers
    return moments


# Marking key moments on clips: a page that needs no server and saves a CSV file.


def write_page(folder: Path, page: Path, *, marks: Path | None = None) -> int:
    """Write a page for marking the clips of a folder.

    The page contains every frame's time, so that frame numbers are the file's own.

    Parameters
    ----------
    folder : pathlib.Path
    page : pathlib.Path
        The HTML file to write.
    marks : pathlib.Path, optional
        A CSV file of earlier marks to continue from.

    Returns
    -------
    int
        Number of clips.

    Raises
    ------
    DataError
        If there are no videos, the marks name other clips, or the page cannot be written.
    """
    from seasync.video.timetable import frame_table

    videos = find_videos(folder)
    if not videos:
        raise DataError(f"{folder}: no videos to mark")
    earlier = read_events(marks) if marks else {}
    unknown = sorted(set(earlier) - set(videos))
    if unknown:
        raise DataError(f"{marks}: names {unknown[0]}, which is not below {folder}")
    clips = []
    for name, file in videos.items():
        times = [round(float(second), 4) for second in frame_table(file).seconds]
        clips.append({"clip": name, "src": _address(file, page), "times": times, "events": []})
        if name in earlier:
            clips[-1]["events"] = earlier[name].tolist()
    data = json.dumps(clips).replace("<", "\\u003c")
    template = files("seasync.evaluate").joinpath("annotate.html").read_text(encoding="utf-8")
    write_text(page, template.replace("/*CLIPS*/[]", data), error=DataError)
    return len(clips)


def _address(file: Path, page: Path) -> str:
    """The clip's address for the page: relative if it lies below the page, so that both can move."""
    try:
        relative = os.path.relpath(file.resolve(), page.resolve().parent)
    except ValueError:  # another drive
        relative = ".."
    return file.resolve().as_uri() if relative.startswith("..") else quote(Path(relative).as_posix())
