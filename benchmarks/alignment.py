"""DTW and DRAQ against other libraries' DTW: `python -m benchmarks.alignment [--quick]`.

One query with 100 candidates; all get the same float32 cost matrices and one thread. The least CPU time of
several rounds counts, and of a library that can leave the path out, the faster way. dtaidistance's C code
takes plain series only, an easier task without any matrix: it is shown, but its way with matrices counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.turns import against, cpu, work
from seasync.alignment import MOTION, align_encodings, align_many, draq_many, dtw_many, score_many
from seasync.encoding import Encoding, Stream

Matrix = NDArray[np.float32]
CANDIDATES, SHARING = 100, 16
SERIES = "dtaidistance, C, series: no matrix"
LENGTHS = {
    "64": np.full(CANDIDATES, 64),
    "256": np.full(CANDIDATES, 256),
    "mixed": np.random.default_rng(1).integers(20, 160, CANDIDATES),
}


def main() -> int:
    options = parser(__doc__, quick="fewer rounds", against=True).parse_args()
    rounds, goals = 5 if options.quick else 20, Goals(options)
    if options.against:
        return against(options.against, work("align_clips"), goals)
    figures = {"seconds a pair": speed(goals, rounds)}
    figures |= in_part(goals, rounds) | share_of_extraction(goals, rounds)
    return goals.finish(figures)


def peers() -> dict[str, Callable[[Matrix], object]]:
    import librosa
    from dtaidistance import dtw as dtai
    from dtaidistance.innerdistance import CustomInnerDist
    from dtw import dtw as dtw_python
    from tslearn.metrics import dtw_path_from_metric

    def by_matrix(cost: Matrix) -> object:
        class Look(CustomInnerDist):  # type: ignore[misc]
            @staticmethod
            def inner_dist(i: float, j: float) -> float:
                return float(cost[int(i), int(j)])

            @staticmethod
            def result(total: float) -> float:
                return total

            @staticmethod
            def inner_val(value: float) -> float:
                return value

        return dtai.distance(*(np.arange(n, dtype=np.float64) for n in cost.shape), inner_dist=Look)

    return {
        "librosa": lambda cost: librosa.sequence.dtw(C=cost, backtrack=False),
        "librosa, path": lambda cost: librosa.sequence.dtw(C=cost),
        "tslearn, path": lambda cost: dtw_path_from_metric(cost, metric="precomputed"),
        "dtw-python": lambda cost: dtw_python(cost, step_pattern="symmetric1", distance_only=True),
        "dtw-python, path": lambda cost: dtw_python(cost, step_pattern="symmetric1"),
        "dtaidistance": by_matrix,
        SERIES: lambda cost: dtai.distance_fast(cost[:, 0].astype(np.float64), cost[0].astype(np.float64)),
    }


def costs_of(lengths: Sequence[int]) -> list[Matrix]:
    rng = np.random.default_rng(0)
    rows = 64 if len(set(lengths)) > 1 else lengths[0]
    return [rng.random((rows, length), dtype=np.float32) for length in lengths]


def speed(goals: Goals, rounds: int) -> dict[str, dict[str, float]]:
    """The table of microseconds a pair, and how much faster we are than the fastest peer."""
    columns = {name: times(costs_of(lengths.tolist()), rounds) for name, lengths in LENGTHS.items()}
    print("microseconds a pair, candidates' frames   " + "".join(f"{name:>9}" for name in columns))
    for row in columns["64"]:
        print(f"{row:42}" + "".join(f"{1e6 * column[row]:9.1f}" for column in columns.values()))
    for name, target in (("64", 18), ("256", 11), ("mixed", 6)):
        ours, _, *others, _ = columns[name].values()
        goals.at_least(f"DTW + DRAQ at {name}, times the fastest peer's DTW", min(others) / ours, target)
    return columns


def times(costs: list[Matrix], rounds: int) -> dict[str, float]:
    """Seconds a pair."""
    out = {
        "Seasync, DTW + exact DRAQ": cpu(lambda: draq_many(costs), rounds) / len(costs),
        "Seasync, the same with paths": cpu(lambda: dtw_many(costs), rounds) / len(costs),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for peer, solve in peers().items():
            slow = peer == "dtaidistance"
            some = costs[:: 50 if slow else 5]
            out[peer] = cpu(partial(_each, solve, some), 1 if slow else rounds) / len(some)
    return out


def _each(solve: Callable[[Matrix], object], costs: list[Matrix]) -> None:
    for cost in costs:
        solve(cost)


def clip(length: int, seed: int) -> Encoding:
    """Random frame features of 384 dimensions that change slowly."""
    rng = np.random.default_rng(seed)
    return encoding(np.cumsum(rng.normal(size=(length, 384)), axis=0).astype(np.float32))


def encoding(features: Matrix) -> Encoding:
    """Features (T, d) at 7.5 fps."""
    at = np.arange(len(features))
    return Encoding("random", (Stream("frames", at / 7.5, 4 * at, features),), features[0], features[0])


def in_part(goals: Goals, rounds: int) -> dict[str, float]:
    """What partial paths cost beside whole ones, of clips that share a half."""
    recipe = replace(MOTION, grid_fps=None)
    course = clip(64 + 32 * SHARING, 0).features
    query = encoding(course[:64])
    starts = range(64, len(course), 32)
    halves = [encoding(np.concatenate([course[16:48], course[k : k + 32]])) for k in starts]
    spent = {
        partial: cpu(lambda p=partial: align_many(query, halves, recipe=recipe, partial=p), 4 * rounds)
        for partial in ("never", "auto", "always")
    }
    each = ", ".join(f"{partial} {1e6 * time / len(halves):.0f}" for partial, time in spent.items())
    print(f"64 × 64, microseconds a pair from features, aligned in part: {each}")
    goals.at_most("the better of whole and part at 64, times whole alone", spent["auto"] / spent["never"], 2)
    return {f"in part: {partial}": time for partial, time in spent.items()}


def share_of_extraction(goals: Goals, rounds: int) -> dict[str, float]:
    """Cost, DTW and DRAQ of a pair of 64-frame clips against encoding their 128 frames."""
    from seasync.encoders import get_encoder
    from seasync.video import Frames

    query, matches = clip(64, 0), [clip(64, 1 + k) for k in range(CANDIDATES)]
    alone = cpu(lambda: align_encodings(query, matches[0]), 10 * rounds)
    together = cpu(lambda: align_many(query, matches), rounds) / CANDIDATES
    scored = cpu(lambda: score_many(query, matches), rounds) / CANDIDATES
    encoder = get_encoder("dinov2-small")
    count = 16
    pixels = np.random.default_rng(0).integers(0, 256, (count, *encoder.input_size, 3), np.uint8)
    frames = Frames(pixels, np.arange(count) / 7.5, np.arange(count))
    features = cpu(lambda: encoder.encode([frames]), max(1, rounds // 5)) / count * 128
    print(
        f"a pair of 64-frame clips, CPU ms: features {1e3 * features:.0f}; aligned alone {1e3 * alone:.3f}, "
        f"among {CANDIDATES} {1e3 * together:.3f}, scored among {CANDIDATES} {1e3 * scored:.3f}"
    )
    goals.at_most("cost, DTW and DRAQ of one pair, share of extraction", 100 * alone / features, 0.01, " %")
    return {"features": features, "aligned alone": alone, "among many": together, "scored": scored}


if __name__ == "__main__":
    raise SystemExit(main())
