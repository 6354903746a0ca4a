"""Mean and trajectory of a clip."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dct

from seasync.encoders.encoder import (
    FLOW_WEIGHT,
    _projection,
    clip_vector_parts,
    cut,
    stream_vector_parts,
    trajectory_dimension,
)
from seasync.encoding import FLOW_CHANNELS, Encoding, Stream


@pytest.mark.parametrize("width", [384, 26, 3])
def test_trajectory_is_the_low_end_of_a_dct(width: int) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(5, 1, (40, width)).astype(np.float32)
    seconds = np.sort(rng.uniform(0, 4, 40))
    mean, trajectory = clip_vector_parts(features, seconds)
    times = np.linspace(seconds[0], seconds[-1], 32)
    centred = features - features.mean(0)
    drawn = np.stack([np.interp(times, seconds, channel) for channel in centred.T], axis=1)
    expected = dct(drawn @ _projection(width), axis=0, norm="ortho")[1:5]
    np.testing.assert_allclose(trajectory, expected.ravel(), atol=1e-5)
    np.testing.assert_allclose(mean, features.mean(0), atol=1e-5)
    assert len(trajectory) == trajectory_dimension(width)


def test_projection_keeps_lengths_and_never_changes() -> None:
    projection = _projection(384)
    np.testing.assert_allclose(projection.T @ projection, np.eye(96), atol=1e-12)
    np.testing.assert_allclose(
        projection[0, :3], [-0.041159004543, 0.012679784319, 0.016236872778], atol=1e-9
    )


def test_a_faster_clip_of_the_same_course_has_the_same_trajectory() -> None:
    features = np.random.default_rng(1).normal(size=(33, 8)).cumsum(0).astype(np.float32)
    seconds = np.arange(33) / 7.5
    slow, fast = clip_vector_parts(features, seconds)[1], clip_vector_parts(features, seconds / 3 + 1)[1]
    np.testing.assert_allclose(slow, fast, atol=1e-5)


def test_what_does_not_move_has_no_trajectory() -> None:
    features = np.ones((1, 8), np.float32)
    assert not clip_vector_parts(features, np.zeros(1))[1].any()
    assert not clip_vector_parts(features.repeat(9, 0), np.arange(9.0))[1].any()


def _with_flow(flow: np.ndarray, seed: int = 0) -> Stream:  # type: ignore[type-arg]
    """Looks that wander at random, with this flow (T, 32) beside."""
    looks = np.random.default_rng(seed).normal(size=(len(flow), 384)).cumsum(0)
    features = np.concatenate([looks, flow], axis=1).astype(np.float32)
    return Stream("dinov2-small", np.arange(len(flow)) / 7.5, np.arange(len(flow)), features)


def test_flow_counts_by_its_direction_however_fast_or_strong() -> None:
    to_the_right = np.tile([1.0, 0.0], (20, FLOW_CHANNELS // 2))
    kinds = [to_the_right, 9 * to_the_right, -to_the_right]
    looks = trajectory_dimension(384)
    flows = [stream_vector_parts(_with_flow(kind, seed))[1][looks:] for seed, kind in enumerate(kinds)]
    units = [flow / np.linalg.norm(flow) for flow in flows]
    assert units[0] @ units[1] == pytest.approx(1)
    assert units[0] @ units[2] == pytest.approx(-1)


def test_flow_weighs_as_much_in_every_clip() -> None:
    stream = _with_flow(np.random.default_rng(5).normal(size=(20, FLOW_CHANNELS)))
    mean, trajectory = stream_vector_parts(stream)
    looks = trajectory_dimension(384)
    np.testing.assert_array_equal(
        trajectory[:looks], clip_vector_parts(stream.features[:, :384], stream.seconds)[1]
    )
    ratio = np.linalg.norm(trajectory[looks:]) / np.linalg.norm(trajectory[:looks])
    assert ratio == pytest.approx(FLOW_WEIGHT, rel=1e-5)
    np.testing.assert_allclose(mean, stream.features.mean(0), atol=1e-5)
    part = cut(Encoding("e", (stream,), mean, trajectory), 0.0, 1.5)
    assert part.trajectory.shape == trajectory.shape


def test_other_streams_have_no_flow() -> None:
    features = np.random.default_rng(0).normal(size=(9, 416)).astype(np.float32)
    other = Stream("onnx:other", np.arange(9) / 7.5, np.arange(9), features)
    np.testing.assert_array_equal(
        stream_vector_parts(other)[1], clip_vector_parts(features, other.seconds)[1]
    )
