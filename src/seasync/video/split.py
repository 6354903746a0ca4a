"""Long videos cut into clips: at their cuts, or into windows of equal length."""

from __future__ import annotations

import math

import numpy as np

from seasync.errors import VideoError
from seasync.video.reader import read
from seasync.video.source import File, probe
from seasync.video.timetable import frame_table

Span = tuple[float, float]
WIDTH = 256  # pixels; what PySceneDetect itself scales pictures down to


def shots(file: File, *, shortest: float = 0.5) -> list[Span]:
    """Find the shots of a video, one after the other from the first frame to the end.

    PySceneDetect's AdaptiveDetector compares each change of content with those around it. Every frame is
    decoded.

    Parameters
    ----------
    file
        A video; a path or URI.
    shortest
        A cut less than this many seconds after another is passed over.

    Returns
    -------
    list of (float, float)
        Start and end of each shot, in seconds.
    """
    from scenedetect.common import FrameTimecode
    from scenedetect.detectors import AdaptiveDetector

    table, info = frame_table(file), probe(file)
    usual = float(np.median(np.diff(table.seconds))) if len(table) > 1 else 1.0
    detector = AdaptiveDetector(min_scene_len=max(1, round(shortest / usual)))
    height = max(1, round(WIDTH * info.height / info.width))
    cuts: list[float] = []
    for batch in read(file, size=(height, WIDTH)):
        for picture, number in zip(batch.data, batch.numbers.tolist(), strict=True):
            # The detector counts in frames, so any rate will do; it wants BGR.
            now = FrameTimecode(number, 1 / usual)
            found = detector.process_frame(now, np.ascontiguousarray(picture[..., ::-1]))
            cuts += [float(table.seconds[cut.frame_num]) for cut in found]
    return list(zip([0.0, *cuts], [*cuts, table.end], strict=True))


def windows(file: File, seconds: float) -> list[Span]:
    """Split a video into windows of equal length; a rest shorter than half a window joins the last one.

    Parameters
    ----------
    file
        A video; a path or URI.
    seconds
        Length of a window.

    Returns
    -------
    list of (float, float)
        Start and end of each window, in seconds.

    Raises
    ------
    VideoError
        If `seconds` is not positive.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise VideoError(f"{file}: windows must last more than 0 seconds, got {seconds}")
    end = frame_table(file).end
    count = max(1, math.floor(end / seconds + 0.5))
    starts = [float(i * seconds) for i in range(count)]
    return list(zip(starts, [*starts[1:], end], strict=True))
