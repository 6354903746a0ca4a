"""Time of each stage, DRAQ's share of it, and bytes stored."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seasync.alignment import Recipe, score_many
from seasync.clip import Clip
from seasync.encoders import encode_clip
from seasync.evaluate.results import Row, Table, add_mean
from seasync.evaluate.study import RECIPES, Indices, Sample, Study

QUERIES = 50  # queries on which the quick stages are timed
EXTRACTED = (
    "Features are extracted for this table, decoding included; `share %` is a stage's time as a share of "
    "extracting the features of the pair.",
    "The paper gives 0.0546 % for DRAQ; ours is cost matrix, DTW and exact DRAQ.",
)
READY = ("Ready-made features are only read: the time to make them is unknown.",)
NOTES = (
    "Times are wall-clock. Bytes per clip are those of a temporary sea on disk. Small seas are searched "
    "exactly, by clip vectors in memory.",
)


def cost(study: Study, *, k: int = 10, clips: int = 4, seed: int = 0) -> Table:
    """Milliseconds of each stage and bytes per clip; `clips` queries are encoded again for it."""
    chosen = np.random.default_rng(seed).permutation(len(study.queries))[:clips]
    samples = [study.queries[at] for at in chosen]
    ready = study.encoder in samples[0].item.ready
    _extract(study, samples[0])  # the first one loads the model
    extraction = [_seconds(_extract, study, sample) for sample in samples]
    # Joints and ready-made features come from elsewhere: reading them does not show what they cost.
    pair = None if ready else 2 * float(np.mean(extraction))
    rows = [_stage("reading ready features" if ready else "features of one clip", "", extraction, None, seed)]
    some = range(min(QUERIES, len(study.queries)))
    for recipe in RECIPES[1:]:
        near = study.retrieved(recipe, k)
        search = [_seconds(study.retrieved, recipe, k) / len(study.queries) for _ in range(5)]
        _score(study, 0, near[0], recipe)  # the first ones compile the kernels
        study.align(0, near[0][:1], recipe)
        scoring = [_seconds(_score, study, at, near[at], recipe) / len(near[at]) for at in some]
        aligning = [_seconds(study.align, at, near[at][:1], recipe) for at in some]
        rows.append(_stage(f"retrieval among {len(study.gallery)}", recipe.name, search, pair, seed))
        rows.append(_stage("cost matrix, DTW and DRAQ of a pair", recipe.name, scoring, pair, seed))
        rows.append(_stage("aligning the best, with its path", recipe.name, aligning, pair, seed))
    rows += storage(study.gallery, study.encoder)
    return study.table(
        "cost",
        f"Time and storage on {study.name}",
        rows,
        {"candidates": k, "measured": len(chosen), "seed": seed},
        notes=(*(READY if ready else EXTRACTED), *NOTES),
    )


def _extract(study: Study, sample: Sample) -> None:
    if study.encoder in sample.item.ready or sample.item.clip is None:
        sample.item.encode(study.encoder)
    else:
        encode_clip(sample.item.clip, study.encoder, cache=False)


def _score(study: Study, at: int, candidates: Indices, recipe: Recipe) -> None:
    """Whole to whole: the stage that the paper times."""
    score_many(study.queries[at].encoding, study.encodings(candidates), recipe=recipe, partial="never")


def _seconds(function: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def _stage(name: str, recipe: str, seconds: Sequence[float], pair: float | None, seed: int) -> Row:
    row: Row = {"stage": name, "recipe": recipe or None}
    add_mean(row, "ms", seconds, scale=1000, seed=seed)
    if pair is not None:
        add_mean(row, "share %", seconds, scale=100 / pair, seed=seed)
    return row


def storage(samples: Sequence[Sample], encoder: str) -> list[Row]:
    """Bytes per clip of a sea with and without frame features, and of a clip vector in memory."""
    from seasync.sea.record import Record
    from seasync.sea.rows import ClipEntry, SeaFacts
    from seasync.sea.rows import Row as SeaRow

    first = samples[0].encoding
    facts = SeaFacts.of(encoder, 1.0, first)
    kept = []
    for at, sample in enumerate(samples):
        clip = Clip(sample.item.name, label=sample.item.label, id=f"{at:032x}")
        seconds = float(sample.encoding.seconds[-1])
        kept.append(SeaRow(ClipEntry(clip, f"{at:064x}", seconds), sample.encoding))
    rows: list[Row] = []
    for name, frame_features in (("with frame features", True), ("clip vectors only", False)):
        with tempfile.TemporaryDirectory() as folder:
            Record(Path(folder) / "cost.sea").append(kept, facts, frame_features=frame_features)
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        rows.append({"stage": f"sea, {name}", "recipe": None, "bytes per clip": size / len(samples)})
    vector = float(first.mean.nbytes + first.trajectory.nbytes)
    return [*rows, {"stage": "clip vector, searched in memory", "recipe": None, "bytes per clip": vector}]
