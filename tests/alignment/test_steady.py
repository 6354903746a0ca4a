"""Paths stay free where the order of the frames counts, and get steadier where it does not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from seasync.alignment import MOTION, PAPER, align_encodings, align_many, random_cost
from seasync.alignment.costs import BatchedCosts
from seasync.alignment.judge import order_doubt
from seasync.alignment.matrix import disordered_cost, solve_whole
from seasync.alignment.partial import PartialPolicy
from seasync.alignment.prices import Prices, best_pieces
from seasync.alignment.steady import steadiest_path
from tests import naive
from tests.alignment.clips import encoding, retimed, walk

FREE = replace(MOTION, name="free", steady=False)
QUARTERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


def off_pace(path, n, m):
    """How far a path is from a uniform stretch, summed over its cells."""
    path = np.asarray(path)
    return float(((path[:, 0] / (n - 1) - path[:, 1] / (m - 1)) ** 2).sum())


def strangers(seed, length=50, match_length=44):
    """Two clips that have nothing to do with each other."""
    return encoding(walk(length, 64, seed)), encoding(walk(match_length, 64, seed + 1000))


@settings(max_examples=40)
@given(st.integers(2, 4), st.integers(2, 4), st.data())
def test_the_steadiest_path_is_cheap_enough_and_never_less_steady_than_the_cheapest(n, m, data):
    cost = data.draw(arrays(np.float32, (n, m), elements=QUARTERS))
    more = data.draw(QUARTERS)
    whole, motion = solve_whole(cost), (np.ones(n, np.float32), np.ones(m, np.float32))
    path = steadiest_path(cost, whole, more, motion)
    cells = list(map(tuple, path.tolist()))
    assert cells in [list(each) for each in naive.all_paths(n, m)]
    assert sum(cost[cell] for cell in cells) <= whole.cost + more + 1e-6
    assert off_pace(path, n, m) <= off_pace(whole.path, n, m) + 1e-6


@given(st.integers(2, 4), st.integers(2, 4), st.integers(0, 99))
@settings(max_examples=20)
def test_with_nothing_to_save_it_is_the_steadiest_of_all_paths(n, m, seed):
    cost = np.random.default_rng(seed).uniform(0.5, 1, (n, m)).astype(np.float32)
    path = steadiest_path(cost, solve_whole(cost), np.inf, (np.ones(n, np.float32), np.ones(m, np.float32)))
    best = min(off_pace(each, n, m) for each in naive.all_paths(n, m))
    assert off_pace(path, n, m) == pytest.approx(best, abs=0.01)


def test_a_steady_pace_counts_movement_beside_time():
    """A clip that moves only at its end: most of its time passes before that, but none of its movement."""
    cost = np.ones((20, 20), np.float32)
    late = np.r_[np.zeros(15), np.full(5, 4.0)].astype(np.float32)
    path = steadiest_path(cost, solve_whole(cost), np.inf, (late, np.ones(20, np.float32)))
    partner = path[path[:, 0] == 14, 1].mean()
    assert 7 < partner < 11  # 14 by time alone, 2 by movement alone


@pytest.mark.parametrize("seed", range(6))
def test_paths_between_strangers_are_steadier_than_the_cheapest(seed):
    query, match = strangers(seed)
    steady, free = (align_encodings(query, match, recipe=each, partial="never") for each in (MOTION, FREE))
    assert steady.draq == free.draq
    n, m = free.cost.shape
    assert off_pace(steady.path, n, m) <= off_pace(free.path, n, m)
    doubt = order_doubt(free.dtw_cost, disordered_cost(free.cost))
    spent = steady.cost[tuple(steady.path.T)].sum(dtype=np.float64) - free.dtw_cost
    assert spent <= 0.1 * doubt * np.sqrt(free.dtw_cost * free.random_cost) + 1e-4


def test_some_path_between_strangers_really_changes():
    changed = 0
    for seed in range(6):
        steady, free = (
            align_encodings(*strangers(seed), recipe=each, partial="never") for each in (MOTION, FREE)
        )
        changed += not np.array_equal(steady.path, free.path)
    assert changed >= 3


def test_a_steadier_path_pairs_movement_with_movement_about_as_well():
    for seed in range(30):
        steady, free = (
            align_encodings(*strangers(seed), recipe=each, partial="never") for each in (MOTION, FREE)
        )
        steady_alike, free_alike = (
            np.corrcoef(each.query_motion[each.path[:, 0]], each.match_motion[each.path[:, 1]])[0, 1]
            for each in (steady, free)
        )
        assert steady_alike >= free_alike - 0.1 - 1e-6


def test_where_the_order_counts_nothing_changes():
    course = walk(60, 64, 3)
    match = retimed(course, 59 * np.linspace(0, 1, 70) ** 1.7)
    rng = np.random.default_rng(0)
    pair = encoding(course), encoding(match + rng.normal(scale=1.5, size=match.shape))
    steady, free = (align_encodings(*pair, recipe=each) for each in (MOTION, FREE))
    assert np.array_equal(steady.path, free.path)


def test_the_paper_recipe_takes_the_cheapest_path():
    alignment = align_encodings(*strangers(0), recipe=PAPER)
    assert np.array_equal(alignment.path, solve_whole(alignment.cost).path)


def test_many_pairs_are_steadied_as_one():
    query, first = strangers(0)
    matches = [first, *(strangers(seed)[1] for seed in range(1, 5))]
    for alone, together in zip(
        [align_encodings(query, match) for match in matches], align_many(query, matches), strict=True
    ):
        assert np.array_equal(alone.path, together.path)


def test_a_steadier_path_passes_anchors_and_stays_in_the_band():
    query, match = strangers(0)
    anchored = align_encodings(query, match, anchors=[(2.0, 1.0)], partial="never")
    cell = np.abs(anchored.query_seconds - 2.0).argmin(), np.abs(anchored.match_seconds - 1.0).argmin()
    assert (anchored.path == cell).all(1).any()
    banded = align_encodings(query, match, band=0.05)
    n, m = banded.cost.shape
    assert np.abs(banded.path[:, 0] / (n - 1) - banded.path[:, 1] / (m - 1)).max() <= 0.05 + 1e-9


def test_leaving_out_must_save_more_where_the_order_is_in_doubt():
    """Of random matrices, some gain enough in part if the order is sure, but not if it is in doubt."""
    policy, rng, stays = PartialPolicy.of(MOTION, "auto", "same"), np.random.default_rng(0), 0
    for _ in range(300):
        cost = (rng.uniform(0.1, 1, rng.integers(10, 40, 2)) ** 2).astype(np.float32)
        whole, prices = solve_whole(cost), Prices.of(cost, MOTION.threshold)
        gain = best_pieces(cost, prices)[0]
        doubt = float(order_doubt(whole.cost, disordered_cost(cost)))
        found, batch = policy.choose(cost, whole, random_cost), BatchedCosts([cost])
        assert policy.choose_batched(batch, [whole], [True])[0].coverage == pytest.approx(found.coverage)
        for contrast in (False, True):
            scores, _ = policy.score_batched(batch, np.ones(1, bool), contrast=contrast)
            assert scores[0, 2:4].tolist() == pytest.approx(found.coverage)
        if prices.better(gain, whole.cost) and not prices.better(gain, whole.cost, doubt):
            claimed = found.cost / found.random < MOTION.threshold
            assert found.coverage == (1.0, 1.0) or max(found.coverage) < 0.5 or not claimed
            stays += found.coverage == (1.0, 1.0)
    assert stays
