"""Marks from Kinovea's annotation files (.kva): its key images, by title."""

from __future__ import annotations

from seasync.errors import DataError
from seasync.files import Location
from seasync.marks.elan import parse_xml
from seasync.marks.mark import FrameSeconds, Mark, MarkedClips


def read(path: Location, frame_seconds: FrameSeconds | None) -> MarkedClips:
    """The key images of one file. Times are counted in time stamps, whose rate the file states."""
    root = parse_xml(path, "Kinovea file")
    try:
        rate = float(root.findtext("AverageTimeStampsPerSecond") or "")
        first = float(root.findtext("FirstTimeStamp") or 0)
        marks = [
            Mark(frame.findtext("Title") or f"key {number}", (_stamp(frame) - first) / rate)
            for number, frame in enumerate(root.iter("Keyframe"), 1)
        ]
    except (ValueError, ZeroDivisionError) as error:
        raise DataError(f"{path}: expected key images with time stamps, as Kinovea saves them") from error
    video = (root.findtext("OriginalFilename") or path.stem).replace("\\", "/").rpartition("/")[2]
    return {video: sorted(marks, key=lambda mark: mark.seconds)}


def _stamp(frame: object) -> float:
    """A key image's time stamp, in the two spellings that Kinovea has used."""
    text = frame.findtext("Timestamp") or frame.findtext("Position")  # type: ignore[attr-defined]
    return float(text or "")
