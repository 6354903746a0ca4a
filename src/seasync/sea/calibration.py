"""Alignability in percent, fitted to a sea: the probability that a product (1 − similarity) · score is "the
same movement". Without a fit, clips are judged as a pair; see `seasync.alignment.judge`."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import RECIPES, Alignment, Recipe
from seasync.alignment.judge import Calibration, log_product, sigmoid
from seasync.alignment.result import Fit
from seasync.encoding import Encoding
from seasync.errors import SeaError
from seasync.options import RecipeName
from seasync.ranking import clip_vectors_of, query_vector, rank
from seasync.sea.snapshot import WITH_FEATURES, Snapshot

CALIBRATION = "seasync.calibration"
FEWEST_CLIPS = 20
QUERIES, PARTNERS = 80, 20
RANDOM_CLIPS = 24

Doubles = NDArray[np.float64]
Pair = tuple[int, NDArray[np.int64]]
Solved = TypeVar("Solved", Alignment, Fit)


def calibration_of(snapshot: Snapshot, recipe: Recipe) -> Calibration | None:
    """The sea's own calibration for a recipe, if there is one.

    A calibration belongs to the recipe's values, not to its name, and to the encoder of the sea. One of
    earlier values of a named recipe is not used; the first time, a warning says so.
    """
    kept = _kept(snapshot)
    found = kept.get(recipe.fingerprint)
    if found is None:
        if recipe.name in _earlier(kept) and recipe.fingerprint == RECIPES[recipe.name].fingerprint:
            _warn_once(snapshot.dataset.uri)
        return None
    return Calibration(**{name: value for name, value in found.items() if name != "recipe"})


def calibrated_recipes(snapshot: Snapshot) -> list[str]:
    """The names of the recipes that the sea itself is calibrated for."""
    kept = _kept(snapshot)
    return sorted({entry["recipe"] for entry in kept.values()} - _earlier(kept))


def _earlier(kept: dict[str, dict[str, Any]]) -> set[RecipeName]:
    """The named recipes that only have calibrations of earlier values."""
    named = {entry["recipe"] for entry in kept.values()}
    return {name for name, recipe in RECIPES.items() if name in named and recipe.fingerprint not in kept}


@lru_cache(maxsize=64)
def _warn_once(uri: str) -> None:
    message = f"{uri}: calibrated with an earlier recipe; run `seasync calibrate`"
    warnings.warn(message, stacklevel=4)


def with_calibration(snapshot: Snapshot, recipe: Recipe, fitted: Calibration) -> dict[str, str]:
    """The metadata that makes `fitted` the sea's own."""
    entry = {"recipe": recipe.name, **vars(fitted)}
    return {CALIBRATION: json.dumps(_kept(snapshot) | {recipe.fingerprint: entry})}


def _kept(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """The sea's own calibrations by recipe fingerprint; older seas keep them by the recipe's name."""
    kept = json.loads(snapshot.metadata.get(CALIBRATION) or "{}")
    return {key: {"recipe": key} | entry for key, entry in kept.items()}


def judged(snapshot: Snapshot, alignment: Solved, similarity: float) -> Solved:
    """The alignment with the likelihood by the sea's own calibration; as it is if the sea has none."""
    calibration = calibration_of(snapshot, alignment.recipe)
    if calibration is None:
        return alignment
    return replace(alignment, likelihood=float(calibration.probability((1 - similarity) * alignment.score)))


def judged_pair(snapshot: Snapshot, alignment: Alignment, query: Encoding, match: Encoding) -> Alignment:
    """An alignment of two clips with the likelihood that a search of the sea gives them."""
    if calibration_of(snapshot, alignment.recipe) is None:
        return alignment
    standard = snapshot.vectors.standard
    asked = query_vector(query, standard, trajectory=alignment.recipe.trajectory)
    return judged(snapshot, alignment, float(clip_vectors_of([match], standard)[0] @ asked))


def better_than_random(snapshot: Snapshot, recipe: Recipe, product: Doubles) -> list[float | None]:
    """The share of random pairs of the sea with a higher product; None where it keeps no features."""
    if recipe not in snapshot.by_chance:
        snapshot.by_chance[recipe] = random_products(snapshot, recipe)
    by_chance = snapshot.by_chance[recipe]
    if not len(by_chance):
        return [None] * len(product)
    worse: list[float | None] = (1 - np.searchsorted(by_chance, product, "right") / len(by_chance)).tolist()
    return worse


def random_products(snapshot: Snapshot, recipe: Recipe, *, seed: int = 0) -> Doubles:
    """Products of random pairs of the sea's clips, sorted; empty if it keeps no frame features."""
    table = snapshot.table(["content"], WITH_FEATURES)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(table))[:RANDOM_CLIPS])
    contents = table["content"].to_numpy()
    pairs = [
        (n, earlier[contents[earlier] != contents[n]])
        for at, n in enumerate(chosen)
        if len(earlier := chosen[:at])
    ]
    return np.sort(_products(snapshot, recipe, table["_rowid"].to_numpy(), pairs))


