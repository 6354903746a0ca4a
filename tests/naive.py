"""Slow, obvious references for the alignment kernels: written from the definitions, in float64."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

MOVES = ((1, 1), (1, 0), (0, 1))


def all_paths(n: int, m: int) -> Iterator[list[tuple[int, int]]]:
    """Every path from (0, 0) to (n − 1, m − 1)."""

    def extend(path):
        if path[-1] == (n - 1, m - 1):
            yield list(path)
            return
        for di, dj in MOVES:
            i, j = path[-1][0] + di, path[-1][1] + dj
            if i < n and j < m:
                yield from extend([*path, (i, j)])

    yield from extend([(0, 0)])


def price(cost, path, penalty=0.0):
    """What a path costs: the sum of its cells and a penalty for each step that is not diagonal."""
    crooked = sum((b[0] - a[0]) + (b[1] - a[1]) == 1 for a, b in pairwise(path))
    return sum(float(cost[i, j]) for i, j in path) + penalty * crooked


def dtw(cost, penalty=0.0, allowed=None, anchors=()):
    """Of all paths through allowed cells and all anchors the cheapest.

    Of equal ones, the one whose last steps are diagonal rather than (1, 0), and (1, 0) rather than (0, 1).
    """

    def taste(path):
        return [MOVES.index((b[0] - a[0], b[1] - a[1])) for a, b in pairwise(path)][::-1]

    fitting = [
        path
        for path in all_paths(*cost.shape)
        if (allowed is None or all(allowed[cell] for cell in path)) and all(cell in path for cell in anchors)
    ]
    return min(fitting, key=lambda path: (price(cost, path, penalty), taste(path)))


def disordered_cost(cost):
    """The mean cost of the cheapest paths with the columns backwards, and with their halves exchanged."""
    half = cost.shape[1] // 2
    others = [
        cost[:, ::-1],
        np.concatenate([cost[:, cost.shape[1] - half :], cost[:, : cost.shape[1] - half]], axis=1),
    ]
    return sum(price(other, dtw(other)) for other in others) / 2


def reachable_columns(cost, more):
    """First and last column in each row that a path passes which costs at most that much more, (n, 2)."""
    paths = list(all_paths(*cost.shape))
    limit = min(price(cost, path) for path in paths) + more + 1e-9
    cells = [cell for path in paths if price(cost, path) <= limit for cell in path]
    rows = [[j for i, j in cells if i == row] for row in range(len(cost))]
    return [(min(row), max(row)) for row in rows]


def random_cost(cost):
    """The mean cost of random paths: every path times its probability."""

    def mean_from(i, j):  # counted from 1
        here = float(cost[i - 1, j - 1])
        if (i, j) == (1, 1):
            return here
        if i == 1:
            return here + mean_from(1, j - 1)
        if j == 1:
            return here + mean_from(i - 1, 1)
        p, q = i / (i + j), j / (i + j)
        stay = (1 - p) * (1 - q)
        ways = p * q * mean_from(i - 1, j - 1) + p * (1 - q) * mean_from(i - 1, j)
        return here + (ways + (1 - p) * q * mean_from(i, j - 1)) / (1 - stay)

    return mean_from(*cost.shape)


def sampled_random_costs(cost, paths, rng):
    """The costs of random paths drawn as the definition says, (paths,)."""
    out = np.empty(paths)
    for k in range(paths):
        i, j = cost.shape
        out[k] = cost[i - 1, j - 1]
        while (i, j) != (1, 1):
            up = rng.random() < i / (i + j)
            left = rng.random() < j / (i + j)
            if i == 1:
                up, left = False, True
            if j == 1:
                up, left = True, False
            if not up and not left:
                continue
            i, j = i - up, j - left
            out[k] += cost[i - 1, j - 1]
    return out


def cosine_distance(one, other):
    """1 − cosine of all pairs of rows; 1 where a row is zero."""
    lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)
    return 1 - np.divide(one @ other.T, lengths, out=np.zeros(lengths.shape), where=lengths > 1e-9)


def paper_features(features):
    """Frame features beside their running sum over the length, minus their mean over time; (T, 2d)."""
    f = np.asarray(features, np.float64)
    wide = np.concatenate([f, np.cumsum(f, axis=0) / len(f)], axis=1)
    return wide - wide.mean(0)


def scenes(features, shots, distance=0.3):
    """The frames of each scene: a shot joins the first one with a shot whose mean looks like its own."""
    found = []
    for first, last in zip(shots, [*shots[1:], len(features)], strict=True):
        mean = np.asarray(features[first:last], np.float64).mean(0)
        alike = [
            scene
            for scene in found
            if any(cosine_distance(mean[None], other[None])[0, 0] < distance for other in scene[0])
        ]
        own = alike[0] if alike else None
        if own is None:
            found.append(own := ([], []))
        own[0].append(mean)
        own[1].extend(range(first, last))
    return [frames for _, frames in found]


def motion_features(features, reach, shots=(0,), window=64, hop=8):
    """State and change beside each other, each over its rms, and motion; (T, 2d), (T,).

    Mean and rms are those of the frame's window: `window` frames of its scene around its block of `hop`
    frames, pushed inside its scene. rms² is at least a quarter of its mean over the clip.
    """
    f = np.asarray(features, np.float64)
    length = len(f)
    state, change = np.empty_like(f), np.empty_like(f)
    windows = [None] * length
    for frames in scenes(f, shots):
        for place, t in enumerate(frames):
            start = place // hop * hop + hop // 2 - window // 2
            start = max(0, min(start, len(frames) - window))
            windows[t] = frames[start : start + window]
            state[t] = f[t] - f[windows[t]].mean(0)
    for first, last in zip(shots, [*shots[1:], length], strict=True):
        for t in range(first, last):
            change[t] = f[min(t + reach, last - 1)] - f[max(t - reach, first)]
    spread = np.array([((f[own] - f[own].mean(0)) ** 2).sum(1).mean() for own in windows])
    moved = (change**2).sum(1)
    spread = np.maximum(spread, (state**2).sum(1).mean() / 4)
    energy = np.maximum([moved[own].mean() for own in windows], moved.mean() / 4)
    motion = np.minimum(moved / energy, 3)
    wide = np.concatenate([state / np.sqrt(spread)[:, None], change / np.sqrt(energy)[:, None]], axis=1)
    return wide, motion / motion.mean()


def refined(rows, factor, shots=(0,)):
    """Rows (T, …) at `factor` points a step, linear between them, nearest across a cut."""
    out = []
    for k in range(factor * (len(rows) - 1) + 1):
        t, part = divmod(k, factor)
        weight = part / factor
        if t + 1 in shots:
            weight = float(np.rint(weight))
        out.append(rows[t] if part == 0 else (1 - weight) * rows[t] + weight * rows[t + 1])
    return np.array(out)


def motion_cost(one, other, power=2, stillness=0.1):
    """Cost of (features, motion) pairs as `motion_features` and `refined` give them."""
    distance = np.maximum(cosine_distance(one[0], other[0]), 0) ** power
    return distance * (stillness + (1 - stillness) * (one[1][:, None] + other[1]) / 2)


def priced_gain(cost, rows, columns, pieces):
    """What pieces gain: the price of every row and column they enter, minus their cells."""
    cells = [cell for piece in pieces for cell in piece]
    earned = sum(rows[i] for i in {i for i, _ in cells}) + sum(columns[j] for j in {j for _, j in cells})
    return earned - sum(float(cost[cell]) for cell in cells)


def best_priced_gain(cost, rows, columns, jump):
    """The greatest gain of all chains of paths, each ahead of the last in both clips, `jump` paid between."""
    n, m = cost.shape
    boxes = [(i, j, k, last) for i in range(n) for k in range(i, n) for j in range(m) for last in range(j, m)]
    best = {
        (i, j, k, last): max(
            priced_gain(cost, rows, columns, [[(i + a, j + b) for a, b in path]])
            for path in all_paths(k - i + 1, last - j + 1)
        )
        for i, j, k, last in boxes
    }

    def chain(i, j):  # the best chain of pieces that start at row i, column j or later
        ways = [(box, gain) for box, gain in best.items() if box[0] >= i and box[1] >= j]
        return max(
            (gain + max(0.0, chain(box[2] + 1, box[3] + 1) - jump) for box, gain in ways), default=-np.inf
        )

    return chain(0, 0)


def whittaker(values, weights, bending):
    bend = np.diff(np.eye(len(values)), n=2, axis=0)
    return np.linalg.solve(np.diag(weights) + bending * bend.T @ bend, weights * values)


def fewest_lines(times, values, bound):
    """The least number of lines, broken at knots, that pass all knots within the bound."""
    from scipy.optimize import linprog

    def fits(a, b):
        t, v = times[a : b + 1] - times[a], values[a : b + 1]
        above = np.stack([t, np.ones(len(t))], axis=1)
        rows, limits = np.concatenate([above, -above]), np.concatenate([v + bound, bound - v])
        return linprog([0, 0], rows, limits, bounds=[(0, None), (None, None)]).status == 0

    fewest = [0] + [len(times)] * (len(times) - 1)
    for b in range(1, len(times)):
        fewest[b] = min(fewest[a] + 1 for a in range(b) if fits(a, b))
    return fewest[-1]


def open_film_gains(
    cost: np.ndarray, query_prices: np.ndarray, film_prices: np.ndarray
) -> list[tuple[float, list[tuple[int, int]]]]:
    """For each film frame (column), the best gain, and path, from row 0 anywhere to the last row there.

    Tries every path: it earns the price of each row and column it enters and pays its cells.
    """
    n, m = cost.shape

    def paths(i: int, j: int) -> Iterator[list[tuple[int, int]]]:
        if i == 0:
            yield [(i, j)]
        for di, dj in ((1, 1), (1, 0), (0, 1)):
            if i - di >= 0 and j - dj >= 0:
                for path in paths(i - di, j - dj):
                    yield [*path, (i, j)]

    def gain(path: list[tuple[int, int]]) -> float:
        rows, columns = {i for i, _ in path}, {j for _, j in path}
        earned = sum(query_prices[i] for i in rows) + sum(film_prices[j] for j in columns)
        return float(earned - sum(cost[cell] for cell in path))

    return [max(((gain(path), path) for path in paths(n - 1, j)), key=lambda pair: pair[0]) for j in range(m)]


def softmax(values):
    """Shares of a list of numbers."""
    shares = np.exp(np.asarray(values, float) - max(values))
    return shares / shares.sum()


def square(a, b):
    """The squared distance of two vectors."""
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def tcc_loss(one, other, times, temperature, weight):
    """TCC's cycle-back regression, frame by frame: Dwibedi et al. 2019, section 3.2."""
    scale, total = len(one[0]) * temperature, 0.0
    for frame, time in zip(one, times, strict=True):
        alpha = softmax([-square(frame, v) / scale for v in other])
        neighbor = sum(a * v for a, v in zip(alpha, other, strict=True))
        beta = softmax([-square(neighbor, u) / scale for u in one])
        mean = sum(b * t for b, t in zip(beta, times, strict=True))
        spread = sum(b * (t - mean) ** 2 for b, t in zip(beta, times, strict=True))
        total += (time - mean) ** 2 / spread + weight * np.log(spread)
    return total / len(one)


