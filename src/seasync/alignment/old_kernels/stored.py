"""From stored frame features to the products of their frames with a query's, many clips in one call.

Clips of one shot and one window, which most are, go from the bytes of a sea to the lanes without a step of
Python. The steps are those of `seasync.alignment.prepare`, and give the same numbers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from seasync.alignment.old_kernels.clock import clock, longest_over_shortest
from seasync.alignment.old_kernels.half import widen
from seasync.alignment.old_kernels.lane_costs import base_products, put_side
from seasync.alignment.old_kernels.preparation import prepare_frames
from seasync.alignment.old_kernels.products import products

PLAIN, SAMPLES, FACTOR, POINTS, RESAMPLED = range(5)  # columns of a plan
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)


@njit(cache=True)
def plan_clips(seconds, frames_of, shots_of, settings, longest, plans, rates):
    """How clips are prepared: plans (B, 5) int64 and rates (B,), written.

    settings: the largest jitter, the ratio of ordinary steps, samples and rate of a window, rate of the grid;
    longest: grid points of the longest clip that is solved in lanes.
    A clip that is not plain has several shots, windows or kinds of steps, or is long.
    """
    jitter, ordinary, window, window_fps, grid_fps = settings
    for b in range(len(frames_of)):
        times = seconds[frames_of[b, 0] : frames_of[b, 1]]
        plans[b, PLAIN] = 0
        if shots_of[b, 1] - shots_of[b, 0] != 1 or longest_over_shortest(times) >= ordinary:
            continue
        rate, count, off = clock(times, np.inf)
        resampled = off >= jitter and count <= 2 * len(times) + 16
        samples = count if resampled else len(times)
        factor = max(1, int(np.rint(grid_fps / rate)))
        points = factor * (samples - 1) + 1
        if points > longest or samples > max(window, np.rint(window * rate / window_fps)):
            continue
        plans[b, PLAIN] = 1
        plans[b, SAMPLES] = samples
        plans[b, FACTOR] = factor
        plans[b, POINTS] = points
        plans[b, RESAMPLED] = resampled
        rates[b] = rate


@njit(cache=True, nogil=True)
def _resample(times, features, rate, out):
    """Features (T, d) at the times (T,) of a uniform clock, linear between frames, into out (count, d)."""
    last = len(times) - 2
    place = 0
    for t in range(len(out)):
        wanted = times[0] + t / rate
        while place < last and times[place + 1] <= wanted:
            place += 1
        way = (wanted - times[place]) / (times[place + 1] - times[place])
        weight = np.float32(min(max(way, 0.0), 1.0))
        lower = features[place]
        upper = features[place + 1]
        row = out[t]
        for k in range(len(row)):
            row[k] = lower[k] + weight * (upper[k] - lower[k])


@njit(cache=True, nogil=True)
def _single(bits, out):
    """Half precision bits (T, d) as numbers into out (T, d)."""
    widen(bits.reshape(-1), out.reshape(-1))


@njit(cache=True, nogil=True)
def fill_lanes(
    bits, seconds, frames_of, plans, rates, chosen, change_seconds, stillness, rows, query, planes,
    query_side, match_side, moving,
):  # fmt: skip
    """Prepare the clips `chosen` (up to LANES), and write what `lane_costs` needs of them and of the query.

    bits (N, d) uint16, seconds (N,): of all clips, at frames_of (B, 2); plans, rates: see `plan_clips`.
    rows, query: rows of the query's stream, and its links, scales, lower, grid; see `PreparedStream`.
    planes, query_side, match_side: see `lane_costs`; moving (LANES,) bool, written.
    """
    half = np.float32((1.0 - stillness) / 2.0)
    length = query[0].shape[1]
    grid1 = query[3]
    shots = np.zeros(1, np.int64)
    stops = np.empty(1, np.int64)
    for lane in range(len(chosen)):
        b = chosen[lane]
        own = slice(frames_of[b, 0], frames_of[b, 1])
        times = seconds[own]
        samples, factor, points = plans[b, SAMPLES], plans[b, FACTOR], plans[b, POINTS]
        features = np.empty((len(times), bits.shape[1]), np.float32)
        _single(bits[own], features)
        if plans[b, RESAMPLED]:
            sampled = np.empty((samples, bits.shape[1]), np.float32)
            _resample(times, features, rates[b], sampled)
            features = sampled
        lower = np.empty(points, np.int32)
        weight = np.empty(points, np.float64)
        for a in range(points):
            lower[a] = a // factor
            weight[a] = a % factor / factor
        stops[0] = samples
        reach = max(1, int(np.rint(change_seconds * rates[b])))
        others, links, scales, grid, still = prepare_frames(
            features, shots, np.zeros(samples, np.int32), shots, stops, reach, False, True, lower, weight
        )
        moving[lane] = not still
        if still:  # all costs are one
            planes[lane] = _ZERO
            put_side(np.zeros_like(grid1), lane, _ONE, _ZERO, query_side)
            put_side(np.zeros_like(grid), lane, _ZERO, _ZERO, match_side)
            continue
        gram = np.empty((len(rows), samples), np.float32)
        products(rows, others, gram)
        match = links, scales, lower, grid
        base_products(gram[:length], gram[length:], query, match, False, planes[lane])
        put_side(grid1, lane, np.float32(stillness), half, query_side)
        put_side(grid, lane, _ZERO, half, match_side)
