"""The whole search: re-ranking (Table 4), cycle consistency of what it finds (Table 1), time and storage."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from seasync.alignment import Recipe, align_many, score_many
from seasync.clip import Clip
from seasync.encoders import encode_clip
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate import metrics
from seasync.evaluate.results import Row, Table, add_mean, add_median
from seasync.evaluate.study import RECIPES, Array, EncodedItem, Indices, Study, compared_keys


def rerank(study: Study, *, k: int = 25, seed: int = 0) -> Table:
    """R@1, R@10 and P@10 of the first k retrieved clips, as retrieved and re-ranked.

    The ranking is that of `Sea.search`: `seasync.ranking` computes both.
    """
    labels, wanted = study.gallery_labels, study.query_labels
    if len({*labels, *wanted}) == 1:
        raise DataError(f"{study.name}: one action, so every order is right; R@k needs several actions")
    rows = []
    for recipe in RECIPES:
        candidates = study.retrieved(recipe, k)
        rankings = study.rankings(candidates, recipe)
        for way in compared_keys(recipe):
            ranked = np.array([c[r.order(way)] for c, r in zip(candidates, rankings, strict=True)])
            relevant = labels[ranked] == wanted[:, None]
            found = metrics.recall_at(relevant, 1)
            first = labels[np.array(candidates)[:, 0]] == wanted
            figures = {"R@1": found, "R@1 against none": found - first.astype(float)}
            figures |= {"R@10": metrics.recall_at(relevant, 10), "P@10": metrics.precision_at(relevant, 10)}
            row = study.row(recipe, rerank=way)
            for name, values in figures.items():
                add_mean(row, name, values, scale=100, seed=seed)
            rows.append(row)
    return study.table("rerank", rows, {"candidates": k, "seed": seed})


# Cycle consistency of the whole pipeline: the paper's Table 1 and its supplementary table.


FIXED = 64
Resample = Callable[[Encoding], Encoding]


@dataclass(frozen=True)
class Cycle:
    """Cycle errors of one query and match; NaN where they are not defined."""

    fpe: float
    cpe: float
    fixed: float


def avr(study: Study, *, k: int = 10, seed: int = 0) -> Table:
    """FPE and CPE of the best of k candidates, retrieved or oracle, for every recipe and ranking key."""
    rows = []
    resampled = cache(partial(resample, count=FIXED))
    for source in ("retrieved", "oracle"):
        for recipe in RECIPES:
            candidates = study.retrieved(recipe, k) if source == "retrieved" else study.oracle(k, seed=seed)
            if all(len(chosen) for chosen in candidates):
                rows += _cycle_rows(study, recipe, source, candidates, resampled, seed)
    return study.table("avr", rows, {"candidates": k, "seed": seed, "fixed_length": FIXED})


def _cycle_rows(
    study: Study, recipe: Recipe, source: str, candidates: list[Indices], resampled: Resample, seed: int
) -> list[Row]:
    rankings = study.rankings(candidates, recipe)
    picked = {
        rerank: [int(chosen[r.pick(rerank)]) for chosen, r in zip(candidates, rankings, strict=True)]
        for rerank in compared_keys(recipe)
    }
    # Without re-ranking, the first candidate counts as it came: oracle candidates come in random order.
    picked["none"] = [int(chosen[0]) for chosen in candidates]

    def errors(at: int) -> dict[int, Cycle]:
        wanted = {picks[at] for picks in picked.values()}
        return {m: cycle_errors(study.queries[at], study.gallery[m], recipe, resampled) for m in wanted}

    cycles = study.map(errors)
    labels, mine = study.gallery_labels, study.query_labels
    unranked = np.array([cycles[at][pick].fpe for at, pick in enumerate(picked["none"])])
    rows = []
    for rerank, picks in picked.items():
        found = [cycles[at][pick] for at, pick in enumerate(picks)]
        values = np.array([(c.fpe, c.cpe, c.fixed) for c in found])
        row = {"candidates": source} | study.row(recipe, rerank=rerank)
        add_mean(row, "FPE", values[:, 0], seed=seed)
        add_mean(row, "FPE against none", values[:, 0] - unranked, seed=seed)
        add_median(row, "FPE median", values[:, 0], seed=seed)
        add_mean(row, "FPE fixed length", values[:, 2], seed=seed)
        if np.isfinite(values[:, 1]).any():
            add_mean(row, "CPE", values[:, 1], seed=seed)
        add_mean(row, "same action %", labels[picks] == mine, scale=100, seed=seed)
        rows.append(row)
    return rows


def cycle_errors(query: EncodedItem, match: EncodedItem, recipe: Recipe, resampled: Resample) -> Cycle:
    """Align query → match keeping the match and match → query keeping the query, whole to whole."""
    there, back, frames = _there_and_back(query.encoding, match.encoding, recipe)
    # A recipe with a finer grid counts finer frames: errors are given in the encoder's own.
    step = (len(query.encoding.seconds) - 1) / max(len(back) - 1, 1)
    phases = query.item.phases
    error = float("nan") if phases is None else metrics.cpe(phases.at(frames), there, back)
    plain = replace(recipe, grid_fps=None, windows=False)
    fixed = _there_and_back(resampled(query.encoding), resampled(match.encoding), plain)
    return Cycle(metrics.fpe(there, back) * step**2, error, metrics.fpe(fixed[0], fixed[1]))


def _there_and_back(query: Encoding, match: Encoding, recipe: Recipe) -> tuple[Array, Array, Indices]:
    """The query frame of each match frame, the match frame of each query frame, and the query's frames."""
    forward = align_many(query, [match], recipe=recipe, partial="never")[0]
    backward = align_many(match, [query], recipe=recipe, partial="never")[0]
    there = metrics.partners(forward.path, len(forward.match_seconds), keep="match", readout=recipe.readout)
    back = metrics.partners(backward.path, len(forward.query_seconds), keep="match", readout=recipe.readout)
    return there, back, forward.query_frames


