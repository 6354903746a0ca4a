"""Accuracy on every kind of footage, through the shipped path: `python -m benchmarks.world DIR`.

DIR is a folder of sets (golf, falls, robots/drawer, robots/bottle, gestures, actions, views); what is missing
is left out. Each set becomes a sea, and every clip searches it.

events     the key events of a query's ten nearest clips: how far each alignment puts them from the truth, in
           ms, averaged over the ten and for the one that the ranking puts first (the pick); beside a uniform
           stretch of one clip onto the other and the paper's recipe; "alone": without consensus; "offsets
           out": what is left of the ten's when each clip may shift each of its events by one amount
retrieval  of each clip in its own set and in one sea of all sets: how often the first match shows the same
           movement (R@1), and the share of the first ten that do (P@10), ordered by clip vector, by DRAQ and
           as shipped
partial    how often automatic partial alignment left something out, and what that changed
views      two cameras of one take, one of them replayed at a planted, changing speed
pairs      with `--pairs`, a folder of films (.mp4) that each show a query above its match: how many queries
           find their own match first, in a sea of these clips alone and in one sea of everything
per cent   how far "the same movement" in per cent is from the share of pairs that are, and how well it tells
           them apart (AUC); as shipped, and fitted to the other sets alone ("left out"), also where all pairs
           that differ are of two sets ("strangers")

Brackets are 95 % bootstrap intervals over queries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from benchmarks.calibrations import left_out, rate_searches
from benchmarks.goals import Goals, parser, show
from benchmarks.golf import Placed, apa, follow
from benchmarks.world_sets import (
    CachedEncoder,
    Doubles,
    FilledSea,
    FootageSet,
    cut_pairs,
    drawn_at_even_odds,
    fill,
    load_sets,
    planted_views,
)
from seasync.alignment import MOTION, PAPER, Alignment, Recipe, align_encodings
from seasync.alignment.judge import likelihood, shipped_calibration
from seasync.alignment.result import ERROR_GROWS
from seasync.encoders import DEFAULT
from seasync.evaluate.results import mean_interval
from seasync.sea.calibration import Rated, calibration_error
from seasync.sea.search import Matches

TEN = 10
QUICK_CLIPS = {"gestures": 20, "actions": 10}
QUICK_OTHERS = 6
CURVES = 8
MS_GOALS = {
    ("bottle", "ten, ms"): 480, ("bottle", "pick, ms"): 350,
    ("drawer", "ten, ms"): 380, ("drawer", "pick, ms"): 240,
    ("falls", "ten, ms"): 70, ("falls", "pick, ms"): 45,
    ("golf", "pick, ms"): 65,
}  # fmt: skip
OFFSET_STEPS = 30
NEAR_MS = 3.0  # closer than this, an error counts as zero
PAIRS = 4  # of clips of each kind, for the per cent
GOLF_APA = {"ten, APA": 0.903, "pick, APA": 0.91}
PER_CENT_GOALS = {("gestures", "R@1"): 85, ("gestures", "P@10"): 65, ("actions", "R@1"): 100}
Figures = dict[str, Any]


def main() -> int:
    arguments = parser(__doc__, "folder", quick="a few clips of each set, without goals")
    arguments.add_argument("--encoder", default=DEFAULT, help="for the motion recipe")
    arguments.add_argument("--baseline", default="dinov2-small-cls", help="for the paper's recipe")
    arguments.add_argument("--sets", nargs="+", metavar="NAME", help="only these, without views")
    arguments.add_argument("--pairs", type=Path, metavar="DIR", help="films of a query above its match")
    options = arguments.parse_args()
    sets = [each for each in load_sets(options.folder) if not options.sets or each.name in options.sets]
    if not sets:
        arguments.error(f"{options.folder}: none of the sets is there")
    if options.quick:
        sets = [each.some(QUICK_CLIPS.get(each.name, QUICK_OTHERS)) for each in sets]
    ours, theirs = CachedEncoder(options.encoder), CachedEncoder(options.baseline)
    with tempfile.TemporaryDirectory() as folder:
        report = measure(Path(folder), sets, ours, theirs)
        if options.pairs:
            report["pairs"] = pairs(Path(folder), options.pairs, sets, ours)
    if not options.quick and not options.sets:
        report["views"] = views(options.folder / "views", ours)
    show({name: rows for name, rows in report.items() if isinstance(rows, dict) and name != "clips"})
    goals = Goals(options)
    if not options.quick:
        check(report, goals)
    return goals.finish(report)


def measure(folder: Path, sets: Sequence[FootageSet], ours: CachedEncoder, theirs: CachedEncoder) -> Figures:
    report: Figures = {
        "encoder": ours.name,
        "baseline": theirs.name,
        "clips": {each.name: len(each.files) for each in sets},
    }
    report["events"], report["retrieval"], report["per cent"] = {}, {}, {}
    known: dict[str, Doubles] = {}
    for each in sets:
        sea = fill(folder / each.name, [each], ours)
        if each.events is not None:
            paper = fill(folder / f"{each.name}-paper", [each], theirs)
            report["events"][each.name] = events(each, sea, paper)
            known[each.name] = widths_and_errors(each, sea)
        if len(set(each.labels)) > 1:
            report["retrieval"][each.name] = retrieval(each, sea)
    everything = fill(folder / "all", sets, ours)
    for each in sets:
        report["retrieval"][f"{each.name} in one sea"] = retrieval(each, everything)
    report["expected error"] = expected_errors(known)
    report["open set"] = open_set(rate_searches(sets, ours)) if len(sets) > 1 else {}
    return report | {"per cent": per_cent(sets, everything)}


def events(clips: FootageSet, sea: FilledSea, paper: FilledSea) -> Figures:
    """Errors of the ten nearest clips' alignments, and of the pick."""
    rows = {
        "uniform stretch": by_query(clips, sea, MOTION, stretched),
        "paper": by_query(clips, paper, PAPER, follow),
        "motion, alone": by_query(clips, sea, MOTION, follow, consensus=False),
        "motion": by_query(clips, sea, MOTION, follow),
    }
    return {name: {k: summary(v) for k, v in columns.items()} for name, columns in rows.items()}


