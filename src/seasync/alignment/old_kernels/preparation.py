"""What a cost matrix needs of one clip's features: rows for the Gram matrix, scales, norms, motion."""

from __future__ import annotations

import numpy as np
from numba import njit

MOTION_CAP = 3.0  # chosen on falls, of 2 to 10; other sets hardly change
SCALE_FLOOR = 0.25
# Energy below this share of the raw features' is rounding, not movement.
_ROUNDING = 1e-12


@njit(cache=True, nogil=True, fastmath=True)
def _dot(a, b):
    total = np.float32(0.0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True, fastmath=True)
def center(features, parts, rows):
    """rows[:T] = features (T, d) minus the mean of each part; parts (P,) are the first frames of the parts.

    Returns the last part's mean (d,) and the mean energy of a frame before centring.
    """
    length, width = features.shape
    mean = np.empty(width, np.float64)
    energy = 0.0
    for p in range(len(parts)):
        first = parts[p]
        last = parts[p + 1] if p + 1 < len(parts) else length
        mean[:] = 0.0
        for t in range(first, last):
            for k in range(width):
                mean[k] += features[t, k]
        for k in range(width):
            mean[k] /= last - first
        for t in range(first, last):
            # Loops that add up store nothing: else the compiler adds in an order that depends on whether
            # arrays happen to lie next to each other in memory, and the last digit with it.
            total = np.float32(0.0)
            for k in range(width):
                total += features[t, k] * features[t, k]
            for k in range(width):
                rows[t, k] = features[t, k] - mean[k]
            energy += total
    return mean, energy / length


@njit(cache=True, nogil=True, fastmath=True)
def window_means(rows, length, starts, stops):
    """Write the mean of rows[start:stop] of window w into rows[length + w].

    Returns the mean squared distance from it within each window, (W,) float64.
    """
    spread = np.zeros(len(starts), np.float64)
    for w in range(len(starts)):
        mean = rows[length + w]
        mean[:] = 0.0
        share = np.float32(1.0 / (stops[w] - starts[w]))
        for t in range(starts[w], stops[w]):
            for k in range(rows.shape[1]):
                mean[k] += share * rows[t, k]
        for t in range(starts[w], stops[w]):
            total = np.float32(0.0)
            for k in range(rows.shape[1]):
                total += (rows[t, k] - mean[k]) ** 2
            spread[w] += total * share
    return spread


@njit(cache=True, nogil=True, fastmath=True)
def context_rows(rows, length, mean):
    """Write the time mean of the running sums over length into rows[length], `mean` into the next."""
    rows[length] = 0.0
    for t in range(length):
        share = np.float32((length - t) / (length * length))
        for k in range(rows.shape[1]):
            rows[length, k] += share * rows[t, k]
    for k in range(rows.shape[1]):
        rows[length + 1, k] = mean[k]


@njit(cache=True, nogil=True, fastmath=True)
def _state(rows, length, t, own, context, sums, out):
    """State of frame t into out (d,) or, with context, (2d,); frames must come in order."""
    width = rows.shape[1]
    for k in range(width):
        out[k] = rows[t, k] - (rows[own, k] if own >= length else np.float32(0.0))
    if context:
        ramp = np.float32((t + 1) / length - (length + 1) / (2 * length))
        share = np.float32(1.0 / length)
        for k in range(width):
            sums[k] += rows[t, k] * share
            out[width + k] = sums[k] - rows[length, k] + ramp * rows[length + 1, k]


@njit(cache=True, nogil=True, fastmath=True)
def _plain_energies(rows, length, ahead, behind):
    """`energies` where the state of a frame is its row: no windows, no context."""
    width = rows.shape[1]
    out = np.zeros((4, length), np.float64)
    for t in range(length):
        last = max(t - 1, 0)
        row = rows[t]
        earlier = rows[last]
        after = rows[ahead[t]]
        before = rows[behind[t]]
        last_after = rows[ahead[last]]
        last_before = rows[behind[last]]
        own = np.float32(0.0)
        lag = np.float32(0.0)
        moved = np.float32(0.0)
        onward = np.float32(0.0)
        for k in range(width):
            step = after[k] - before[k]
            own += row[k] * row[k]
            lag += row[k] * earlier[k]
            moved += step * step
            onward += step * (last_after[k] - last_before[k])
        out[0, t] = own
        out[2, t] = moved
        if t > 0:
            out[1, t - 1] = lag
            out[3, t - 1] = onward
    return out


@njit(cache=True, nogil=True, fastmath=True)
def energies(rows, length, own, ahead, behind, context):
    """Squared norms and neighbor products of state and change.

    rows (T + extra, d) as written above; own (T,) row of each frame's window mean, 0 where there is none;
    ahead, behind (T,) the frames whose difference is the change.
    Returns (4, T) float64: ⟨state_t, state_t⟩, ⟨state_t, state_t+1⟩ and the same of the change.
    """
    width = rows.shape[1]
    wide = 2 * width if context else width
    state = np.empty((2, wide), np.float32)
    change = np.empty((2, width), np.float32)
    sums = np.zeros(width, np.float32)
    out = np.zeros((4, length), np.float64)
    for t in range(length):
        now = t % 2
        _state(rows, length, t, own[t], context, sums, state[now])
        for k in range(width):
            change[now, k] = rows[ahead[t], k] - rows[behind[t], k]
        out[0, t] = _dot(state[now], state[now])
        out[2, t] = _dot(change[now], change[now])
        if t > 0:
            out[1, t - 1] = _dot(state[now], state[1 - now])
            out[3, t - 1] = _dot(change[now], change[1 - now])
    return out


