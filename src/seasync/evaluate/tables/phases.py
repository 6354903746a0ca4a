"""Proxy tasks on frame features: the paper's Table 3, with two controls that know only the position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import MOTION
from seasync.encoding import Encoding
from seasync.errors import DataError, MissingExtra
from seasync.evaluate.proxies import (
    CARL,
    CUTOFFS,
    Protocol,
    UntrainedTransformer,
    frame_retrieval,
    phase_classification,
    phase_progression,
    position_only,
    set_tau,
)
from seasync.evaluate.results import Row, Table, add_figure, mean_over_groups
from seasync.evaluate.study import Sample, Study

Array = NDArray[np.float64]
Embed = Callable[[Encoding], NDArray[Any]]
NOTES = (
    "Per action, then the plain mean over actions; intervals over the test clips.",
    "The last two rows are controls: features that hold only the frame's position, and an untrained temporal "
    "transformer with position encoding on the same frame features. Where they do well, the task rewards "
    "position, not action.",
    "The paper's Ret@1 column has values that are published elsewhere as AP@5: compare with both.",
)


def phases(study: Study, *, protocol: Protocol = CARL, seed: int = 0) -> Table:
    """Kendall's τ and, with phase labels, classification, progression and frame retrieval.

    The gallery is the training side, the queries are the test side.

    Raises
    ------
    DataError
        If there is no training side, or it lacks an action.
    """
    if study.leave_one_out:
        raise DataError(f"{study.name}: the proxy tasks need a training side; split the data set first")
    transformer = UntrainedTransformer([s.encoding.features for s in study.gallery])
    kinds: list[tuple[str, bool, Embed]] = [
        (study.encoder, False, lambda e: e.features.astype(np.float64)),
        (study.encoder, True, lambda e: contextualized(e.features)),
        (f"{study.encoder}, state and change", False, state_and_change),
        ("control: position only", False, lambda e: position_only(len(e.features))),
        ("control: untrained transformer", False, lambda e: transformer(e.features)),
    ]
    with _one_blas_thread():
        rows = [_row(study, name, context, embed, protocol, seed) for name, context, embed in kinds]
    return study.table(
        "phases",
        f"Proxy tasks (Table 3) on {study.name}, protocol {protocol.name}",
        rows,
        {"protocol": protocol.name, "stride": protocol.stride, "seed": seed},
        main="tau",
        compare=("kind", "context"),
        notes=NOTES,
    )


def _one_blas_thread() -> AbstractContextManager[object]:
    """One BLAS thread: with many small products, threads wait for each other longer than they work."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtra("evaluate", "this table") from None
    return cast("AbstractContextManager[object]", threadpool_limits(1))


def contextualized(features: NDArray[np.float32]) -> Array:
    """Contextualized features, Eq. 2–3 of the paper: (T, d) → (T, 2d)."""
    double = features.astype(np.float64)
    both = np.concatenate([double, np.cumsum(double, axis=0) / len(double)], axis=1)
    return np.asarray(both - both.mean(0))


def state_and_change(encoding: Encoding) -> Array:
    """The motion recipe's features: centered ones and their change, each over its RMS, (T, 2d)."""
    state = encoding.features.astype(np.float64) - encoding.features.mean(0, dtype=np.float64)
    step = np.median(np.diff(encoding.seconds)) if len(state) > 1 else 1.0
    reach = max(1, round((MOTION.change_seconds or step) / float(step)))
    at = np.arange(len(state))
    change = state[np.minimum(at + reach, len(state) - 1)] - state[np.maximum(at - reach, 0)]
    return np.concatenate(
        [part / max(np.sqrt((part**2).sum(1).mean()), 1e-12) for part in (state, change)], axis=1
    )


def _row(study: Study, name: str, context: bool, embed: Embed, protocol: Protocol, seed: int) -> Row:
    kind = "control" if name.startswith("control") else "frame features"
    row: Row = {"features": name, "kind": kind, "context": context}
    actions = sorted(set(study.query_labels))
    test = {a: [s for s in study.queries if s.item.label == a] for a in actions}
    embedded = {a: [embed(s.encoding) for s in test[a]] for a in actions}
    groups = np.repeat(np.arange(len(actions)), [len(test[a]) for a in actions])
    n = len(groups)

    taus = [set_tau(embedded[a], protocol) for a in actions]
    tau, pairs = (np.concatenate(column) for column in zip(*taus, strict=True))
    labelled = all(s.item.phases for s in (*study.queries, *study.gallery))
    if labelled:
        _add_labelled(row, study, actions, test, embedded, groups, embed, protocol, seed)
    add_figure(row, "tau", lambda d: mean_over_groups(tau[d], groups[d], pairs[d]), n, seed=seed)
    return row


def _add_labelled(
    row: Row,
    study: Study,
    actions: Sequence[str],
    test: dict[str, list[Sample]],
    embedded: dict[str, list[NDArray[Any]]],
    groups: NDArray[np.int64],
    embed: Embed,
    protocol: Protocol,
    seed: int,
) -> None:
    """Add classification, progression and retrieval, which need phases on both sides."""
    accuracies, retrievals, progressions = [], [], []
    for action in actions:
        train = [s for s in study.gallery if s.item.label == action]
        if not train:
            raise DataError(
                f"{study.name}: no training clip of {action}; the proxy tasks need some of every action"
            )
        known = ([embed(s.encoding) for s in train], _phases(train))
        asked = (embedded[action], _phases(test[action]))
        accuracies.append(phase_classification(known, asked, protocol))
        retrievals.append(frame_retrieval(*asked, protocol))
        progressions.append(phase_progression(known, asked, protocol))
    accuracy, frames = (np.concatenate(column) for column in zip(*accuracies, strict=True))
    precision = np.concatenate(retrievals)
    n = len(groups)
    add_figure(
        row, "classification", lambda d: mean_over_groups(accuracy[d], groups[d], frames[d]), n, seed=seed
    )
    for at, cutoff in enumerate(CUTOFFS):
        add_figure(row, f"frame P@{cutoff}", partial(_grouped, precision[:, at], groups), n, seed=seed)
    first = np.cumsum([0, *(len(embedded[a]) for a in actions)])

    def progression(drawn: NDArray[np.int64]) -> float:
        scores = []
        for at, made in enumerate(progressions):
            mine = drawn[(drawn >= first[at]) & (drawn < first[at + 1])] - first[at]
            scores += [made.r2(mine)] if len(mine) else []
        return float(np.nanmean(scores))

    add_figure(row, "progression", progression, n, seed=seed)


def _grouped(values: Array, groups: NDArray[np.int64], drawn: NDArray[np.int64]) -> float:
    return mean_over_groups(values[drawn], groups[drawn])


def _phases(samples: Sequence[Sample]) -> list[NDArray[np.int64]]:
    return [s.item.phases.at(s.encoding.frames) for s in samples if s.item.phases is not None]
