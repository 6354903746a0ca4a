"""The body keeps its measures, stands on the ground, and does at the key moments what they are named for."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.sample.figure import ACTIONS, Build, perform, smooth_through

SQUAT, JUMPING_JACK, THROW, BOW = ACTIONS
TIME = np.linspace(0, 1, 201)
SEVERAL = [Build.drawn(np.random.default_rng(seed)) for seed in range(3)]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_bones_keep_their_length(action):
    for body in SEVERAL:
        at = perform(body, action, TIME)
        for side in "lr":
            for start, end, length in (
                ("hip", "knee", body.thigh),
                ("knee", "ankle", body.shin),
                ("shoulder", "elbow", body.upper_arm),
                ("elbow", "wrist", body.forearm),
            ):
                bone = np.linalg.norm(at[f"{side}_{start}"] - at[f"{side}_{end}"], axis=1)
                np.testing.assert_allclose(bone, length, rtol=1e-6)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_nothing_sinks_into_the_ground_and_nothing_jumps(action):
    for body in SEVERAL:
        at = perform(body, action, TIME)
        for name in ("pelvis", "head", "l_toe", "r_toe", "l_heel", "r_heel", "l_wrist", "r_wrist"):
            assert at[name][:, 1].min() > -0.03
            assert np.abs(np.diff(at[name], axis=0)).max() < 0.12


def test_planted_feet_stay_where_they_are():
    for action in (SQUAT, BOW):
        at = perform(Build(), action, TIME)
        assert np.ptp(at["l_toe"], axis=0).max() < 0.01


@pytest.mark.parametrize(
    ("action", "joint", "sign", "key"),
    [
        (SQUAT, "pelvis", -1, 0),
        (SQUAT, "pelvis", -1, 2),
        (JUMPING_JACK, "r_wrist", 1, 0),
        (JUMPING_JACK, "r_wrist", 1, 2),
        (BOW, "head", -1, 1),
    ],
)
def test_the_body_is_at_its_turning_point_at_the_key_moment(action, joint, sign, key):
    height = sign * perform(Build(), action, TIME)[joint][:, 1]
    near = np.abs(TIME - action.key_times[key]) < 0.12
    best = TIME[near][np.argmax(height[near])]
    assert best == pytest.approx(action.key_times[key], abs=0.045)


def test_the_ball_leaves_at_its_key_moment():
    at = perform(Build(), THROW, TIME)
    apart = np.linalg.norm(at["ball"] - at["r_wrist"], axis=1)
    moment = np.searchsorted(TIME, THROW.key_times[2])
    assert apart[moment - 1 : moment + 1].max() < 0.25
    assert apart[moment + 20] > 1


def test_interpolation_keeps_plateaus_flat_and_never_overshoots():
    x, y = np.array([0.0, 1, 2, 3, 5, 6]), np.array([0.0, 0, 4, 4, 9, 9])
    values = smooth_through(x, y, np.linspace(0, 6, 601))
    assert (np.diff(values) >= 0).all()
    assert np.ptp(values[:101]) == np.ptp(values[200:301]) == np.ptp(values[500:]) == 0
    np.testing.assert_allclose(smooth_through(x, y, x), y)
