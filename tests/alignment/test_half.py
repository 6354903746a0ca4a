"""Half precision to single."""

from __future__ import annotations

import numpy as np

from seasync.alignment.kernels import single


def test_every_half_becomes_the_same_single() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(256, 256)
    with np.errstate(invalid="ignore"):
        expected = halves.astype(np.float32)
    np.testing.assert_array_equal(single(halves), expected)
    np.testing.assert_array_equal(single(halves[:, ::2]), expected[:, ::2])
    assert single(halves[:0]).shape == (0, 256)
