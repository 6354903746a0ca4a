"""How well aligned clips agree: phases and key events (Table 2), one another, and indicators (Figure 5)."""

from dataclasses import dataclass, replace
from functools import partial as partial_of

import numpy as np

from seasync.alignment import Alignment, Recipe, Scores, cost_matrix
from seasync.alignment.consensus import disagreement
from seasync.errors import DataError
from seasync.evaluate import metrics, proxies
from seasync.evaluate.dataset import Item
from seasync.evaluate.results import RESAMPLES, Curve, Row, Table, add_mean
from seasync.evaluate.study import RECIPES, Array, EncodedItem, Indices, Study
from seasync.options import Partial, Rerank
from seasync.ranking import Ranking

FPS = 30  # event errors are counted in frames at this rate


@dataclass(frozen=True, eq=False)
class QueryAgreement:
    """One query's k candidates: arrays of shape (k,), events (k, E) in seconds, and their ranking."""

    covered: Array
    all: Array
    per_path: Array
    events: Array | None
    ranking: Ranking


def apa(study: Study, *, k: int = 10, seed: int = 0, partial: Partial = "never") -> Table:
    """APA over k retrieved candidates and of the best-ranked one; event errors if the clips have events.

    Parameters
    ----------
    study : Study
    k : int
        Candidates per query.
    seed : int
        Seed of the intervals.
    partial : {"auto", "never", "always"}
        How clips are aligned. "never" is the paper's protocol, which judges every frame; "auto" is what a
        search does with a recipe that has a `price`.

    Raises
    ------
    DataError
        If the queries have neither phases nor events.
    """
    if not any(sample.item.phases for sample in study.queries):
        raise DataError(f"{study.name}: no phase labels and no events; APA needs either")
    rows = []
    for recipe in RECIPES:
        candidates = study.retrieved(recipe, k)
        judge = partial_of(_judge, study, candidates, study.similarities(recipe), recipe, partial)
        rows.append(_apa_row(study, recipe, study.map(judge), partial, seed))
    return study.table("apa", rows, {"candidates": k, "seed": seed, "partial": partial})


def _judge(
    study: Study, candidates: list[Indices], similarity: Array, recipe: Recipe, partial: Partial, at: int
) -> QueryAgreement:
    query = study.queries[at].item
    alignments = study.align(at, candidates[at], recipe, partial)
    pairs = [(query, study.gallery[n].item, a) for n, a in zip(candidates[at], alignments, strict=True)]
    covered, whole = np.array([pair_agreement(*pair) for pair in pairs]).T
    per_path = np.array([pair_agreement_per_path(*pair) for pair in pairs])
    errors = [pair_event_errors(*pair) for pair in pairs]
    width = max((len(error) for error in errors if error is not None), default=0)
    events = np.array([np.full(width, np.nan) if error is None else error for error in errors])
    ranking = Ranking(recipe, similarity[at, candidates[at]], Scores.of_alignments(alignments))
    return QueryAgreement(covered, whole, per_path, events if width else None, ranking)


def pair_agreement(query: Item, match: Item, alignment: Alignment) -> metrics.Agreement:
    """APA of a pair on the alignment's own grid; 0 for different actions, NaN without phases."""
    if query.label != match.label:
        return metrics.Agreement(0.0, 0.0)
    if query.phases is None or match.phases is None:
        return metrics.Agreement(float("nan"), float("nan"))
    partner = metrics.partners(alignment.path, len(alignment.query_seconds), readout=alignment.recipe.readout)
    shown = np.interp(partner, np.arange(len(alignment.match_frames)), alignment.match_frames)
    theirs = match.phases.at(np.arange(int(alignment.match_frames[-1]) + 1))
    return metrics.apa(query.phases.at(alignment.query_frames), theirs, shown)


def pair_agreement_per_path(query: Item, match: Item, alignment: Alignment) -> float:
    """APA of a pair per cell of the path."""
    if query.label != match.label:
        return 0.0
    if query.phases is None or match.phases is None:
        return float("nan")
    mine, theirs = query.phases.at(alignment.query_frames), match.phases.at(alignment.match_frames)
    return metrics.apa_per_path(mine, theirs, alignment.path)


def pair_event_errors(query: Item, match: Item, alignment: Alignment) -> Array | None:
    """The error of each event in seconds; None if the clips do not have the same events."""
    if query.events is None or match.events is None or query.label != match.label:
        return None
    if len(query.events) != len(match.events):
        return None
    mine = np.interp(query.events, alignment.query_frames, alignment.query_seconds)
    theirs = np.interp(match.events, alignment.match_frames, alignment.match_seconds)
    warp = alignment.warp(keep="query")
    reached = np.where(warp.covers(mine), warp.at(mine), np.nan)
    return metrics.event_error(mine, theirs, reached)


