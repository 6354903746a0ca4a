"""Alignability in percent, fitted to a sea: the probability that a product (1 − similarity) · score is "the
same movement". Without a fit, clips are judged as a pair; see `seasync.alignment.judge`."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import RECIPES, Alignment, Recipe, score_many
from seasync.alignment.judge import (
    LIKELY,
    Calibration,
    CurveOf,
    likelihood,
    log_product,
    pair_similarity,
    shipped_calibration,
    sigmoid,
)
from seasync.encoding import Encoding
from seasync.errors import SeaError
from seasync.options import RecipeName
from seasync.ranking import rank
from seasync.sea.snapshot import WITH_FEATURES, Snapshot, quoted

if TYPE_CHECKING:
    from seasync.sea.search import Matches

CALIBRATION, ANSWERS = "seasync.calibration", "seasync.answers"
# How much the log odds of the same movement usually differ between a sea and the curve: the more, the faster
# answers move the curve. Not measured.
USUAL_SHIFT = 1.5
FEWEST_CLIPS = 20
QUERIES, PARTNERS = 80, 20
RANDOM_CLIPS = 24

NEARLY_SURE = 0.9

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Pair = tuple[int, NDArray[np.int64]]


class Search(Protocol):
    """Searches a sea for the best match of each of these clips, among those that meet a condition."""

    def __call__(self, ids: Sequence[str], where: str) -> "Sequence[Matches]": ...


def calibration_of(snapshot: Snapshot, recipe: Recipe, of: CurveOf = "pair") -> Calibration | None:
    """The curve for a recipe in this sea: the sea's own, or else the one that comes with Seasync.

    A calibration belongs to the recipe's values, not to its name, and to the encoder of the sea. One of
    earlier values of a named recipe is not used; the first time, a warning says so.
    """
    kept = _kept(snapshot)
    curve: Calibration | None
    if own := kept.get(recipe.fingerprint):
        curve = Calibration(**own[of])
    else:
        if recipe.name in _earlier(kept) and recipe.fingerprint == RECIPES[recipe.name].fingerprint:
            _warn_once(snapshot.dataset.uri)
        curve = shipped_calibration(snapshot.facts.fingerprint, recipe, of)
    return _shifted(curve, answers_of(snapshot, recipe)) if curve and of == "search" else curve


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


def with_calibration(
    snapshot: Snapshot, recipe: Recipe, fitted: Mapping[CurveOf, Calibration]
) -> dict[str, str]:
    """The metadata that makes `fitted` the sea's own."""
    entry = {"recipe": recipe.name} | {of: vars(curve) for of, curve in fitted.items()}
    return {CALIBRATION: json.dumps(_kept(snapshot) | {recipe.fingerprint: entry})}


