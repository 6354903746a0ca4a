"""Marking key moments on clips: a page that needs no server and saves a CSV file.

The file has one row per marked clip: `clip` (its path below the folder), `frames` (how many it has), `events`
(frame numbers from 0, separated by spaces). As events.csv beside the clips it makes the folder a data set
with phases; as key_frames.csv it gives Kinetics its queries.
"""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from seasync.errors import DataError
from seasync.evaluate.data.events import read_events
from seasync.evaluate.dataset import find_videos
from seasync.files import write_text


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
