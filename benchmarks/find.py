"""A query in a long film: `python -m benchmarks.find [--quick]`.

A film of two hours of made-up features, searched for a query of 64 samples: CPU seconds beside those of
librosa's subsequence DTW on the same features, and memory. Then a film from its file: what share of the time
the encoder has.
"""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from benchmarks.goals import Goals, parser
from benchmarks.ingest import Timed, make_videos
from benchmarks.turns import cpu
from seasync.clip import Clip
from seasync.encoders import clip_vector_parts, get_encoder
from seasync.encoders.encoder import TakesFrames
from seasync.encoding import Encoding, Stream
from seasync.film import find, find_in

RATE, WIDTH, SAMPLES = 7.5, 384, 64


def main() -> int:
    options = parser(__doc__, quick="without the film from its file").parse_args()
    goals = Goals(options)
    rng = np.random.default_rng(0)
    query, short, long = (made(rng, samples) for samples in (SAMPLES, 9_000, 54_000))
    find_in(query, short, Clip("film"))  # compiles
    ours, theirs = cpu(lambda: find_in(query, long, Clip("film"))), cpu(lambda: subsequence(query, long))
    print(f"two hours: {ours:.2f} s of CPU, librosa's subsequence DTW {theirs:.2f} s ({theirs / ours:.1f}×)")
    goals.at_most("CPU seconds for two hours", ours, 1.0, " s")
    spent = [peak(query, film) for film in (short, long)]
    print(f"memory beside the features: {spent[0]:.0f} MB for 20 minutes, {spent[1]:.0f} MB for two hours")
    goals.at_most("memory for two hours over that for 20 minutes", spent[1] - spent[0], 50, " MB")
    if not options.quick:
        goals.at_least("share of the encoder, from the file", encoder_share(), 0.95)
    return goals.finish({"ours, s": ours, "librosa, s": theirs, "MB of 20 and 120 minutes": spent})


def made(rng: np.random.Generator, samples: int) -> Encoding:
    """Features that wander about a mean, with a cut every 40 seconds."""
    steps = rng.standard_normal((samples, WIDTH), np.float32)
    shots = np.arange(0, samples, 300)
    features = np.concatenate([part.cumsum(0) for part in np.split(steps, shots[1:])])
    seconds = np.arange(samples) / RATE
    stream = Stream("made", seconds, np.arange(samples) * 4, features, shots)
    return Encoding("made/1", (stream,), *clip_vector_parts(features, seconds))


def subsequence(query: Encoding, film: Encoding) -> object:
    from librosa.sequence import dtw

    return dtw(query.features.T, film.features.T, metric="cosine", subseq=True)


def peak(query: Encoding, film: Encoding) -> float:
    tracemalloc.start()
    find_in(query, film, Clip("film"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def encoder_share() -> float:
    encoder = get_encoder()
    assert isinstance(encoder, TakesFrames)
    with tempfile.TemporaryDirectory() as folder:
        query, *_ = make_videos(Path(folder), 1, 4)
        (Path(folder) / "film").mkdir()
        film, *_ = make_videos(Path(folder) / "film", 1, 60)
        find(query, query, encoder=encoder, cache=False)  # loads and compiles
        timed = Timed(encoder)
        begin = time.perf_counter()
        find(query, film, encoder=timed, cache=False)
        return timed.seconds / (time.perf_counter() - begin)


if __name__ == "__main__":
    raise SystemExit(main())
