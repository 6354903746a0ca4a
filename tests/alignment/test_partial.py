from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from seasync.alignment import (
    MOTION,
    PAPER,
    align_encodings,
    align_many,
    cost_matrix,
    partial as partial_module,
    random_cost,
    score_many,
)
from seasync.alignment.any_order import best_pieces_in_any_order
from seasync.alignment.costs import BatchedCosts
from seasync.alignment.kernels import LANES
from seasync.alignment.matrix import solve_whole
from seasync.alignment.partial import (
    Prices,
    best_pieces,
    choose_pieces,
    gains_clearly,
    score_batch,
    score_pair,
)
from seasync.errors import FeatureError
from tests import naive
from tests.alignment.clips import encoding, retimed

quarters = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_priced_path_gains_most_of_all_chains_of_paths(n, m, data):
    cost, rows, columns = (
        data.draw(arrays(np.float32, shape, elements=quarters)) for shape in ((n, m), n, m)
    )
    jump = data.draw(quarters)
    recipe = replace(MOTION, price=1.0, jump=1.0)
    prices = Prices(rows[:, None], columns[:, None], np.array([[jump, 0.0]]), recipe)
    gain, paths = best_pieces(cost, prices)
    pieces = [list(map(tuple, path.tolist())) for path in paths]
    assert gain == pytest.approx(naive.priced_gain(cost, rows, columns, pieces) - jump * (len(pieces) - 1))
    assert gain == pytest.approx(naive.best_priced_gain(cost, rows, columns, jump))
    for piece in pieces:
        steps = {(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(piece)}
        assert steps <= set(naive.MOVES)
    for before, after in pairwise(pieces):
        assert after[0][0] > before[-1][0]
        assert after[0][1] > before[-1][1]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=LANES),
    st.integers(0, 99),
    st.sampled_from(["auto", "always", "never"]),
)
def test_many_pairs_together_are_solved_as_each_alone(shapes, seed, partial):
    rng = np.random.default_rng(seed)
    costs = [(rng.random(shape) ** rng.integers(1, 9)).astype(np.float32) for shape in shapes]
    recipe, moving = replace(MOTION, partial=partial), np.ones(len(costs), bool)
    together = score_batch(BatchedCosts(costs), moving, recipe, paths=True, contrast=True)
    unpathed = score_batch(BatchedCosts(costs), moving, recipe, paths=False, contrast=True)
    for lane, cost in enumerate(costs):
        whole = solve_whole(cost)
        pieces = choose_pieces(cost, whole, recipe)
        alone = score_pair(cost, whole, pieces, recipe, random_cost, contrast=True)
        for scores in (together, unpathed):
            for name in (
                "dtw_cost",
                "random_cost",
                "query_coverage",
                "match_coverage",
                "whole_draq",
                "contrast",
            ):
                assert getattr(scores, name)[lane] == pytest.approx(getattr(alone, name)[0], rel=1e-5), name
            assert [box for box, *_ in scores.pieces.of(lane)] == [
                [lane, *box[1:]] for box, *_ in alone.pieces.of(0)
            ]
        for found, expected in zip(together.paths[lane], alone.paths[0], strict=True):
            assert np.array_equal(found, expected)


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 99))
def test_prices_are_a_share_of_what_random_paths_spend(n, m, seed):
    cost = np.random.default_rng(seed).random((n, m), dtype=np.float32)
    prices = Prices.of(cost, MOTION)
    across = n / (n + m)
    assert prices.rows[:, 0] == pytest.approx(0.57 * (1 - across * (1 - across)) * cost.mean(1), rel=1e-5)
    assert prices.columns[:, 0] == pytest.approx(0.57 * (1 - across * (1 - across)) * cost.mean(0), rel=1e-5)
    if min(n, m) >= 10:
        assert prices.whole[0] == pytest.approx(random_cost(cost), rel=0.3)


def course(length, seed):
    """A movement that never rests and is nowhere like itself: many slow oscillations; (length, 64)."""
    rng = np.random.default_rng(seed)
    rates, phases = rng.uniform(0.02, 0.12, 24), rng.uniform(0, 2 * np.pi, 24)
    waves = np.sin(2 * np.pi * np.arange(length)[:, None] * rates + phases)
    return (waves @ rng.normal(size=(24, 64))).astype(np.float32)


