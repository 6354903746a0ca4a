"""The one ranking: what decides, and that evaluation and search agree on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER, Recipe, Scores, align_many, cost_matrix, dtw
from seasync.alignment.judge import ScoredPieces
from seasync.alignment.matrix import disordered_cost
from seasync.encoding import Encoding
from seasync.errors import SeaError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.study import Study
from seasync.options import Rerank
from seasync.ranking import Cohort, Ranking, Relation, cohort_of, rank
from seasync.sea.sea import Sea
from tests.sea.footage import encoding, facts, row

SIMILARITY = np.array([0.9, 0.8, 0.1, 0.5])
SCORES = Scores(
    dtw_cost=np.array([4.0, 2.0, 1.0, 0.0]),
    random_cost=np.array([8.0, 8.0, 8.0, 0.0]),
    query_coverage=np.array([1.0, 0.25, 1.0, 1.0]),
    match_coverage=np.ones(4),
    contrast=np.array([0.5, 1.0, 0.25, 1.0]),
    whole_draq=np.array([0.5, 0.125, 0.125, 1.0]),
    whole_cost=np.array([4.0, 9.0, 1.0, 0.0]),
    query_span=6.0,
)


def by(rerank: Rerank) -> Recipe:
    return replace(MOTION, rerank=rerank)


@pytest.mark.parametrize(
    ("rerank", "keys", "order"),
    [
        (
            "order",
            np.log([0.1, 0.2, 0.9, 0.5]) / 0.2
            + 1.5 * np.log(np.array([0.5, 0.125, 0.125, 1.0]) + 1e-3)
            + 3 * np.log([0.5, 1.0, 0.25, 1.0]),
            [0, 1, 2, 3],
        ),
        ("product", [0.05, 0.125, 0.1125, 0.5], [0, 2, 1, 3]),
        ("draq", [0.5, 0.625, 0.125, 1.0], [2, 0, 1, 3]),
        ("dtw", [4.0, 9.0, 1.0, 0.0], [3, 2, 0, 1]),  # the second one's is the cost of a quarter of the query
        ("none", [-0.9, -0.8, -0.1, -0.5], [0, 1, 3, 2]),
    ],
)
def test_each_key_is_what_it_is_documented_to_be(rerank, keys, order):
    ranking = Ranking(by(rerank), SIMILARITY, SCORES)
    np.testing.assert_allclose(ranking.keys(), keys)
    assert ranking.order().tolist() == order
    assert ranking.pick() == order[0]
    assert Ranking(by("dtw"), SIMILARITY, SCORES).order(rerank).tolist() == order


def test_the_former_name_of_the_order_works_with_a_warning():
    ranking = Ranking(by("order"), SIMILARITY, SCORES)
    with pytest.warns(UserWarning, match="'evidence' is called 'order' now"):
        keys = ranking.keys("evidence")
    np.testing.assert_array_equal(keys, ranking.keys())


def test_who_is_near_the_best_matches_comes_next_and_the_first_stays():
    similarity = np.array([0.8, 0.7, 0.6, 0.5, 0.5])
    scores = Scores(np.full(5, 4.0), np.full(5, 8.0), np.ones(5), np.ones(5))
    distance, among = np.array([-2.0, -1.5, -1.0, -0.5, -0.5]), np.zeros((5, 5))
    among[4, :3] = among[:3, 4] = -3.0
    alone = Ranking(by("order"), similarity, scores)
    assert alone.order().tolist() == [0, 1, 2, 3, 4]
    in_company = replace(alone, relation=Relation(distance, among))
    assert in_company.order().tolist() == [0, 4, 1, 2, 3]
    assert in_company.order("product").tolist() == alone.order("product").tolist()
    apart = replace(alone, relation=Relation(distance, -9 * np.eye(5)))
    assert apart.order().tolist() == alone.order().tolist()  # a candidate is no company of its own
    few = Ranking(
        by("order"), similarity[:2], Scores(*np.ones((4, 2))), Relation(distance[:2], among[:2, :2])
    )
    assert few.order().tolist() == [0, 1]


def test_the_order_compares_relative_to_the_sea_and_other_keys_do_not():
    scores = Scores(np.full(3, 4.0), np.full(3, 8.0), np.ones(3), np.ones(3))
    relation = Relation(np.array([-1.0, -2.0, -3.0]), np.zeros((3, 3)))
    ranking = Ranking(by("order"), np.array([0.93, 0.92, 0.91]), scores, relation)
    assert ranking.pick() == 2
    assert ranking.pick("product") == 0


def test_distances_are_relative_to_how_far_each_clip_is_from_the_cohort():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 6)) + np.array([2.0, 0, 0, 0, 0, 0])
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    cohort = cohort_of(vectors)
    found = cohort.relate(vectors[0], vectors[1:])
    apart = np.log(np.maximum(1 - vectors.astype(float) @ vectors.T.astype(float), 1e-6))
    np.fill_diagonal(apart, np.nan)  # a clip does not count for itself
    mean, deviation = np.nanmean(apart, 1), np.nanstd(apart, 1)
    deviation = np.maximum(deviation, np.median(deviation) / 4)
    both = (apart - mean) / deviation
    expected = (both + both.T) / 2
    np.testing.assert_allclose(found.distance, expected[0, 1:], atol=1e-3)
    others = ~np.eye(39, dtype=bool)
    np.testing.assert_allclose(found.among[others], expected[1:, 1:][others], atol=1e-3)
    np.testing.assert_allclose(found.among, found.among.T, atol=1e-9)
    assert cohort_of(vectors[:4]) is None
    again = Cohort(vectors).relate(vectors[0], vectors[1:])
    np.testing.assert_array_equal(again.distance, found.distance)


def test_an_unknown_key_is_refused():
    with pytest.raises(SeaError, match="rerank='best': expected one of order, product, draq, dtw, none"):
        rank(encoding(0), [encoding(1)], np.ones(1), recipe=MOTION, rerank="best")


def test_alternatives_replace_only_candidates_that_rank_worse():
    others = Ranking(
        by("draq"),
        np.array([0.3, 0.2]),
        Scores(np.array([1.0, 7.0]), np.array([8.0, 8.0]), np.ones(2), np.ones(2)),
    )
    improved, taken = Ranking(by("draq"), SIMILARITY, SCORES).improved(others, [1, 2])
    assert taken == [0]
    np.testing.assert_allclose(improved.keys(), [0.5, 0.125, 0.125, 1.0])
    np.testing.assert_allclose(improved.similarity, [0.9, 0.3, 0.1, 0.5])
    np.testing.assert_allclose(SCORES.dtw_cost, [4, 2, 1, 0])


def test_alternatives_bring_their_pieces_and_the_others_keep_theirs():
    def scores(costs: list[float], boxes: list[list[int]]) -> Scores:
        count, pieces = len(costs), len(boxes)
        parts = ScoredPieces(np.array(boxes), np.arange(pieces, dtype=float), np.ones(pieces))
        return Scores(np.array(costs), np.full(count, 8.0), np.ones(count), np.ones(count), pieces=parts)

    own = scores([4.0, 4.0, 4.0], [[1, 0, 0, 2, 2], [2, 1, 1, 3, 3], [2, 5, 5, 3, 3]])
    better = scores([6.0, 1.0], [[0, 7, 7, 2, 2], [1, 8, 8, 2, 2]])
    ranking = Ranking(by("draq"), np.zeros(3), own)
    improved, taken = ranking.improved(Ranking(by("draq"), np.zeros(2), better), [2, 1])
    assert taken == [1]
    said = [[box for box, _, _ in improved.scores.pieces.of(n)] for n in range(3)]
    assert said == [[], [[1, 8, 8, 2, 2]], [[2, 1, 1, 3, 3], [2, 5, 5, 3, 3]]]


@pytest.mark.parametrize("recipe", [MOTION, PAPER])
def test_the_recipe_decides_the_key_and_scores_are_those_of_the_alignments(recipe):
    query, candidates = encoding(0), [encoding(n, kind=n % 2) for n in range(1, 6)]
    similarity = np.linspace(0.9, 0.5, 5)
    ranking = rank(query, candidates, similarity, recipe=recipe)
    assert ranking.rerank == recipe.rerank
    aligned = Scores.of_alignments(align_many(query, candidates, recipe=recipe, partial="auto"))
    np.testing.assert_array_equal(ranking.scores.score, aligned.score)
    np.testing.assert_array_equal(ranking.keys("product"), Ranking(by("product"), similarity, aligned).keys())
    np.testing.assert_array_equal(ranking.keys("draq"), Ranking(by("draq"), similarity, aligned).keys())


def test_contrast_is_the_cost_over_that_of_the_match_out_of_order_and_counts_more_for_long_queries():
    candidates = [encoding(n, kind=n % 2) for n in range(1, 6)]
    similarity = np.linspace(0.9, 0.5, 5)
    weights = []
    for frames in (16, 48):
        query = encoding(0, frames=frames)
        ranking = rank(query, candidates, similarity, recipe=MOTION.asked(partial="never"))
        costs = [cost_matrix(query, match) for match in candidates]
        expected = [dtw(cost)[1] / disordered_cost(cost) for cost in costs]
        np.testing.assert_allclose(ranking.scores.contrast, expected, rtol=1e-4)
        uncontrasted = np.log(1 - similarity) / 0.2 + 1.5 * np.log(ranking.scores.best_score + 1e-3)
        weights.append(np.mean((ranking.keys("order") - uncontrasted) / np.log(expected)))
    assert weights == pytest.approx([3 * (15 / 7.5 / 6) ** 2, 3.0], rel=1e-3)  # six seconds count in full


def composite(seed: int) -> Encoding:
    """A clip whose first half is one of three movements and whose second half is its own."""
    first, second = (
        encoding(seed, kind=seed % 3, frames=24),
        encoding(1000 + seed, kind=50 + seed, frames=24),
    )
    features = np.concatenate([first.features, second.features])
    numbers = np.arange(len(features)) * 2
    stream = replace(
        first.streams[0], features=features, seconds=numbers / 15, frames=numbers, shots=np.array([0])
    )
    return replace(first, streams=(stream,))


@pytest.mark.parametrize("rerank", ["order", "product", "draq", "dtw", "none"])
@pytest.mark.parametrize("recipe", [MOTION, PAPER], ids=lambda recipe: recipe.name)
def test_the_tables_and_a_search_put_the_same_clips_in_the_same_order(
    tmp_path: Path, recipe: Recipe, rerank
) -> None:
    """`evaluate rerank` measures what `Sea.search` does, also where clips align only in part."""
    made = [row(n, kind=n % 3, label=f"kind {n % 3}", frames=24) for n in range(12)]
    made += [replace(row(n, label="parts"), encoding=composite(n)) for n in range(12, 18)]
    sea = Sea(tmp_path / "s.sea")
    sea.record.append(made, facts())
    study = Study.of(open_dataset(sea.uri))
    candidates = study.retrieved(recipe, recipe.candidates)
    rankings = study.rankings(candidates, recipe)
    for at, (chosen, ranking) in enumerate(zip(candidates, rankings, strict=True)):
        matches = sea.search(made[at].entry.clip, recipe=recipe, rerank=rerank, k=len(chosen))
        expected = [made[n].entry.clip.id for n in chosen[ranking.order(rerank)]]
        assert [match.clip.id for match in matches] == expected
    coverage = np.concatenate([ranking.scores.query_coverage for ranking in rankings])
    assert (coverage < 1).any() == (recipe is MOTION)
