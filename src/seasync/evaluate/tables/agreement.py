"""How much clips disagree about which moments are the same: alignment quality without labeled moments."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from seasync.alignment import Recipe
from seasync.alignment.consensus import disagreement
from seasync.errors import DataError
from seasync.evaluate.proxies import position_only_encoding
from seasync.evaluate.results import Row, Table, add_mean, run_settings
from seasync.evaluate.study import RECIPES, Indices, Study
from seasync.evaluate.tables.apa import FPS, pair_event_errors

FEWEST = 3
NOTES = (
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
    rows = [_row(features, recipe, candidates, seed) for features in (study, control) for recipe in RECIPES]
    return Table(
        "agreement",
        f"How much clips disagree on {study.name}",
        rows,
        run_settings(**study.counts(), candidates=k, seed=seed),
        main="disagreement ms",
        lower=True,
        notes=NOTES,
    )


def _row(study: Study, recipe: Recipe, candidates: list[Indices], seed: int) -> Row:
    row: Row = {"features": study.encoder, "recipe": recipe.name, "context": recipe.context}
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
