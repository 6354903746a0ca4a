"""Seasync inside other programs: assistants that speak MCP, and FiftyOne."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def moments_in_step(pieces: Sequence[Any], count: int) -> list[tuple[float, float]]:
    """Seconds of the query and of the match that belong together, `count` of each piece of a warp."""
    found: list[tuple[float, float]] = []
    for piece in pieces:
        moments = np.linspace(piece.start, piece.end, count)
        found += zip(moments.tolist(), piece.at(moments).tolist(), strict=True)
    return found