def foreign(length, seed):
    """Another movement in another scene."""
    return course(length, 1000 + seed) + np.float32(3)


def noisy(features, seed):
    return features + np.random.default_rng(seed).normal(0, 0.2, features.shape).astype(np.float32)


def joined(*parts):
    """A clip of several shots."""
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return encoding(np.concatenate(parts), shots=starts)


def action(seed, length=40):
    """The same movement twice, the second one retimed and with noise."""
    movement = course(length, seed)
    places = (np.linspace(0, 1, length) ** 1.2) * (length - 1)
    return movement, noisy(retimed(movement, places), seed), places / 7.5


SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_clips_that_correspond_whole_stay_whole(seed):
    one, other, _ = action(seed)
    alignment = align_encodings(encoding(one), encoding(other))
    assert alignment.whole
    assert alignment.verdict == "aligns in full"
    assert alignment.score == pytest.approx(alignment.draq)
    assert np.array_equal(
        alignment.path, align_encodings(encoding(one), encoding(other), partial="never").path
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_foreign_ends_are_left_out(seed):
    one, other, places = action(seed)
    match = joined(foreign(25, seed), other, foreign(25, seed + 50))
    alignment = align_encodings(encoding(one), match)
    assert alignment.alignable
    assert not alignment.whole
    assert alignment.coverage[0] > 0.9 > 0.7 > alignment.coverage[1]
    (start, end), *more = alignment.warp(keep="match").spans
    assert not more
    assert (start, end) == pytest.approx((25 / 7.5, 65 / 7.5), abs=0.5)
    times = 25 / 7.5 + np.arange(4, 36) / 7.5
    assert np.abs(alignment.warp(keep="match").at(times) - places[4:36]).mean() < 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_foreign_middle_is_jumped_over(seed):
    one, other, _ = action(seed, 60)
    match = joined(other[:30], foreign(40, seed), other[30:])
    alignment = align_encodings(encoding(one), match)
    assert len(alignment.pieces) == 2
    left_out = ~alignment.warp(keep="match").covers(np.arange(100) / 7.5)
    assert left_out[34:66].all()
    assert left_out[[*range(26), *range(74, 100)]].mean() < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_half_an_action_finds_its_place_in_the_whole(seed):
    one, other, _ = action(seed, 60)
    alignment = align_encodings(encoding(one[:30]), encoding(other))
    assert alignment.coverage[0] > 0.9
    assert alignment.coverage[1] < 0.75
    assert alignment.alignable
    assert alignment.pieces[-1].match[1] < 6


@pytest.mark.parametrize("seed", SEEDS)
def test_unrelated_clips_do_not_align(seed):
    alignment = align_encodings(encoding(course(60, seed)), encoding(foreign(60, seed)))
    assert not alignment.alignable
    assert alignment.verdict == "does not align"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("length", [60, 300])
def test_order_any_finds_swapped_pieces(seed, length):
    one, other, places = action(seed, length)
    half = length // 2
    match = joined(other[half:], other[:half])
    alignment = align_encodings(encoding(one), match, order="any")
    assert alignment.alignable
    truth = np.concatenate([places[half:], places[:half]])
    times = np.arange(length) / 7.5
    warp = alignment.warp(keep="match")
    good = warp.covers(times) & (np.abs(warp.at(times) - truth) < 0.3)
    assert good.mean() > 0.8
    assert (np.diff([piece.query[0] for piece in alignment.pieces]) > 0).all()
    assert (np.diff([piece.match[0] for piece in alignment.pieces]) < 0).any()
    assert align_encodings(encoding(one), match).score > alignment.score


@pytest.mark.parametrize("seed", SEEDS)
def test_order_any_finds_three_pieces_back_to_front(seed):
    one, other, places = action(seed, 90)
    alignment = align_encodings(encoding(one), joined(other[60:], other[30:60], other[:30]), order="any")
    truth = np.concatenate([places[60:], places[30:60], places[:30]])
    times = np.arange(90) / 7.5
    warp = alignment.warp(keep="match")
    assert (warp.covers(times) & (np.abs(warp.at(times) - truth) < 0.3)).mean() > 0.8


@pytest.mark.parametrize(("misfits", "left_out"), [(3, 0), (15, 0), (22, 22)])
def test_halves_in_the_other_order_correspond_whole_unless_much_does_not_fit(misfits, left_out):
    cost = np.full((40, 40), 1.0, np.float32)
    cost[np.arange(40), (np.arange(40) + 20) % 40] = 0.1
    cost[:misfits] = 1.0
    rows = [
        np.concatenate([piece[:, 0] for piece in best_pieces_in_any_order(cost, Prices.of(cost, recipe))[1]])
        for recipe in (replace(MOTION, order="any", partial=partial) for partial in ("auto", "always"))
    ]
    assert [min(some) for some in rows] == [left_out, misfits]
    assert all(np.unique(some).tolist() == list(range(min(some), 40)) for some in rows)


@settings(max_examples=20)
@given(arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=quarters))
def test_any_order_gains_at_least_what_the_same_order_does(cost):
    prices = Prices.of(cost, replace(MOTION, order="any", partial="always"))
    gain, pieces = best_pieces_in_any_order(cost, prices)
    assert gain >= best_pieces(cost, prices)[0]
    cells = [list(map(tuple, piece.tolist())) for piece in pieces]
    apart = naive.priced_gain(cost, prices.rows[:, 0], prices.columns[:, 0], cells)
    apart -= prices.jumps[0] * (len(pieces) - 1)
    assert gain == pytest.approx(apart, abs=1e-5)


