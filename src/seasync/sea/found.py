"""What a search by clip vector gives: the nearest clips of one query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seasync.encoding import Floats

RowIds = NDArray[np.uint64]


class Found(NamedTuple):
    """The clips nearest to one query, best first.

    Attributes
    ----------
    rows : numpy.ndarray [shape=(N,)], uint64
        Their row ids.
    similarity : numpy.ndarray [shape=(N,)]
        Similarity of their clip vectors to the query's.
    vectors : numpy.ndarray [shape=(N, D)], float32
        Their clip vectors. The search reads them anyway, and ranking compares them with each other.
    """

    rows: RowIds
    similarity: Floats
    vectors: Floats

    def only(self, chosen: NDArray[Any]) -> Found:
        """Those at the given positions, or where the given booleans are true."""
        return Found(self.rows[chosen], self.similarity[chosen], self.vectors[chosen])

    def joined(self, other: Found) -> Found:
        """These, then those of `other`."""
        return Found(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.similarity, other.similarity]),
            np.concatenate([self.vectors, other.vectors]),
        )
