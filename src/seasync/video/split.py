"""Long videos cut into clips: at their cuts, or into windows of equal length."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.reader import read
from seasync.video.source import File, probe
from seasync.video.timetable import frame_table

Span = tuple[float, float]
Scores = NDArray[np.float64]
WIDTH = 256  # pixels; what PySceneDetect itself scales pictures down to
# PySceneDetect's AdaptiveDetector, with its defaults (scenedetect.com/docs). Its package brings OpenCV:
# 190 MB of 1,150 that nothing else needs.
_REACH = 2  # frames on each side that a change is compared with
_RATIO = 3.0  # how far a cut stands out from the changes around it
_LEAST = 15.0  # the smallest change that is a cut
_HUE_SATURATION_VALUE = np.array([180 / 255, 1, 1]) / 3  # OpenCV counts hue to 180, Pillow to 255


def shots(file: File, *, shortest: float = 0.5) -> list[Span]:
    """Find the shots of a video, one after the other from the first frame to the end.

    A cut is a change of content that stands out from the changes around it, as in PySceneDetect's
    AdaptiveDetector. Every frame is decoded.

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
    table, info = frame_table(file), probe(file)
    usual = float(np.median(np.diff(table.seconds))) if len(table) > 1 else 1.0
    height = max(1, round(WIDTH * info.height / info.width))
    numbers: list[int] = []
    changes: list[float] = []
    before = None
    for batch in read(file, size=(height, WIDTH)):
        for picture, number in zip(batch.data, batch.numbers.tolist(), strict=True):
            now = _hue_saturation_value(picture)
            numbers.append(number)
            changes.append(0.0 if before is None else _change(before, now))
            before = now
    found = cuts(np.array(changes), max(1, round(shortest / usual)))
    starts = [float(table.seconds[numbers[cut]]) for cut in found]
    return list(zip([0.0, *starts], [*starts, table.end], strict=True))


def cuts(changes: Scores, shortest: int) -> list[int]:
    """The frames at which new shots begin, `shortest` frames apart at least; changes[n]: from n − 1 to n."""
    found, last = [], 0
    for n in range(_REACH, len(changes) - _REACH):
        around = (changes[n - _REACH : n + _REACH + 1].sum() - changes[n]) / (2 * _REACH)
        if changes[n] >= max(_LEAST, _RATIO * around) and n - last >= shortest:
            found.append(n)
            last = n
    return found


def _hue_saturation_value(picture: NDArray[np.uint8]) -> NDArray[np.int16]:
    from PIL import Image

    return np.asarray(Image.fromarray(picture).convert("HSV"), np.int16)


def _change(before: NDArray[np.int16], now: NDArray[np.int16]) -> float:
    """The mean difference of two pictures in hue, saturation and value."""
    return float(np.abs(now - before).mean((0, 1)) @ _HUE_SATURATION_VALUE)


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