def stretched(alignment: Alignment, moments: Doubles) -> Doubles:
    """Where a uniform stretch of the match puts moments of the query."""
    ends = (seconds[[0, -1]] for seconds in (alignment.query_seconds, alignment.match_seconds))
    return np.asarray(np.interp(moments, *ends))


def by_query(
    clips: FootageSet, sea: FilledSea, recipe: Recipe, place: Placed, *, consensus: bool | None = None
) -> dict[str, list[float]]:
    """Figures of every query, by name; matches correct each other as said, or as a search does."""
    assert clips.events is not None
    known = {sea.id_of(file): frames for file, frames in zip(clips.files, clips.events, strict=True)}
    number = {clip: at for at, clip in enumerate(known)}
    columns: dict[str, list[float]] = {}
    signed: dict[tuple[int, int], Doubles] = {}
    options: dict[str, Any] = {"k": TEN, "candidates": TEN, "recipe": recipe, "consensus": consensus}
    found = sea.sea.search_many(list(known), **options)
    whole = sea.sea.search_many(list(known), **options, partial="never")
    for at, (frames, matches, uncut) in enumerate(zip(clips.events, found, whole, strict=True)):
        away = _errors(matches, frames, known, place)
        signed |= {(at, number[clip]): each for clip, each in away.items()}
        errors = {clip: float(np.abs(each).mean()) for clip, each in away.items()}
        row = {"ten, ms": np.mean(list(errors.values())), "pick, ms": next(iter(errors.values()))}
        row["best of ten, ms"] = min(errors.values())
        if clips.name == "golf":
            shared = [
                apa(m.alignment, frames.astype(int), known[m.clip.id].astype(int), place) for m in matches
            ]
            row |= {"ten, APA": np.mean(shared), "pick, APA": shared[0]}
        parts = [m.clip.id for m in matches if not m.alignment.whole]
        row["partial, share"] = len(parts) / max(len(matches), 1)
        if parts:
            others = _errors(uncut, frames, known, place)
            row["partial, ms"] = np.mean([errors[n] for n in parts])
            row["the same whole, ms"] = np.mean([np.abs(others[n]).mean() for n in parts])
        for name, value in row.items():
            columns.setdefault(name, []).append(float(value))
    return columns | {"offsets out, ms": [without_offsets(signed)]}


