"""Flow: which way things move, whatever they look like and however the camera moves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from seasync.encoders.encoder import LEAST, SIDE, FlowMeter, _coarse, _shrink, step_flow, with_flow
from seasync.encoding import FLOW_CHANNELS

FIRST = np.zeros(1, np.int64)


def texture(size: int = 448, seed: int = 0) -> NDArray[np.float64]:
    """(size, size): a smooth random pattern."""
    coarse = np.random.default_rng(seed).uniform(0, 255, (size // 16, size // 16))
    blur = _shrink(size).T
    small = np.kron(coarse, np.ones((SIDE * 16 // size, SIDE * 16 // size)))
    return np.clip(blur @ small @ blur.T * size / SIDE * size / SIDE, 0, 255)


def frames(moves: NDArray[np.float64], *, seed: int = 0, size: int = 224) -> NDArray[np.uint8]:
    """A patterned square in the middle half that moves by `moves` (T, 2) pixels a frame, on flat ground."""
    pattern, places = texture(seed=seed), np.cumsum(moves, axis=0).round().astype(int)
    out = np.full((len(moves), size, size, 3), 90, np.uint8)
    for frame, (x, y) in zip(out, places, strict=True):
        frame[56:168, 56:168] = pattern[168 - y : 280 - y, 168 - x : 280 - x, None]
    return out


def flow_of(
    video: NDArray[np.uint8], shots: NDArray[np.int64] = FIRST, batch: int = 8
) -> NDArray[np.float32]:
    meter = FlowMeter()
    for start in range(0, len(video), batch):
        meter.push(video[start : start + batch])
    return meter.flow(shots)


def inner(flow: NDArray[np.float32]) -> NDArray[np.float32]:
    """The mean flow (T, 2) of the four squares in the middle."""
    return flow.reshape(-1, 4, 4, 2)[:, 1:3, 1:3].mean(axis=(1, 2))


@pytest.mark.parametrize(("x", "y"), [(4, 0), (-4, 0), (0, 4), (3, -3)])
def test_flow_points_where_things_move(x: int, y: int) -> None:
    flow = inner(flow_of(frames(np.tile([float(x), float(y)], (6, 1)))))
    expected = np.array([x, y]) / np.hypot(x, y)
    assert (flow @ expected > 0.5 * np.linalg.norm(flow, axis=1)).all()
    assert np.linalg.norm(flow, axis=1).min() > 0.2


def test_looks_do_not_matter() -> None:
    moves = np.stack([4 * np.sin(np.arange(20)), 4 * np.cos(np.arange(20))], axis=1)
    one, other = (inner(flow_of(frames(moves, seed=seed))).ravel() for seed in (1, 2))
    assert np.corrcoef(one, other)[0, 1] > 0.9


def test_a_camera_that_moves_is_left_out() -> None:
    pattern = np.tile(texture(), (1, 1))
    shifted = np.stack([pattern[100:324, 100 + 4 * t : 324 + 4 * t] for t in range(6)])
    moved = flow_of(np.repeat(shifted[..., None], 3, axis=3).astype(np.uint8))
    still = np.repeat(shifted[:1], 6, axis=0)
    assert np.abs(step_flow(np.asarray(_shrink(224) @ shifted @ _shrink(224).T, np.float32))).mean() < 0.35
    assert not flow_of(np.repeat(still[..., None], 3, axis=3).astype(np.uint8)).any()
    assert moved.shape == (6, FLOW_CHANNELS)


def test_batches_do_not_matter_and_nothing_is_seen_across_a_cut() -> None:
    one = frames(np.tile([4.0, 0.0], (7, 1)))
    other = 255 - frames(np.tile([0.0, 4.0], (5, 1)), seed=3)
    both = np.concatenate([one, other])
    cut = np.array([0, 7])
    np.testing.assert_array_equal(flow_of(both, cut, batch=8), flow_of(both, cut, batch=5))
    apart = np.concatenate([flow_of(one), flow_of(other)])
    np.testing.assert_allclose(flow_of(both, cut), apart, atol=1e-6)


def test_sums_of_whole_numbers_are_the_same_averages() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (2, 112, 112, 3), np.uint8)
    plain = pictures.mean(-1, dtype=np.float32)
    np.testing.assert_allclose(_coarse(pictures), _shrink(112) @ plain @ _shrink(112).T, rtol=1e-4)


def test_a_single_frame_has_no_flow() -> None:
    assert flow_of(frames(np.zeros((1, 2)))).tolist() == [[0.0] * FLOW_CHANNELS]


def test_steady_flow_spreads_as_widely_as_looks_and_noise_does_not_count() -> None:
    rng = np.random.default_rng(0)
    looks = rng.normal(size=(60, 384)).astype(np.float32)
    steady = np.sin(np.arange(60) / 9)[:, None] * rng.normal(size=FLOW_CHANNELS).astype(np.float32)
    noise = rng.normal(size=(60, FLOW_CHANNELS)).astype(np.float32)

    def share(flow: NDArray[np.float32]) -> float:
        both = with_flow(looks, np.asarray(flow, np.float32), FIRST)
        np.testing.assert_array_equal(both[:, :384], looks)
        return float(np.sqrt(both[:, 384:].var(0).sum() / looks.var(0).sum()))

    assert share(steady) == pytest.approx(1, abs=0.1)
    assert share(noise) < 0.15
    assert share(steady * LEAST * 1e-3) < 0.01
