"""A film's sound: either clip's or both, on the film's clock, handed out a film frame at a time."""

from __future__ import annotations

import wave
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from seasync.align import Alignment, Segment, Warp
from seasync.clip import Clip
from seasync.encoding import Floats
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write
from seasync.options import Audio, Side, expect
from seasync.render.schedule import Clock, clips_of, clock_of, frame_rate, in_even_pieces, linear_pieces
from seasync.render.sound import Reader, carry, value_at
from seasync.video import frame_table, probe, sound

RATES = (44100, 48000, 32000, 24000, 22050, 16000, 96000, 88200)  # what AAC and players take


class Soundtrack:
    """`rate` and `channels`, and the sound in order by `take(samples)`."""

    def __init__(
        self, sources: Sequence[tuple[Reader, list[Segment]]], *, clock: Clock, rate: int, channels: int
    ) -> None:
        self.rate, self.channels = rate, channels
        self._tracks = [
            _Tap(carry(read, pieces, seconds=clock.length, rate=rate, channels=channels), channels)
            for read, pieces in sources
        ]

    def take(self, samples: int) -> Floats:
        """The next `samples` samples (channels, samples), all tracks at equal parts."""
        parts = [track.take(samples) for track in self._tracks]
        return parts[0] if len(parts) == 1 else np.mean(parts, axis=0, dtype=np.float32)


def soundtrack(
    audio: Audio, keep: Side, kept: Clip, other: Clip, warp: Warp, clock: Clock, *, file: Place
) -> Soundtrack | None:
    """The sound asked for, for a film of this name; None if it is "none" or the clips have none."""
    expect("audio", audio, Audio, RenderError)
    wanted: tuple[str, ...] = () if audio == "none" else ("query", "match") if audio == "mix" else (audio,)
    heard = []
    for side in wanted:
        clip = kept if side == keep else other
        info = probe(clip.file).audio
        if info is not None:
            fps = frame_rate(frame_table(clip.file))
            heard.append((info, clip.file, _own(clock) if side == keep else _warped(clock, warp, fps)))
    if not heard:
        return None
    best = max(info.rate for info, *_ in heard)
    rate = best if best in RATES and not is_webm(file) else 48000  # WebM's Opus knows no other
    channels = min(2, max(info.channels for info, *_ in heard))
    sources = [(partial(_read, file, rate, channels), pieces) for _, file, pieces in heard]
    return Soundtrack(sources, clock=clock, rate=rate, channels=channels)


def write_sound(alignment: Alignment, file: Place, *, keep: Side = "query", audio: Audio = "match") -> bool:
    """Write the sound of a film of `alignment` as 16-bit WAV.

    Parameters
    ----------
    alignment
        An alignment that knows its files.
    file
        A path or URI.
    keep
        The clip whose clock the sound has.
    audio
        Whose sound, as in `compare`.

    Returns
    -------
    bool
        False if the clips have no such sound; no file is written then.

    Examples
    --------
    >>> alignment = seasync.align("query.mp4", "other.mp4")
    >>> has_sound = seasync.render.write_sound(alignment, "sound.wav")
    """
    kept, other = clips_of(alignment, keep)
    clock = clock_of(kept)
    track = soundtrack(audio, keep, kept, other, alignment.warp(keep=keep), clock, file=file)
    if track is None:
        return False
    with atomic_write(file, error=RenderError) as part, wave.open(str(part), "wb") as out:
        out.setnchannels(track.channels)
        out.setsampwidth(2)
        out.setframerate(track.rate)
        left = round(clock.length * track.rate)
        while left:
            block = track.take(min(left, track.rate))
            left -= block.shape[1]
            out.writeframes(np.rint(block.T.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return True


def is_webm(file: Place) -> bool:
    return Location(file).suffix.lower() == ".webm"


def _own(clock: Clock) -> list[Segment]:
    return [Segment(at, at + last - first, first, last) for at, first, last in clock.runs()]


def _warped(clock: Clock, warp: Warp, fps: Fraction) -> list[Segment]:
    """The warp on the film's clock, in even pieces within half a frame of it; silence in its gaps."""
    pieces = []
    for at, first, last in clock.runs():
        for line in linear_pieces(in_even_pieces(warp, fps, max_error_frames=0.5)):
            start, end = max(first, line.start), min(last, line.end)
            if end - start > 1e-6:
                shift = at - first
                pieces.append(Segment(start + shift, end + shift, value_at(line, start), value_at(line, end)))
    return pieces


def _read(file: str, rate: int, channels: int, start: float, end: float) -> Floats:
    """The sound from `start` to `end`; before second 0, silence."""
    samples = round((end - start) * rate)
    if end <= 0:
        return np.zeros((channels, samples), np.float32)
    heard = sound(file, start=max(start, 0.0), end=end, rate=rate, channels=channels)
    return np.pad(heard, ((0, 0), (samples - heard.shape[1], 0)))


class _Tap:
    """Blocks of any length in, as many samples as asked for out."""

    def __init__(self, blocks: Iterator[Floats], channels: int) -> None:
        self._blocks = blocks
        self._left = np.zeros((channels, 0), np.float32)

    def take(self, samples: int) -> Floats:
        while (missing := samples - self._left.shape[1]) > 0:
            block = next(self._blocks, None)
            if block is None:  # rounding made the film a sample longer
                block = np.zeros((len(self._left), missing), np.float32)
            self._left = np.concatenate([self._left, block], axis=1)
        taken, self._left = np.split(self._left, [samples], axis=1)
        return taken
