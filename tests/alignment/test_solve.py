import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seasync.alignment import (
    MOTION,
    PAPER,
    Recipe,
    align_encodings,
    align_many,
    cost_matrix,
    costs as cost_module,
    dtw,
    matrix as matrix_module,
    random_cost,
    score_many,
)
from seasync.alignment.costs import CostPair, in_this_thread, in_threads
from seasync.alignment.prepare import prepare
from seasync.errors import FeatureError
from tests.alignment.clips import encoding, retimed, walk

RECIPES = [PAPER, MOTION]


def warped_pair(length=60, seed=0, width=16):
    """A clip, the same course under a known monotone warp, and that warp in samples."""
    course = walk(length, width, seed)
    places = np.linspace(0, 1, length) ** 1.5 * (length - 1)
    return encoding(course), encoding(retimed(course, places)), places


def test_importing_align_does_not_load_the_kernels():
    code = (
        "import sys; from seasync.alignment import MOTION, Warp; "
        "assert 'seasync.alignment.kernels' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_exported_name_exists():
    room = import_module("seasync.alignment")
    assert set(room.__all__) == {name for names in room._HOMES.values() for name in names}
    assert all(getattr(room, name) is not None for name in room.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = room.nothing


@pytest.mark.parametrize("recipe", RECIPES)
def test_alignment_is_the_path_and_the_scores_of_its_cost_matrix(recipe):
    query, match, _ = warped_pair()
    alignment = align_encodings(query, match, recipe=recipe)
    cost = cost_matrix(query, match, recipe=recipe)
    path, total = dtw(cost)
    assert np.array_equal(alignment.path, path)
    assert (alignment.dtw_cost, alignment.random_cost) == (total, random_cost(cost))
    assert alignment.draq == pytest.approx(total / random_cost(cost))
    assert np.array_equal(alignment.cost, cost)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_known_warp_is_found(recipe):
    query, match, places = warped_pair()
    alignment = align_encodings(query, match, recipe=recipe)
    found = alignment.warp(keep="match").at(match.seconds)
    assert np.abs(found - places / 7.5).mean() < 1 / 7.5
    assert alignment.alignable
    assert alignment.verdict == "aligns in full"


@settings(max_examples=15)
@given(
    st.lists(st.integers(1, 70), min_size=1, max_size=40),
    st.sampled_from([(PAPER, "never"), (MOTION, "never"), (MOTION, "auto"), (PAPER, "always")]),
    st.integers(0, 99),
)
def test_many_matches_together_give_what_each_gives_alone(lengths, manner, seed):
    recipe, partial = manner
    query = encoding(walk(30, 4, seed))
    matches = [encoding(walk(length, 4, seed + k)) for k, length in enumerate(lengths)]
    matches.append(encoding(np.ones((5, 4))))
    together = align_many(query, matches, recipe=recipe, partial=partial)
    scores = score_many(query, matches, recipe=recipe, partial=partial)
    for k, match in enumerate(matches):
        alone = align_encodings(query, match, recipe=recipe, partial=partial)
        assert np.array_equal(together[k].path, alone.path)
        assert [(p.query, p.match) for p in together[k].pieces] == [(p.query, p.match) for p in alone.pieces]
        scored = scores.query_coverage[k], scores.match_coverage[k], scores.score[k], scores.draq[k]
        for one in (together[k], alone):
            assert (*one.coverage, one.score, one.draq) == near(scored)
            assert (one.dtw_cost, one.random_cost) == near((scores.dtw_cost[k], scores.random_cost[k]))


def near(values):
    return pytest.approx(values, rel=1e-5, abs=1e-6)


def test_threads_do_not_disturb_each_other():
    query, matches = encoding(walk(30)), [encoding(walk(20 + k, seed=k)) for k in range(20)]
    expected = score_many(query, matches, partial="auto").score
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: score_many(query, matches, partial="auto").score, range(40)))
    for each in found:  # the last bit of a sum may depend on where the arrays lie in memory
        np.testing.assert_allclose(each, expected, rtol=1e-6)


def test_work_can_be_kept_in_one_thread():
    threads = lambda _: threading.get_ident()  # noqa: E731
    here = threading.get_ident()
    with in_this_thread():
        assert in_threads(threads, range(4)) == [here] * 4
        with ThreadPoolExecutor(1) as pool:  # it holds for this thread alone
            assert here not in pool.submit(in_threads, threads, range(4)).result()
    assert (os.cpu_count() == 1) == (here in in_threads(threads, range(4)))


def test_a_penalty_is_a_share_of_the_mean_cost_and_not_part_of_draq():
    query, matches = encoding(walk(20)), [encoding(walk(25, seed=k)) for k in range(4)]
    recipe = replace(MOTION, penalty=0.1)
    cost = cost_matrix(query, matches[0])
    path, total = dtw(cost, penalty=0.1 * float(cost.mean(dtype=np.float64)))
    alignment = align_encodings(query, matches[0], recipe=recipe)
    assert np.array_equal(alignment.path, path)
    assert alignment.draq == pytest.approx(total / random_cost(cost))
    assert align_many(query, matches, recipe=recipe)[0].draq == alignment.draq
    assert score_many(query, matches, recipe=recipe).draq[0] == alignment.draq


def test_no_matches_give_no_alignments():
    assert align_many(encoding(walk(9)), []) == []
    assert score_many(encoding(walk(9)), []).draq.shape == (0,)