def _apa_row(study: Study, recipe: Recipe, judged: list[QueryAgreement], partial: Partial, seed: int) -> Row:
    row = study.row(recipe)

    def top(values: str, by: Rerank) -> list[float]:
        return [getattr(j, values)[j.ranking.pick(by)] for j in judged]

    add_mean(row, "APA", [metrics.known_mean(j.all) for j in judged], seed=seed)
    add_mean(row, "APA top-DRAQ", top("all", "draq"), seed=seed)
    if recipe.trajectory:
        add_mean(row, "APA top-product", top("all", "product"), seed=seed)
    else:
        row["APA top-product"] = None
    add_mean(row, "APA per path top-DRAQ", top("per_path", "draq"), seed=seed)
    if partial != "never":
        add_mean(row, "APA covered", [metrics.known_mean(j.covered) for j in judged], seed=seed)
        add_mean(row, "APA covered top-DRAQ", top("covered", "draq"), seed=seed)
    if any(j.events is not None for j in judged):
        _add_events(row, judged, seed)
    return row


def _add_events(row: Row, judged: list[QueryAgreement], seed: int) -> None:
    """Add event errors; clips may have different numbers of events, so each query is averaged first."""
    errors = [(j.events, j.events[j.ranking.pick("draq")]) for j in judged if j.events is not None]
    add_mean(row, "event error", [metrics.known_mean(table) for table, _ in errors], scale=FPS, seed=seed)
    picked = [metrics.known_mean(pick) for _, pick in errors]
    add_mean(row, "event error top-DRAQ", picked, scale=FPS, seed=seed)
    add_mean(row, "event error top-DRAQ ms", picked, scale=1000, seed=seed)
    inner = [metrics.known_mean(pick[1:-1]) for _, pick in errors if len(pick) > 2]
    if inner:
        add_mean(row, "inner event error top-DRAQ", inner, scale=FPS, seed=seed)
    reached = [float(np.isfinite(table).mean()) for table, _ in errors]
    add_mean(row, "events reached %", reached, scale=100, seed=seed)


# How much clips disagree about which moments are the same: alignment quality without labeled moments.


FEWEST = 3


def agreement(study: Study, *, k: int = 10, seed: int = 0) -> Table:
    """Disagreement of every query with k random clips of its label, the same clips for all features.

    Raises
    ------
    DataError
        If no label has four clips.
    """
    candidates = study.oracle(k, seed=seed)
    if max(map(len, candidates)) < FEWEST:
        raise DataError(
            f"{study.name}: no label has more than {FEWEST} clips; disagreement needs four of one"
        )
    controls = [_control(side) for side in (study.queries, study.gallery)]
    control = replace(study, encoder="control: position only", queries=controls[0], gallery=controls[1])
    rows = []
    for features in (study, control):
        for recipe in RECIPES:
            row = features.row(recipe)
            apart = features.map(partial_of(_disagreement, features, candidates, recipe))
            add_mean(row, "disagreement ms", apart, seed=seed)
            if any(sample.item.events is not None for sample in study.queries):
                errors = features.map(partial_of(_event_error, features, candidates, recipe))
                add_mean(row, "event error", errors, scale=FPS, seed=seed)
            rows.append(row)
    return study.table("agreement", rows, {"candidates": k, "seed": seed})


def _control(samples: tuple[EncodedItem, ...]) -> tuple[EncodedItem, ...]:
    return tuple(replace(each, encoding=proxies.position_only_encoding(each.encoding)) for each in samples)


def _disagreement(study: Study, candidates: list[Indices], recipe: Recipe, at: int) -> float:
    if len(candidates[at]) < FEWEST:
        return float("nan")
    return disagreement(study.queries[at].encoding, study.encodings(candidates[at]), recipe=recipe)


def _event_error(study: Study, candidates: list[Indices], recipe: Recipe, at: int) -> float:
    """Mean event error over the candidates that have the query's events, in seconds."""
    pairs = zip(candidates[at], study.align(at, candidates[at], recipe), strict=True)
    item = study.queries[at].item
    errors = [pair_event_errors(item, study.gallery[n].item, alignment) for n, alignment in pairs]
    return metrics.known_mean(np.array([error.mean() for error in errors if error is not None]))