def test_pieces_of_any_order_never_share_a_frame():
    for seed in range(10):
        alignment = align_encodings(
            encoding(course(50, seed)), encoding(foreign(60, seed)), order="any", partial="always"
        )
        for side in (0, 1):
            taken = [set(alignment.path[p.start : p.stop, side].tolist()) for p in alignment.pieces]
            assert sum(map(len, taken)) == len(set().union(*taken))


def test_scores_of_a_partial_alignment_are_those_of_its_pieces():
    one, other, _ = action(2, 60)
    query, match = encoding(one), joined(other[:30], foreign(40, 2), other[30:])
    alignment, cost = align_encodings(query, match), cost_matrix(query, match)
    boxes = [alignment.path[piece.start : piece.stop] for piece in alignment.pieces]
    along = [float(cost[tuple(path.T)].sum(dtype=np.float64)) for path in boxes]
    around = [random_cost(cost[path[0, 0] : path[-1, 0] + 1, path[0, 1] : path[-1, 1] + 1]) for path in boxes]
    assert [piece.dtw_cost for piece in alignment.pieces] == pytest.approx(along)
    assert [piece.random_cost for piece in alignment.pieces] == pytest.approx(around)
    assert alignment.draq == pytest.approx(sum(along) / sum(around))
    rows, columns = cost.mean(1), cost.mean(0)
    covered = [np.unique(np.concatenate(boxes)[:, side]) for side in (0, 1)]
    expected = rows[covered[0]].sum() / rows.sum(), columns[covered[1]].sum() / columns.sum()
    assert alignment.coverage == pytest.approx(expected, rel=1e-4)
    assert alignment.score == pytest.approx(1 - expected[0] ** 0.5 * (1 - alignment.draq), rel=1e-4)
    drawn = align_encodings(query, match, paths=50, seed=1)
    assert [piece.random_cost for piece in drawn.pieces] == [
        random_cost(cost[path[0, 0] : path[-1, 0] + 1, path[0, 1] : path[-1, 1] + 1], paths=50, seed=1)
        for path in boxes
    ]


def test_verdict_names_the_spans():
    one, other, _ = action(1)
    match = joined(foreign(25, 1), other)
    verdict = align_encodings(encoding(one, start=2.0), match).verdict
    assert verdict.startswith("aligns in part: 2.")
    assert "s of the query with 3." in verdict
    assert verdict.endswith("s of the match")
    pieces = align_encodings(encoding(one), match).to_json()["pieces"]
    assert pieces[0]["match"][0] == pytest.approx(25 / 7.5, abs=0.5)


def test_the_papers_recipe_leaves_nothing_out_unless_asked():
    one, other, _ = action(3)
    query, match = encoding(one), joined(foreign(25, 3), other, foreign(25, 4))
    assert align_encodings(query, match, recipe=PAPER).whole
    assert not align_encodings(query, match, recipe=PAPER, partial="always").whole
    assert align_encodings(query, match, partial="never").whole


