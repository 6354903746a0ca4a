"""The answer to a search in the form that JSON has.

There are no paths in it, so what ranking found out says it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seasync.align.fit import Fit
from seasync.align.grid import grid_of
from seasync.align.likelihood import RawVector, is_calibrated, likelihood
from seasync.encoding import seconds_of
from seasync.json_forms import SearchForm
from seasync.sea.calibration import better_than_random, judged
from seasync.sea.candidates import Candidates
from seasync.sea.match import match_form, verdict_of
from seasync.sea.rows import matrix

if TYPE_CHECKING:
    import pyarrow as pa


def search_form(ranked: Candidates, k: int, *, max_draq: float | None = None) -> SearchForm:
    """What `Candidates.matches` says in JSON, without aligning the candidates again.

    Parameters
    ----------
    ranked : Candidates
    k : int
    max_draq : float, optional
        Leave out candidates with a higher DRAQ.
    """
    if ranked.stretches:  # what they are cut to depends on their alignments
        return ranked.matches(k, max_draq=max_draq, consensus=False, cost=False).form()
    snapshot, query, recipe = ranked.snapshot, ranked.query, ranked.recipe
    order = ranked.order(max_draq)[:k]
    vectors = ["mean", "trajectory"] if is_calibrated(query.encoding.encoder, recipe) else []
    table = snapshot.clip_table.take(snapshot, ranked.rows[order], vectors)
    clips, lengths = snapshot.clips_of(table), table["duration"].to_pylist()
    ends = [clip.start + length for clip, length in zip(clips, lengths, strict=True)]
    likely = _likelihoods(ranked, order, table) if vectors else [None] * len(order)
    fits = [fit.until((query.end, end)) for fit, end in zip(_fits(ranked, order, likely), ends, strict=True)]
    shares: list[float | None] = [None] * len(fits)
    if any(fit.likelihood is None for fit in fits):
        shares = better_than_random(snapshot, recipe, ranked.ranking.keys("product")[order])
    columns = zip(fits, clips, ends, ranked.ranking.similarity[order].tolist(), shares, strict=True)
    return SearchForm(
        query=None if query.clip is None else query.clip.form(),
        encoder=snapshot.facts.encoder,
        recipe=recipe.name,
        threshold=recipe.threshold,
        candidates=len(ranked.rows),
        best_draq=ranked.best_draq,
        verdict=verdict_of(fits, recipe, candidates=len(ranked.rows), best_draq=ranked.best_draq),
        matches=[
            match_form(fit, rank=rank, clip=clip.form(end=end), similarity=alike, better_than=share)
            for rank, (fit, clip, end, alike, share) in enumerate(columns, 1)
        ],
    )


def _fits(ranked: Candidates, chosen: list[int], likelihoods: Sequence[float | None]) -> list[Fit]:
    """How well these candidates fit the query, judged as their alignments would be."""
    ranking, recipe = ranked.ranking, ranked.recipe
    query = grid_of(ranked.query.encoding.seconds, recipe)
    fits = []
    for n, likely in zip(chosen, likelihoods, strict=True):
        fit = Fit.of(ranking.scores, n, query, grid_of(seconds_of(ranked.encodings, n), recipe), recipe)
        fits.append(judged(ranked.snapshot, replace(fit, likelihood=likely), float(ranking.similarity[n])))
    return fits


def _likelihoods(ranked: Candidates, chosen: list[int], table: pa.Table) -> list[float | None]:
    """How likely each of these candidates shows the query's movement; `table` has their raw vectors."""
    query, best = ranked.query.encoding, ranked.ranking.scores.best_score
    vectors = zip(matrix(table["mean"]), matrix(table["trajectory"]), strict=True)
    return [
        likelihood(query, RawVector(query.encoder, *parts), float(best[n]), ranked.recipe)
        for n, parts in zip(chosen, vectors, strict=True)
    ]
