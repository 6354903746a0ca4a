"""Metrics of alignments and rankings: small functions on arrays.

`path` always has shape (L, 2): pairs (query frame, match frame), increasing; it need not reach the ends.
`partner` always has shape (n,): for each kept frame, the frame of the other video shown with it, or NaN.
Phases are one integer per frame; a negative one means "not labeled" and is never counted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seasync.errors import DataError
from seasync.options import Readout, Side

Array = NDArray[np.float64]


class Agreement(NamedTuple):
    """Share of frames whose phase agrees: of those with a partner, and of all (left out counts as wrong)."""

    covered: float
    all: float


def partners(path: ArrayLike, length: int, *, keep: Side = "query", readout: Readout = "first") -> Array:
    """The partner of each frame of the kept side.

    Parameters
    ----------
    path : array_like [shape=(L, 2)]
    length : int
        Frames of the kept side.
    keep : {"query", "match"}
    readout : {"first", "mean"}
        "first": the earliest frame paired with it (the paper's rule: later repeats of a kept frame are
        dropped). "mean": the mean of all frames paired with it.

    Returns
    -------
    numpy.ndarray [shape=(length,)]
        NaN for frames off the path.
    """
    steps = np.asarray(path, np.int64).reshape(-1, 2)
    kept, other = (steps[:, 0], steps[:, 1]) if keep == "query" else (steps[:, 1], steps[:, 0])
    partner = np.full(length, np.nan)
    if readout == "first":
        partner[kept[::-1]] = other[::-1]
        return partner
    count = np.bincount(kept, minlength=length)
    total = np.bincount(kept, other, minlength=length)
    on_path = count > 0
    partner[on_path] = total[on_path] / count[on_path]
    return partner


def apa(query_phases: ArrayLike, match_phases: ArrayLike, partner: ArrayLike) -> Agreement:
    """Aligned phase agreement (APA) per kept query frame.

    Pairs of different actions count 0; that is up to the caller.

    Parameters
    ----------
    query_phases : array_like [shape=(n,)]
    match_phases : array_like [shape=(m,)]
    partner : array_like [shape=(n,)]
        Frames of the match; fractions go to the nearest frame.

    Returns
    -------
    Agreement
        NaN if no frame is labeled.

    Raises
    ------
    DataError
        If there is not one partner per query phase.
    """
    mine, theirs = np.asarray(query_phases), np.asarray(match_phases)
    at = np.asarray(partner, np.float64)
    if mine.shape != at.shape:
        raise DataError(
            f"apa: {len(mine)} query phases but partners for {len(at)} frames; give one per frame"
        )
    paired = np.isfinite(at)
    carried = np.where(paired, theirs[_nearest(np.where(paired, at, 0), len(theirs))], -1)
    judged = (mine >= 0) & paired & (carried >= 0)
    left_out = (mine >= 0) & ~paired
    agree = int((mine == carried)[judged].sum())
    return Agreement(_ratio(agree, judged.sum()), _ratio(agree, judged.sum() + left_out.sum()))


def apa_per_path(query_phases: ArrayLike, match_phases: ArrayLike, path: ArrayLike) -> float:
    """Aligned phase agreement per cell of the path: the share of its pairs with the same phase."""
    steps = np.asarray(path, np.int64).reshape(-1, 2)
    mine = np.asarray(query_phases)[steps[:, 0]]
    theirs = np.asarray(match_phases)[steps[:, 1]]
    judged = (mine >= 0) & (theirs >= 0)
    return _ratio((mine == theirs)[judged].sum(), judged.sum())


def cycle(forward: ArrayLike, backward: ArrayLike) -> Array:
    """The position of each query frame after going to the match and back.

    Parameters
    ----------
    forward : array_like [shape=(m,)]
        For each match frame its query frame (query → match, the match kept unwarped).
    backward : array_like [shape=(n,)]
        For each query frame its match frame (match → query, the query kept unwarped).

    Returns
    -------
    numpy.ndarray [shape=(n,)]
        Interpolated between two match frames; NaN where either alignment leaves the frame out.
    """
    there, back = np.asarray(forward, np.float64), np.asarray(backward, np.float64)
    reached = np.isfinite(back)
    low = np.floor(np.where(reached, back, 0)).astype(np.int64)
    share = np.where(reached, back, 0) - low
    high = np.minimum(low + 1, len(there) - 1)
    position = np.where(share > 0, there[low] * (1 - share) + there[high] * share, there[low])
    return np.where(reached, position, np.nan)


def fpe(forward: ArrayLike, backward: ArrayLike) -> float:
    """Frame position error: mean squared difference of a frame's position before and after the cycle."""
    after = cycle(forward, backward)
    return known_mean((np.arange(len(after)) - after) ** 2)


