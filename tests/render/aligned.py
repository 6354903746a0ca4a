"""Alignments with known truth, made without aligning anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from seasync.alignment import MOTION, Alignment, Piece
from seasync.alignment.prepare import end_of
from seasync.clip import Clip
from seasync.video.source import frame_table
from tests.videos import number_of

Map = Callable[[np.ndarray], np.ndarray]


def alignment(query: Path, match: Path, *pieces: tuple[float, float, Map]) -> Alignment:
    """The alignment whose path, for each piece (start, end, map), pairs every frame of the query from `start`
    to `end` with the frame of the match nearest to `map(seconds)`."""
    times, others = frame_table(query).seconds, frame_table(match).seconds
    steps = [float(np.median(np.diff(each))) if len(each) > 1 else 1 / 30 for each in (times, others)]
    cells, spans = [], []
    for start, end, where in pieces:
        inside = np.flatnonzero((times >= start - 1e-9) & (times <= end + 1e-9))
        partners = np.abs(where(times[inside])[:, None] - others[None]).argmin(1)
        spans.append(
            Piece(
                start=sum(map(len, cells)),
                stop=sum(map(len, cells)) + len(inside),
                query=(float(times[inside[0]]), end_of(times, inside[-1], steps[0])),
                match=(float(others[partners[0]]), end_of(others, partners[-1], steps[1])),
                dtw_cost=1.0,
                random_cost=4.0,
            )
        )
        cells.append(np.stack([inside, partners], axis=1))
    rng = np.random.default_rng(0)
    return Alignment(
        recipe=MOTION,
        path=np.concatenate(cells).astype(np.int32),
        query_seconds=times,
        match_seconds=others,
        query_frames=np.arange(len(times)),
        match_frames=np.arange(len(others)),
        query_motion=np.ones(len(times), np.float32),
        match_motion=np.ones(len(others), np.float32),
        query_step=steps[0],
        match_step=steps[1],
        dtw_cost=1.0,
        random_cost=4.0,
        pieces=tuple(spans),
        query=Clip(str(query)),
        match=Clip(str(match)),
        cost=rng.random((len(times), len(others))).astype(np.float32),
    )


def whole(query: Path, match: Path, where: Map) -> Alignment:
    return alignment(query, match, (0.0, np.inf, where))


def bent(times: Sequence[float], values: Sequence[float]) -> Map:
    """Linear between knots."""
    return lambda seconds: np.interp(seconds, times, values)


def shown(file: Path, crop: Callable[[np.ndarray], np.ndarray] = lambda image: image) -> list[int]:
    """The number that each frame of a film shows, within `crop` of its picture; plain PyAV."""
    with av.open(str(file)) as film:
        return [number_of(crop(frame.to_ndarray(format="rgb24"))) for frame in film.decode(video=0)]


def pictures(file: Path) -> list[np.ndarray]:
    with av.open(str(file)) as film:
        return [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]


def heard(file: Path) -> tuple[np.ndarray, int]:
    """(channels, N) samples of a film's sound, and their rate; the encoder's own lead-in is cut off."""
    with av.open(str(file)) as film:
        stream = film.streams.audio[0]
        rate = stream.rate
        out = np.zeros((stream.channels, 0), np.float32)
        for frame in film.decode(stream):
            samples = frame.to_ndarray()
            at = round(float(frame.pts * (frame.time_base or Fraction(1, rate))) * rate)
            out = np.concatenate([out[:, : max(at, 0)], samples[:, max(-at, 0) :]], axis=1)
    return out, rate


def clicks(seconds: Sequence[float], length: float, *, rate: int = 48000, tone: float = 0.0) -> np.ndarray:
    """(1, N): a click of 2 ms at each of `seconds`, and a soft tone of `tone` hertz all along."""
    times = np.arange(round(length * rate)) / rate
    sound = 0.1 * np.sin(2 * np.pi * tone * times)
    for second in seconds:
        at = round(second * rate)
        sound[at : at + rate // 500] += 0.8 * np.hanning(rate // 500)
    return sound[None].astype(np.float32)


def click_times(sound: np.ndarray, rate: int, *, level: float = 0.3) -> list[float]:
    """When clicks are heard: what is louder than `level`, 8 ms or more apart."""
    loud = np.flatnonzero(np.abs(sound[0]) > level)
    groups = np.split(loud, np.flatnonzero(np.diff(loud) > 0.008 * rate) + 1)
    return [float(group[np.abs(sound[0][group]).argmax()] / rate) for group in groups if len(group)]


def pitch(sound: np.ndarray, rate: int, *, below: float = 1000.0) -> float:
    """The strongest frequency, in hertz."""
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(len(sound)), 8 * len(sound)))
    hertz = np.fft.rfftfreq(8 * len(sound), 1 / rate)
    return float(hertz[(spectrum * (hertz > 50) * (hertz < below)).argmax()])
