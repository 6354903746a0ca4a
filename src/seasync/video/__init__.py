"""Reading, writing and splitting of video (PyAV).

Seconds count from a file's first video frame; frame numbers are the file's own, from 0, in the order shown.
"""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.video.audio import sound
    from seasync.video.reader import Frames, ShownFrame, ahead, frames, read, shots, windows
    from seasync.video.source import AudioInfo, VideoInfo, probe
    from seasync.video.timetable import DamageLog, FrameTable, frame_table
    from seasync.video.writer import Writer

_HOMES = {
    "sound": "audio",
    **dict.fromkeys(("Frames", "ShownFrame", "ahead", "frames", "read", "shots", "windows"), "reader"),
    **dict.fromkeys(("AudioInfo", "VideoInfo", "probe"), "source"),
    **dict.fromkeys(("DamageLog", "FrameTable", "frame_table"), "timetable"),
    "Writer": "writer",
}
__all__ = [
    "AudioInfo",
    "DamageLog",
    "FrameTable",
    "Frames",
    "ShownFrame",
    "VideoInfo",
    "Writer",
    "ahead",
    "frame_table",
    "frames",
    "probe",
    "read",
    "shots",
    "sound",
    "windows",
]
__getattr__ = loader(__name__, _HOMES)
