"""The whole search: re-ranking (the paper's Table 4), and cycle consistency of what it finds (Table 1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from seasync.alignment import Recipe
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate.metrics import Array, cpe, fpe, partners, precision_at, recall_at
from seasync.evaluate.results import Row, Table, add_mean, add_median
from seasync.evaluate.study import RECIPES, Indices, Sample, Study, align_pairs, compared_keys

RERANK_NOTES = (
    "R@k: queries with the same action anywhere among the first k after re-ranking, in percent; "
    "P@10: share of the same action among the first ten.",
    "`against none` is the difference to the order as retrieved, query by query.",
    "Candidates are retrieved by the recipe's own clip vector: the paper's mean, or motion's mean and "
    "trajectory. They are ranked exactly as `seasync search` ranks them.",
)


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
            row = study.row(recipe, rerank=way)
            add_mean(row, "R@1", recall_at(relevant, 1), scale=100, seed=seed)
            first = labels[np.array(candidates)[:, 0]] == wanted
            add_mean(
                row, "R@1 against none", recall_at(relevant, 1) - first.astype(float), scale=100, seed=seed
            )
            add_mean(row, "R@10", recall_at(relevant, 10), scale=100, seed=seed)
            add_mean(row, "P@10", precision_at(relevant, 10), scale=100, seed=seed)
            rows.append(row)
    return study.table(
        "rerank",
        f"Re-ranking the first {k} (Table 4) on {study.name}",
        rows,
        {"candidates": k, "seed": seed},
        main="R@1",
        compare=("recipe", "context", "rerank"),
        notes=RERANK_NOTES,
    )


# Cycle consistency of the whole pipeline: the paper's Table 1 and its supplementary table.


FIXED = 64
CYCLE_NOTES = (
    "FPE is in sampled frames, squared. It depends on the pair's length ratio, and a few pairs dominate its "
    "sum: hence the mean, the median over queries, and the mean with both clips resampled to 64 frames.",
    "`against none` is the difference to the first candidate without re-ranking, query by query.",
    "Cycle errors favor paths near the diagonal; they do not say whether events meet. Compare with apa.",
    "The paper does not state CPE's scale (its largest values exceed what phase ids allow): "
    "compare order and ratio, not size.",
)


@dataclass(frozen=True)
class Cycle:
    """Cycle errors of one query and match; NaN where they are not defined."""

    fpe: float
    cpe: float
    fixed: float


def avr(study: Study, *, k: int = 10, seed: int = 0) -> Table:
    """FPE and CPE of the best of k candidates, retrieved or oracle, for every recipe and ranking key."""
    rows = []
    resampled = FixedLength()
    for source in ("retrieved", "oracle"):
        for recipe in RECIPES:
            candidates = study.retrieved(recipe, k) if source == "retrieved" else study.oracle(k, seed=seed)
            if all(len(chosen) for chosen in candidates):
                rows += _cycle_rows(study, recipe, source, candidates, resampled, seed)
    given = {"candidates": k, "seed": seed, "fixed_length": FIXED}
    return study.table(
        "avr",
        f"Cycle consistency (Table 1) on {study.name}",
        rows,
        given,
        main="FPE fixed length",
        lower=True,
        compare=("recipe", "context", "candidates", "rerank"),
        notes=CYCLE_NOTES,
    )


def _cycle_rows(
    study: Study, recipe: Recipe, source: str, candidates: list[Indices], resampled: FixedLength, seed: int
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
        row: Row = {"candidates": source, "features": study.encoder, "recipe": recipe.name}
        row |= {"context": recipe.context, "rerank": rerank}
        add_mean(row, "FPE", values[:, 0], seed=seed)
        add_mean(row, "FPE against none", values[:, 0] - unranked, seed=seed)
        add_median(row, "FPE median", values[:, 0], seed=seed)
        add_mean(row, "FPE fixed length", values[:, 2], seed=seed)
        if np.isfinite(values[:, 1]).any():
            add_mean(row, "CPE", values[:, 1], seed=seed)
        add_mean(row, "same action %", labels[picks] == mine, scale=100, seed=seed)
        rows.append(row)
    return rows


def cycle_errors(query: Sample, match: Sample, recipe: Recipe, resampled: FixedLength) -> Cycle:
    """Align query → match keeping the match and match → query keeping the query, whole to whole."""
    there, back, frames = _there_and_back(query.encoding, match.encoding, recipe)
    # A recipe with a finer grid counts finer frames: errors are given in the encoder's own.
    step = (len(query.encoding.seconds) - 1) / max(len(back) - 1, 1)
    phases = query.item.phases
    error = float("nan") if phases is None else cpe(phases.at(frames), there, back)
    plain = replace(recipe, grid_fps=None, windows=False)
    fixed = _there_and_back(resampled(query.encoding), resampled(match.encoding), plain)
    return Cycle(fpe(there, back) * step**2, error, fpe(fixed[0], fixed[1]))


def _there_and_back(query: Encoding, match: Encoding, recipe: Recipe) -> tuple[Array, Array, Indices]:
    """The query frame of each match frame, the match frame of each query frame, and the query's frames."""
    forward = align_pairs(query, [match], recipe)[0]
    backward = align_pairs(match, [query], recipe)[0]
    there = partners(forward.path, len(forward.match_seconds), keep="match", readout=recipe.readout)
    back = partners(backward.path, len(forward.query_seconds), keep="match", readout=recipe.readout)
    return there, back, forward.query_frames


class FixedLength:
    """Encodings resampled to FIXED frames, each made once."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Encoding, Encoding]] = {}

    def __call__(self, encoding: Encoding) -> Encoding:
        if id(encoding) not in self.made:
            self.made[id(encoding)] = (encoding, resample(encoding, FIXED))  # the first keeps the id alive
        return self.made[id(encoding)][1]


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
