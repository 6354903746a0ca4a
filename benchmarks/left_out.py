"""Settings chosen on some sets and shown on another: `python -m benchmarks.left_out DIR`.

DIR is the folder of `benchmarks.world`; with `penn_action/` in it, joints are one more set. Of each setting,
the value that is best on all sets but one is chosen, and shown on the one left out, beside the shipped value
and the best one there. What one set shows in two ways is left out together. A setting that generalizes loses
little.

score_weight, contrast_weight, company
            numbers of the order: the mean of R@1 and P@10, in per cent
cut         what a partial path must save, as a share of the whole path's cost: of key events, the error of
            whole paths over that of automatic ones; of planted parts, the share that is good
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.goals import Goals, parser
from benchmarks.partial import GOOD_FRAMES, KINDS, Case, cases, load
from benchmarks.world_sets import CachedEncoder, FootageSet, load_sets
from seasync import ranking
from seasync.alignment import MOTION, Alignment, Recipe, align_encodings, align_many
from seasync.clip import Clip
from seasync.encoders import DEFAULT
from seasync.encoding import Encoding
from seasync.evaluate.data import open_dataset
from seasync.evaluate.study import Study
from seasync.ranking import Ranking, Standard, clip_vectors_of, cohort_of, query_vector, rank

Doubles = NDArray[np.float64]
ORDER = {
    "score_weight": (0.0, 0.5, 1.0, 1.5, 2.0, 3.0),
    "contrast_weight": (0.0, 1.0, 2.0, 3.0, 4.0, 6.0),
    "company": (0.0, 0.5, 1.0, 2.0, 4.0),
}
MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 1e9)
TEN = 10
PLANTED = 10


@dataclass(frozen=True, eq=False)
class Table:
    """One setting: its values, the shipped one, and each set's figure for every value, higher is better."""

    values: tuple[float, ...]
    shipped: float
    figures: dict[str, list[float]]

    def rows(self) -> Iterator[tuple[str, float, float, float, float]]:
        """Of each set: the value chosen on the others, its figure here, the shipped one's, the best one."""
        for name, own in self.figures.items():
            clips = name.partition(",")[0]
            others = [row for other, row in self.figures.items() if other.partition(",")[0] != clips]
            chosen = int(np.argmax(np.mean(others, axis=0)))
            yield name, self.values[chosen], own[chosen], own[self.values.index(self.shipped)], max(own)


def main() -> int:
    options = parser(__doc__, "folder").parse_args()
    sets, encoder = load_sets(options.folder), CachedEncoder(DEFAULT)
    encoded = {each.name: [_encode(encoder, file) for file in each.files] for each in sets}
    asked = {name: list(questions) for name, questions in _asked(options.folder, sets, encoded)}
    tables = {
        **{
            name: Table(values, getattr(MOTION, name), _by_setting(asked, name, values))
            for name, values in ORDER.items()
        },
        "margin": Table(MARGINS, MOTION.margin, _by_margin(options.folder, sets, encoded)),
    }
    for name, table in tables.items():
        print(f"\n{name:26}{'chosen on others':>18}{'left out':>10}{'shipped':>10}{'best':>10}")
        for row in table.rows():
            print(f"  {row[0]:24}{row[1]:18g}{row[2]:10.3f}{row[3]:10.3f}{row[4]:10.3f}")
    return Goals(options).finish({name: list(table.rows()) for name, table in tables.items()})


def _encode(encoder: CachedEncoder, file: Path) -> Encoding:
    return encoder.encode_clip(Clip.of(file), fps=encoder.fps, cache=True)


# ---- ranking


@dataclass(frozen=True, eq=False)
class Question:
    """A query with its candidates: how they compare, and which of them show the same movement."""

    ranking: Ranking
    same: NDArray[np.bool_]

    def right(self, **changed: float) -> float:
        """The share of the first ten that show the same movement; the first counts as much as the others."""
        ranking = replace(self.ranking, recipe=replace(MOTION, **changed))  # type: ignore[arg-type]
        same = self.same[ranking.order()[:TEN]]
        return float(same[0] + same.mean()) / 2


def _questions(
    queries: Sequence[Encoding], labels: Sequence[str], clips: Sequence[Encoding], clip_labels: Sequence[str]
) -> Iterator[Question]:
    """Each query with the clips that its vector proposes, without itself."""
    standard = Standard.of([np.stack([clip.mean for clip in clips])])
    vectors, names = clip_vectors_of(clips, standard), np.array(clip_labels)
    cohort = cohort_of(vectors)
    for query, label in zip(queries, labels, strict=True):
        vector = query_vector(query, standard, trajectory=True)
        order = np.argsort(-(vectors @ vector), kind="stable")
        nearest = [n for n in order[: MOTION.candidates + 1].tolist() if clips[n] is not query]
        chosen = nearest[: MOTION.candidates]
        relation = cohort.relate(vector, vectors[chosen]) if cohort else None
        found = [clips[n] for n in chosen]
        ranking = rank(query, found, vectors[chosen] @ vector, recipe=MOTION, relation=relation)
        yield Question(ranking, names[chosen] == label)