def resample(encoding: Encoding, count: int) -> Encoding:
    """The encoding's leading stream at `count` evenly spaced times, features interpolated linearly."""
    lead = encoding.streams[0]
    last = max(lead.seconds[-1], lead.seconds[0] + 1e-3)  # a single frame stands still for a moment
    seconds = np.linspace(lead.seconds[0], last, count)
    place = np.interp(seconds, lead.seconds, np.arange(len(lead.seconds)))
    low = np.floor(place).astype(np.int64)
    high = np.minimum(low + 1, len(lead.seconds) - 1)
    share = (place - low)[:, None].astype(np.float32)
    features = lead.features[low] * (1 - share) + lead.features[high] * share
    stream = Stream(lead.name, seconds, np.arange(count), features)
    return replace(encoding, streams=(stream,))


# Time of each stage, DRAQ's share of it, and bytes stored.

QUERIES = 50  # queries on which the quick stages are timed
EXTRACTED = (
    "Features are extracted for this table, decoding included; `share %` is a stage's time as a share of "
    "extracting the features of the pair.",
    "The paper gives 0.0546 % for DRAQ; ours is cost matrix, DTW and exact DRAQ.",
)
READY = ("Ready-made features are only read: the time to make them is unknown.",)


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
    given = {"candidates": k, "measured": len(chosen), "seed": seed}
    return study.table("cost", rows, given, before=READY if ready else EXTRACTED)


def _extract(study: Study, sample: EncodedItem) -> None:
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


def storage(samples: Sequence[EncodedItem], encoder: str) -> list[Row]:
    """Bytes per clip of a sea with and without frame features, and of a clip vector in memory."""
    from seasync.sea import rows as sea_rows
    from seasync.sea.record import Record

    first = samples[0].encoding
    facts = sea_rows.SeaFacts.of(encoder, 1.0, first)
    kept = []
    for at, sample in enumerate(samples):
        clip = Clip(sample.item.name, label=sample.item.label, id=f"{at:032x}")
        seconds = float(sample.encoding.seconds[-1])
        kept.append(sea_rows.Row(sea_rows.ClipEntry(clip, f"{at:064x}", seconds), sample.encoding))
    rows: list[Row] = []
    for name, frame_features in (("with frame features", True), ("clip vectors only", False)):
        with tempfile.TemporaryDirectory() as folder:
            Record(Path(folder) / "cost.sea").append(kept, facts, frame_features=frame_features)
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        rows.append({"stage": f"sea, {name}", "recipe": None, "bytes per clip": size / len(samples)})
    vector = float(first.mean.nbytes + first.trajectory.nbytes)
    return [*rows, {"stage": "clip vector, searched in memory", "recipe": None, "bytes per clip": vector}]
