import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seasync.alignment import MOTION, PAPER, cost_matrix, costs as cost_module
from seasync.alignment.costs import CostPair
from seasync.alignment.prepare import prepare
from seasync.errors import FeatureError
from tests import naive
from tests.alignment.clips import encoding, retimed, stream, walk

lengths = st.integers(2, 40)


@settings(max_examples=40)
@given(lengths, lengths, st.sampled_from([1, 3, 16]), st.sampled_from([0.0, 1.0, 30.0]), st.integers(0, 99))
def test_paper_costs_equal_the_direct_form_on_wide_features(n, m, width, offset, seed):
    one, other = walk(n, width, seed, offset), walk(m, width, seed + 100, offset)
    direct = naive.cosine_distance(naive.paper_features(one), naive.paper_features(other))
    got = cost_matrix(encoding(one), encoding(other), recipe=PAPER)
    np.testing.assert_allclose(got, np.maximum(direct, 0), atol=1e-4)


@settings(max_examples=40)
@given(lengths, lengths, st.sampled_from([1, 3, 16]), st.sampled_from([7.5, 4.0, 15.0]), st.integers(0, 99))
def test_motion_costs_equal_the_direct_form_on_wide_features(n, m, width, fps, seed):
    one, other = walk(n, width, seed, 10.0), walk(m, width, seed + 100, 10.0)
    reach, factor = max(1, round(fps / 7.5)), max(1, round(15 / fps))
    direct = naive.motion_cost(*(_refined(f, reach, factor) for f in (one, other)))
    got = cost_matrix(encoding(one, fps=fps), encoding(other, fps=fps))
    np.testing.assert_allclose(got, direct, atol=1e-4 * max(1, direct.max()))


@settings(max_examples=40)
@given(st.integers(20, 150), st.integers(20, 150), st.data())
def test_costs_of_long_clips_and_clips_with_cuts_use_each_shots_own_statistics(n, m, data):
    sides = []
    for length, seed in ((n, 1), (m, 2)):
        cuts = data.draw(st.sets(st.integers(1, length - 1), max_size=3))
        features = walk(length, 4, seed)
        for cut in cuts:
            features[cut:] += np.random.default_rng(cut).normal(size=4).astype(np.float32) * 20
        sides.append((features, (0, *sorted(cuts))))
    direct = naive.motion_cost(*(_refined(f, 1, 2, shots) for f, shots in sides))
    got = cost_matrix(*(encoding(f, shots=shots) for f, shots in sides))
    np.testing.assert_allclose(got, direct, atol=1e-4 * max(1, direct.max()))


def test_surroundings_last_as_long_at_any_rate():
    one, other = walk(300, 4, 1), walk(200, 4, 2)
    direct = naive.motion_cost(*(_refined(f, 2, 1, window=128) for f in (one, other)))
    got = cost_matrix(encoding(one, fps=15), encoding(other, fps=15))
    np.testing.assert_allclose(got, direct, atol=1e-4 * max(1, direct.max()))


def _refined(features, reach, factor, shots=(0,), window=64):
    wide, motion = naive.motion_features(features, reach, shots, window)
    return naive.refined(wide, factor, shots), naive.refined(motion, factor, shots)


def test_a_short_uncut_clip_has_the_costs_of_the_recipe_without_windows():
    one, other = encoding(walk(64, seed=1)), encoding(walk(50, seed=2))
    plain = replace(MOTION, windows=False)
    assert np.array_equal(cost_matrix(one, other), cost_matrix(one, other, recipe=plain))


@pytest.mark.parametrize(
    "recipe",
    [
        PAPER,
        MOTION,
        replace(PAPER, context=False),
        replace(MOTION, stillness=1.0, power=1.0),
        replace(MOTION, power=1.5, grid_fps=None),
        replace(MOTION, windows=False, context=True),
    ],
)
def test_row_blocks_equal_the_whole_matrix_exactly(recipe, monkeypatch):
    one = prepare(encoding(walk(90, seed=1), shots=(0, 30)), recipe)
    other = prepare(encoding(walk(70, seed=2), shots=(0, 9, 40)), recipe)
    whole = CostPair(one, other, recipe).matrix()
    monkeypatch.setattr(cost_module, "_BLOCK", 7 * len(other))
    blocks = [block.copy() for _, block in CostPair(one, other, recipe).blocks()]
    assert len(blocks) > 5
    np.testing.assert_allclose(np.concatenate(blocks), whole, atol=1e-5)


