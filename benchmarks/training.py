"""Learned temporal encoders against the frozen features: `python -m benchmarks.training GOLF --out DIR`.

GOLF is as in `benchmarks.golf`, with the column `player`. Clips are split by player into four parts; each is
tested on by models trained on the three others (`--parts 1` does the first part only). Of a tested part, each
clip is aligned with the ten others of it that are nearest by the clip vector of the frozen features. Models
are kept in DIR: run it again and they are not trained again. Differences are to `dinov2-small` under the same
recipe, query by query, with 95 % bootstrap intervals. How much clips disagree is told without labels, and so
stands beside what the labels say.

Controls: features that only report where in the clip a frame is; transformers that were never trained.

With `--joints PENN` models learn on the joints of Penn Action's training clips instead (its labels are
enough). Each test clip then has its 25 candidates (nearest training clips by the clip vector of the joints,
the same for all rows) re-ranked by DRAQ: how often is the first one of the same action (R@1)?
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoders import COLUMNS, Columns, print_table
from benchmarks.goals import Goals, parser
from benchmarks.golf import CANDIDATES, by_query, encode_all, ranked, similarities
from benchmarks.world_sets import load_events
from seasync.alignment import MOTION, PAPER, Recipe, score_many
from seasync.alignment.consensus import disagreement
from seasync.clip import Clip
from seasync.encoders import get_encoder
from seasync.encoders.temporal import TemporalEncoder, TemporalModel
from seasync.encoding import Encoding
from seasync.errors import SubjectNotFound
from seasync.evaluate.data import open_dataset
from seasync.evaluate.proxies import position_only_encoding
from seasync.evaluate.results import mean_interval
from seasync.evaluate.study import EncodedItem, Study
from seasync.options import TrainKind
from seasync.train.clips import SHORTEST
from seasync.train.fit import Training, TrainingPlan, train_on
from seasync.train.tasks import NmsTask, TaughtTask

PARTS = 4
JOINT_CANDIDATES = 25
HELD_OUT = 0.15  # of the training clips, to stop by
APART = "clips disagree by, ms"
SHOWN = (*COLUMNS, APART)
FROZEN, CLASS, POSE = "dinov2-small", "dinov2-small-cls", "dinov2-small+pose"


@dataclass(frozen=True)
class Design:
    """A way to train: what is learned, on which features (of streams, the first), and for how long."""

    kind: TrainKind
    encoder: str = FROZEN
    steps: int = 400
    reach: int = 0

    @property
    def frames(self) -> str:
        """What the model stands on."""
        return self.encoder.partition("+")[0]


DESIGNS = {
    "untrained nms": Design("nms", steps=0),
    "untrained carl": Design("carl", steps=0),
    "nms": Design("nms"),
    "nms on class tokens": Design("nms", CLASS),
    "carl": Design("carl"),
    "tcc": Design("tcc"),
    "tcn": Design("tcn"),
    "sal": Design("sal"),
    "lav": Design("lav"),
    "gta": Design("gta"),
    "taught by itself": Design("taught"),
    "taught by pose": Design("taught", POSE),
    "taught by pose, longer context": Design("taught", POSE, reach=48),
}


Rows = dict[str, dict[str, Columns]]  # by recipe, then by the name of the features


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("golf", type=Path, nargs="?")
    arguments.add_argument("--joints", type=Path, metavar="PENN", help="learn on joints instead")
    arguments.add_argument("--queries", type=int, default=978, help="of the joints, test clips at random")
    arguments.add_argument("--out", type=Path, required=True, help="where models are kept")
    arguments.add_argument("--parts", type=int, default=PARTS, choices=range(1, PARTS + 1))
    arguments.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    frozen_names = (FROZEN, CLASS, POSE)
    arguments.add_argument(
        "--frozen", nargs="+", default=frozen_names, choices=frozen_names, help="shown beside"
    )
    options = arguments.parse_args()
    if options.joints:
        return Goals(options).finish(on_joints(options.joints, options.queries, options.out))
    if not options.golf:
        arguments.error("expected GOLF, or --joints PENN")
    warnings.simplefilter("ignore", SubjectNotFound)
    names, events = load_events(options.golf / "events.csv")
    frozen = {
        name: encode_all(options.golf / "clips", names, name)
        for name in {FROZEN: 0, **dict.fromkeys(options.frozen)}
    }
    rows: Rows = {PAPER.name: {}, MOTION.name: {}}
    tested = parts(players(options.golf / "events.csv"))[: options.parts]
    for part, test in enumerate(tested):
        inside = {name: [clips[n] for n in test] for name, clips in frozen.items()}
        shown = dict(inside) | {
            "control: position only": [position_only_encoding(clip) for clip in inside[FROZEN]]
        }
        for name in options.designs:
            design, file = (
                DESIGNS[name],
                options.out / f"{name.replace(',', '').replace(' ', '-')}-{part}.onnx",
            )
            rest = [options.golf / "clips" / clip for n, clip in enumerate(names) if n not in test]
            train(name, design, rest, file)
            model = get_encoder(f"{design.frames}+{design.kind}:{file}")
            assert isinstance(model, TemporalEncoder)
            shown[name] = [model.over(clip) for clip in inside[design.frames]]
            if design.steps:
                for other in (FROZEN, POSE) if design.encoder == POSE else (FROZEN,):
                    both = zip(inside[other], shown[name], strict=True)
                    shown[f"{other} + {name}"] = [beside(*pair) for pair in both]
        note(rows, shown, events[test])
    queries = sum(map(len, tested))
    figures = {}
    for recipe, table in rows.items():
        figures |= print_table(
            f"golf, {recipe}: {queries} queries of {len(tested)} tested part(s)", table, SHOWN
        )
    goals = Goals(options)
    check(rows, goals)
    return goals.finish(figures)


def note(rows: Rows, shown: dict[str, list[Encoding]], events: NDArray[np.int64]) -> None:
    """Add the figures of one tested part."""
    candidates = ranked(similarities(shown[FROZEN], MOTION))[:, :CANDIDATES]
    for recipe in (PAPER, MOTION):
        for name, clips in shown.items():
            found = by_query(clips, events, recipe, candidates)
            found[APART] = [
                disagreement(clip, [clips[n] for n in others], recipe=recipe)
                for clip, others in zip(clips, candidates, strict=True)
            ]
            columns = rows[recipe.name].setdefault(name, {column: [] for column in SHOWN})
            for column in SHOWN:
                columns[column] += found[column]


def train(name: str, design: Design, clips: Sequence[Path], file: Path) -> None:
    """Train, unless that has been done, and print how well it does on clips held out of the training."""
    begin = time.perf_counter()
    trained = train_on(
        [str(clip) for clip in clips],
        kind=design.kind,
        file=file,
        encoder=design.encoder,
        views=0,  # as the published figures
        size={"reach": design.reach} if design.reach else {},
        plan=TrainingPlan(steps=design.steps, held_out=HELD_OUT),
    )
    seconds = time.perf_counter() - begin
    first, best = trained.history[0], trained.best
    scores = ", ".join(f"{key} {first[key]:.3f} → {best[key]:.3f}" for key in best if key != "step")
    print(f"{file.name}: {len(clips)} clips, {trained.steps} steps, {seconds:.0f} s; {scores}", flush=True)


def players(file: Path) -> list[str]:
    """The player of each clip."""
    with file.open(newline="") as opened:
        return [row["player"] for row in csv.DictReader(opened)]


def parts(of: Sequence[str]) -> list[list[int]]:
    """Clip numbers in PARTS parts of about one size; no player is in two of them."""
    drawn = np.random.default_rng(0).permutation(sorted(set(of))).tolist()
    out: list[list[int]] = [[] for _ in range(PARTS)]
    for player in sorted(drawn, key=lambda player: -of.count(player)):
        min(out, key=len).extend(n for n, other in enumerate(of) if other == player)
    return [sorted(part) for part in out]


def beside(frozen: Encoding, learned: Encoding) -> Encoding:
    """Both streams side by side, as `A+A+nms:FILE` has them."""
    return replace(
        frozen, encoder=f"{frozen.encoder}+{learned.encoder}", streams=(*frozen.streams, learned.streams[0])
    )


def check(rows: Rows, goals: Goals) -> None:
    """What training must show: more than its own input, beyond the interval."""
    for recipe, name, base in (
        (PAPER, "nms", FROZEN),
        (PAPER, "nms", "untrained nms"),
        (MOTION, f"{FROZEN} + taught by pose", FROZEN),
    ):
        table = rows[recipe.name]
        if name in table and base in table:
            gain = np.subtract(table[name][COLUMNS[0]], table[base][COLUMNS[0]])
            said = f"{recipe.name}: APA average of {name} over {base}, lower end of the interval"
            goals.at_least(said, mean_interval(gain)[0], 0.0)


# ---- joints


class Joints:
    """The joints of clips, as an encoder and as footage to train on."""

    name = "joints"

    def __init__(self, samples: Sequence[EncodedItem]) -> None:
        fit = [sample for sample in samples if len(sample.encoding.seconds) >= SHORTEST]
        self._encodings = [sample.encoding for sample in fit]
        self.clips = [Clip(sample.item.name) for sample in fit]
        first = self._encodings[0]
        self.fingerprint, self.dimension = first.encoder, first.features.shape[1]
        self.fps = 1 / float(np.median(np.diff(first.seconds)))
        self.lead = self.name, self.fingerprint

    def encodings(self, chosen: Sequence[int]) -> list[Encoding]:
        return [self._encodings[n] for n in chosen]


def on_joints(penn: Path, queries: int, out: Path) -> dict[str, object]:
    """R@1 of joints, and of what is learned on them."""
    study = Study.of(open_dataset(penn))
    joints = Joints(study.gallery)
    drawn = np.random.default_rng(0).permutation(len(study.queries))[:queries]
    candidates = study.retrieved(MOTION, JOINT_CANDIDATES)
    models: dict[str, TemporalEncoder | None] = {"joints": None}
    for task in (NmsTask(), TaughtTask()):
        file, begin = out / f"joints-{task.kind}.onnx", time.perf_counter()
        trained = Training(joints, task, TrainingPlan(), file).run()
        scores = ", ".join(f"{name} {value:.3f}" for name, value in trained.best.items())
        print(f"{file.name}: {len(joints.clips)} clips, {time.perf_counter() - begin:.0f} s; {scores}")
        models[task.kind] = TemporalEncoder(task.kind, joints, TemporalModel(file))
    figures: dict[str, object] = {}
    for recipe in (PAPER, MOTION):
        rows = {name: found(study, drawn, candidates, model, recipe) for name, model in models.items()}
        figures |= print_table(f"Penn Action joints, {recipe.name}: {len(drawn)} queries", rows, ("R@1",))
    return figures


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