def n_pairs_loss(anchors, positives, weight):
    """The loss of n pairs of one clip (Sohn 2016), as TCN of one view uses it."""
    total = sum(-np.log(softmax([a @ p for p in positives])[n]) for n, a in enumerate(anchors))
    lengths = sum(a @ a + p @ p for a, p in zip(anchors, positives, strict=True))
    return total / len(anchors) + 0.25 * weight * lengths / len(anchors)


def smoothed_dtw(cost, best):
    """The table of DTW, cell by cell, with `best` of the three ways in place of the minimum."""
    table = np.full((len(cost) + 1, len(cost[0]) + 1), 1e9)
    table[0, 0] = 0
    for i in range(1, table.shape[0]):
        for j in range(1, table.shape[1]):
            ways = [table[i, j - 1], table[i - 1, j - 1], table[i - 1, j]]
            table[i, j] = cost[i - 1][j - 1] + best(ways)
    return table[1:, 1:]


def soft_dtw(cost, gamma):
    """Soft DTW (Cuturi and Blondel 2017)."""
    return smoothed_dtw(cost, lambda ways: -gamma * np.logaddexp.reduce(-np.array(ways) / gamma))[-1, -1]


def contrastive_idm(frames, times, near, margin):
    """LAV's regularization of one clip (Haresh et al. 2021, equation 6)."""
    total = 0.0
    for a, t in zip(frames, times, strict=True):
        for b, u in zip(frames, times, strict=True):
            far = abs(t - u) > near
            total += (1 + (t - u) ** 2) * max(0, margin - square(a, b)) if far else square(a, b)
    return total


def gta_loss(one, other, gamma, temperature, smoothing):
    """GTA's two paths and its global cycle (Hadji et al. 2021, sections 3.2 and 3.3)."""

    def table(first, second):
        shares = np.array([softmax([f @ s / temperature for f in first]) for s in second]).T
        return smoothed_dtw(-np.log(shares), lambda ways: softmax([-w / gamma for w in ways]) @ ways)

    def columns(matrix):
        return np.array([softmax(-column) for column in matrix.T]).T

    forth, back = table(one, other), table(other, one)
    cycle = (columns(forth) @ columns(back)).T
    total = 0.0
    for n, row in enumerate(cycle):
        wanted = np.full(len(row), smoothing / len(row))
        wanted[n] += 1 - smoothing
        total -= wanted @ np.log(softmax(row))
    return forth[-1, -1] + back[-1, -1], total / len(cycle)
