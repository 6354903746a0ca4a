import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from seasync.alignment import draq, draq_many, dtw, dtw_many, random_cost
from seasync.alignment.costs import LONGEST, BatchedCosts, batch_blocks
from seasync.alignment.matrix import disordered_cost, solve_rows
from seasync.alignment.result import reachable_columns
from seasync.errors import FeatureError
from tests import naive

# Few distinct values, so that ties abound; all of them exact in float32.
small_costs = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]))
)


@given(small_costs)
def test_path_is_the_best_of_all_paths_and_ties_go_diagonal_then_up_then_left(cost):
    path, total = dtw(cost)
    expected = naive.dtw(cost)
    assert list(map(tuple, path)) == expected
    assert total == pytest.approx(naive.price(cost, expected))


@given(small_costs, st.sampled_from([0.125, 0.5, 2.0]))
def test_penalty_steers_the_path_and_stays_out_of_its_cost(cost, penalty):
    path, total = dtw(cost, penalty=penalty)
    expected = naive.dtw(cost, penalty=penalty)
    assert list(map(tuple, path)) == expected
    assert total == pytest.approx(naive.price(cost, expected))


@given(small_costs, st.sampled_from([0.0, 0.2, 0.5]))
def test_band_keeps_the_path_near_the_straight_line(cost, band):
    n, m = cost.shape
    width = max(band, 1 / max(n - 1, 1), 1 / max(m - 1, 1)) + 1e-9
    apart = np.abs(np.arange(n)[:, None] / max(n - 1, 1) - np.arange(m) / max(m - 1, 1))
    allowed = (apart <= width) if n > 1 and m > 1 else np.ones((n, m), bool)
    path, _ = dtw(cost, band=band)
    assert list(map(tuple, path)) == naive.dtw(cost, allowed=allowed)


@given(small_costs, st.data())
def test_path_passes_all_anchors_and_is_the_best_that_does(cost, data):
    n, m = cost.shape
    rows = sorted(data.draw(st.lists(st.integers(0, n - 1), max_size=2)))
    columns = sorted(data.draw(st.lists(st.integers(0, m - 1), min_size=len(rows), max_size=len(rows))))
    anchors = list(zip(rows, columns, strict=True))
    path, total = dtw(cost, anchors=anchors)
    expected = naive.dtw(cost, anchors=anchors)
    assert list(map(tuple, path)) == expected
    assert total == pytest.approx(naive.price(cost, expected))


@given(small_costs)
def test_disordered_cost_is_that_of_the_match_backwards_and_begun_half_way(cost):
    assert disordered_cost(cost) == pytest.approx(naive.disordered_cost(cost))


def test_disordered_costs_of_many_are_those_of_each():
    rng = np.random.default_rng(0)
    costs = [rng.random((20, m), dtype=np.float32) for m in (3, 20, 31, 400)]
    np.testing.assert_allclose(
        BatchedCosts(costs).disordered(), [disordered_cost(c) for c in costs], rtol=1e-5
    )


@given(small_costs, st.sampled_from([0.0, 0.1, 1.0]))
def test_reachable_columns_are_those_of_all_paths_that_cost_little_more(cost, more):
    assert list(map(tuple, reachable_columns(cost, more).T)) == naive.reachable_columns(cost, more)


def test_anchors_that_no_path_can_pass_are_refused():
    with pytest.raises(FeatureError, match="no path passes"):
        dtw(np.ones((4, 4)), anchors=[(1, 3), (2, 1)])
    with pytest.raises(FeatureError, match="outside the 4 × 4"):
        dtw(np.ones((4, 4)), anchors=[(4, 0)])


@given(small_costs)
def test_exact_random_cost_is_the_mean_over_every_random_path(cost):
    assert random_cost(cost) == pytest.approx(naive.random_cost(cost), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("shape", [(7, 11), (12, 5)])
def test_exact_random_cost_is_what_100_000_sampled_paths_tend_to(shape):
    rng = np.random.default_rng(3)
    cost = rng.random(shape).astype(np.float32)
    exact = random_cost(cost)
    drawn = naive.sampled_random_costs(cost, 20_000, rng)
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(drawn.mean() - exact) < 4 * error
    sampled = random_cost(cost, paths=100_000, seed=5)
    assert abs(sampled - exact) < 4 * drawn.std() / np.sqrt(100_000)


def test_sampling_repeats_with_its_seed_and_varies_without():
    cost = np.random.default_rng(0).random((9, 9))
    first, again, other = (random_cost(cost, paths=10, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert draq(cost, paths=10, seed=1) == pytest.approx(dtw(cost)[1] / first)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=70), st.randoms())
def test_many_matrices_together_give_exactly_what_each_gives_alone(shapes, random):
    rng = np.random.default_rng(random.getrandbits(32))
    costs = [rng.integers(0, 4, shape) / 4 for shape in shapes]
    for cost, (path, total) in zip(costs, dtw_many(costs), strict=True):
        alone_path, alone_total = dtw(cost)
        assert np.array_equal(path, alone_path)
        assert total == alone_total
    assert draq_many(costs).tolist() == [draq(cost) for cost in costs]


def test_the_longest_matrices_of_a_batch_give_exactly_what_each_gives_alone():
    rng = np.random.default_rng(0)
    shapes = [(LONGEST, LONGEST), (LONGEST, 90), (7, LONGEST), (LONGEST + 1, 50)]
    assert sorted(*batch_blocks(shapes)) == [0, 1, 2]
    costs = [rng.random(shape, np.float32) for shape in shapes]
    for cost, (path, total) in zip(costs, dtw_many(costs), strict=True):
        alone_path, alone_total = dtw(cost)
        assert np.array_equal(path, alone_path)
        assert total == alone_total
    assert draq_many(costs).tolist() == [draq(cost) for cost in costs]


def test_row_blocks_give_exactly_what_the_whole_matrix_gives():
    cost = np.random.default_rng(1).random((50, 37)).astype(np.float32)
    whole = solve_rows([(0, cost)], 50, 37)
    parts = solve_rows([(k, cost[k : k + 7]) for k in range(0, 50, 7)], 50, 37)
    assert np.array_equal(whole.path, parts.path)
    assert (whole.cost, whole.random) == (parts.cost, parts.random)


def test_draq_compares_the_best_path_with_chance():
    aligned = 1 - np.eye(20)
    assert draq(aligned) == 0
    assert 0.6 < draq(np.ones((20, 20))) < 1
    assert draq(np.zeros((3, 4))) == 1


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.full((3, 3), np.nan), "NaN"),
        ([[1.0, np.inf]], "NaN or infinity"),
        (np.zeros((0, 3)), "at least one cell"),
        (np.zeros(3), "expected a matrix"),
    ],
)
def test_costs_that_mean_nothing_are_refused(cost, message):
    many = (lambda c: dtw_many([c, c, c]), lambda c: draq_many([c, c, c]), lambda c: random_cost(c, paths=1))
    for function in (dtw, random_cost, draq, *many):
        with pytest.raises(FeatureError, match=message):
            function(cost)


def test_bad_options_are_refused():
    with pytest.raises(FeatureError, match="band"):
        dtw(np.ones((3, 3)), band=-0.1)
    with pytest.raises(FeatureError, match="paths"):
        random_cost(np.ones((3, 3)), paths=0)