def fit(snapshot: Snapshot, recipe: Recipe, *, seed: int = 0) -> Calibration:
    """Fit a calibration to pairs of labeled clips: first to half of them, to measure its error, then to all.

    Raises
    ------
    SeaError
        If fewer than 20 clips with frame features have a label, or all have the same.
    """
    table = snapshot.table(["label", "content"], f"label IS NOT NULL AND {WITH_FEATURES}")
    labels, contents = table["label"].to_numpy(), table["content"].to_numpy()
    if len(table) < FEWEST_CLIPS or len(set(labels)) < 2:
        raise SeaError(
            f"{snapshot.dataset.uri}: {len(table)} clips with {len(set(labels))} labels; calibration needs "
            f"{FEWEST_CLIPS} labeled clips of 2 labels or more (add them with `--labels`)"
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    products, same = [], []
    for half in (order[::2], order[1::2]):
        pairs = [_partners(n, half, labels, contents, rng) for n in half[:QUERIES]]
        products.append(_products(snapshot, recipe, table["_rowid"].to_numpy(), pairs))
        same.append(np.concatenate([labels[others] == labels[n] for n, others in pairs]).astype(bool))
    held_out = Calibration(*fit_curve(products[0], same[0])).probability(products[1])
    a, b = fit_curve(np.concatenate(products), np.concatenate(same))
    return Calibration(a, b, calibration_error(held_out, same[1]), sum(map(len, same)))


def calibration_error(probability: Doubles, same: NDArray[np.bool_], bins: int = 10) -> float:
    """Mean |p − true share| over bins of p, with same and different pairs at equal weight."""
    weights = _even_odds(same)
    where = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = np.bincount(where, weights * (probability - same), bins)
    return float(np.abs(gaps).sum() / weights.sum())


def _partners(
    clip: int,
    among: NDArray[np.int64],
    labels: NDArray[np.object_],
    contents: NDArray[np.object_],
    rng: np.random.Generator,
) -> Pair:
    """A clip with some clips of its label, and some of other labels."""
    others = among[contents[among] != contents[clip]]
    alike = labels[others] == labels[clip]
    return clip, np.concatenate([rng.permutation(others[kind])[:PARTNERS] for kind in (alike, ~alike)])


def _products(snapshot: Snapshot, recipe: Recipe, rows: NDArray[np.uint64], pairs: Sequence[Pair]) -> Doubles:
    """(1 − similarity) · score of clips with their partners, by their positions in `rows`."""
    needed = np.unique([n for clip, others in pairs for n in (clip, *others)]).astype(np.int64)
    encodings = dict(zip(needed.tolist(), snapshot.encodings(rows[needed]), strict=True))
    found = [np.empty(0)]
    for clip, others in pairs:
        query = encodings[int(clip)]
        matches = [match for n in others if (match := encodings[int(n)])]
        if query and matches:
            similarity = snapshot.similarities(query, rows[others], trajectory=recipe.trajectory)
            found.append(rank(query, matches, similarity, recipe=recipe).keys("product"))
    return np.concatenate(found)


def fit_curve(product: Doubles, same: NDArray[np.bool_]) -> tuple[float, float]:
    """Weighted maximum likelihood by Newton's method; a little ridge keeps separable pairs finite."""
    design = np.stack([np.ones(len(product)), log_product(product)], axis=1)
    weights, beta = _even_odds(same), np.zeros(2)
    ridge = 1e-3 * np.eye(2)
    for _ in range(100):
        p = sigmoid(design @ beta)
        slope = design.T @ (weights * (same - p)) - ridge @ beta
        curve = (design * (weights * p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(curve, slope)
        beta += step * min(1.0, 5 / np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    return float(beta[0]), float(beta[1])


def _even_odds(same: NDArray[np.bool_]) -> Doubles:
    return np.asarray(np.where(same, 0.5 / max(same.sum(), 1), 0.5 / max((~same).sum(), 1)) * len(same))