def cpe(query_phases: ArrayLike, forward: ArrayLike, backward: ArrayLike) -> float:
    """Cycle phase error: mean absolute difference of phase number before and after the cycle.

    Phases travel with the nearest frame, because a label cannot be interpolated. Only the query needs phases.
    """
    phases = np.asarray(query_phases)
    there, back = np.asarray(forward, np.float64), np.asarray(backward, np.float64)
    on_match = np.full(len(there), -1)
    on_match[np.isfinite(there)] = phases[_nearest(there[np.isfinite(there)], len(phases))]
    after = np.full(len(back), -1)
    after[np.isfinite(back)] = on_match[_nearest(back[np.isfinite(back)], len(on_match))]
    judged = (phases >= 0) & (after >= 0)
    return known_mean(np.abs(phases - after)[judged])


def recall_at(relevant: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Whether any of the first k results is relevant: (Q, K) in ranked order → (Q,)."""
    return np.asarray(np.asarray(relevant, bool)[:, :k].any(1))


def precision_at(relevant: ArrayLike, k: int) -> Array:
    """Share of relevant results among the first k: (Q, K) in ranked order → (Q,)."""
    return np.asarray(np.asarray(relevant, bool)[:, :k].mean(1))


def kendall_tau(neighbors: ArrayLike) -> Array:
    """Kendall's τ-b between 0 … n−1 and `neighbors` along the last axis, (…, n) → (…).

    NaN where it is undefined: fewer than two frames, or all neighbors the same.
    """
    order = np.asarray(neighbors)
    n = order.shape[-1]
    if n < 2:
        return np.full(order.shape[:-1], np.nan)
    rising = np.zeros(order.shape[:-1], np.int64)
    falling = np.zeros(order.shape[:-1], np.int64)
    for gap in range(1, n):
        step = order[..., gap:] - order[..., :-gap]
        rising += (step > 0).sum(-1)
        falling += (step < 0).sum(-1)
    untied = rising + falling
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((rising - falling) / np.sqrt(n * (n - 1) / 2 * untied))


def event_error(query_events: ArrayLike, match_events: ArrayLike, reached: ArrayLike) -> Array:
    """Distance between where the warp puts each of the query's events and where the match has it.

    Parameters
    ----------
    query_events, match_events : array_like [shape=(E,)]
        Seconds.
    reached : array_like [shape=(E,)]
        The warp at the query's events; NaN where it is not defined.

    Returns
    -------
    numpy.ndarray [shape=(E,)]
        Seconds; NaN where the warp is not defined.

    Raises
    ------
    DataError
        If the clips have different numbers of events.
    """
    if np.shape(query_events) != np.shape(match_events):
        raise DataError(
            f"event_error: the clips have {np.size(query_events)} and {np.size(match_events)} events; "
            "only clips with the same events compare"
        )
    return np.abs(np.asarray(reached, np.float64) - np.asarray(match_events, np.float64))


def _nearest(position: Array, length: int) -> NDArray[np.int64]:
    return np.clip(np.floor(position + 0.5).astype(np.int64), 0, length - 1)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def known_mean(values: Array) -> float:
    """The mean of what is finite; NaN if nothing is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
