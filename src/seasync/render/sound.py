"""Sound that follows a warp: each linear piece stretched at its own speed, pitch kept, joints crossfaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from seasync.align import Segment
from seasync.encoding import Floats
from seasync.render.time_stretch import stretch

OVERHANG = 0.150  # seconds stretched beyond a piece's ends: the stretcher's own edges stay out of the film
CROSSFADE = 0.030  # seconds
SEARCH = 0.004  # seconds a piece may move so that its wave continues the one before it
LONGEST = 20.0  # seconds of output made at once: memory does not grow with the film
SLOWEST, FASTEST = 0.1, 10.0  # beyond these a piece is a hold or a jump, and silent

Reader = Callable[[float, float], Floats]
"""`read(start, end)` gives (channels, round((end − start)·rate)) samples, silence where there is none."""


def carry(
    read: Reader, pieces: Iterable[Segment], *, seconds: float, rate: int, channels: int
) -> Iterator[Floats]:
    """The source's sound along `pieces` (in order, apart or adjoining) of a film that lasts `seconds`.

    A piece says which seconds of the source are heard in which seconds of the film. Each is put at its own
    place, so that nothing drifts; where none is, there is silence. Yields (channels, N) blocks, in all
    `round(seconds·rate)` samples.
    """
    parts = [part for piece in _filled(pieces, seconds) for part in _split(piece)]
    edges = [round(part.start * rate) for part in parts] + [round(seconds * rate)]
    lengths = np.diff(edges)
    overhang = round(OVERHANG * rate)
    held, held_begin = np.zeros((channels, 0), np.float32), 0  # not yet given: the next piece fades into it
    for index, part in enumerate(parts):
        begin, length = edges[index], int(lengths[index])
        fade = 0 if not begin else min(round(CROSSFADE * rate / 2), *(lengths[index - 1 : index + 1] // 2))
        sound = _piece_sound(read, part, begin, length, overhang, rate, channels)
        final, ending = np.split(held, [begin - fade - held_begin], axis=1)
        yield final
        held, held_begin = _joined(ending, sound, overhang, fade, round(SEARCH * rate)), begin - fade
    yield held[:, : edges[-1] - held_begin]


def value_at(piece: Segment, seconds: float) -> float:
    return piece.value_start + (seconds - piece.start) * piece.speed


def _filled(pieces: Iterable[Segment], seconds: float) -> Iterator[Segment]:
    """`pieces` with silent ones between them, so that together they cover 0–`seconds`."""
    now = 0.0
    for piece in pieces:
        if piece.start - now > 1e-4:  # less is rounding: to fade it out and in would be heard
            yield Segment(now, piece.start, 0.0, 0.0)
        yield piece
        now = piece.end
    if now < seconds:
        yield Segment(now, seconds, 0.0, 0.0)


def _split(piece: Segment) -> Iterator[Segment]:
    parts = max(1, int(np.ceil((piece.end - piece.start) / LONGEST)))
    edges = np.linspace(piece.start, piece.end, parts + 1).tolist()
    for start, end in pairwise(edges):
        yield Segment(start, end, value_at(piece, start), value_at(piece, end))


def _piece_sound(
    read: Reader, piece: Segment, begin: int, length: int, overhang: int, rate: int, channels: int
) -> Floats:
    """The piece's sound for the samples `begin - overhang` to `begin + length + overhang` of the film."""
    length += 2 * overhang
    if not SLOWEST <= piece.speed <= FASTEST:
        return np.zeros((channels, length), np.float32)
    first, last = (value_at(piece, (begin - overhang + edge) / rate) for edge in (0, length))
    sound = stretch(read(first, last), piece.speed, rate=rate)
    return np.pad(sound, ((0, 0), (0, max(0, length - sound.shape[1]))))[:, :length]


def _joined(ending: Floats, sound: Floats, overhang: int, fade: int, search: int) -> Floats:
    """`ending`, whose sample `fade` is the joint, crossfaded into `sound`, whose sample `overhang` is."""
    if not fade:
        return sound[:, overhang:]
    before = ending[:, : 2 * fade]
    first = overhang - fade + _best_shift(before, sound[:, overhang - fade - search :], search)
    after = sound[:, first : first + 2 * fade]
    ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(2 * fade) + 0.5) / (2 * fade))).astype(np.float32)
    return np.concatenate([before * (1 - ramp) + after * ramp, sound[:, first + 2 * fade :]], axis=1)


def _best_shift(before: Floats, after: Floats, search: int) -> int:
    """By how many samples within ±`search` to move `after` so that it continues `before` best."""
    wave = before.mean(0)
    windows = np.lib.stride_tricks.sliding_window_view(after[:, : len(wave) + 2 * search].mean(0), len(wave))
    if not wave.any() or not windows.any():
        return 0
    likeness = windows @ wave / np.sqrt((windows**2).sum(1) + 1e-12)
    # Of equally good shifts the smallest: a steady tone does not move further than it must.
    return int((likeness - 1e-6 * np.abs(np.arange(len(windows)) - search)).argmax()) - search