def test_uneven_timestamps_are_brought_to_a_uniform_clock():
    """The same course sampled at the frames of a 25 fps video: steps of three and four frames."""
    course = np.stack([np.sin(np.arange(400) * 0.02 * k) for k in range(1, 6)], axis=1)
    even = np.arange(40) / 7.5
    uneven = np.floor(even * 25) / 25
    one = encoding(retimed(course, even * 50), seconds=even)
    other = encoding(retimed(course, uneven * 50), seconds=uneven)
    as_is = encoding(other.features, seconds=even)
    query = encoding(walk(30, 5))
    exact, uniform, off = (cost_matrix(query, match)[:, :70] for match in (one, other, as_is))
    assert np.abs(uniform - exact).mean() < 0.3 * np.abs(off - exact).mean()


def test_a_hole_in_the_timestamps_is_not_filled():
    seconds = np.append(np.arange(20), np.arange(20) + 1e6) / 7.5
    assert cost_matrix(encoding(walk(40), seconds=seconds), encoding(walk(9))).shape == (79, 17)


def test_several_streams_are_averaged_on_the_leading_clock_and_lost_ones_left_out():
    lead = [walk(20, seed=1), walk(25, seed=2)]
    pose = [walk(39, 3, seed=3), walk(49, 3, seed=4)]
    plain = [encoding(f) for f in lead]
    poses = [encoding(f, fps=15) for f in pose]

    def both(found):
        return [
            encoding(f, more=(stream(p, fps=15, name="pose", found=found),))
            for f, p in zip(lead, pose, strict=True)
        ]

    assert prepare(both(0.9)[0], MOTION).step == pytest.approx(1 / 7.5)
    flat = replace(MOTION, power=1.0, stillness=1.0)
    alone = cost_matrix(*plain, recipe=flat), cost_matrix(*poses, recipe=flat)
    np.testing.assert_allclose(cost_matrix(*both(0.9), recipe=flat), (alone[0] + alone[1]) / 2, atol=1e-5)
    assert np.array_equal(cost_matrix(*both(0.5), recipe=flat), alone[0])


def test_frames_without_movement_cost_little():
    features = np.concatenate([np.zeros((10, 4)), walk(10, 4), np.zeros((10, 4))])
    cost = cost_matrix(encoding(features), encoding(walk(30, 4, seed=5)))
    assert cost[:15].mean() < 0.5 * cost[20:38].mean()


@pytest.mark.parametrize("recipe", [PAPER, MOTION])
def test_identical_clips_cost_nothing_along_the_diagonal(recipe):
    clip = encoding(walk(30, offset=50.0))
    assert np.diagonal(cost_matrix(clip, clip, recipe=recipe)).max() < 1e-4


def test_features_that_cannot_be_compared_are_refused():
    one = encoding(walk(9, 4))
    with pytest.raises(FeatureError, match="4 dimensions, the match's 5"):
        cost_matrix(one, encoding(walk(9, 5)))
    with pytest.raises(FeatureError, match="no stream in common"):
        cost_matrix(one, encoding(walk(9, 4), name="pose"))
    with pytest.raises(FeatureError, match="encode both by one"):
        cost_matrix(one, replace(one, encoder="other"))
    with pytest.raises(FeatureError, match="1 of 3 frame features hold NaN"):
        encoding([[1.0], [np.nan], [2.0]])


def test_prepared_clips_go_to_other_processes():
    one, other = prepare(encoding(walk(20, 4)), MOTION), prepare(encoding(walk(25, 4, 1)), MOTION)
    sent = [pickle.loads(pickle.dumps(clip)) for clip in (one, other)]
    expected, got = CostPair(one, other, MOTION).matrix(), CostPair(*sent, MOTION).matrix()
    assert np.array_equal(got, expected)
