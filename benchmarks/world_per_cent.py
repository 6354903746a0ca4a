"""Whether "the same movement" in per cent is right, as `benchmarks.world` measures it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from benchmarks.world_sets import Doubles, FilledSea, FootageSet
from seasync.sea.calibration import calibration_error

PAIRS = 4
Figures = dict[str, Any]


def per_cent(sets: Sequence[FootageSet], sea: FilledSea) -> Figures:
    """Error and AUC of "the same movement" on pairs drawn at even odds, for each set and for all."""
    rng = np.random.default_rng(0)
    ids = np.array([sea.id_of(file) for each in sets for file in each.files])
    labels = np.array([label for each in sets for label in each.labels])
    own = np.array([each.name for each in sets for _ in each.files])
    set_of = dict(zip(ids.tolist(), own.tolist(), strict=True))
    said: dict[str, list[tuple[float, bool, bool]]] = {}
    for at, clip in enumerate(ids):
        alike, inside = labels == labels[at], own == own[at]
        alike[at] = False
        kinds = [alike, ~alike & inside & (ids != clip), ~alike & ~inside]
        counts = [2 * PAIRS, PAIRS, PAIRS] if kinds[1].any() else [2 * PAIRS, 0, 2 * PAIRS]
        drawn = [rng.permutation(ids[kind])[:count] for kind, count in zip(kinds, counts, strict=True)]
        chosen = np.concatenate(drawn).tolist()
        where = f"id IN ({', '.join(map(repr, chosen))})"
        for match in sea.sea.search(str(clip), k=len(chosen), candidates=len(chosen), where=where):
            if match.alignability is not None:
                same = match.clip.label == labels[at]
                strange = same or set_of[str(match.clip.id)] != own[at]
                said.setdefault(own[at], []).append((match.alignability, same, strange))
    everyone = {name: np.array(rows) for name, rows in said.items()}
    pairs = {name: rows[:, :2] for name, rows in everyone.items()}
    strangers = {name: rows[rows[:, 2] > 0, :2] for name, rows in everyone.items()}
    return (
        _report(pairs, "{}", "all")
        | _report(_each_left_out(pairs), "{}, left out", "all, each left out")
        | _report(_each_left_out(strangers), "{}, strangers left out", "all, strangers, each left out")
    )


def _report(pairs: dict[str, Doubles], name: str, together: str) -> Figures:
    """Figures of each set, and of all of them."""
    if not pairs:
        return {}
    found = {name.format(of): _calibrated(*rows.T) for of, rows in pairs.items()}
    return found | {together: _calibrated(*np.concatenate(list(pairs.values())).T)}


def _each_left_out(pairs: dict[str, Doubles]) -> dict[str, Doubles]:
    return {name: _left_out(name, pairs) for name in pairs} if len(pairs) > 1 else {}


def _left_out(name: str, pairs: dict[str, Doubles]) -> Doubles:
    """The pairs of a set, with per cent by a curve that was fitted to the other sets."""
    odds = {of: logit(rows[:, 0].clip(1e-9, 1 - 1e-9)) for of, rows in pairs.items()}
    known, same = (
        np.concatenate([part for of, part in parts.items() if of != name])
        for parts in (odds, {of: rows[:, 1] for of, rows in pairs.items()})
    )
    weights = np.where(same > 0, 0.5 / max(same.mean(), 1e-9), 0.5 / max(1 - same.mean(), 1e-9))

    def surprise(curve: Doubles) -> float:
        margins = (2 * same - 1) * (curve[0] + curve[1] * known)
        return float((weights * np.logaddexp(0, -margins)).mean())

    a, b = minimize(surprise, np.array([0.0, 1.0]), method="Nelder-Mead").x
    return np.column_stack([expit(a + b * odds[name]), pairs[name][:, 1]])


def _calibrated(probability: Doubles, same: Doubles) -> Figures:
    """How far the per cent are off, and the chance that a pair of the same movement gets more of them."""
    right = same.astype(bool)
    higher = np.searchsorted(np.sort(probability[~right]), probability[right], "left")
    equal = np.searchsorted(np.sort(probability[~right]), probability[right], "right") - higher
    return {
        "error": calibration_error(probability, right),
        "AUC": float((higher + equal / 2).mean() / max((~right).sum(), 1)),
        "pairs": len(same),
    }
