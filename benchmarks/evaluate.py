"""Speed of the evaluation: `python -m benchmarks.evaluate [PENN_ACTION] [--quick]`.

Re-ranking Penn Action joints (Table 4) asks for cost, DTW and DRAQ of 978 × 25 pairs. The peer is the same
loop on librosa: its dtw with its cosine cost, on contextualized features made beforehand; and since it has no
DRAQ, the mean of 100 random paths, walked abreast in numpy. CPU time of one thread; the peer on some of the
pairs. Without a folder, clips of the same number, lengths and width are made up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.turns import cpu
from seasync.alignment import MOTION, PAPER, Recipe, random_cost, score_many
from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.evaluate.data import open_dataset
from seasync.evaluate.dataset import Item
from seasync.evaluate.study import Sample, Study
from seasync.evaluate.tables.phases import contextualized

CANDIDATES, PATHS = 25, 100


def main() -> int:
    arguments = parser(__doc__, quick="a tenth of the queries")
    arguments.add_argument("penn", type=Path, nargs="?", help="Penn Action (its labels folder is enough)")
    options = arguments.parse_args()
    study = Study.of(open_dataset(options.penn)) if options.penn else made_up()
    queries = range(0, len(study.queries), 10 if options.quick else 1)
    nearest = study.retrieved(PAPER, CANDIDATES)
    candidates = [nearest[at] for at in queries]
    pairs = CANDIDATES * len(queries)
    print(f"{pairs} pairs of {'Penn Action joints' if options.penn else 'made-up clips'}, µs of CPU a pair")

    def ours(recipe: Recipe) -> None:
        for at, chosen in zip(queries, candidates, strict=True):
            score_many(study.queries[at].encoding, study.encodings(chosen), recipe=recipe)

    times = {}
    for recipe in (PAPER, MOTION):
        score_many(study.queries[0].encoding, study.encodings(candidates[0]), recipe=recipe)  # compiles
        times[recipe.name] = cpu(lambda r=recipe: ours(r)) / pairs  # type: ignore[misc]
        print(f"  {recipe.name} recipe: cost, DTW, exact DRAQ   {1e6 * times[recipe.name]:8.0f}")
    every = max(1, pairs // (100 if options.quick else 500))
    sample = [(at, int(m)) for at, chosen in zip(queries, candidates, strict=True) for m in chosen][::every]
    sides = [(study.queries[q].encoding, study.gallery[g].encoding) for q, g in sample]
    features = [(contextualized(query.features), contextualized(match.features)) for query, match in sides]
    check_draq(*features[0])
    for name, peer in (("cost and DTW", librosa_dtw), ("cost, DTW, DRAQ", librosa_draq)):
        peer(*features[0])
        times[name] = cpu(lambda p=peer: [p(*pair) for pair in features]) / len(sample)  # type: ignore[misc]
        print(f"  librosa: {name:27} {1e6 * times[name]:8.0f}   (every {every}th pair)")
    alone = times["cost and DTW"] / times["paper"]
    print(f"  librosa's cost and DTW alone take {alone:.1f}× the time of ours with DRAQ")
    goals = Goals(options)
    ratio = times["cost, DTW, DRAQ"] / times["paper"]
    goals.at_least("cost, DTW and DRAQ of the Penn re-ranking against librosa", ratio, 10, "×")
    return goals.finish({name: 1e6 * each for name, each in times.items()})


def librosa_dtw(query: NDArray[np.float64], match: NDArray[np.float64]) -> float:
    from librosa.sequence import dtw

    return float(dtw(query.T, match.T, metric="cosine", backtrack=False)[-1, -1])


def librosa_draq(query: NDArray[np.float64], match: NDArray[np.float64]) -> float:
    """librosa's DTW cost over the mean cost of PATHS random paths."""
    from librosa.sequence import dtw
    from scipy.spatial.distance import cdist

    cost = cdist(query, match, "cosine")
    return float(dtw(C=cost, backtrack=False)[-1, -1]) / random_paths(cost, np.random.default_rng(0))


def random_paths(cost: NDArray[np.float64], random: np.random.Generator) -> float:
    """Mean cost of PATHS random paths from the last cell to the first, all walked at once."""
    i, j = np.full(PATHS, cost.shape[0] - 1), np.full(PATHS, cost.shape[1] - 1)
    total = np.full(PATHS, cost[-1, -1])
    while (going := (i > 0) | (j > 0)).any():
        p = (i + 1) / (i + j + 2)
        up, left = random.random(PATHS) < p, random.random(PATHS) < 1 - p
        up, left = np.where(j == 0, True, up), np.where(i == 0, True, left)
        up, left = up & (i > 0), left & (j > 0)
        moved = going & (up | left)
        i, j = i - (up & moved), j - (left & moved)
        total += np.where(moved, cost[i, j], 0)
    return float(total.mean())


def check_draq(query: NDArray[np.float64], match: NDArray[np.float64]) -> None:
    """The peer's random paths must be ours: their mean is near the exact one."""
    from scipy.spatial.distance import cdist

    cost = cdist(query, match, "cosine")
    drawn = np.mean([random_paths(cost, np.random.default_rng(seed)) for seed in range(30)])
    if abs(drawn / random_cost(cost) - 1) > 0.02:
        raise SystemExit(f"the peer's random paths cost {drawn:.3f}, ours {random_cost(cost):.3f}")


def made_up(seed: int = 0) -> Study:
    """978 queries and 1172 gallery clips with the lengths of Penn Action's, (T, 26) random walks."""
    random = np.random.default_rng(seed)

    def sample(name: str) -> Sample:
        length = int(np.clip(np.exp(random.normal(np.log(58), 0.5)), 18, 663))
        features = np.cumsum(random.normal(size=(length, 26)), axis=0).astype(np.float32)
        seconds = np.arange(length) / 30
        stream = Stream("made up", seconds, np.arange(length), features)
        encoding = Encoding("made up", (stream,), *clip_vector_parts(features, seconds))
        return Sample(Item(name, "made up"), encoding)

    queries = tuple(sample(f"query {at}") for at in range(978))
    gallery = tuple(sample(f"clip {at}") for at in range(1172))
    return Study("made up", "made up", queries, gallery, leave_one_out=False)


if __name__ == "__main__":
    raise SystemExit(main())
