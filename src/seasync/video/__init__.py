"""Reading, writing and splitting of video (PyAV).

Seconds count from a file's first video frame; frame numbers are the file's own, from 0, in the order shown.
"""

from typing import TYPE_CHECKING

from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.video.audio import sound
    from seasync.video.reader import Frames, ShownFrame, ahead, frames, read, shots, windows
    from seasync.video.source import AudioInfo, DamageLog, FrameTable, VideoInfo, frame_table, probe
    from seasync.video.writer import Writer

_HOMES = {
    "audio": ("sound",),
    "reader": ("Frames", "ShownFrame", "ahead", "frames", "read", "shots", "windows"),
    "source": ("AudioInfo", "DamageLog", "FrameTable", "VideoInfo", "frame_table", "probe"),
    "writer": ("Writer",),
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
