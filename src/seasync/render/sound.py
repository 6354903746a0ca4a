"""Sound that follows a warp: each linear piece stretched at its own speed, pitch kept, joints crossfaded."""

import importlib.util
import math
import wave
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np

from seasync.alignment import Alignment, Segment, Warp
from seasync.clip import Clip
from seasync.encoding import Floats
from seasync.errors import RenderError
from seasync.files import Location, Place, atomic_write
from seasync.group.clock import clips_of
from seasync.options import Audio, Side, expect
from seasync.render.frames import Clock, clock_of, frame_rate, in_even_pieces, linear_pieces
from seasync.video import frame_table, probe, sound

# Change the speed of a sound and keep its pitch.


def stretch(sound: Floats, speed: float, *, rate: int) -> Floats:
    """`sound` (channels, N) played `speed` times as fast at its own pitch: (channels, round(N / speed)).

    Signalsmith Stretch where it is installed, FFmpeg's atempo where it has no wheel.
    """
    if math.isclose(speed, 1.0, abs_tol=1e-6) or not sound.size:
        return sound
    has_wheel = importlib.util.find_spec("python_stretch") is not None
    stretched = by_signalsmith(sound, speed, rate=rate) if has_wheel else by_atempo(sound, speed, rate=rate)
    return _of_length(stretched, round(sound.shape[1] / speed))


def by_signalsmith(sound: Floats, speed: float, *, rate: int) -> Floats:
    """One call for the whole sound: its `process` starts again each time; it is not a stream."""
    from python_stretch import Signalsmith

    stretcher = Signalsmith.Stretch(0)  # seeded, so that films repeat to the bit
    stretcher.preset(len(sound), rate)
    stretcher.setTimeFactor(speed)
    return np.asarray(stretcher.process(np.ascontiguousarray(sound)), np.float32)


def by_atempo(sound: Floats, speed: float, *, rate: int) -> Floats:
    """FFmpeg's time stretching: everywhere, but coarser (clicks land within 11 ms instead of 4)."""
    import av

    layout = "mono" if len(sound) == 1 else "stereo"
    graph = av.filter.Graph()
    chain = [graph.add_abuffer(format="fltp", sample_rate=rate, layout=layout)]
    # One atempo takes 0.5–2 without dropping samples: a chain takes any speed.
    links = max(1, math.ceil(abs(math.log2(speed))))
    chain += [graph.add("atempo", f"{speed ** (1 / links):.9f}") for _ in range(links)]
    chain += [graph.add("abuffersink")]
    for before, after in pairwise(chain):
        before.link_to(after)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(sound), format="fltp", layout=layout)
    frame.sample_rate = rate
    graph.push(frame)
    graph.push(None)
    parts: list[Floats] = []
    while True:
        try:
            samples = graph.pull().to_ndarray()
        except (av.BlockingIOError, av.EOFError):
            break
        parts.append(samples.astype(np.float32).reshape(-1, len(sound)))  # atempo interleaves channels
    return np.concatenate(parts).T if parts else sound[:, :0]


def _of_length(sound: Floats, samples: int) -> Floats:
    missing = samples - sound.shape[1]
    return np.pad(sound, ((0, 0), (0, missing))) if missing > 0 else sound[:, :samples]


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


# A film's sound: either clip's or both, on the film's clock, handed out a film frame at a time.


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