def test_pieces_pass_through_anchors_and_are_the_best_that_do():
    """A short match, its costs known: every path with jumps that passes the anchors, one by one."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        cost = rng.random((4, 4)).astype(np.float32)
        prices = Prices.of(cost, replace(MOTION, price=0.8))
        anchors = [[(1, 2)], [(0, 1), (2, 3)], [(2, 0)], [(1, 1), (1, 2)]][rng.integers(4)]
        gain, pieces = best_pieces(cost, prices, anchors)
        cells = [tuple(cell) for piece in pieces for cell in piece.tolist()]
        assert set(anchors) <= set(cells)
        best = max(value for value, path in _all_priced(cost, prices) if set(anchors) <= set(path))
        assert gain == pytest.approx(best, abs=1e-4)


def _all_priced(cost, prices):
    """(gain, cells) of every path with jumps through a small matrix."""
    n, m = cost.shape

    def grow(path, gain):
        yield gain, path
        i, j = path[-1]
        for k in range(i, n):
            for last in range(j, m):
                if (k, last) == (i, j):
                    continue
                step = (k - i, last - j)
                new = prices.rows[k, 0] * (k > i) + prices.columns[last, 0] * (last > j) - cost[k, last]
                if step in ((0, 1), (1, 0), (1, 1)):
                    yield from grow([*path, (k, last)], gain + new)
                elif k > i and last > j:
                    yield from grow([*path, (k, last)], gain + new - prices.jumps[0])

    for i in range(n):
        for j in range(m):
            yield from grow([(i, j)], prices.rows[i, 0] + prices.columns[j, 0] - cost[i, j])


def test_an_anchor_moves_a_partial_alignment_and_leaves_it_partial():
    one, other, _ = action(2)
    query, match = joined(foreign(20, 1), one), encoding(other)
    free = align_encodings(query, match)
    assert not free.whole
    start = free.pieces[0].query[0]
    moment = start + 2.0
    partner = float(free.warp().at(moment)) + 0.4
    anchored = align_encodings(query, match, anchors=[(moment, partner)])
    assert not anchored.whole
    assert anchored.pieces[0].query[0] == pytest.approx(start, abs=0.5)
    i = int(np.abs(free.query_seconds - moment).argmin())
    j = int(np.abs(free.match_seconds - partner).argmin())
    assert [i, j] in anchored.path.tolist()
    assert [i, j] not in free.path.tolist()


@pytest.mark.parametrize("length", [60, 300])
def test_anchors_hold_in_any_order_too(length):
    """The halves are swapped; pairs of moments a little off the free path, crossing, are passed exactly."""
    one, other, _ = action(1, length)
    half = length // 2
    query, match = encoding(one), joined(other[half:], other[:half])
    free = align_encodings(query, match, order="any")
    moments = [length / 4 / 7.5, 3 * length / 4 / 7.5]
    anchors = [(moment, float(free.warp().at(moment)) + 0.4) for moment in moments]
    assert anchors[0][1] > anchors[1][1]
    held = align_encodings(query, match, order="any", anchors=anchors)
    for moment, partner in anchors:
        cell = [
            int(np.abs(free.query_seconds - moment).argmin()),
            int(np.abs(free.match_seconds - partner).argmin()),
        ]
        assert cell in held.path.tolist()
        assert cell not in free.path.tolist()
    assert held.coverage[0] > 0.8 * free.coverage[0]
    one_only = align_encodings(query, match, order="any", anchors=anchors[:1])
    assert one_only.draq < 1


@settings(max_examples=30, deadline=None)
@given(arrays(np.float32, st.tuples(st.integers(3, 9), st.integers(3, 9)), elements=quarters))
@example(np.pad(np.full((1, 1), 2, np.float32), ((0, 4), (7, 0))))  # nothing costs but one of the anchors
def test_crossing_anchors_are_both_passed(cost):
    n, m = cost.shape
    anchors = [(0, m - 1), (n - 1, 0)]
    _, pieces = best_pieces_in_any_order(cost, Prices.of(cost, MOTION), anchors)
    assert set(anchors) <= {tuple(cell) for piece in pieces for cell in piece.tolist()}


def test_ranking_prefers_what_covers_the_query():
    one, other, _ = action(0)
    whole, part = encoding(other), encoding(other[:12])
    scores = score_many(encoding(one), [whole, part, encoding(foreign(40, 9))], partial="auto")
    assert scores.score.argmin() == 0
    assert scores.query_coverage[1] < 0.6
    assert scores.score[1] > scores.draq[1]


def test_still_and_single_frames_stay_whole():
    still, one, moving = encoding(np.ones((9, 64))), encoding(course(1, 1)), encoding(course(20, 1))
    for partial in ("auto", "always"):
        for match in (still, one):
            assert align_encodings(moving, match, partial=partial).draq == 1
        assert align_many(moving, [still, one, still], partial=partial)[0].whole


def test_options_that_contradict_each_other_are_refused(monkeypatch):
    query, match = encoding(course(20, 1)), encoding(course(25, 2))
    with pytest.raises(FeatureError, match="a band works only with whole clips"):
        align_encodings(query, match, partial="always", band=0.1)
    with pytest.raises(FeatureError, match=r"anchors 1=2 and 2=1 cross.*order 'any'"):
        align_encodings(query, match, anchors=[(1, 2), (2, 1)])
    with pytest.raises(FeatureError, match="nothing moves"):
        align_encodings(query, encoding(np.ones((25, 64))), order="any", anchors=[(1, 2), (2, 1)])
    with pytest.raises(FeatureError, match="order='any'"):
        align_encodings(query, match, partial="never", order="any")
    with pytest.raises(ValueError, match="partial"):
        align_encodings(query, match, partial="sometimes")
    monkeypatch.setattr(partial_module, "LARGEST", 100)
    assert align_encodings(query, match).whole
    with pytest.raises(FeatureError, match="too long to align in part"):
        align_encodings(query, match, partial="always")


def test_a_recipe_with_a_penalty_can_align_in_part():
    one, other, _ = action(1)
    query, match = encoding(one), joined(foreign(25, 1), other)
    recipe = replace(MOTION, penalty=0.1)
    assert not align_encodings(query, match, recipe=recipe).whole
    assert not align_many(query, [match] * 4, recipe=recipe)[2].whole


def test_pieces_must_gain_clearly_more_than_the_whole():
    """Chance gains as much as a tenth of the whole path's cost."""
    cost = np.full((30, 30), 0.5, np.float32)
    cost[range(30), range(30)] = 0.2
    cost[-6:] = 0.6
    whole, prices = solve_whole(cost), Prices.of(cost, MOTION)
    gain, _ = best_pieces(cost, prices)
    assert gain > MOTION.frame_price * prices.whole[0] - whole.cost
    assert not gains_clearly(gain, prices.whole, whole.cost, MOTION)
    assert choose_pieces(cost, whole, MOTION) == []
    assert choose_pieces(cost, whole, replace(MOTION, margin=0.0))


def test_the_best_score_is_that_of_the_part_or_of_the_whole():
    half, other = encoding(course(25, 0)), encoding(course(50, 0))
    unrelated = encoding(foreign(50, 0))
    for query, match in ((half, other), (half, unrelated), (other, other)):
        cut, whole = (score_many(query, [match], partial=how) for how in ("always", "never"))
        np.testing.assert_allclose(cut.whole_draq, whole.draq, atol=1e-9)
        np.testing.assert_allclose(whole.best_score, whole.draq, atol=1e-9)
        np.testing.assert_allclose(cut.best_score, min(cut.score[0], whole.draq[0]), atol=1e-9)
    assert score_many(half, [other], partial="always").best_score < 0.3


def test_jumps_cost_less_where_pieces_may_come_in_any_order():
    cost = np.full((40, 40), 1.0, np.float32)
    at = np.arange(40)
    cost[at, at], cost[at, (at + 20) % 40] = 0.5, 0.37
    recipe, whole = replace(MOTION, order="any"), solve_whole(cost)
    pieces = choose_pieces(cost, whole, recipe)
    dear = Prices.of(cost, MOTION)
    assert len(pieces) == 2
    assert not gains_clearly(dear.gain(cost, pieces), dear.whole, whole.cost, MOTION)
