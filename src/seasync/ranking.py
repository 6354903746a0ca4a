"""The ranking: one query's candidates in, their order and scores out.

Search, `find`, calibration, every table of `evaluate` and training call this module, so all of them measure
and use the same order. It works on encodings alone: no files, no sea.

The key that orders candidates (lowest first) is named by `Rerank`:

=========  =====================================================================================
evidence   (1 − similarity) · best score^⅓ · contrast^w: each counts as much as it tells (motion's key)
product    (1 − similarity) · score: right kind of movement *and* good alignment
draq       the score alone: DRAQ, raised by what a partial alignment leaves out (the paper's key)
dtw        the plain cost of the path
none       similarity alone: candidates stay as clip vectors order them
=========  =====================================================================================

With evidence, similarity is measured among the candidates, where their vectors are known (`Neighborhood`).
Then only the first place belongs to the lowest key. The others are ordered by *company*: who resembles the
best matches is likely to show what they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.alignment import Recipe, Scores, score_many
from seasync.alignment.judge import ScoredPieces
from seasync.alignment.prepare import PreparedClip
from seasync.encoding import Encoding, Indices
from seasync.errors import SeaError
from seasync.options import Rerank, expect
from seasync.similarity import Neighborhood

Doubles = NDArray[np.float64]


def evidence_key(similarity: NDArray[Any], scores: Scores) -> Doubles:
    """(1 − similarity) · best score^⅓ · contrast^w with w = (query seconds / 6)², at most 16; shape (B,).

    A small distance of vectors says more than an equally small score: fits to joints and actions, and to
    gestures and actions, both give the score an exponent of a half or less, even without contrast.

    Two seconds of movement fit many others in the right order by chance, ten seconds do not. So contrast
    hardly counts for short queries, and much for long ones.
    """
    weight = min((scores.query_span / SHORT_SECONDS) ** 2, MOST_WEIGHT)
    return np.asarray((1 - similarity) * np.cbrt(scores.best_score) * scores.contrast**weight)


SHORT_SECONDS = 6.0  # contrast weighs as much as similarity for a query of this length
MOST_WEIGHT = 16.0
VOUCHERS = 3  # the best matches, which others should resemble
COMPANY = 2.0  # resembling them counts this many times as much as resembling the query
# What alignment says about the others: on short clips, less than company does.
COMPANY_POWER = 0.5

_KEYS: dict[Rerank, Callable[[NDArray[Any], Scores], Doubles]] = {
    "evidence": evidence_key,
    "product": lambda similarity, scores: np.asarray((1 - similarity) * scores.score),
    "draq": lambda similarity, scores: scores.score,
    "dtw": lambda similarity, scores: scores.dtw_cost,
    "none": lambda similarity, scores: np.asarray(-similarity, np.float64),
}


@dataclass(frozen=True, eq=False)
class Ranking:
    """How one query's B candidates compare.

    Attributes
    ----------
    rerank : {"evidence", "product", "draq", "dtw", "none"}
        The key that orders them unless a method is asked for another one.
    similarity : numpy.ndarray [shape=(B,)]
        Similarity of their clip vectors to the query's.
    scores : Scores
        Costs and coverage of their alignments with the query.
    neighborhood : Neighborhood, optional
        Their similarities among themselves, which evidence uses.
    """

    rerank: Rerank
    similarity: NDArray[Any]
    scores: Scores
    neighborhood: Neighborhood | None = None

    def __post_init__(self) -> None:
        expect("rerank", self.rerank, Rerank, SeaError)

    def __len__(self) -> int:
        return len(self.similarity)

    def keys(self, rerank: Rerank | None = None) -> Doubles:
        """The values that decide, lowest first, shape (B,)."""
        key, near = rerank or self.rerank, self.neighborhood
        similarity = near.similarity if near and key == "evidence" else self.similarity
        return _KEYS[key](similarity, self.scores)

    def order(self, rerank: Rerank | None = None) -> Indices:
        """The candidates' positions, best first, shape (B,). Of equal ones the earlier comes first."""
        order = np.argsort(self.keys(rerank), kind="stable")
        if self.neighborhood is None or (rerank or self.rerank) != "evidence" or len(order) < 3:
            return order
        first, others = order[:1], order[1:]
        keys = self._company_keys(self.neighborhood, order)
        return np.concatenate([first, others[np.argsort(keys[others], kind="stable")]])

    def _company_keys(self, near: Neighborhood, order: Indices) -> Doubles:
        """(1 − similarity to the query and to its best matches) · √(best score), shape (B,)."""
        best = order[:VOUCHERS]
        trust = 1 / np.maximum(self.keys("evidence")[best], 1e-6)
        weights = np.where(np.arange(len(self))[:, None] == best, 0, trust)  # no clip is its own company
        company = (weights * near.kinship[:, best]).sum(1) / weights.sum(1)
        alike = (near.similarity + COMPANY * company) / (1 + COMPANY)
        return np.asarray((1 - alike) * self.scores.best_score**COMPANY_POWER)

    def pick(self, rerank: Rerank | None = None) -> int:
        """The position of the best candidate."""
        return int(self.order(rerank)[0])

    def improved(self, others: Ranking, positions: Sequence[int]) -> tuple[Ranking, list[int]]:
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
        # The alternatives have no neighborhood, so neither side is compared by it.
        own, places = replace(self, neighborhood=None).keys(), np.asarray(positions, np.int64)
        taken = np.flatnonzero(others.keys() < own[places])

        def merged(values: NDArray[Any], better: NDArray[Any]) -> NDArray[Any]:
            out = values.copy()
            out[places[taken]] = better[taken]
            return out

        names = ("dtw_cost", "random_cost", "query_coverage", "match_coverage", "contrast", "whole_draq")
        columns = (merged(getattr(self.scores, name), getattr(others.scores, name)) for name in names)
        similarity = merged(self.similarity, others.similarity)
        near = self.neighborhood
        if near:
            near = replace(near, similarity=near.similarity + similarity - self.similarity)
        own_pieces = self.scores.pieces
        kept = np.setdiff1d(np.arange(len(self)), places[taken])
        pieces = [own_pieces.only(kept.tolist()).renumbered(kept)]
        pieces.append(others.scores.pieces.only(taken.tolist()).renumbered(places[taken]))
        scores = Scores(*columns, query_span=self.scores.query_span, pieces=ScoredPieces.joined(pieces))
        return Ranking(self.rerank, similarity, scores, near), taken.tolist()


def rank(
    query: Encoding | PreparedClip,
    candidates: Sequence[Encoding],
    similarity: NDArray[Any],
    *,
    recipe: Recipe,
    rerank: Rerank | None = None,
    neighborhood: Neighborhood | None = None,
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
    rerank : {"evidence", "product", "draq", "dtw", "none"}, optional
        What orders them. Default: the recipe's own key.
    neighborhood : Neighborhood, optional
        The candidates' similarities among themselves. Without them, company does not count.

    Returns
    -------
    Ranking
        Scores, keys and order.

    Raises
    ------
    SeaError
        If `rerank` is none of the five.
    """
    key = rerank or recipe.rerank
    expect("rerank", key, Rerank, SeaError)
    return Ranking(key, similarity, score_many(query, candidates, recipe=recipe, partial=None), neighborhood)