def _asked(
    folder: Path, sets: Sequence[FootageSet], encoded: dict[str, list[Encoding]]
) -> Iterator[tuple[str, Iterator[Question]]]:
    """The questions of each set, in a sea of its own and in one of all sets."""
    clips = [encoding for each in sets for encoding in encoded[each.name]]
    labels = [label for each in sets for label in each.labels]
    for each in sets:
        own = encoded[each.name], each.labels
        if len(set(each.labels)) > 1:
            yield each.name, _questions(*own, *own)
            yield f"{each.name}, one sea", _questions(*own, clips, labels)
    if (folder / "penn_action").is_dir():
        study = Study.of(open_dataset(folder / "penn_action"))
        sides = (study.queries, study.query_labels), (study.gallery, study.gallery_labels)
        queries, gallery = (([sample.encoding for sample in some], names) for some, names in sides)
        yield "joints", _questions(*queries, *gallery)


def _by_setting(
    asked: dict[str, list[Question]], name: str, values: Sequence[float]
) -> dict[str, list[float]]:
    """What each value of a setting of the order reaches in each set."""
    return {
        clips: [100 * float(np.mean([each.right(**{name: value}) for each in questions])) for value in values]
        for clips, questions in asked.items()
    }


# ---- partial alignment


def _by_margin(
    folder: Path, sets: Sequence[FootageSet], encoded: dict[str, list[Encoding]]
) -> dict[str, list[float]]:
    """How much smaller errors of key events get than those of whole paths, and how many planted parts fit."""
    planted = {name: _planted(folder / name, encoded) for name in ("golf", "actions")}
    with_events = [each for each in sets if each.events is not None]
    whole = {
        each.name: _event_error(each, encoded[each.name], replace(MOTION, partial="never"))
        for each in with_events
    }
    found: dict[str, list[float]] = {}
    for margin in MARGINS:
        recipe = replace(MOTION, margin=margin)
        for each in with_events:
            error = _event_error(each, encoded[each.name], recipe)
            found.setdefault(f"{each.name}, events", []).append(whole[each.name] / error)
        for name, some in planted.items():
            share = float(np.mean([_is_good(case, recipe) for case in some]))
            found.setdefault(f"{name}, planted", []).append(share)
    return found


def _planted(folder: Path, encoded: dict[str, list[Encoding]]) -> list[Case]:
    if not encoded.get(folder.name):
        return []
    with redirect_stdout(sys.stderr):
        loaded = {name: load(folder.parent / name) for name in ("golf", "actions") if encoded.get(name)}
    takes, rng = loaded[folder.name], np.random.default_rng(1)
    strangers = [take for some in loaded.values() for take in some]
    return [case for build in KINDS.values() for case in cases(build, takes, strangers, PLANTED, rng)]


def _is_good(case: Case, recipe: Recipe) -> bool:
    warp = align_encodings(case.query, case.match, recipe=recipe).warp(keep="query")
    off = np.abs(warp.at(case.query_moments) - case.match_moments).mean() * 30
    return bool(off <= GOOD_FRAMES)


def _event_error(clips: FootageSet, encodings: list[Encoding], recipe: Recipe) -> float:
    """Mean error of the key events of each clip's ten nearest, in seconds."""
    assert clips.events is not None
    alike = ranking.similarity_matrix(encodings, encodings, trajectory=True)
    np.fill_diagonal(alike, -np.inf)
    errors = []
    for query, row, events in zip(encodings, alike, clips.events, strict=True):
        nearest = ranking.best(row.astype(np.float32), TEN).tolist()
        aligned = align_many(query, [encodings[n] for n in nearest], recipe=recipe)
        errors += [_error(a, events, clips.events[n]) for a, n in zip(aligned, nearest, strict=True)]
    return float(np.mean(errors))


def _error(alignment: Alignment, query_events: Doubles, match_events: Doubles) -> float:
    asked = np.interp(query_events, alignment.query_frames, alignment.query_seconds)
    truth = np.interp(match_events, alignment.match_frames, alignment.match_seconds)
    return float(np.abs(alignment.warp(keep="query").at(asked) - truth).mean())


if __name__ == "__main__":
    raise SystemExit(main())
