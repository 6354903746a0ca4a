"""Sound of a video as an array, on the picture's clock."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import av
import numpy as np
from av.container import InputContainer
from numpy.typing import NDArray

from seasync.errors import VideoError
from seasync.video.source import File, frame_table, only, open_file, packets, sound_stream

LAYOUTS = {1: "mono", 2: "stereo"}
LEAD = 0.25  # seconds read before and after the span, for codecs and filters to swing in and out
JUMP = 0.02  # seconds; a timestamp that is off by less is rounding, by more a gap
CHUNK = 2**20  # samples resampled at a time
LONGEST = 2**30  # samples, six hours; damaged timestamps ask for more

Samples = NDArray[np.float32]


def sound(
    file: File,
    *,
    start: float = 0.0,
    end: float | None = None,
    rate: int = 48000,
    channels: int | None = None,
) -> Samples:
    """The sound from `start` to `end` seconds, on the picture's clock.

    Second 0 is the first video frame, so sound and picture stay together. Where the file has no sound
    (before it sets in, in gaps, after its end) there is silence.

    Parameters
    ----------
    file
        A video; a path or URI.
    start, end
        Seconds. None is the end of the picture.
    rate
        Samples a second.
    channels
        1 (their mean) or 2. None keeps one or two, and mixes more down to two.

    Returns
    -------
    array [shape=(channels, N)]
        float32; N is (end − start) · rate, rounded.

    Raises
    ------
    VideoError
        If the file has no sound at all (ask `probe(file).audio` first) or an argument is out of range.
    """
    end = frame_table(file).end if end is None else end
    if not 0 <= start < end < math.inf:
        raise VideoError(f"{file}: expected 0 ≤ start < end in seconds, got {start = }, {end = }")
    with open_file(file) as container:
        stream = sound_stream(container)
        if stream is None:
            raise VideoError(f"{file}: the file has no sound")
        native, stored = stream.rate, min(stream.channels, 2)
    channels = channels or stored
    if channels not in LAYOUTS:
        raise VideoError(f"{file}: channels must be 1 or 2, got {channels}")
    if (end - start) * max(rate, native) > LONGEST:
        raise VideoError(
            f"{file}: {end - start:.0f} s of sound at once are too many; read it in shorter spans"
        )
    begin, until = math.floor((start - LEAD) * native), math.ceil((end + LEAD) * native)
    track = np.zeros((stored, until - begin), np.float32)
    for at, piece in _pieces(file, begin, until, stored, native):
        skipped = max(begin - at, 0)
        room = track[:, at + skipped - begin :]
        piece = piece[:, skipped : skipped + room.shape[1]]
        room[:, : piece.shape[1]] = piece
    first, count = round((start - begin / native) * rate), round((end - start) * rate)
    try:
        heard = _resampled(track, native, rate)[:, first : first + count]
    except av.FFmpegError as error:
        raise VideoError(
            f"{file}: sound of {native} samples per second cannot be read ({error}); is the file damaged?"
        ) from error
    return heard.mean(0, keepdims=True) if channels == 1 else np.repeat(heard, 2 // stored, axis=0)


def _pieces(
    file: File, begin: int, until: int, channels: int, native: int, *, seek: bool = True
) -> Iterator[tuple[int, Samples]]:
    """Stretches that reach into begin–until, each with its place in samples after the first picture."""
    offset, expected, placed = frame_table(file).offset, None, False
    with open_file(file) as container:
        stream = sound_stream(container)
        assert stream is not None
        tick = stream.time_base or Fraction(1, native)
        only(container, stream)
        seek = seek and begin > 0
        if seek:
            container.seek(int((begin / native + offset) / tick), stream=stream)
        for frame in _decoded(container, stream, channels, native):
            samples = np.asarray(frame.to_ndarray(), np.float32)
            at = expected or 0 if frame.time is None else round((frame.time - offset) * native)
            if expected is not None and abs(at - expected) < JUMP * native:
                at = expected
            if seek and not placed and at > begin:
                yield from _pieces(file, begin, until, channels, native, seek=False)  # it landed too late
                return
            expected, placed = at + samples.shape[1], True
            if at >= until:
                return
            if expected > begin:
                yield at, samples


def _decoded(
    container: InputContainer, stream: av.AudioStream, channels: int, native: int
) -> Iterator[av.AudioFrame]:
    """Float frames at the stream's own rate, whatever the file changes underway; damage is left out."""
    converters: dict[Any, av.AudioResampler] = {}
    for packet in chain(packets(container, stream), [None]):
        try:
            frames = stream.decode(packet)
        except av.FFmpegError:
            continue
        for frame in frames:
            kind = (frame.format.name, frame.layout.name, frame.sample_rate)
            if kind not in converters:
                converters[kind] = av.AudioResampler("fltp", LAYOUTS[channels], native)
            try:
                yield from converters[kind].resample(frame)
            except av.FFmpegError:  # such as 23 channels, which only damage has
                continue


def _resampled(track: Samples, native: int, rate: int) -> Samples:
    """(channels, N) at another rate, beginning at the same moment."""
    if rate == native or not track.shape[1]:
        return track
    converter, parts = av.AudioResampler("fltp", LAYOUTS[len(track)], rate), []
    for at in range(0, track.shape[1], CHUNK):
        piece = np.ascontiguousarray(track[:, at : at + CHUNK])
        frame = av.AudioFrame.from_ndarray(piece, "fltp", LAYOUTS[len(track)])
        frame.rate, frame.pts = native, at
        parts += converter.resample(frame)
    parts += converter.resample(None)
    return np.concatenate([np.asarray(part.to_ndarray(), np.float32) for part in parts], axis=1)
