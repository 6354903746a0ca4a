"""Groups from stored features: `python -m benchmarks.group [--takes N] [--quick]`.

Makes takes of one movement at random tempos (features alone, no video), puts them on one clock, and prints
how long that took, how exact the clock is, and how much memory it needed beside the features. With consensus
each take is also aligned through up to ten others. The peer, dtw-python, aligns each take with the reference.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from benchmarks.goals import Goals, parser
from seasync.clip import Clip
from seasync.encoders.encoder import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.group.clock import Take, group_of, medoid

WIDTH, SAMPLES, FPS = 384, 64, 7.5


def main() -> int:
    arguments = parser(__doc__, quick="40 takes")
    arguments.add_argument("--takes", type=int, default=200)
    options = arguments.parse_args()
    count = 40 if options.quick else options.takes
    rng = np.random.default_rng(0)
    course = np.cumsum(rng.normal(size=(4 * SAMPLES, WIDTH)), axis=0)
    course = sum(course[n : n - 8 if n < 8 else None] for n in range(9)) / 9
    bends = rng.uniform(-0.5, 0.5, count)
    takes = [_take(course, bend, n) for n, bend in enumerate(bends)]
    group_of(takes[0], takes[1:3])  # compiles the kernels
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    number = medoid(takes)
    reference, rest = takes[number], [take for n, take in enumerate(takes) if n != number]
    group = group_of(reference, rest)
    seconds = time.perf_counter() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    started = time.perf_counter()
    group_of(reference, rest, consensus=False)
    alone = time.perf_counter() - started
    peer = _peer(reference, rest[: min(20, len(rest))]) * len(rest) / min(20, len(rest))
    places = np.linspace(0.1, 0.9, 9)
    asked = [_when(place, bends[number]) for place in places]
    others = [bend for n, bend in enumerate(bends) if n != number]
    truth = np.array([[_when(place, bend) for place in places] for bend in others])
    error = float(np.nanmedian(np.abs(group.at(asked) - truth))) * FPS
    print(f"{count} takes: {seconds:.1f} s with consensus, {len(group.takes)} aligned, {memory:.0f} MB")
    print(f"without consensus: {alone:.2f} s; dtw-python: {peer:.2f} s ({peer / alone:.1f} times ours)")
    goals = Goals(options)
    goals.at_most(f"{count} takes on one clock", seconds, 60, " s")
    goals.at_most("median error of the common clock", error, 1.5, " sampled frames")
    goals.at_most("memory beside the features", memory, 300, " MB")
    return goals.finish({"with consensus, s": seconds, "without, s": alone, "dtw-python, s": peer})


def _when(place: float, bend: float) -> float:
    """When a take with this bend is at a place 0–1 of the movement, in seconds."""
    t = (
        place
        if abs(bend) < 1e-9
        else (-(1 - bend) + np.sqrt((1 - bend) ** 2 + 4 * bend * place)) / (2 * bend)
    )
    return float(t * (SAMPLES - 1) / FPS)


def _take(course: np.ndarray, bend: float, number: int) -> Take:
    t = np.linspace(0, 1, SAMPLES)
    places = (t + bend * t * (t - 1)) * (len(course) - 1)
    features = np.stack([np.interp(places, np.arange(len(course)), column) for column in course.T], axis=1)
    features += 0.3 * np.random.default_rng(number).normal(size=features.shape)
    seconds = np.arange(SAMPLES) / FPS
    stream = Stream("frames", seconds, np.rint(seconds * 30).astype(np.int64), features.astype(np.float32))
    encoding = Encoding("benchmark", (stream,), *clip_vector_parts(stream.features, seconds))
    return Take(Clip(f"take-{number:03d}.mp4"), encoding, SAMPLES / FPS)


def _peer(reference: Take, takes: list[Take]) -> float:
    import dtw

    started = time.perf_counter()
    for take in takes:
        dtw.dtw(reference.encoding.features, take.encoding.features)
    return time.perf_counter() - started


if __name__ == "__main__":
    raise SystemExit(main())