def _kept(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    """The sea's own calibrations by recipe fingerprint; older seas keep them by the recipe's name."""
    kept = json.loads(snapshot.metadata.get(CALIBRATION) or "{}")
    return {key: {"recipe": key} | entry for key, entry in kept.items()}


class Answer(NamedTuple):
    """What somebody said about a match: whether it shows the query's movement.

    query, match
        Names of the two clips: ids, or the hash of a file with its span.
    recipe
        Fingerprint of the recipe that gave the product.
    """

    query: str
    match: str
    same: bool
    product: float
    recipe: str


def answers_of(snapshot: Snapshot, recipe: Recipe | None = None) -> list[Answer]:
    """What people have said about matches of this sea, the latest last; of one recipe, if it is given."""
    every = [Answer(*each) for each in json.loads(snapshot.metadata.get(ANSWERS) or "[]")]
    return [each for each in every if recipe is None or each.recipe == recipe.fingerprint]


def with_answer(snapshot: Snapshot, answer: Answer, *, kept: bool = True) -> dict[str, str]:
    """The metadata with an answer in place of an earlier one about the same two clips, or without either."""
    others = [each for each in answers_of(snapshot) if each[:2] != answer[:2] or each.recipe != answer.recipe]
    return {ANSWERS: json.dumps([*others, answer] if kept else others)}


def _shifted(curve: Calibration, answers: Sequence[Answer]) -> Calibration:
    """The curve, moved by what people have said; its slope stays.

    The likeliest shift, if seas usually differ from the curve by USUAL_SHIFT, found by Newton's method.
    """
    if not answers:
        return curve
    logits = curve.a + curve.b * log_product([each.product for each in answers])
    same, shift = np.array([each.same for each in answers]), 0.0
    for _ in range(50):
        p = sigmoid(logits + shift)
        slope = float((same - p).sum()) - shift / USUAL_SHIFT**2
        step = slope / (float((p * (1 - p)).sum()) + 1 / USUAL_SHIFT**2)
        shift += max(-1.0, min(1.0, step))
        if abs(step) < 1e-6:
            break
    return replace(curve, a=curve.a + shift)


def judged(snapshot: Snapshot, alignment: Alignment, of: CurveOf = "pair") -> Alignment:
    """The alignment with the likelihood that the sea gives it."""
    curve = calibration_of(snapshot, alignment.recipe, of)
    return replace(alignment, likelihood=likelihood(alignment.product, curve))


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


def fit(snapshot: Snapshot, recipe: Recipe, search: Search, *, seed: int = 0) -> dict[CurveOf, Calibration]:
    """Fit curves to labeled clips: first to half of them, to measure their errors, then to all.

    One curve is fitted to pairs of clips, the other to the first matches of searches, each of which is asked
    twice: in the whole sea, and without the clips that have the query's label.

    Parameters
    ----------
    search : callable
        Searches for the best match of each of these clips among those that meet a condition.

    Raises
    ------
    SeaError
        If fewer than 20 clips with frame features have a label, or all have the same.
    """
    table = snapshot.table(["id", "label", "content"], f"label IS NOT NULL AND {WITH_FEATURES}")
    ids, labels, contents = (table[name].to_numpy() for name in ("id", "label", "content"))
    if len(table) < FEWEST_CLIPS or len(set(labels)) < 2:
        raise SeaError(
            f"{snapshot.dataset.uri}: {len(table)} clips with {len(set(labels))} labels; calibration needs "
            f"{FEWEST_CLIPS} labeled clips of 2 labels or more (add them with `--labels`)"
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    pairs = [
        _rate_pairs(snapshot, recipe, table["_rowid"].to_numpy(), drawn, labels)
        for half in (order[::2], order[1::2])
        if (drawn := [_partners(n, half, labels, contents, rng) for n in half[:QUERIES]])
    ]
    # Halves of the labels show what becomes of movements that the curve was not fitted to.
    kinds = rng.permutation(np.unique(labels.astype(str)))
    queries = [order[np.isin(labels[order], half)][:QUERIES] for half in (kinds[::2], kinds[1::2])]
    found = [first_matches(search, list(zip(ids[n], labels[n], strict=True))) for n in queries]
    return {"pair": fit_halves(*pairs), "search": fit_halves(*found)}


class Rated(NamedTuple):
    """Products of pairs of clips, shape (B,), and what is known of each pair.

    same
        Whether both show the same movement.
    unseen
        Whether the second is the first match of a search among clips that do not show the movement.
    """

    product: Doubles
    same: Flags
    unseen: Flags

    @classmethod
    def joined(cls, parts: Sequence["Rated"]) -> "Rated":
        """All of them."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def first_matches(search: Search, clips: Sequence[tuple[str, str]]) -> Rated:
    """The first matches of these clips, given by id and label: among all clips, and among other labels."""
    rows, by_label = list[tuple[float, bool, bool]](), dict[str, list[str]]()
    for clip, label in clips:
        by_label.setdefault(label, []).append(clip)
    for label, ids in by_label.items():
        for unseen, where in enumerate(("label IS NOT NULL", f"label != {quoted(label)}")):
            firsts = [matches[0] for matches in search(ids, where) if matches]
            rows += [(each.fit.product or 0.0, each.clip.label == label, bool(unseen)) for each in firsts]
    found = np.array(rows, np.float64).reshape(-1, 3)
    return Rated(found[:, 0], found[:, 1] > 0, found[:, 2] > 0)


def fit_halves(one: Rated, other: Rated) -> Calibration:
    """The curve of both, with the errors on the second half of the curve of the first, and vice versa."""
    halves = [(one, other), (other, one)]
    rated = [fit_curve(fitted.product, fitted.same).probability(left.product) for fitted, left in halves]
    return measured(Rated.joined([one, other]), np.concatenate([rated[1], rated[0]]))


def measured(rated: Rated, probability: Doubles) -> Calibration:
    """The curve of all, with the errors of probabilities that curves of other clips gave."""
    curve = replace(
        fit_curve(rated.product, rated.same),
        error=calibration_error(probability, rated.same),
        pairs=len(rated.same),
    )
    if not rated.unseen.any():
        return curve
    false, right = probability[rated.unseen], probability[rated.same & ~rated.unseen]
    return replace(
        curve,
        false_half=float((false >= LIKELY).mean()),
        false_nine=float((false >= NEARLY_SURE).mean()),
        recall=float((right >= LIKELY).mean()) if len(right) else None,
    )


def calibration_error(probability: Doubles, same: Flags, bins: int = 10) -> float:
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


def _rate_pairs(
    snapshot: Snapshot,
    recipe: Recipe,
    rows: NDArray[np.uint64],
    pairs: Sequence[Pair],
    labels: NDArray[np.object_],
) -> Rated:
    """Clips with their partners, by their positions in `rows`."""
    found, same = [np.empty(0)], [np.empty(0, bool)]
    encodings = _encodings(snapshot, rows, pairs)
    for clip, others in pairs:
        query = encodings[int(clip)]
        kept = [n for n in others.tolist() if encodings[n]]
        matches = [match for n in kept if (match := encodings[n])]
        if query and matches:
            scores = score_many(query, matches, recipe=recipe, partial=None).best_score
            apart = np.array([1 - pair_similarity(query, match) for match in matches])
            found.append(apart * scores)
            same.append((labels[kept] == labels[clip]).astype(bool))
    product = np.concatenate(found)
    return Rated(product, np.concatenate(same), np.zeros(len(product), bool))


def _products(snapshot: Snapshot, recipe: Recipe, rows: NDArray[np.uint64], pairs: Sequence[Pair]) -> Doubles:
    """(1 − similarity) · score of clips with their partners, by their positions in `rows`."""
    encodings = _encodings(snapshot, rows, pairs)
    found = [np.empty(0)]
    for clip, others in pairs:
        query = encodings[int(clip)]
        matches = [match for n in others if (match := encodings[int(n)])]
        if query and matches:
            similarity = snapshot.similarities(query, rows[others], trajectory=recipe.trajectory)
            found.append(rank(query, matches, similarity, recipe=recipe).keys("product"))
    return np.concatenate(found)


def _encodings(
    snapshot: Snapshot, rows: NDArray[np.uint64], pairs: Sequence[Pair]
) -> dict[int, Encoding | None]:
    """The encodings of all clips of these pairs, by their positions in `rows`."""
    needed = np.unique([n for clip, others in pairs for n in (clip, *others)]).astype(np.int64)
    return dict(zip(needed.tolist(), snapshot.encodings(rows[needed]), strict=True))


def fit_curve(product: Doubles, same: Flags) -> Calibration:
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
    return Calibration(float(beta[0]), float(beta[1]))


def _even_odds(same: Flags) -> Doubles:
    return np.asarray(np.where(same, 0.5 / max(same.sum(), 1), 0.5 / max((~same).sum(), 1)) * len(same))
