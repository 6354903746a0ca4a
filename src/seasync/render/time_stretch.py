"""Change the speed of a sound and keep its pitch."""

from __future__ import annotations

import importlib.util
import math
from itertools import pairwise

import numpy as np

from seasync.encoding import Floats


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
