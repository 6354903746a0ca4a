"""From candidates to matches: which of them move in step with the query, best first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.align import Recipe, Scores, align_encodings, score_many
from seasync.align.consensus import agreed
from seasync.align.film import Span
from seasync.clip import Clip
from seasync.encoding import Encoding, Floats
from seasync.errors import SeaError
from seasync.options import Partial, Rerank, expect
from seasync.sea.around import fits_around
from seasync.sea.calibration import alignability
from seasync.sea.match import Match, Matches
from seasync.sea.query import Query
from seasync.sea.record import RowIds, Snapshot
from seasync.sea.rows import CLIP_COLUMNS

KEPT_CELLS = 1 << 20  # of a match's cost matrix: it goes with the match up to 4 MB
KEYS: dict[str, Callable[[NDArray[Any], Scores], NDArray[Any]]] = {
    "product": lambda similarity, scores: (1 - similarity) * scores.score,
    "draq": lambda similarity, scores: scores.score,
    "dtw": lambda similarity, scores: scores.dtw_cost,
    "none": lambda similarity, scores: -similarity,
}


class Ranking:
    """One query's candidates: their rows, similarities and encodings, in no order yet.

    stretches  where the footage around a candidate, which is part of a film, fits better than it does itself
    """

    def __init__(
        self,
        snapshot: Snapshot,
        query: Query,
        rows: RowIds,
        similarity: Floats,
        encodings: Sequence[Encoding],
        *,
        recipe: Recipe,
        rerank: Rerank | None = None,
        partial: Partial = "auto",
    ) -> None:
        self.snapshot, self.query, self.rows, self.similarity = snapshot, query, rows, similarity.copy()
        self.encodings, self.recipe, self.partial = list(encodings), recipe, partial
        self.rerank = rerank or ("draq" if recipe.change_seconds is None else "product")
        expect("rerank", self.rerank, Rerank, SeaError)
        self.stretches: dict[int, Span] = {}
        self.scores = self._scores(self.encodings)
        if recipe.windows and partial != "never" and self.rerank != "none":
            self._look_around()

    def _scores(self, encodings: Sequence[Encoding]) -> Scores:
        return score_many(self.query.encoding, encodings, recipe=self.recipe, partial=self.partial)

    def _look_around(self) -> None:
        found = list(fits_around(self.snapshot, self.query, self.rows, self.recipe))
        if not found:
            return
        encodings = [encoding for _, _, encoding in found]
        means, trajectories = (
            np.stack([getattr(e, part) for e in encodings]) for part in ("mean", "trajectory")
        )
        similarity = self.snapshot.similarities_of(
            self.query.encoding, means, trajectories, trajectory=self.recipe.change_seconds is not None
        )
        better = KEYS[self.rerank](similarity, self._scores(encodings))
        own = self.keys()
        for key, alike, (at, span, encoding) in zip(better, similarity, found, strict=True):
            if key < own[at]:
                self.stretches[at], self.encodings[at], self.similarity[at] = span, encoding, alike
        self.scores = self._scores(self.encodings)

    def keys(self) -> NDArray[Any]:
        """What decides, lowest first."""
        return KEYS[self.rerank](self.similarity, self.scores)

    def matches(
        self, k: int, *, max_draq: float | None = None, consensus: bool = False, cost: bool = True
    ) -> Matches:
        """The k best, aligned, with `consensus` so that they agree; with their cost matrices if `cost`."""
        order = np.argsort(self.keys(), kind="stable").tolist()
        order = [n for n in order if max_draq is None or self.scores.draq[n] <= max_draq]
        best = self._clips(order, k)
        product = KEYS["product"](self.similarity, self.scores)[list(best)]
        likely, better = alignability(self.snapshot, self.recipe, product)
        encodings = [self.encodings[n] for n in best]
        alignments = [
            align_encodings(self.query.encoding, encoding, recipe=self.recipe, partial=self.partial)
            for encoding in encodings
        ]
        if consensus:
            alignments = agreed(alignments, encodings, partial=self.partial)
        matches = []
        for at, (n, (clip, duration, part)) in enumerate(best.items()):
            aligned = alignments[at]
            kept = cost and aligned.cost is not None and aligned.cost.size <= KEPT_CELLS
            aligned = aligned.of(self.query.clip, clip, ends=(self.query.end, clip.start + duration))
            aligned = aligned if kept else replace(aligned, cost=None)
            similarity = float(self.similarity[n])
            matches.append(Match(clip, duration, similarity, likely[at], better[at], aligned, part))
        return Matches(
            matches,
            query=self.query.clip,
            encoder=self.snapshot.about.encoder,
            recipe=self.recipe,
            candidates=len(self.rows),
            best_draq=float(self.scores.draq.min()) if len(self.rows) else None,
        )

    def _clips(self, order: list[int], k: int) -> dict[int, tuple[Clip, float, Clip | None]]:
        """The first k as clips with their durations, and what part of a film a stretch was found by.

        A stretch that another one, or a clip, before it shows most of is left out.
        """
        table = self.snapshot.take(self.rows[order if self.stretches else order[:k]], CLIP_COLUMNS)
        found: dict[int, tuple[Clip, float, Clip | None]] = {}
        for n, clip, duration in zip(
            order, self.snapshot.clips_of(table), table["duration"].to_pylist(), strict=False
        ):
            if n not in self.stretches:
                found[n] = clip, duration, None
                continue
            span = self.stretches[n]
            shown = Clip.of(clip, span.start, span.end), span.end - span.start
            if not any(_shared(shown, other[:2]) > 0.5 for other in found.values()):
                found[n] = *shown, clip
        return dict(islice(found.items(), k))


def _shared(one: tuple[Clip, float], other: tuple[Clip, float]) -> float:
    """The share of the shorter of two stretches (clip, duration) that the longer one shows too."""
    if one[0].file != other[0].file:
        return 0.0
    start = max(one[0].start, other[0].start)
    end = min(clip.start + duration for clip, duration in (one, other))
    return (end - start) / min(one[1], other[1])