def test_long_pairs_are_solved_block_by_block_with_the_same_result(monkeypatch):
    query, match, _ = warped_pair(length=150)
    whole = align_encodings(query, match)
    monkeypatch.setattr(cost_module, "_WHOLE", 1000)
    monkeypatch.setattr(cost_module, "_BLOCK", 2000)
    blocks = align_encodings(query, match)
    assert blocks.cost is None
    assert np.array_equal(blocks.path, whole.path)
    assert blocks.draq == pytest.approx(whole.draq, rel=1e-5)
    with pytest.raises(FeatureError, match="too long to draw 10 paths"):
        align_encodings(query, match, paths=10)


def test_pairs_too_long_for_memory_are_refused_with_advice(monkeypatch):
    monkeypatch.setattr(matrix_module, "_MOVES_BYTES", 1000)
    with pytest.raises(FeatureError, match="align shorter spans"):
        align_encodings(encoding(walk(90)), encoding(walk(90)))


def test_anchors_are_moments_the_warp_passes_through():
    query, match, _ = warped_pair()
    alignment = align_encodings(query, match, anchors=[(2.0, 3.0)])
    cells = alignment.path
    times = np.stack([alignment.query_seconds[cells[:, 0]], alignment.match_seconds[cells[:, 1]]], axis=1)
    assert np.isclose(times, [2.0, 3.0], atol=1 / 30 + 1e-9).all(1).any()
    with pytest.raises(FeatureError, match=r"anchor at 99 s: the match has only 0.00–8.00 s"):
        align_encodings(query, match, anchors=[(2.0, 99)])


def test_a_band_and_drawn_paths_reach_the_kernels():
    query, match, _ = warped_pair()
    narrow = align_encodings(query, match, band=0.02)
    assert np.abs(narrow.path[:, 0] - narrow.path[:, 1]).max() <= 3
    drawn = align_encodings(query, match, paths=5, seed=3)
    assert drawn.random_cost == random_cost(drawn.cost, paths=5, seed=3)


@pytest.mark.parametrize("still", [np.ones((12, 16)), np.zeros((12, 16)), np.full((1, 16), 3.0)])
def test_a_motionless_clip_gets_draq_one(still):
    moving, frozen = encoding(walk(20, 16)), encoding(still)
    for alignment in (align_encodings(moving, frozen), align_encodings(frozen, moving)):
        assert alignment.draq == 1
        assert not alignment.alignable
        assert alignment.verdict == "does not align"
        alignment.warp().inverse().at(1.0)
    assert score_many(moving, [frozen] * 5).draq.tolist() == [1] * 5
    # Kernels that write many matrices at once go by this: a wrong one lets them read beyond the frames.
    pair = [prepare(clip, MOTION) for clip in (moving, frozen)]
    assert CostPair(*pair, MOTION).factors == (pair[0].factor, pair[1].factor)


@pytest.mark.parametrize("recipe", RECIPES)
def test_single_frames_align_with_anything(recipe):
    one, many = encoding(walk(1)), encoding(walk(9))
    for query, match in ((one, many), (many, one), (one, one)):
        alignment = align_encodings(query, match, recipe=recipe)
        assert alignment.path[0].tolist() == [0, 0]
        assert alignment.path[-1].tolist() == [
            len(alignment.query_seconds) - 1,
            len(alignment.match_seconds) - 1,
        ]


def test_grid_points_carry_the_times_and_frame_numbers_of_the_file():
    query = encoding(walk(10), start=2.0)
    alignment = align_encodings(query, encoding(walk(12)))
    assert len(alignment.query_seconds) == 19
    assert alignment.query_seconds[[0, 2, -1]] == pytest.approx([2, 2 + 1 / 7.5, 2 + 9 / 7.5])
    assert alignment.query_frames[[0, 1, 2, -1]].tolist() == [60, 62, 64, 96]


def test_json_names_file_frames_and_seconds():
    alignment = align_encodings(encoding(walk(10), start=2.0), encoding(walk(12)))
    data = json.loads(json.dumps(alignment.to_json()))
    assert data["path"][0] == [60, 2.0, 0, 0.0]
    assert len(data["path"]) == len(alignment.path)
    assert data["draq"] == alignment.draq
    assert data["alignable"] is alignment.alignable
    assert data["coverage"] == {"query": 1.0, "match": 1.0}
    assert data["pieces"][0]["query"] == pytest.approx([2.0, 2 + 10 / 7.5])


@pytest.mark.parametrize(
    "options",
    [
        {"power": 0},
        {"penalty": -1},
        {"stillness": 1.5},
        {"stillness": 0.5},
        {"context": True, "windows": True},
        {"readout": "last"},
        {"grid_fps": 0},
    ],
)
def test_invalid_recipes_are_refused(options):
    with pytest.raises(ValueError, match="recipe odd"):
        Recipe("odd", **options)


def test_bounds_hold_the_partner_are_tight_where_things_move_and_wide_where_nothing_does():
    course = walk(60, width=12, seed=4)
    course[20:40] = course[20]  # a pause
    alignment = align_encodings(encoding(course), encoding(course.copy()))
    bounds, partner = alignment.uncertainty, alignment.warp().at(alignment.query_seconds)
    assert bounds.shape == (len(alignment.query_seconds), 2)
    assert (bounds[:, 0] <= partner + 1e-9).all()
    assert (partner <= bounds[:, 1] + 1e-9).all()
    widths = np.diff(bounds)[:, 0]
    pause = (alignment.query_seconds > 22 / 7.5) & (alignment.query_seconds < 38 / 7.5)
    moving = (alignment.query_seconds < 18 / 7.5) | (alignment.query_seconds > 42 / 7.5)
    assert widths[pause].min() > 1
    assert widths[moving].max() < 0.5
    assert alignment.typical_uncertainty < 0.1
    rows = alignment.to_json()["uncertainty"]
    assert rows[0][0] == alignment.query_seconds[0]
    assert replace(alignment, cost=None).uncertainty is None
