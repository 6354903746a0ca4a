"""Reading, writing and splitting of video (PyAV).

Seconds count from a file's first video frame; frame numbers are the file's own, from 0, in the order shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.video.audio import sound as sound
    from seasync.video.reader import Frames as Frames
    from seasync.video.reader import ahead as ahead
    from seasync.video.reader import read as read
    from seasync.video.source import AudioInfo as AudioInfo
    from seasync.video.source import VideoInfo as VideoInfo
    from seasync.video.source import probe as probe
    from seasync.video.split import shots as shots
    from seasync.video.split import windows as windows
    from seasync.video.timetable import FrameTable as FrameTable
    from seasync.video.timetable import frame_table as frame_table
    from seasync.video.upright import ShownFrame as ShownFrame
    from seasync.video.upright import frames as frames
    from seasync.video.writer import Writer as Writer

_HOMES = {
    "AudioInfo": "source",
    "FrameTable": "timetable",
    "Frames": "reader",
    "ShownFrame": "upright",
    "VideoInfo": "source",
    "Writer": "writer",
    "ahead": "reader",
    "frame_table": "timetable",
    "frames": "upright",
    "probe": "source",
    "read": "reader",
    "shots": "split",
    "sound": "audio",
    "windows": "split",
}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES)