def _errors(
    matches: Matches, frames: Doubles, known: dict[str, Doubles], place: Placed
) -> dict[str, Doubles]:
    """Where each match's alignment puts the events minus the truth in ms, shape (E,), by clip id."""
    errors = {}
    for match in matches:
        aligned, clip = match.alignment, match.clip.id or ""
        asked = np.interp(frames, aligned.query_frames, aligned.query_seconds)
        truth = np.interp(known[clip], aligned.match_frames, aligned.match_seconds)
        errors[clip] = np.asarray(1000 * (place(aligned, asked) - truth))
    return errors


def widths_and_errors(clips: FootageSet, sea: FilledSea) -> Doubles:
    """Typical uncertainty and mean error of each query's ten nearest alignments, in seconds, shape (B, 2)."""
    assert clips.events is not None
    known = {sea.id_of(file): frames for file, frames in zip(clips.files, clips.events, strict=True)}
    rows = []
    for clip, frames in known.items():
        matches = sea.sea.search(clip, k=TEN, candidates=TEN)
        errors = _errors(matches, frames, known, follow)
        for match in matches:
            width = match.alignment.typical_uncertainty
            if width is not None:
                rows.append((width, np.abs(errors[match.clip.id or ""]).mean() / 1000))
    return np.array(rows, np.float64).reshape(-1, 2)


def expected_errors(known: dict[str, Doubles]) -> Figures:
    """Five equal groups of pairs by the error that is expected of them: its mean, and the true one, in ms.

    What is expected of a set grows with its own uncertainty, by factors of the other sets.
    """
    rows = []
    for name, own in known.items():
        others = [each for other, each in known.items() if other != name]
        if not others:
            continue
        usual = np.mean([error.sum() / (width**ERROR_GROWS).sum() for width, error in (o.T for o in others)])
        shares = np.concatenate([each[:, 1] / each[:, 0] ** ERROR_GROWS for each in others])
        weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in others])
        order = np.argsort(shares)
        most = shares[order][np.searchsorted(np.cumsum(weights[order]), 0.9 * weights.sum())]
        grown = own[:, 0] ** ERROR_GROWS
        rows.append(np.column_stack([usual * grown, own[:, 1], own[:, 1] <= most * grown, own[:, 1]]))
        rows[-1][:, 3] = np.abs(own[:, 1] - np.median(own[:, 1])) - np.abs(own[:, 1] - usual * grown)
    if not rows:
        return {}
    every = np.concatenate(rows)
    groups = np.array_split(every[np.argsort(every[:, 0])], 5)
    report: Figures = {
        f"group {n}": {"expected, ms": 1000 * group[:, 0].mean(), "true, ms": 1000 * group[:, 1].mean()}
        for n, group in enumerate(groups, 1)
    }
    gain = {"nearer to the truth than one constant per set, ms": 1000 * every[:, 3].mean()}
    return report | {"all": {"below the bound": every[:, 2].mean(), **gain}}


def open_set(rated: dict[str, Rated]) -> Figures:
    """What first matches are told, with and without the movement in the sea; by curves of the other sets."""
    said = left_out(rated)
    found: Figures = {}
    for name in [*rated, "all"]:
        chosen = list(rated) if name == "all" else [name]
        own, told = Rated.joined([rated[each] for each in chosen]), np.concatenate([said[n] for n in chosen])
        row = {"searches": len(told), "error": calibration_error(told, own.same)}
        kinds = {"false at 50 %": (own.unseen, 0.5), "false at 90 %": (own.unseen, 0.9)}
        for column, (which, limit) in (kinds | {"recall": (own.same & ~own.unseen, 0.5)}).items():
            row[column] = float((told[which] >= limit).mean()) if which.any() else float("nan")
        found[name] = row
    return found


