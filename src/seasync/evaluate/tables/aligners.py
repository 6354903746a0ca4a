"""A leaderboard of aligners: ours, plain ones, and ready warps of other systems, on clips with events."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from seasync.alignment import MOTION, PAPER, Recipe
from seasync.alignment.consensus import apply_consensus
from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.evaluate import metrics
from seasync.evaluate.dataset import read_csv
from seasync.evaluate.results import Row, Table, add_mean
from seasync.evaluate.study import NO_CONTEXT, Array, EncodedItem, Indices, Study

OURS = {"plain DTW": NO_CONTEXT, "paper": PAPER, "motion": MOTION}
COLUMNS = ("query", "match", "query_seconds", "match_seconds")
# Query, candidates, seconds of the query → the seconds at which each candidate shows the same, or NaN.
Aligner = Callable[[int, Indices, Array], list[Array]]


def aligners(study: Study, *, k: int = 10, seed: int = 0, warps: Sequence[Path] = ()) -> Table:
    """Event error and phase agreement of every aligner, on k random clips of each query's label.

    Parameters
    ----------
    study : Study
    k : int
    seed : int
        Seed of the pairs and the intervals.
    warps : sequence of pathlib.Path
        Warps that other systems made, as CSV: query, match, query_seconds, match_seconds.

    Raises
    ------
    DataError
        If no clip has events.
    """
    if not any(sample.item.events is not None for sample in study.queries):
        raise DataError(f"{study.name}: no clip has events; mark some with `seasync evaluate annotate`")
    pairs = study.oracle(k, seed=seed)
    ways: list[tuple[str, str | None, Aligner]] = [("uniform stretch", None, _stretch(study))]
    ways += [(name, study.encoder, _by(study, recipe)) for name, recipe in OURS.items()]
    ways.append(("motion, consensus", study.encoder, _by(study, MOTION, consensus=True)))
    ways += [(file.stem, None, _ready(study, file)) for file in warps]
    rows: list[Row] = []
    base: Array | None = None
    for name, features, align in ways:
        measured = np.array(study.map(lambda at, align=align: _measure(study, pairs[at], align, at)))  # type: ignore[misc]
        base = measured[:, 0] if base is None else base
        row: Row = {"aligner": name, "features": features}
        add_mean(row, "event error ms", measured[:, 0], seed=seed)
        add_mean(row, "against stretch ms", measured[:, 0] - base, seed=seed)
        add_mean(row, "inner event error ms", measured[:, 1], seed=seed)
        add_mean(row, "APA", measured[:, 2], seed=seed)
        add_mean(row, "events reached %", measured[:, 3], scale=100, seed=seed)
        rows.append(row)
    return study.table("aligners", rows, {"candidates": k, "seed": seed})


def each_once(rows: Sequence[Row]) -> list[Row]:
    """The rows of several encoders; what needs none is shown once."""
    return [*{(row["aligner"], row["features"]): row for row in reversed(rows)}.values()][::-1]


def _measure(study: Study, chosen: Indices, align: Aligner, at: int) -> list[float]:
    """The query's means: error of all events and of the inner ones in ms, APA, share of events reached."""
    query = study.queries[at]
    mine = _event_seconds(query)
    times = query.encoding.seconds
    found: list[list[float]] = []
    for n, shown in zip(chosen, align(at, chosen, np.append(times, mine)), strict=True):
        match = study.gallery[int(n)]
        theirs = _event_seconds(match)
        if not len(mine) or len(mine) != len(theirs):
            continue
        error = 1000 * np.abs(shown[len(times) :] - theirs)
        inner = error[1:-1] if len(error) > 2 else error
        reached = float(np.isfinite(error).mean())
        found.append(
            [metrics.known_mean(error), metrics.known_mean(inner), _agreement(query, match, shown), reached]
        )
    return [metrics.known_mean(column) for column in np.array(found).reshape(-1, 4).T]


def _event_seconds(sample: EncodedItem) -> Array:
    """When the key moments of a clip are shown."""
    frames = sample.item.events
    if frames is None:
        return np.empty(0)
    return np.interp(frames, sample.encoding.frames, sample.encoding.seconds)


def _agreement(query: EncodedItem, match: EncodedItem, shown: Array) -> float:
    """Share of the query's sampled frames whose counterpart is in the same phase; none counts as wrong."""
    if query.item.phases is None or match.item.phases is None:
        return float("nan")
    places = shown[: len(query.encoding.seconds)]
    known = np.isfinite(places)
    frames = np.interp(np.where(known, places, 0), match.encoding.seconds, match.encoding.frames)
    same = query.item.phases.at(query.encoding.frames) == match.item.phases.at(
        np.rint(frames).astype(np.int64)
    )
    return float((same & known).mean())


def _stretch(study: Study) -> Aligner:
    """One clip stretched onto the other, from end to end."""

    def align(at: int, chosen: Indices, seconds: Array) -> list[Array]:
        first, last = _ends(study.queries[at].encoding)
        share = (seconds - first) / max(last - first, 1e-9)
        ends = (_ends(encoding) for encoding in study.encodings(chosen))
        return [begin + share * (end - begin) for begin, end in ends]

    return align


def _ends(encoding: Encoding) -> tuple[float, float]:
    return float(encoding.seconds[0]), float(encoding.seconds[-1])


def _by(study: Study, recipe: Recipe, *, consensus: bool = False) -> Aligner:
    """A recipe, whole to whole; with consensus, the candidates correct each other."""

    def align(at: int, chosen: Indices, seconds: Array) -> list[Array]:
        found = study.align(at, chosen, recipe)
        if consensus:
            found = apply_consensus(found, study.encodings(chosen))
        return [alignment.warp(keep="query").at(seconds) for alignment in found]

    return align


def _ready(study: Study, file: Path) -> Aligner:
    """Warps in a file: seconds of the query, and of the match at the same moment."""
    points: dict[tuple[str, str], list[tuple[float, float]]] = {}
    names = {sample.item.name for sample in (*study.queries, *study.gallery)}
    for line, row in enumerate(read_csv(file, COLUMNS), 2):
        try:
            point = float(row["query_seconds"]), float(row["match_seconds"])
        except ValueError:
            raise DataError(f"{file}, line {line}: expected seconds as numbers") from None
        if unknown := {row["query"], row["match"]} - names:
            raise DataError(f"{file}, line {line}: {unknown.pop()} is no clip of {study.name}")
        points.setdefault((row["query"], row["match"]), []).append(point)

    def align(at: int, chosen: Indices, seconds: Array) -> list[Array]:
        return [*_interpolated(study, points, at, chosen, seconds)]

    return align


def _interpolated(
    study: Study,
    points: dict[tuple[str, str], list[tuple[float, float]]],
    at: int,
    chosen: Indices,
    seconds: Array,
) -> Iterator[Array]:
    for n in chosen:
        known = sorted(points.get((study.queries[at].item.name, study.gallery[int(n)].item.name), ()))
        if known:
            mine, theirs = np.array(known).T
            yield np.interp(seconds, mine, theirs, left=np.nan, right=np.nan)
        else:
            yield np.full(len(seconds), np.nan)
