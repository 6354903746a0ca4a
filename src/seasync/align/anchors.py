"""Anchors: pairs of moments that must correspond."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from seasync.align.cost_pair import CostPair
from seasync.errors import FeatureError

Moments = Sequence[tuple[float, float]]


def crossing_anchors(anchors: Moments) -> str:
    """Which two anchors come in different orders in the two clips, in words; empty if none do."""
    for (query, match), (later, earlier) in pairwise(sorted(anchors)):
        if earlier < match:
            return (
                f"anchors {query:g}={match:g} and {later:g}={earlier:g} cross, what is later in the query is "
                "earlier in the match"
            )
    return ""


def nearest_cell(pair: CostPair, query_seconds: float, match_seconds: float) -> tuple[int, int]:
    """The grid cell nearest to an anchor."""
    cell = []
    for name, track, seconds in (
        ("query", pair.query, query_seconds),
        ("match", pair.match, match_seconds),
    ):
        first, last = float(track.seconds[0]), float(track.seconds[-1]) + track.step
        if not first <= seconds <= last:
            raise FeatureError(f"anchor at {seconds} s: the {name} has only {first:.2f}–{last:.2f} s")
        cell.append(int(np.abs(track.seconds - seconds).argmin()))
    return cell[0], cell[1]