def retrieval(clips: FootageSet, sea: FilledSea) -> Figures:
    """R@1 and P@10 in per cent, by what orders the candidates."""
    asked = [sea.id_of(file) for file in clips.files]
    report = {}
    for name, rerank in (("vector", "none"), ("DRAQ", "draq"), ("shipped", None)):
        right = [
            [match.clip.label == label for match in matches]
            for label, matches in zip(
                clips.labels, sea.sea.search_many(asked, k=TEN, rerank=rerank), strict=True
            )
        ]
        first = [100.0 * row[0] for row in right]
        share = [100.0 * float(np.mean(row)) for row in right]
        report[name] = {"R@1": summary(first), "P@10": summary(share)}
    return report


def pairs(folder: Path, films: Path, sets: Sequence[FootageSet], encoder: CachedEncoder) -> Figures:
    """How many queries find their own match first, by sea and by what orders the candidates."""
    cut = cut_pairs(films, folder / "cut")
    report: Figures = {}
    for name, filled in (("own sea", [cut]), ("one sea", [*sets, cut])):
        sea = fill(folder / f"pairs in {name}", filled, encoder)
        queries, matches = ([sea.id_of(file) for file in cut.files[side::2]] for side in (0, 1))
        report[name] = {}
        for order, rerank in (("vector", "none"), ("shipped", None)):
            found = sea.sea.search_many(queries, k=TEN, rerank=rerank)
            first = sum(each[0].clip.id == match for each, match in zip(found, matches, strict=True))
            report[name][order] = {"match first": first, "queries": len(queries)}
    return report


def summary(values: Sequence[float]) -> Figures:
    return {"mean": float(np.mean(values)), "interval": mean_interval(values), "queries": len(values)}


def views(folder: Path, encoder: CachedEncoder) -> Figures:
    """Mean error in ms of aligning one camera with the other's replay, and how often they align."""
    report: dict[str, dict[str, list[float]]] = {}
    for view in planted_views(folder, encoder, CURVES):
        rows = report.setdefault(view.name, {})
        for name, recipe, place in (("uniform stretch", MOTION, stretched), ("motion", MOTION, follow)):
            alignment = align_encodings(view.match, view.query, recipe=recipe)
            errors = np.abs(place(alignment, view.replayed) - view.true)
            rows.setdefault(name, []).append(float(1000 * errors.mean()))
        rows.setdefault("aligns", []).append(float(alignment.alignable))
    return {name: {row: summary(errors) for row, errors in rows.items()} for name, rows in report.items()}


# How much of an error is a fixed offset of single clips.
#
# A label that stands too early in one clip makes every alignment with that clip wrong by as much, in either
# direction. So does a moment that looks as if it came earlier there. Neither depends on the path: alignments
# that agree with each other through any third clip err by differences of such offsets alone.


def without_offsets(errors: Mapping[tuple[int, int], Doubles]) -> float:
    """The mean distance that is left when each clip may shift each of its events by one amount.

    Parameters
    ----------
    errors : mapping of (int, int) to numpy.ndarray [shape=(E,)]
        Where the alignment of a query with a match (by their numbers) puts each of the events, minus the
        truth, in ms.

    Returns
    -------
    float
        Mean absolute distance, in ms. The offsets are those that make it smallest.
    """
    pairs, signed = np.array(list(errors)), np.array(list(errors.values()))
    sides = np.zeros((len(pairs), pairs.max() + 1))
    rows = np.arange(len(pairs))
    sides[rows, pairs[:, 0]], sides[rows, pairs[:, 1]] = 1, -1
    return float(np.mean([np.abs(_rest(sides, event)).mean() for event in signed.T]))


def _rest(sides: Doubles, errors: Doubles) -> Doubles:
    """Errors minus sides · offsets, with the offsets of the smallest mean: least squares, weighted anew."""
    weights = np.ones(len(errors))
    for _ in range(OFFSET_STEPS):
        offsets = np.linalg.lstsq(sides * weights[:, None], errors * weights, rcond=None)[0]
        rest = errors - sides @ offsets
        weights = 1 / np.sqrt(np.maximum(np.abs(rest), NEAR_MS))
    return np.asarray(rest)


