"""Patches weighed by their variance, against the plain formula; bounded memory; cuts."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.encoders.encoder import PatchPool, is_cut
from seasync.encoding import WINDOW, windows


def pooled(tokens: np.ndarray) -> tuple[np.ndarray, int]:
    """All features of one shot, and the most frames that were held."""
    pool, features, held = PatchPool(), [], 0
    for frame in tokens:
        features += pool.push(frame)
        held = max(held, len(pool._tokens))
    return np.stack(features + pool.end_shot()), held


def weighed(tokens: np.ndarray) -> np.ndarray:
    """The recipe's formula, written out."""
    variance = np.array(
        [sum(np.var(tokens[:, i, d]) for d in range(tokens.shape[2])) for i in range(tokens.shape[1])]
    )
    weights = variance**2 / np.sum(variance**2)
    return np.array([sum(w * p for w, p in zip(weights, frame, strict=True)) for frame in tokens])


@pytest.mark.parametrize("length", [2, 7, WINDOW - 1, WINDOW])
def test_short_shot_is_weighed_as_a_whole(length: int) -> None:
    tokens = np.random.default_rng(length).normal(size=(length, 6, 5)).astype(np.float32)
    features, _ = pooled(tokens)
    np.testing.assert_allclose(features, weighed(tokens), atol=1e-5)


@pytest.mark.parametrize("length", [WINDOW + 1, 71, 72, 73, 131, 500])
def test_long_shot_is_weighed_in_windows_with_bounded_memory(length: int) -> None:
    tokens = np.random.default_rng(length).normal(size=(length, 6, 5)).astype(np.float32)
    features, held = pooled(tokens)
    expected = [weighed(tokens[begin:end])[a - begin : b - begin] for a, b, begin, end in windows(0, length)]
    np.testing.assert_allclose(features, np.concatenate(expected), atol=1e-5)
    assert held <= WINDOW


def test_a_moving_patch_outweighs_still_ones() -> None:
    tokens = np.zeros((20, 4, 3), np.float32)
    tokens[:, 2] = np.arange(20)[:, None]
    tokens[:, 0] = 100.0
    features, _ = pooled(tokens)
    np.testing.assert_allclose(features[:, 0], np.arange(20))


def test_still_shot_weighs_all_patches_alike() -> None:
    tokens = np.broadcast_to(np.arange(4, dtype=np.float32)[:, None], (10, 4, 3)).copy()
    features, _ = pooled(tokens)
    np.testing.assert_allclose(features, 1.5)


def test_a_shot_that_comes_to_rest_weighs_all_patches_alike() -> None:
    moving = np.random.default_rng(0).normal(size=(30, 4, 3)).astype(np.float32)
    tokens = np.concatenate([moving, np.repeat(moving[-1:], 2 * WINDOW, axis=0)])
    features, _ = pooled(tokens)
    np.testing.assert_allclose(features[-WINDOW:], np.tile(moving[-1].mean(0), (WINDOW, 1)), rtol=1e-5)


def test_windows_lie_inside_their_shot_and_cover_each_sample_once() -> None:
    for first, last in ((0, 1), (5, 69), (3, 68), (10, 300)):
        spans = windows(first, last)
        assert [sample for a, b, _, _ in spans for sample in range(a, b)] == list(range(first, last))
        for a, b, begin, end in spans:
            assert first <= begin <= a < b <= end <= last
            assert end - begin == min(WINDOW, last - first)


def test_cut_is_a_large_turn_of_the_class_token() -> None:
    still = np.array([1.0, 0.0], np.float32)
    assert not is_cut(still, np.array([0.9, 0.4], np.float32))
    assert is_cut(still, np.array([0.1, 1.0], np.float32))
    assert not is_cut(still, np.zeros(2, np.float32))
