"""Aligned phase agreement and key-event error: the paper's Table 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from functools import partial as partial_of

import numpy as np

from seasync.alignment import Alignment, Recipe, Scores
from seasync.alignment.consensus import disagreement
from seasync.errors import DataError
from seasync.evaluate import metrics
from seasync.evaluate.dataset import Item
from seasync.evaluate.metrics import Agreement, Array, apa_per_path, event_error, partners
from seasync.evaluate.proxies import position_only_encoding
from seasync.evaluate.results import Row, Table, add_mean
from seasync.evaluate.study import RECIPES, Indices, Study
from seasync.options import Partial, Rerank
from seasync.ranking import Ranking

FPS = 30  # event errors are counted in frames at this rate
NOTES = (
    "APA is per kept query frame: the average of all candidates, and of the one with the lowest DRAQ. "
    "A candidate of another action counts 0, and so does a frame that a partial alignment leaves out.",
    "Event error: distance between where the alignment puts a key event and where the match has it, "
    f"in frames at {FPS} per second; inner events are all but the first and the last.",
)


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
        similarity = study.similarities(recipe)
        judged = study.map(partial_of(_judge, study, candidates, similarity, recipe, partial))
        rows.append(_row(study, recipe, judged, partial, seed))
    given = {"candidates": k, "seed": seed, "partial": partial}
    return study.table(
        "apa",
        f"Aligned phase agreement (Table 2) on {study.name}",
        rows,
        given,
        main="APA top-DRAQ",
        compare=("recipe", "context"),
        notes=NOTES,
    )


def _judge(
    study: Study, candidates: list[Indices], similarity: Array, recipe: Recipe, partial: Partial, at: int
) -> QueryAgreement:
    query = study.queries[at].item
    agreements, per_path, events = [], [], []
    alignments = study.align(at, candidates[at], recipe, partial)
    for chosen, alignment in zip(candidates[at], alignments, strict=True):
        match = study.gallery[chosen].item
        agreements.append(pair_agreement(query, match, alignment))
        per_path.append(pair_agreement_per_path(query, match, alignment))
        events.append(pair_event_errors(query, match, alignment))
    known = [e for e in events if e is not None]
    width = len(known[0]) if known else 0
    table = np.array([np.full(width, np.nan) if e is None else e for e in events]) if known else None
    columns = np.array(agreements).T
    ranking = Ranking(recipe.rerank, similarity[at, candidates[at]], Scores.of_alignments(alignments))
    return QueryAgreement(columns[0], columns[1], np.array(per_path), table, ranking)


def pair_agreement(query: Item, match: Item, alignment: Alignment) -> Agreement:
    """APA of a pair on the alignment's own grid; 0 for different actions, NaN without phases."""
    if query.label != match.label:
        return Agreement(0.0, 0.0)
    if query.phases is None or match.phases is None:
        return Agreement(float("nan"), float("nan"))
    partner = partners(alignment.path, len(alignment.query_seconds), readout=alignment.recipe.readout)
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
    return apa_per_path(mine, theirs, alignment.path)


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
    return event_error(mine, theirs, reached)


def _row(study: Study, recipe: Recipe, judged: list[QueryAgreement], partial: Partial, seed: int) -> Row:
    row = study.row(recipe)

    def top(values: str, by: Rerank) -> list[float]:
        return [getattr(j, values)[j.ranking.pick(by)] for j in judged]

    add_mean(row, "APA", [_mean(j.all) for j in judged], seed=seed)
    add_mean(row, "APA top-DRAQ", top("all", "draq"), seed=seed)
    if recipe.trajectory:
        add_mean(row, "APA top-product", top("all", "product"), seed=seed)
    else:
        row["APA top-product"] = None
    add_mean(row, "APA per path top-DRAQ", top("per_path", "draq"), seed=seed)
    if partial != "never":
        add_mean(row, "APA covered", [_mean(j.covered) for j in judged], seed=seed)
        add_mean(row, "APA covered top-DRAQ", top("covered", "draq"), seed=seed)
    if any(j.events is not None for j in judged):
        _add_events(row, judged, seed)
    return row


def _add_events(row: Row, judged: list[QueryAgreement], seed: int) -> None:
    """Add event errors; clips may have different numbers of events, so each query is averaged first."""
    errors = [(j.events, j.events[j.ranking.pick("draq")]) for j in judged if j.events is not None]
    add_mean(row, "event error", [_mean(table) for table, _ in errors], scale=FPS, seed=seed)
    picked = [_mean(pick) for _, pick in errors]
    add_mean(row, "event error top-DRAQ", picked, scale=FPS, seed=seed)
    add_mean(row, "event error top-DRAQ ms", picked, scale=1000, seed=seed)
    inner = [_mean(pick[1:-1]) for _, pick in errors if len(pick) > 2]
    if inner:
        add_mean(row, "inner event error top-DRAQ", inner, scale=FPS, seed=seed)
    reached = [float(np.isfinite(table).mean()) for table, _ in errors]
    add_mean(row, "events reached %", reached, scale=100, seed=seed)


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


# How much clips disagree about which moments are the same: alignment quality without labeled moments.


FEWEST = 3
AGREEMENT_NOTES = (
    "Disagreement: distance between the alignment of two clips and the detours through other clips of the "
    "same label, in milliseconds, weighted by motion. Features that align better disagree less.",
    "The control knows only the position in the clip: it agrees with itself and is wrong. Features that come "
    "close to it have learned the position. `seasync evaluate planted` distinguishes the two.",
    f"Event error, if clips have events: of the same pairs, in frames at {FPS} per second.",
)


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
    queries, gallery = (
        tuple(replace(sample, encoding=position_only_encoding(sample.encoding)) for sample in samples)
        for samples in (study.queries, study.gallery)
    )
    control = replace(study, encoder="control: position only", queries=queries, gallery=gallery)
    rows = [
        _agreement_row(features, recipe, candidates, seed)
        for features in (study, control)
        for recipe in RECIPES
    ]
    return study.table(
        "agreement",
        f"How much clips disagree on {study.name}",
        rows,
        {"candidates": k, "seed": seed},
        main="disagreement ms",
        lower=True,
        notes=AGREEMENT_NOTES,
    )


def _agreement_row(study: Study, recipe: Recipe, candidates: list[Indices], seed: int) -> Row:
    row = study.row(recipe)
    add_mean(row, "disagreement ms", study.map(partial(_apart, study, candidates, recipe)), seed=seed)
    if any(sample.item.events is not None for sample in study.queries):
        errors = study.map(partial(_event_error, study, candidates, recipe))
        add_mean(row, "event error", errors, scale=FPS, seed=seed)
    return row


def _apart(study: Study, candidates: list[Indices], recipe: Recipe, at: int) -> float:
    if len(candidates[at]) < FEWEST:
        return float("nan")
    return disagreement(study.queries[at].encoding, study.encodings(candidates[at]), recipe=recipe)


def _event_error(study: Study, candidates: list[Indices], recipe: Recipe, at: int) -> float:
    """Mean event error over the candidates that have the query's events, in seconds."""
    pairs = zip(candidates[at], study.align(at, candidates[at], recipe), strict=True)
    item = study.queries[at].item
    errors = [pair_event_errors(item, study.gallery[n].item, alignment) for n, alignment in pairs]
    known = [error.mean() for error in errors if error is not None]
    return float(np.mean(known)) if known else float("nan")
