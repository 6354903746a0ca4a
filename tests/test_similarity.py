"""Clip vectors against the obvious way to compute them."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.ranking import Standard, best, clip_vectors, query_vector
from tests.sea.footage import encoding


def naive_similarity(query, clip, means, *, trajectory):  # type: ignore[no-untyped-def]
    a, b = ((e.mean - means.mean(0)) / means.std(0) for e in (query, clip))
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b)]
    if trajectory:
        a, b = query.trajectory, clip.trajectory
        cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    return np.mean(cosines)


@pytest.mark.parametrize("trajectory", [True, False])
def test_one_set_of_vectors_serves_both_recipes(trajectory: bool) -> None:
    clips = [encoding(n, kind=n % 3) for n in range(7)]
    means = np.stack([clip.mean for clip in clips])
    standard = Standard.of([means])
    vectors = clip_vectors(means, np.stack([clip.trajectory for clip in clips]), standard)
    query = encoding(50, kind=1)
    found = vectors @ query_vector(query, standard, trajectory=trajectory)
    expected = [naive_similarity(query, clip, means, trajectory=trajectory) for clip in clips]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_still_query_is_compared_by_its_mean() -> None:
    clips = [encoding(n, kind=n) for n in range(5)]
    means = np.stack([clip.mean for clip in clips])
    standard = Standard.of([means])
    vectors = clip_vectors(means, np.stack([clip.trajectory for clip in clips]), standard)
    still = encoding(9, kind=2, still=True)
    assert not still.trajectory.any()
    expected = [naive_similarity(still, clip, means, trajectory=False) for clip in clips]
    np.testing.assert_allclose(vectors @ query_vector(still, standard, trajectory=True), expected, atol=1e-5)


def test_a_still_clip_gets_nothing_for_its_trajectory() -> None:
    query, still = encoding(1), encoding(1, still=True)
    standard = Standard(np.zeros(16, np.float32), np.ones(16, np.float32))
    (vector,) = clip_vectors(still.mean[None], still.trajectory[None], standard)
    cosine = query.mean @ still.mean / np.linalg.norm(query.mean) / np.linalg.norm(still.mean)
    assert vector @ query_vector(query, standard, trajectory=True) == pytest.approx(cosine / 2, abs=1e-5)


def test_standard_is_that_of_all_batches_together() -> None:
    means = np.random.default_rng(0).normal(1000, 0.1, (100, 5)).astype(np.float32)
    means[:, 3] = 7
    standard = Standard.of([means[:30], means[30:30], means[30:]])
    np.testing.assert_allclose(standard.mean, means.astype(np.float64).mean(0), rtol=1e-6)
    np.testing.assert_allclose(standard.std[:3], means.astype(np.float64).std(0)[:3], rtol=1e-4)
    assert standard.std[3] == 1


def test_drift_is_counted_in_standard_deviations() -> None:
    one = Standard(np.zeros(4, np.float32), np.ones(4, np.float32))
    assert one.drift_from(one) == 0
    assert Standard(one.mean + 0.5, one.std).drift_from(one) == pytest.approx(0.5)
    assert Standard(one.mean, one.std * 2).drift_from(one) == pytest.approx(np.log(2))


def test_best_takes_the_earlier_of_equals() -> None:
    similarities = np.array([0.1, 0.9, 0.5, 0.9, 0.5, 0.5], np.float32)
    assert best(similarities, 4).tolist() == [1, 3, 2, 4]
    assert best(similarities, 99).tolist() == [1, 3, 2, 4, 5, 0]
    assert best(similarities[:0], 3).tolist() == []
