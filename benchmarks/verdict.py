"""How well DRAQ's threshold tells clips of one action from others: `python -m benchmarks.verdict DIR…`.

Each DIR is a folder of clips of one action, or a folder of such folders. All ordered pairs count; precision
and recall are those of "alignable" for "same action" at even odds (both kinds of pair weigh the same).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser, show
from seasync.alignment import MOTION, PAPER, Recipe, score_many
from seasync.encoders import encode_clip, get_encoder
from seasync.encoding import Encoding

ENCODERS = {MOTION: "dinov2-small", PAPER: "dinov2-small-cls"}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("folders", type=Path, nargs="+")
    options = arguments.parse_args()
    files = sorted(file for folder in options.folders for file in folder.rglob("*.mp4"))
    labels = np.array([file.parent.name for file in files])
    rows = []
    for recipe, name in ENCODERS.items():
        encoder = get_encoder(name)
        draq = all_pairs([encode_clip(file, encoder) for file in files], recipe)
        rows.append({"recipe": recipe.name, "encoder": name} | judge(draq, labels, recipe.threshold))
    print(f"{len(files)} clips, {len(set(labels))} actions")
    show({f"{row['recipe']}, {row['encoder']}": row for row in rows})
    return Goals(options).finish(rows)


def all_pairs(encodings: list[Encoding], recipe: Recipe) -> NDArray[np.float64]:
    """DRAQ of each clip (row) with each other (column); NaN on the diagonal."""
    draq = np.full((len(encodings), len(encodings)), np.nan)
    for at, query in enumerate(encodings):
        others = [other for other in range(len(encodings)) if other != at]
        draq[at, others] = score_many(query, [encodings[other] for other in others], recipe=recipe).draq
    return draq


def judge(draq: NDArray[np.float64], labels: NDArray[np.str_], threshold: float) -> dict[str, object]:
    there = ~np.isnan(draq)
    same = (labels[:, None] == labels[None])[there]
    values = draq[there]

    def rates(limit: float) -> tuple[float, float]:
        return float((values[same] < limit).mean()), float((values[~same] < limit).mean())

    limits = np.linspace(0.2, 1.0, 161)
    best = max(limits, key=lambda limit: rates(limit)[0] - rates(limit)[1])
    hit, false = rates(threshold)
    ranks = np.argsort(np.argsort(values))
    positives = same.sum()
    auc = 1 - (ranks[same].mean() - (positives - 1) / 2) / (len(values) - positives)
    return {
        "threshold": threshold,
        "recall": hit,
        "false alarms": false,
        "precision at even odds": hit / (hit + false),
        "AUC": float(auc),
        "best split at": float(best),
    }


if __name__ == "__main__":
    raise SystemExit(main())
