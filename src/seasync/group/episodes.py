"""Marks of LeRobot episodes: named by the episode's number, counted from its start.

In layout v3 an episode is a part of a longer file. A sea keeps the episode's name as a tag of its clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.files import Location, Place
from seasync.marks import Mark, MarkedClips, mark_key
from seasync.sea.lerobot import is_episode
from seasync.sea.stored_clips import StoredClips


def from_episodes(stored: StoredClips, marks: MarkedClips) -> MarkedClips:
    """The same marks; those of episodes by the ids of the clips that show them, in seconds of the file."""
    found = dict(marks)
    for clip, tags in zip(stored.clips, stored.tags, strict=True):
        for name in filter(is_episode, tags):
            if name in marks and clip.id:
                found.pop(name, None)
                found[clip.id] = [_moved(mark, clip.start) for mark in marks[name]]
    return found


def named_for(
    stored: StoredClips, found: Iterable[tuple[Clip, Sequence[Mark]]], to: Place
) -> dict[str, Sequence[Mark]]:
    """Marks as the file `to` names them: a .parquet by episode, others by path or id."""
    rows = [(clip, marks) for clip, marks in found if marks]
    if Location(to).suffix.lower() != ".parquet":
        return {mark_key(clip): marks for clip, marks in rows}
    names = {
        clip.id: name
        for clip, tags in zip(stored.clips, stored.tags, strict=True)
        for name in filter(is_episode, tags)
    }
    for clip, _ in rows:
        if clip.id not in names:
            raise DataError(
                f"{to}: {clip.name} is no episode of a LeRobot data set; write .csv, "
                "or add the data set with `seasync add lerobot:DIR`"
            )
    return {names[clip.id]: [_moved(mark, -clip.start) for mark in marks] for clip, marks in rows}


def _moved(mark: Mark, seconds: float) -> Mark:
    end = None if mark.end is None else max(mark.end + seconds, 0.0)
    return replace(mark, seconds=max(mark.seconds + seconds, 0.0), end=end)
