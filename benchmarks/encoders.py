"""Frame encoders compared: `python -m benchmarks.encoders GOLF [--sample DIR] [--encoders NAME …]`.

GOLF is as in `benchmarks.golf`. Every encoder aligns the same pairs: each clip with the ten nearest by the
clip vector of `dinov2-small`. Differences are to `dinov2-small` under the same recipe, query by query, with
95 % bootstrap intervals. `--sample` is a folder for the generated sea (made if it is not there): each clip is
aligned with the others of its action, and the truth is known. Images per CPU second are of one thread.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.golf import CANDIDATES, by_query, encode_all, ranked, similarities
from benchmarks.world_sets import load_events
from seasync.alignment import MOTION, PAPER, Recipe, align_many
from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.encode import parts_of
from seasync.encoders.encoder import TakesFrames
from seasync.encoders.weights import BLAZEPOSE_DETECTOR, BLAZEPOSE_FULL, DINOV2_SMALL, TINYVIT_5M
from seasync.encoding import Encoding
from seasync.errors import SubjectNotFound
from seasync.evaluate.results import mean_interval
from seasync.sample import Sample, alignment_error, make
from seasync.sample.generate import TRUTH
from seasync.video import read

FROZEN = "dinov2-small"
SAMPLE = 32  # clips
ENCODERS = (FROZEN, "dinov2-small-cls", "dinov2-small@168", "tinyvit-5m", "pose", "dinov2-small+pose")
COLUMNS = (
    "APA average of ten",
    "event error average of ten",
    "inner event error average of ten",
    "APA of the pick of ten",
    "event error of the pick of ten",
)
MEGABYTES = {
    "dinov2": DINOV2_SMALL.size_bytes / 1e6,
    "tinyvit": TINYVIT_5M.size_bytes / 1e6,
    "pose": (BLAZEPOSE_DETECTOR.size_bytes + BLAZEPOSE_FULL.size_bytes) / 1e6,
}
Columns = dict[str, list[float]]
Means = dict[str, dict[str, float]]


def main() -> int:
    arguments = parser(__doc__, "golf")
    arguments.add_argument("--encoders", nargs="+", default=ENCODERS)
    arguments.add_argument("--sample", type=Path, help="a folder for the generated sea")
    options = arguments.parse_args()
    warnings.simplefilter("ignore", SubjectNotFound)
    names, events = load_events(options.golf / "events.csv")
    encoded = {
        name: encode_all(options.golf / "clips", names, name)
        for name in dict.fromkeys((FROZEN, *options.encoders))
    }
    candidates = ranked(similarities(encoded[FROZEN], MOTION))[:, :CANDIDATES]
    figures: dict[str, Means] = {}
    for recipe in (MOTION, PAPER):
        rows = {name: by_query(clips, events, recipe, candidates) for name, clips in encoded.items()}
        figures |= print_table(
            f"golf, {recipe.name}: {len(names)} queries, ten candidates each", rows, COLUMNS
        )
    if options.sample:
        there = (options.sample / TRUTH).exists()
        sample = Sample.load(options.sample) if there else make(options.sample, clips=SAMPLE)
        for recipe in (MOTION, PAPER):
            rows = {name: against_truth(sample, name, recipe) for name in encoded}
            figures |= print_table(f"sample sea, {recipe.name}", rows, ("error, ms", "within 3 frames"))
    print("\nencoder | images per CPU second | MB of weights")
    for name in encoded:
        print(f"{name} | {speed(options.golf / 'clips' / names[0], name):.1f} | {megabytes(name):.1f}")
    goals = Goals(options)
    if "dinov2-small+pose" in encoded:
        pose_goals(encoded, events, goals)
    return goals.finish(figures)


def print_table(title: str, rows: dict[str, Columns], columns: tuple[str, ...]) -> dict[str, Means]:
    """A row for each encoder: means, and the differences to the first one. Gives the means by title."""
    print(f"\n{title}\n\nencoder | " + " | ".join(columns))
    first = next(iter(rows.values()))
    for name, row in rows.items():
        cells = [f"{np.mean(row[column]):.3f} {difference(row[column], first[column])}" for column in columns]
        print(f"{name} | " + " | ".join(cells), flush=True)
    return {title: {name: {c: float(np.mean(row[c])) for c in columns} for name, row in rows.items()}}


def difference(values: list[float], base: list[float]) -> str:
    """Mean of the differences, query by query, and its 95 % interval; nothing of what is compared with."""
    if values is base:
        return ""
    apart = np.subtract(values, base)
    low, high = mean_interval(apart)
    return f"({apart.mean():+.3f} [{low:+.3f}, {high:+.3f}])"


def against_truth(sample: Sample, name: str, recipe: Recipe) -> Columns:
    """Of each clip with the others of its action: mean error, and the share of moments within 3 frames."""
    encoder = get_encoder(name)
    clips = sample.clips
    encodings = [encode_clip(clip.file, encoder) for clip in clips]
    columns: Columns = {"error, ms": [], "within 3 frames": []}
    for at, query in enumerate(clips):
        others = [n for n, clip in enumerate(clips) if n != at and clip.action == query.action]
        alignments = align_many(encodings[at], [encodings[n] for n in others], recipe=recipe, partial="never")
        away = [
            alignment_error(query, clips[n], alignment.warp().at, fps=30)
            for n, alignment in zip(others, alignments, strict=True)
        ]
        columns["error, ms"].append(float(np.mean([frames.mean() for frames in away])) / 30 * 1000)
        columns["within 3 frames"].append(float(np.mean([(frames <= 3).mean() for frames in away])))
    return columns


def speed(file: Path, name: str) -> float:
    """Images per second of CPU time, of what is decoded already; of encoders side by side, both on each."""
    per_image = 0.0
    for part in parts_of(get_encoder(name)):
        assert isinstance(part, TakesFrames)
        batches = list(itertools.islice(read(file, size=part.input_size, fit=part.fit, batch=8), 6))
        part.encode(batches[:1])
        begin = time.process_time()
        part.encode(batches)
        per_image += (time.process_time() - begin) / sum(len(batch.data) for batch in batches)
    return 1 / per_image


def megabytes(name: str) -> float:
    """Of the weights as they are fetched."""
    return sum(
        next(mb for start, mb in MEGABYTES.items() if part.startswith(start)) for part in name.split("+")
    )


def pose_goals(encoded: dict[str, list[Encoding]], events: NDArray[np.int64], goals: Goals) -> None:
    """Pose beside the default, whole to whole, among candidates of three kinds; goals are for the first."""
    plain, fused = encoded[FROZEN], encoded["dinov2-small+pose"]
    looks = encoded.get("dinov2-small-cls", plain)
    kinds = {
        "nearest by the mean class token": ranked(similarities(looks, PAPER))[:, :CANDIDATES],
        "nearest by clip vector": ranked(similarities(plain, MOTION))[:, :CANDIDATES],
        "all others": ranked(similarities(plain, MOTION)),
    }
    agreement, error = "APA average of all", "event error average of all"
    rows = {
        kind: [by_query(clips, events, MOTION, candidates, partial="never") for clips in (plain, fused)]
        for kind, candidates in kinds.items()
    }
    for kind, (before, after) in rows.items():
        print(f"\ncandidates: {kind}, whole to whole")
        for column in (agreement, error, f"inner {error}"):
            means = [float(np.mean(columns[column])) for columns in (before, after)]
            gained = difference(after[column], before[column])
            print(f"  {column.removesuffix(' of all')}: {means[0]:.3f} → {means[1]:.3f} {gained}")
    before, after = rows["nearest by the mean class token"]
    gain = np.subtract(after[agreement], before[agreement])
    goals.at_least("APA average gained by pose", float(gain.mean()), 0.01)
    goals.at_least("… lower end of its interval", mean_interval(gain)[0], 0.0)
    left = np.mean(after[error]) / np.mean(before[error])
    goals.at_most("event error of the average, share left by pose", float(left), 2 / 3)
    change = np.subtract(after[error], before[error])
    goals.at_most("… upper end of the change's interval", mean_interval(change)[1], 0.0, " frames")


if __name__ == "__main__":
    os.environ.setdefault("SEASYNC_THREADS", "1")
    raise SystemExit(main())