# How well an indicator separates alignable pairs from others.

PERCENTILES = np.arange(1, 101)
HALF_AND_HALF = (
    "Half of the pairs are of the same action, half of different ones, which count 0: a perfect indicator of "
    "pairs that all agree would reach an area of .85."
)
ONE_ACTION = "One action only: all pairs are of it, and the curve ends at their mean APA."
UNLABELED = "No phase labels: a pair of the same action counts 1, not its APA."


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
        query, agreement, values = _measure(study, drawn, recipe, labelled)
        for name, indicator in values.items():
            curve, area, bounds = percentile_curve(indicator, agreement, query, seed=seed)
            rows.append(study.row(recipe, indicator=name, area=area, area_interval=bounds))
            curves.append(Curve(f"{recipe.name}: {name}", PERCENTILES.astype(float), *curve))
    pairs = int(sum(map(len, drawn)))
    given = {"pairs": pairs, "per_query": per_query, "seed": seed, "phases": labelled}
    after = (ONE_ACTION if alone else HALF_AND_HALF, *(() if labelled else (UNLABELED,)))
    axes = ("percentile of the indicator", "APA" if labelled else "share of same action")
    return study.table("indicators", rows, given, after=after, curves=tuple(curves), axes=axes)


def balanced_pairs(study: Study, per_query: int, seed: int) -> list[Indices]:
    """For each query up to `per_query` gallery clips of its label, and as many of other labels."""
    random = np.random.default_rng(seed)
    drawn = []
    for at, sample in enumerate(study.queries):
        same, other = study.same_label(at), np.flatnonzero(study.gallery_labels != sample.item.label)
        count = min(per_query, len(same), len(other) or len(same))
        drawn.append(np.append(random.permutation(same)[:count], random.permutation(other)[:count]))
    if not sum(map(len, drawn)):
        raise DataError(f"{study.name}: no action has two clips; there is no pair to align")
    return drawn


def _measure(
    study: Study, drawn: list[Indices], recipe: Recipe, labelled: bool
) -> tuple[Indices, Array, dict[str, Array]]:
    """Query number, agreement and indicators (lower is better) of all pairs, shape (P,) each."""
    similarity = study.similarities(recipe)

    def measure(at: int) -> Array:
        """Shape (pairs, 5): agreement, −τ, DRAQ, DTW, product."""
        query, others = study.queries[at], [study.gallery[n] for n in drawn[at]]
        alignments = study.align(at, drawn[at], recipe)
        ranking = Ranking(recipe, similarity[at, drawn[at]], Scores.of_alignments(alignments))
        agree, tau = [], []
        for other, alignment in zip(others, alignments, strict=True):
            phases = pair_agreement(query.item, other.item, alignment).all
            agree.append(phases if labelled else float(query.item.label == other.item.label))
            nearest = cost_matrix(query.encoding, other.encoding, recipe=recipe).argmin(1)
            tau.append(np.nan_to_num(float(metrics.kendall_tau(nearest))))
        keys = [ranking.keys(key) for key in ("draq", "dtw", "product")]
        return np.stack([agree, -np.array(tau), *keys], axis=1)

    query = np.repeat(np.arange(len(drawn)), [len(some) for some in drawn])
    table = np.concatenate(study.map(measure))
    known = np.isfinite(table[:, 0])
    agreement, tau, draq, dtw, product = table[known].T
    values = {"DRAQ": draq, "DTW": dtw, "−τ": tau}
    return (
        query[known],
        agreement,
        values | ({"(1 − similarity) · DRAQ": product} if recipe.trajectory else {}),
    )


def percentile_curve(
    indicator: Array, agreement: Array, query: Indices, *, seed: int = 0
) -> tuple[tuple[Array, Array, Array], float, list[float]]:
    """Mean agreement of the pairs up to each percentile of an indicator.

    Parameters
    ----------
    indicator, agreement : numpy.ndarray [shape=(P,)]
    query : numpy.ndarray [shape=(P,)]
        The pairs' queries; intervals resample queries with all their pairs.
    seed : int

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
    for _ in range(RESAMPLES):
        times = np.bincount(random.integers(0, len(queries), len(queries)), minlength=len(queries))
        drawn.append(curve(np.maximum(times[place], 1e-9)))
    y = curve(np.ones(len(order)))
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    areas = np.percentile(np.mean(drawn, axis=1), [2.5, 97.5])
    return (y, low, high), float(y.mean()), [float(a) for a in areas]
