"""A whole query in a long film, against a slow reference and on planted truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from seasync.alignment import MOTION, spans as spans_module
from seasync.alignment.kernels import solve_film
from seasync.alignment.spans import fitting_spans
from seasync.encoders import clip_vector_parts
from seasync.encoding import Encoding, Stream
from tests import naive


def encoding(features: np.ndarray, shots: tuple[int, ...] = (0,)) -> Encoding:
    length = len(features)
    stream = Stream(
        "f", np.arange(length) / 7.5, np.arange(length) * 4, features.astype(np.float32), np.array(shots)
    )
    return Encoding("e", (stream,), *clip_vector_parts(stream.features, stream.seconds))


def movement(length: int, seed: int, width: int = 12) -> np.ndarray:
    """A smooth walk through feature space."""
    return np.cumsum(np.random.default_rng(seed).normal(size=(length, width)), axis=0)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 5), m=st.integers(1, 7), block=st.integers(1, 7), seed=st.integers(0, 10_000))
def test_gains_equal_the_slow_reference_however_the_film_is_cut_into_blocks(
    n: int, m: int, block: int, seed: int
) -> None:
    cost = np.random.default_rng(seed).random((n, m)).astype(np.float32)
    share = 0.75 * 0.57
    prices = (share * cost.mean(1)).astype(np.float32)
    gains, starts = np.empty(m, np.float32), np.empty(m, np.int32)
    values, since = np.full(n, -np.inf, np.float32), np.zeros(n, np.int32)
    for first in range(0, m, block):
        part = np.ascontiguousarray(cost.T[first : first + block])
        solve_film(part, first, prices, share, values, since, gains, starts)
    expected = naive.open_film_gains(cost, prices, share * cost.mean(0))
    np.testing.assert_allclose(gains, [gain for gain, _ in expected], atol=1e-5)
    for end in range(m):
        reachable = naive.open_film_gains(
            cost[:, starts[end] : end + 1], prices, share * cost.mean(0)[starts[end] :]
        )
        assert reachable[-1][0] == pytest.approx(float(gains[end]), abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_planted_query_is_found_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = movement(40, seed)
    slower = np.stack(
        [np.interp(np.linspace(0, 39, 50), np.arange(40), column) for column in query.T], axis=1
    )
    parts = [movement(90, 100 + seed), slower + rng.normal(0, 0.1, slower.shape), movement(120, 200 + seed)]
    film = encoding(np.concatenate(parts), shots=(0, 90, 140))
    best, *others = fitting_spans(encoding(query), film, recipe=MOTION)
    shared = min(best.end, 140 / 7.5) - max(best.start, 90 / 7.5)
    assert shared / (max(best.end, 140 / 7.5) - min(best.start, 90 / 7.5)) > 0.75
    assert all(other.end <= best.start or other.start >= best.end for other in others)


def test_query_longer_than_the_film_and_a_still_film() -> None:
    spans = fitting_spans(encoding(movement(60, 1)), encoding(movement(20, 2)))
    assert all(0 <= span.start < span.end <= 20 / 7.5 + 1e-6 for span in spans)
    assert fitting_spans(encoding(movement(30, 1)), encoding(np.ones((50, 12)))) == []


@pytest.mark.parametrize("shots", [(0, 90, 200), (0,)])
def test_a_film_processed_in_parts_gives_the_same_span(
    shots: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = movement(40, 3)
    film = encoding(np.concatenate([movement(70, 8), query, movement(180, 9)]), shots)
    whole = fitting_spans(encoding(query), film, count=1)
    monkeypatch.setattr(spans_module, "_REEL", 100)
    apart = fitting_spans(encoding(query), film, count=1)
    assert (apart[0].start, apart[0].end) == pytest.approx((whole[0].start, whole[0].end), abs=0.3)