@njit(cache=True, nogil=True)
def _scales(local, whole, window, floor):
    """1 / rms of each frame's window (T,), out of the windows' mean squares `local` (W,) and the clip's."""
    out = np.zeros(len(window), np.float64)
    if whole > floor:
        for t in range(len(window)):
            out[t] = 1.0 / np.sqrt(max(local[window[t]], SCALE_FLOOR * whole))
    return out


@njit(cache=True, nogil=True)
def _window_mean(energy, starts, stops):
    out = np.empty(len(starts), np.float64)
    for w in range(len(starts)):
        total = 0.0
        for t in range(starts[w], stops[w]):
            total += energy[t]
        out[w] = total / (stops[w] - starts[w])
    return out


@njit(cache=True, nogil=True)
def _weigh(products, kind, weights, scales, own, lag):
    """Write the scales of the state (kind 0) or the change (1); add its products, scaled, to own and lag."""
    for t in range(len(weights)):
        scales[kind, t] = weights[t]
        own[t] += products[2 * kind, t] * weights[t] * weights[t]
        if t + 1 < len(weights):
            lag[t] += products[2 * kind + 1, t] * weights[t] * weights[t + 1]


@njit(cache=True, nogil=True)
def scale(products, raw, spread, window, starts, stops, lower, weight, with_change):
    """Scales per frame, and norms and motion on the grid.

    products (4, T) from `energies`, raw the energy of a frame before centring; spread (W,) the mean square of
    the state in each window, or (0,) where one window is the clip;
    lower (n,), weight (n,): grid point a lies `weight` of the way from frame lower[a] to the next.
    Returns (scales (2, T) of state and change, grid (3, n): weight, 1 / norm, motion; float32), still.
    """
    # Written as loops: expressions of arrays take four seconds longer to compile, and a first user waits.
    length = products.shape[1]
    floor = raw * _ROUNDING
    scales = np.zeros((2, length), np.float32)
    own = np.zeros(length, np.float64)
    lag = np.zeros(length, np.float64)
    motion = np.ones(length, np.float64)
    local = spread if len(spread) else np.full(1, products[0].mean())
    state = _scales(local, products[0].mean(), window, floor)
    _weigh(products, 0, state, scales, own, lag)
    still = state[0] == 0.0
    if with_change:
        change = _scales(_window_mean(products[2], starts, stops), products[2].mean(), window, floor)
        _weigh(products, 1, change, scales, own, lag)
        still = change[0] == 0.0
        if not still:
            total = 0.0
            for t in range(length):
                motion[t] = min(products[2, t] * change[t] * change[t], MOTION_CAP)
                total += motion[t]
            for t in range(length):
                motion[t] *= length / total
    grid = np.empty((3, len(lower)), np.float32)
    for a in range(len(lower)):
        t = lower[a]
        w = weight[a]
        u = min(t + 1, length - 1)
        square = (1.0 - w) ** 2 * own[t] + w**2 * own[u] + 2.0 * w * (1.0 - w) * lag[t]
        grid[0, a] = w
        grid[1, a] = 1.0 / np.sqrt(square) if square > _ROUNDING else 0.0
        grid[2, a] = (1.0 - w) * motion[t] + w * motion[u]
    return scales, grid, still


@njit(cache=True, nogil=True)
def _put_neighbors(links, shots, reach):
    """Into links[0] and links[1], (T,) each: the frames `reach` later and earlier, kept inside the shot."""
    length = links.shape[1]
    for s in range(len(shots)):
        first = shots[s]
        last = (shots[s + 1] if s + 1 < len(shots) else length) - 1
        for t in range(first, last + 1):
            links[0, t] = min(t + reach, last)
            links[1, t] = max(t - reach, first)


@njit(cache=True, nogil=True)
def prepare_frames(features, shots, window, starts, stops, reach, context, with_change, lower, weight):
    """Everything `PreparedStream` holds of features (T, d): rows, links, scales, grid, still.

    window (T,) each frame's window, which spans frames starts[w] to stops[w]; reach 0 leaves change out.
    """
    length, width = features.shape
    several = len(starts) > 1
    extra = 2 if context else len(starts) if several else 0
    rows = np.empty((length + extra, width), np.float32)
    # With windows, rows are only ever compared within a shot: centered there they are smallest.
    mean, raw = center(features, shots if several else np.zeros(1, np.int64), rows)
    spread = np.empty(0, np.float64)
    if context:
        context_rows(rows, length, mean)
    elif several:
        spread = window_means(rows, length, starts, stops)
    links = np.zeros((3, length), np.int32)
    _put_neighbors(links, shots, reach)
    if several:
        for t in range(length):
            links[2, t] = length + window[t]
    if context or several:
        products = energies(rows, length, links[2], links[0], links[1], context)
    else:
        products = _plain_energies(rows, length, links[0], links[1])
    scales, grid, still = scale(products, raw, spread, window, starts, stops, lower, weight, with_change)
    return rows, links, scales, grid, still
