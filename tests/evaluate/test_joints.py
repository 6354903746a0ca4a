"""Joints as frame features: what they ignore, and what happens to joints that are missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from seasync.errors import DataError
from seasync.evaluate.data import encode_joints, joint_features


def body(frames=30, seed=0):
    random = np.random.default_rng(seed)
    x = random.uniform(50, 150, 13) + np.cumsum(random.normal(size=(frames, 13)), axis=0)
    y = random.uniform(50, 150, 13) + np.cumsum(random.normal(size=(frames, 13)), axis=0)
    return x, y, np.ones((frames, 13))


def test_where_and_how_large_the_actor_is_does_not_matter():
    x, y, seen = body()
    np.testing.assert_allclose(
        joint_features(3 * x + 40, 3 * y - 7, seen), joint_features(x, y, seen), atol=1e-4
    )


def test_features_are_the_definition_written_out():
    x, y, seen = body()
    place = np.stack([x, y], axis=2)
    centroid = place.mean(1)
    spread = [np.sqrt(((p - c) ** 2).sum(1).mean()) for p, c in zip(place, centroid, strict=True)]
    scaled = (place - np.median(centroid, axis=0)) / (1.6 * np.median(spread))
    expected = gaussian_filter1d(scaled.reshape(30, 26), 1, axis=0, mode="nearest")
    np.testing.assert_allclose(joint_features(x, y, seen), expected, atol=1e-4)


def test_a_gap_is_interpolated():
    x, y, seen = body()
    x[:], y[:] = x[0], y[0]
    gap, gone = x.copy(), seen.copy()
    gap[5:9, 3], gone[5:9, 3] = 1, 0
    hidden = y.copy()
    hidden[5:9, 3] = 1
    np.testing.assert_allclose(joint_features(gap, hidden, gone), joint_features(x, y, seen), atol=1e-5)


def test_an_invisible_joint_with_a_place_is_used():
    x, y, seen = body()
    np.testing.assert_array_equal(joint_features(x, y, seen * 0), joint_features(x, y, seen))


def test_a_joint_never_seen_takes_its_mirrors_place():
    x, y, seen = body()
    x[:, 5], y[:, 5], seen[:, 5] = 1, 1, 0
    features = joint_features(x, y, seen).reshape(30, 13, 2)
    np.testing.assert_array_equal(features[:, 5], features[:, 6])


def test_a_pair_never_seen_stands_at_the_bodys_centre():
    x, y, seen = body()
    for joint in (5, 6):
        x[:, joint], y[:, joint], seen[:, joint] = 1, 1, 0
    features = joint_features(x, y, seen).reshape(30, 13, 2)
    others = np.delete(features, (5, 6), axis=1).mean(1)
    np.testing.assert_allclose(features[:, 5], others, atol=1e-4)


@pytest.mark.parametrize("frames", [1, 2])
def test_the_shortest_clips_and_clips_without_any_joint_are_finite(frames):
    x = np.ones((frames, 13))
    encoding = encode_joints(x, x, np.zeros((frames, 13)))
    assert encoding.features.shape == (frames, 26)
    assert np.isfinite(encoding.mean).all()


def test_other_shapes_say_what_was_expected():
    with pytest.raises(DataError, match=r"clip: expected x, y, visibility \(T, 13\)"):
        encode_joints(np.zeros((5, 13)), np.zeros((5, 13)), np.zeros((5, 12)), name="clip")
