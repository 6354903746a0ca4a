"""The ranking: one query's candidates in, their order and scores out.

Search, `find`, calibration, every table of `evaluate` and training call this module, so all of them measure
and use the same order. It works on encodings alone: no files, no sea.

The key that orders candidates (lowest first) is named by `Rerank`:

=======  ==================================================================================
order    distance + 1.5·ln(score) + 3·w·ln(contrast): motion's key
product  (1 − similarity) · score: right kind of movement *and* good alignment
draq     the score alone: DRAQ, raised by what a partial alignment leaves out (the paper's)
dtw      the plain cost of the path through both clips as a whole
none     similarity alone: candidates stay as clip vectors order them
=======  ==================================================================================

The distance of motion's key is relative to the sea (`seasync.similarity.Cohort`), so the same numbers mean
the same for all kinds of footage. Contrast shows which take of one movement aligns best. The factor w is
(query seconds / 6)², at most 1: two seconds of movement fit many others in the right order by chance, six
seconds do not. The first place belongs to the lowest key. To the keys of the others, how near they are to
the three best is added: who resembles the best matches is likely to show what they do.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import Recipe, Scores, score_many
from seasync.alignment.judge import COLUMNS, ScoredPieces
from seasync.alignment.prepare import PreparedClip
from seasync.encoding import Encoding, Indices
from seasync.errors import SeaError
from seasync.options import Rerank, expect
from seasync.similarity import NEAREST, Relation

Doubles = NDArray[np.float64]
BEST = 3  # matches that others should resemble
LEAST_SCORE = 1e-3  # a score of 0 is no infinite reason


def _order_key(ranking: "Ranking") -> Doubles:
    recipe, scores, relation = ranking.recipe, ranking.scores, ranking.relation
    if relation:
        distance = relation.distance
    else:
        distance = np.log(np.maximum(1 - ranking.similarity, NEAREST)) / recipe.usual_deviation
    weight = recipe.contrast_weight * min((scores.query_span / recipe.contrast_seconds) ** 2, 1.0)
    contrast = np.log(np.maximum(scores.contrast, LEAST_SCORE))
    return distance + recipe.score_weight * np.log(scores.best_score + LEAST_SCORE) + weight * contrast


_KEYS: dict[Rerank, Callable[["Ranking"], Any]] = {
    "order": _order_key,
    "product": lambda ranking: (1 - ranking.similarity) * ranking.scores.score,
    "draq": lambda ranking: ranking.scores.score,
    "dtw": lambda ranking: np.fmax(ranking.scores.dtw_cost, ranking.scores.whole_cost),
    "none": lambda ranking: -ranking.similarity.astype(np.float64),
}


@dataclass(frozen=True, eq=False)
class Ranking:
    """How one query's B candidates compare.

    Attributes
    ----------
    recipe : Recipe
        Its `rerank` names the key that orders them, unless a method is asked for another one.
    similarity : numpy.ndarray [shape=(B,)]
        Similarity of their clip vectors to the query's.
    scores : Scores
        Costs and coverage of their alignments with the query.
    relation : Relation, optional
        Their distances to the query and among themselves, relative to the sea. Without it, a distance is
        ln(1 − similarity) over a usual deviation, and nearness to the best matches does not count.
    """

    recipe: Recipe
    similarity: NDArray[Any]
    scores: Scores
    relation: Relation | None = None

    def __len__(self) -> int:
        return len(self.similarity)

    @property
    def rerank(self) -> Rerank:
        """The key that orders them."""
        return self.recipe.rerank

    def keys(self, rerank: Rerank | None = None) -> Doubles:
        """The values that decide, lowest first, shape (B,)."""
        return np.asarray(_KEYS[named_key(rerank or self.rerank)](self))

    def order(self, rerank: Rerank | None = None) -> Indices:
        """The candidates' positions, best first, shape (B,). Of equal ones the earlier comes first."""
        keys = self.keys(rerank)
        order = np.argsort(keys, kind="stable")
        if self.relation is None or named_key(rerank or self.rerank) != "order" or len(order) < BEST:
            return order
        best = order[:BEST]
        others = np.arange(len(self))[:, None] != best  # a candidate does not count as its own company
        near = np.where(others, self.relation.among[:, best], 0).sum(1) / others.sum(1)
        keys = keys + self.recipe.company * near
        return np.concatenate([order[:1], order[1:][np.argsort(keys[order[1:]], kind="stable")]])

    def pick(self, rerank: Rerank | None = None) -> int:
        """The position of the best candidate."""
        return int(self.order(rerank)[0])

    def improved(self, others: "Ranking", positions: Sequence[int]) -> tuple["Ranking", list[int]]:
        """Replace candidates by alternatives that rank lower.

        Parameters
        ----------
        others : Ranking
            The alternatives, ranked by the same key.
        positions : sequence of int
            The candidate that each of them may replace, each at most once.

        Returns
        -------
        Ranking
            This ranking with the better ones in place.
        list of int
            The alternatives that were taken, by their positions in `others`.
        """
        places = np.asarray(positions, np.int64)
        taken = np.flatnonzero(others.keys() < self.keys()[places])

        def merged(values: NDArray[Any], better: NDArray[Any]) -> NDArray[Any]:
            out = values.copy()
            out[places[taken]] = better[taken]
            return out

        columns = (merged(getattr(self.scores, name), getattr(others.scores, name)) for name in COLUMNS)
        similarity, relation = merged(self.similarity, others.similarity), self.relation
        if relation and others.relation:
            relation = relation._replace(distance=merged(relation.distance, others.relation.distance))
        own_pieces = self.scores.pieces
        kept = np.setdiff1d(np.arange(len(self)), places[taken])
        pieces = [own_pieces.only(kept.tolist()).renumbered(kept)]
        pieces.append(others.scores.pieces.only(taken.tolist()).renumbered(places[taken]))
        scores = Scores(*columns, query_span=self.scores.query_span, pieces=ScoredPieces.joined(pieces))
        return Ranking(self.recipe, similarity, scores, relation), taken.tolist()


@lru_cache(maxsize=1)
def _warn_of_evidence() -> None:
    warnings.warn("rerank 'evidence' is called 'order' now; the old name goes soon", stacklevel=4)


def named_key(rerank: Rerank) -> Rerank:
    """The key of that name; `evidence` is the former name of `order`."""
    expect("rerank", rerank, Rerank, SeaError)
    if rerank != "evidence":
        return rerank
    _warn_of_evidence()
    return "order"


def rank(
    query: Encoding | PreparedClip,
    candidates: Sequence[Encoding],
    similarity: NDArray[Any],
    *,
    recipe: Recipe,
    rerank: Rerank | None = None,
    relation: Relation | None = None,
) -> Ranking:
    """Rank one query's candidates.

    Parameters
    ----------
    query : Encoding
        What is searched for.
    candidates : sequence of Encoding, length B
        What the clip vectors propose; their mean and trajectory are not used here.
    similarity : numpy.ndarray [shape=(B,)]
        Similarity of their clip vectors to the query's.
    recipe : Recipe
        How the clips are aligned. What its `partial` leaves out of the query raises the score.
    rerank : {"order", "product", "draq", "dtw", "none"}, optional
        What orders them. Default: the recipe's own key.
    relation : Relation, optional
        Their distances relative to the sea; see `Ranking`.

    Returns
    -------
    Ranking
        Scores, keys and order.

    Raises
    ------
    SeaError
        If `rerank` is none of the five.
    """
    chosen = replace(recipe, rerank=named_key(rerank or recipe.rerank))
    return Ranking(chosen, similarity, score_many(query, candidates, recipe=recipe, partial=None), relation)
