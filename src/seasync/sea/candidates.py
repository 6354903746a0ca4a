"""From candidates to matches: rank them, look at the film around them, align the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seasync.align import Alignment, Recipe, align_encodings
from seasync.align.consensus import apply_consensus
from seasync.align.prepare import prepare
from seasync.align.solve import align_with_costs
from seasync.align.spans import Span
from seasync.clip import Clip
from seasync.encoders.vector import cut
from seasync.encoding import Encoding, EncodingBatch
from seasync.options import Partial, Rerank
from seasync.ranking import rank
from seasync.sea.calibration import better_than_random, judged
from seasync.sea.found import Found
from seasync.sea.match import Match, Matches
from seasync.sea.query import Query
from seasync.sea.rows import NUMBERS, lists, matrix
from seasync.sea.snapshot import Snapshot
from seasync.sea.surroundings import spans_around
from seasync.similarity import Neighborhood, clip_vectors_of, query_vector

if TYPE_CHECKING:
    import pyarrow as pa

CONSENSUS_CELLS = 1 << 25  # of all matches' cost matrices with each other: ten clips of 38 seconds
_VECTORS = ["mean", "trajectory"]
KEPT_CELLS = 1 << 20  # of a match's cost matrix: it goes with the match up to 4 MB


class Candidates:
    """One query's candidates: their rows, encodings and ranking.

    Parameters
    ----------
    snapshot : Snapshot
    query : Query
    found : Found
        The B candidates.
    encodings : sequence of Encoding, length B
        Without their clip vectors.
    recipe, rerank, partial
        As in `seasync.ranking.rank`.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        query: Query,
        found: Found,
        encodings: Sequence[Encoding],
        *,
        recipe: Recipe,
        rerank: Rerank | None = None,
        partial: Partial = "auto",
    ) -> None:
        self.snapshot, self.query, self.rows = snapshot, query, found.rows
        self.recipe, self.partial = recipe, partial
        self.encodings = encodings
        # Where the film around a candidate fits the query better than the candidate itself:
        self.stretches: dict[int, Span] = {}
        # Encodings that take the place of those given: of stretches, and with clip vectors.
        self._encodings: dict[int, Encoding] = {}
        standard, neighborhood = snapshot.vectors.standard, None
        self._vector = query_vector(query.encoding, standard, trajectory=recipe.trajectory)
        if (rerank or recipe.rerank) == "evidence" and len(found.rows):
            neighborhood = Neighborhood.of(self._vector, found.vectors, len(standard.mean))
        self.ranking = rank(
            query.encoding,
            encodings,
            found.similarity,
            recipe=recipe,
            rerank=rerank,
            partial=partial,
            neighborhood=neighborhood,
        )
        if recipe.windows and partial != "never" and self.ranking.rerank != "none":
            self._look_around()

    def _look_around(self) -> None:
        found = list(spans_around(self.snapshot, self.query, self.rows, self.recipe))
        if not found:
            return
        positions, spans, encodings = zip(*found, strict=True)
        vectors = clip_vectors_of(encodings, self.snapshot.vectors.standard)
        others = rank(
            self.query.encoding,
            encodings,
            vectors @ self._vector,
            recipe=self.recipe,
            rerank=self.ranking.rerank,
            partial=self.partial,
        )
        self.ranking, taken = self.ranking.improved(others, positions)
        for n in taken:
            self.stretches[positions[n]], self._encodings[positions[n]] = spans[n], encodings[n]

    def matches(
        self, k: int, *, max_draq: float | None = None, consensus: bool | None = None, cost: bool = True
    ) -> Matches:
        """The k best candidates, aligned.

        Parameters
        ----------
        k : int
        max_draq : float, optional
            Leave out candidates with a higher DRAQ.
        consensus : bool, optional
            Let the alignments correct each other; see `seasync.align.consensus`. Default: with a recipe that
            compares trajectories, unless the clips are long.
        cost : bool
            Keep small cost matrices with the alignments.
        """
        best = self._clips(self.order(max_draq), k)
        query, clips = (
            prepare(self.query.encoding, self.recipe),
            [prepare(encoding, self.recipe) for encoding in self._with_vectors(list(best))],
        )
        alignments = align_with_costs(query, clips, recipe=self.recipe, partial=self.partial)
        if consensus or (consensus is None and self._consensus_is_cheap(alignments)):
            alignments = apply_consensus(alignments, clips, partial=self.partial)
        matches = []
        for at, (n, (clip, duration, part)) in enumerate(best.items()):
            aligned = alignments[at]
            kept = cost and aligned.cost is not None and aligned.cost.size <= KEPT_CELLS
            aligned = aligned.of(self.query.clip, clip, ends=(self.query.end, clip.start + duration))
            aligned = aligned if kept else replace(aligned, cost=None)
            similarity = float(self.ranking.similarity[n])
            aligned = judged(self.snapshot, aligned, similarity)
            better = None
            if aligned.likelihood is None:
                [better] = better_than_random(self.snapshot, self.recipe, self.ranking.keys("product")[[n]])
            matches.append(Match(clip, duration, similarity, aligned.likelihood, better, aligned, part))
        return Matches(
            matches,
            query=self.query.clip,
            encoder=self.snapshot.facts.encoder,
            recipe=self.recipe,
            candidates=len(self.rows),
            best_draq=self.best_draq,
        )

    @property
    def best_draq(self) -> float | None:
        """The lowest DRAQ of all candidates."""
        draq = self.ranking.scores.draq
        return float(draq.min()) if len(draq) else None

    def order(self, max_draq: float | None = None) -> list[int]:
        """The candidates by their numbers, best first, without those of a higher DRAQ than `max_draq`."""
        draq = self.ranking.scores.draq
        return [n for n in self.ranking.order().tolist() if max_draq is None or draq[n] <= max_draq]

    def _with_vectors(self, best: list[int]) -> list[Encoding]:
        """The encodings of these candidates with mean and trajectory, which are read only now."""
        bare = [n for n in best if n not in self._encodings]
        if bare:
            self._complete(bare, self.snapshot.take(self.rows[bare], self._missing))
        return [self._encodings[n] for n in best]

    @property
    def _missing(self) -> list[str]:
        """The columns that encodings lack before they are completed."""
        return [*_VECTORS, *([NUMBERS] if isinstance(self.encodings, EncodingBatch) else [])]

    def _complete(self, chosen: list[int], table: pa.Table) -> None:
        """Give the encodings of these candidates what `table` holds of them."""
        vectors = zip(chosen, *(matrix(table[name]) for name in _VECTORS), strict=True)
        if isinstance(self.encodings, EncodingBatch):
            numbers = iter(lists(table[NUMBERS]))
            for n, mean, trajectory in vectors:
                self._encodings[n] = self.encodings.encoding(n, next(numbers), mean, trajectory)
        else:
            for n, mean, trajectory in vectors:
                self._encodings[n] = replace(self.encodings[n], mean=mean, trajectory=trajectory)

    def _consensus_is_cheap(self, alignments: Sequence[Alignment]) -> bool:
        """Whether the matches can be aligned with each other in well under a tenth of a second."""
        lengths = sum(len(alignment.match_seconds) for alignment in alignments)
        return self.recipe.trajectory and lengths**2 <= CONSENSUS_CELLS

    def _clips(self, order: list[int], k: int) -> dict[int, tuple[Clip, float, Clip | None]]:
        """The first k as (clip, duration, the clip that led to it if it is a stretch of a film).

        A stretch is cut to what corresponds, and left out if one before it shows most of it.
        """
        known = self.snapshot.clip_table
        if self.stretches:
            table = known.take(self.snapshot, self.rows[order])
        else:  # what the alignments need besides is read with it
            table = known.take(self.snapshot, self.rows[order[:k]], self._missing)
            self._complete(order[:k], table)
        found: dict[int, tuple[Clip, float, Clip | None]] = {}
        for n, clip, duration in zip(
            order, self.snapshot.clips_of(table), table["duration"].to_pylist(), strict=False
        ):
            if len(found) == k:
                break
            if n not in self.stretches:
                found[n] = clip, duration, None
                continue
            span = self._trimmed(n)
            shown = Clip.of(clip, span.start, span.end), span.end - span.start
            if not any(_shared(shown, other[:2]) > 0.5 for other in found.values()):
                found[n] = *shown, clip
        return found

    def _trimmed(self, n: int) -> Span:
        """A stretch of a film without what its alignment leaves out at the ends.

        The scores of a longer stretch that holds the same movement differ by chance alone, so its ends are
        not known before it is aligned.
        """
        encoding, span = self._encodings[n], self.stretches[n]
        aligned = align_encodings(self.query.encoding, encoding, recipe=self.recipe, partial=self.partial)
        starts, ends = zip(*(piece.match for piece in aligned.pieces), strict=True)
        trimmed = Span(max(span.start, min(starts)), min(span.end, max(ends)))
        if not aligned.whole and trimmed != span:
            self.stretches[n], self._encodings[n] = trimmed, cut(encoding, trimmed.start, trimmed.end)
        return self.stretches[n]


def _shared(one: tuple[Clip, float], other: tuple[Clip, float]) -> float:
    """The share of the shorter of two stretches (clip, duration) that the longer one shows as well."""
    if one[0].file != other[0].file:
        return 0.0
    start = max(one[0].start, other[0].start)
    end = min(clip.start + duration for clip, duration in (one, other))
    return (end - start) / min(one[1], other[1])
