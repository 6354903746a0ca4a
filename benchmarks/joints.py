"""Learned encoders on Penn Action joints: `python -m benchmarks.joints PENN --out DIR [--queries N]`.

PENN is Penn Action (its labels are enough). Models learn on the joints of the training clips. Each test clip
then has its 25 candidates (nearest training clips by the clip vector of the joints, the same for all rows)
re-ranked by DRAQ: how often is the first one of the same action (R@1)? Differences are to the joints
themselves under the same recipe, query by query, with 95 % bootstrap intervals.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoders import Columns, print_table
from benchmarks.goals import Goals, parser
from seasync.alignment import MOTION, PAPER, Recipe, score_many
from seasync.clip import Clip
from seasync.encoders.temporal import TemporalEncoder, TemporalModel
from seasync.encoding import Encoding
from seasync.evaluate.data import open_dataset
from seasync.evaluate.study import Sample, Study
from seasync.train.clips import SHORTEST
from seasync.train.fit import Training, TrainingPlan
from seasync.train.tasks import NmsTask, TaughtTask

CANDIDATES = 25


class Joints:
    """The joints of clips, as an encoder and as footage to train on."""

    name = "joints"

    def __init__(self, samples: Sequence[Sample]) -> None:
        fit = [sample for sample in samples if len(sample.encoding.seconds) >= SHORTEST]
        self._encodings = [sample.encoding for sample in fit]
        self.clips = [Clip(sample.item.name) for sample in fit]
        first = self._encodings[0]
        self.fingerprint, self.dimension = first.encoder, first.features.shape[1]
        self.fps = 1 / float(np.median(np.diff(first.seconds)))
        self.lead = self.name, self.fingerprint

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        return [self._encodings[n] for n in chosen]


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("penn", type=Path)
    arguments.add_argument("--out", type=Path, required=True, help="where models are kept")
    arguments.add_argument("--queries", type=int, default=978, help="test clips, drawn at random")
    options = arguments.parse_args()
    study = Study.of(open_dataset(options.penn))
    joints = Joints(study.gallery)
    drawn = np.random.default_rng(0).permutation(len(study.queries))[: options.queries]
    candidates = study.retrieved(MOTION, CANDIDATES)
    models: dict[str, TemporalEncoder | None] = {"joints": None}
    for task in (NmsTask(), TaughtTask()):
        file, begin = options.out / f"joints-{task.kind}.onnx", time.perf_counter()
        trained = Training(joints, task, TrainingPlan(), file).run()
        scores = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items())
        print(f"{file.name}: {len(joints.clips)} clips, {time.perf_counter() - begin:.0f} s; {scores}")
        models[task.kind] = TemporalEncoder(task.kind, joints, TemporalModel(file))
    figures = {}
    for recipe in (PAPER, MOTION):
        rows = {name: found(study, drawn, candidates, model, recipe) for name, model in models.items()}
        figures |= print_table(f"Penn Action joints, {recipe.name}: {len(drawn)} queries", rows, ("R@1",))
    return Goals(options).finish(figures)


def found(
    study: Study,
    drawn: NDArray[np.int64],
    candidates: Sequence[NDArray[np.int64]],
    model: TemporalEncoder | None,
    recipe: Recipe,
) -> Columns:
    """Whether the candidate of the lowest DRAQ is of the query's action."""
    seen: dict[int, Encoding] = {}

    def shown(number: int) -> Encoding:
        if number not in seen:
            encoding = study.gallery[number].encoding
            seen[number] = model.over(encoding) if model else encoding
        return seen[number]

    right = []
    for at in drawn:
        query = study.queries[at].encoding
        scores = score_many(
            model.over(query) if model else query, [shown(int(n)) for n in candidates[at]], recipe=recipe
        )
        best = int(candidates[at][int(np.argmin(scores.draq))])
        right.append(float(study.gallery[best].item.label == study.queries[at].item.label))
    return {"R@1": right}


if __name__ == "__main__":
    raise SystemExit(main())