# Whether "the same movement" in per cent is right.


def per_cent(sets: Sequence[FootageSet], sea: FilledSea) -> Figures:
    """Error and AUC of "the same movement" on pairs drawn at even odds, for each set and for all."""
    rng = np.random.default_rng(0)
    curve = shipped_calibration(sea.sea.encoder().fingerprint, MOTION)
    ids = np.array([sea.id_of(file) for each in sets for file in each.files])
    labels = np.array([label for each in sets for label in each.labels])
    own = np.array([each.name for each in sets for _ in each.files])
    set_of = dict(zip(ids.tolist(), own.tolist(), strict=True))
    said: dict[str, list[tuple[float, bool, bool]]] = {}
    for at, clip in enumerate(ids):
        chosen = ids[drawn_at_even_odds(rng, labels, own, at, PAIRS)].tolist()
        where = f"id IN ({', '.join(map(repr, chosen))})"
        for match in sea.sea.search(str(clip), k=len(chosen), candidates=len(chosen), where=where):
            likely = likelihood(match.fit.product, curve)
            if likely is not None:
                same = match.clip.label == labels[at]
                strange = same or set_of[str(match.clip.id)] != own[at]
                said.setdefault(own[at], []).append((likely, same, strange))
    everyone = {name: np.array(rows) for name, rows in said.items()}
    drawn = {name: rows[:, :2] for name, rows in everyone.items()}
    strangers = {name: rows[rows[:, 2] > 0, :2] for name, rows in everyone.items()}
    return (
        _report(drawn, "{}", "all")
        | _report(_each_left_out(drawn), "{}, left out", "all, each left out")
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


def check(report: Figures, goals: Goals) -> None:
    """The goals."""
    for name, rows in report["events"].items():
        ours, stretch = rows["motion"], rows["uniform stretch"]
        for column in ("ten, ms", "pick, ms"):
            target = MS_GOALS.get((name, column), stretch[column]["mean"])
            goals.at_most(
                f"{name}, {column}", ours[column]["mean"], min(target, stretch[column]["mean"]), " ms"
            )
        for column, target in GOLF_APA.items() if name == "golf" else ():
            goals.at_least(f"golf, {column}", ours[column]["mean"], target)
    for name, rows in report["retrieval"].items():
        for column in ("R@1", "P@10"):
            target = PER_CENT_GOALS.get((name, column), 0)
            vector = rows["vector"][column]["mean"]
            goals.at_least(
                f"{name}, {column} as shipped", rows["shipped"][column]["mean"], max(target, vector)
            )
    for name, rows in report.get("views", {}).items():
        if rows["aligns"]["mean"] >= 0.5:
            goals.at_most(f"views, {name}", rows["motion"]["mean"], rows["uniform stretch"]["mean"], " ms")
    for name, rows in report.get("pairs", {}).items():
        first = {order: row["match first"] for order, row in rows.items()}
        goals.at_least(f"pairs, {name}: match first as shipped", first["shipped"], first["vector"])
    for name, row in report["per cent"].items():
        if name.startswith("all"):
            goals.at_most(f"error of the per cent, {name}", row["error"], 0.04)
    if found := report["open set"].get("all"):
        goals.at_most("first matches of unseen movements with 50 % or more", found["false at 50 %"], 0.15)
        goals.at_most("first matches of unseen movements with 90 % or more", found["false at 90 %"], 0.05)
        goals.at_least("first matches of seen movements with 50 % or more", found["recall"], 0.85)
    for name, row in report["expected error"].items():
        if name == "all":
            goals.at_least("alignments below the bound of their error", row["below the bound"], 0.85)
        else:
            ratio = row["true, ms"] / row["expected, ms"]
            goals.at_most(f"expected error, {name}: true over expected, or back", max(ratio, 1 / ratio), 1.5)


if __name__ == "__main__":
    raise SystemExit(main())
