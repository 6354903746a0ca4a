"""Marks: named moments and phases of clips, read from and written to the formats that other tools use."""

from __future__ import annotations

from seasync.marks.formats import read_marks, write_marks
from seasync.marks.mark import (
    FrameSeconds,
    Mark,
    MarkedClips,
    clip_names,
    expect_some_checked,
    frame_seconds,
    is_checked,
    mark_key,
    mark_names,
)

__all__ = [
    "FrameSeconds",
    "Mark",
    "MarkedClips",
    "clip_names",
    "expect_some_checked",
    "frame_seconds",
    "is_checked",
    "mark_key",
    "mark_names",
    "read_marks",
    "write_marks",
]
