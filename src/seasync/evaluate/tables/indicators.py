"""How well an indicator separates alignable pairs from others: the paper's Figure 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import Recipe, Scores, cost_matrix
from seasync.errors import DataError
from seasync.evaluate.metrics import kendall_tau
from seasync.evaluate.results import RESAMPLES, Curve, Table
from seasync.evaluate.study import RECIPES, Indices, Study
from seasync.evaluate.tables.apa import pair_agreement
from seasync.ranking import Ranking

Array = NDArray[np.float64]
PERCENTILES = np.arange(1, 101)
NOTES = (
    "Each point: the mean over all pairs whose indicator is at most that percentile. The area is the curve's "
    "mean over the percentiles.",
    "Pairs are aligned whole to whole: the costs of partial alignments do not compare.",
    "τ takes each query frame's cheapest match frame under the recipe's own cost.",
)
HALF_AND_HALF = (
    "Half of the pairs are of the same action, half of different ones, which count 0: a perfect indicator of "
    "pairs that all agree would reach an area of .85."
)
ONE_ACTION = "One action only: all pairs are of it, and the curve ends at their mean APA."
UNLABELED = "No phase labels: a pair of the same action counts 1, not its APA."


@dataclass(frozen=True, eq=False)
class Pairs:
    """Query number, agreement and indicators (lower is better) of all pairs, shape (P,) each."""

    query: Indices
    agreement: Array
    values: dict[str, Array]


def indicators(study: Study, *, per_query: int = 5, seed: int = 0) -> Table:
    """Agreement against the percentile of DRAQ, DTW cost and −τ (and the product, if it is the key)."""
    drawn = balanced_pairs(study, per_query, seed)
    labelled = any(s.item.phases for s in study.queries) and any(s.item.phases for s in study.gallery)
    alone = len(set(study.query_labels) | set(study.gallery_labels)) == 1
    if alone and not labelled:
        raise DataError(
            f"{study.name}: one action and no phases, so that all pairs count alike; give several actions, "
            "or mark key moments (seasync evaluate annotate)"
        )
    rows, curves = [], []
    for recipe in RECIPES[1:]:
        pairs = _measure(study, drawn, recipe, labelled)
        for name, values in pairs.values.items():
            curve, area, bounds = percentile_curve(values, pairs.agreement, pairs.query, seed=seed)
            row = study.row(recipe)
            rows.append(row | {"indicator": name, "area": area, "area_interval": bounds})
            curves.append(Curve(f"{recipe.name}: {name}", PERCENTILES.astype(float), *curve))
    pairs_used = int(sum(map(len, drawn)))
    return study.table(
        "indicators",
        f"Indicators of alignability (Figure 5) on {study.name}",
        rows,
        {"pairs": pairs_used, "per_query": per_query, "seed": seed, "phases": labelled},
        main="area",
        notes=(*NOTES, ONE_ACTION if alone else HALF_AND_HALF, *(() if labelled else (UNLABELED,))),
        curves=tuple(curves),
        axes=("percentile of the indicator", "APA" if labelled else "share of same action"),
    )


def balanced_pairs(study: Study, per_query: int, seed: int) -> list[Indices]:
    """For each query up to `per_query` gallery clips of its label, and as many of other labels."""
    random = np.random.default_rng(seed)
    labels = study.gallery_labels
    drawn = []
    for at, sample in enumerate(study.queries):
        same = np.flatnonzero(labels == sample.item.label)
        same = same[same != at] if study.leave_one_out else same
        other = np.flatnonzero(labels != sample.item.label)
        count = min(per_query, len(same), len(other) or len(same))
        drawn.append(np.append(random.permutation(same)[:count], random.permutation(other)[:count]))
    if not sum(map(len, drawn)):
        raise DataError(f"{study.name}: no action has two clips; there is no pair to align")
    return drawn


def _measure(study: Study, drawn: list[Indices], recipe: Recipe, labelled: bool) -> Pairs:
    similarity = study.similarities(recipe)

    def measure(at: int) -> NDArray[np.float64]:
        query = study.queries[at]
        rows = []
        alignments = study.align(at, drawn[at], recipe, "never")
        ranking = Ranking(recipe.rerank, similarity[at, drawn[at]], Scores.of_alignments(alignments))
        keys = zip(*(ranking.keys(key) for key in ("draq", "dtw", "product")), strict=True)
        for match, alignment, (draq, dtw, product) in zip(drawn[at], alignments, keys, strict=True):
            other = study.gallery[match]
            agree = (
                pair_agreement(query.item, other.item, alignment).all
                if labelled
                else float(query.item.label == other.item.label)
            )
            nearest = cost_matrix(query.encoding, other.encoding, recipe=recipe).argmin(1)
            tau = np.nan_to_num(float(kendall_tau(nearest)))
            rows.append((at, agree, draq, dtw, -tau, product))
        return np.array(rows).reshape(-1, 6)

    table = np.concatenate(study.map(measure))
    table = table[np.isfinite(table[:, 1])]
    values = {"DRAQ": table[:, 2], "DTW": table[:, 3], "−τ": table[:, 4]}
    if recipe.trajectory:
        values["(1 − similarity) · DRAQ"] = table[:, 5]
    return Pairs(table[:, 0].astype(np.int64), table[:, 1], values)


def percentile_curve(
    indicator: Array, agreement: Array, query: Indices, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[tuple[Array, Array, Array], float, list[float]]:
    """Mean agreement of the pairs up to each percentile of an indicator.

    Parameters
    ----------
    indicator, agreement : numpy.ndarray [shape=(P,)]
    query : numpy.ndarray [shape=(P,)]
        The pairs' queries; intervals resample queries with all their pairs.
    seed, resamples : int

    Returns
    -------
    (numpy.ndarray, numpy.ndarray, numpy.ndarray) [shape=(100,) each]
        The curve, and its interval's low and high.
    float
        Its mean, the area.
    list of float
        The area's interval.
    """
    order = np.argsort(indicator, kind="stable")
    queries, place = np.unique(query, return_inverse=True)
    place = place[order]

    def curve(weight: Array) -> Array:
        below = np.append(0, np.cumsum(weight))
        part = np.append(0, np.cumsum(weight * agreement[order]))
        up_to = PERCENTILES / 100 * below[-1]
        return np.asarray(np.interp(up_to, below, part) / up_to)

    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        times = np.bincount(random.integers(0, len(queries), len(queries)), minlength=len(queries))
        drawn.append(curve(np.maximum(times[place], 1e-9)))
    y = curve(np.ones(len(order)))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    areas = np.percentile(np.mean(drawn, axis=1), [2.5, 97.5])
    return (y, low, high), float(y.mean()), [float(a) for a in areas]
