"""Slow, obvious versions of what `seasync.evaluate` computes: one frame, one pair, one clip at a time."""

from __future__ import annotations

import math

import numpy as np


def first_partner(path, kept, column):
    """The frame of the other side in the first step of the path that shows `kept`; None off the path."""
    for step in path:
        if step[column] == kept:
            return step[1 - column]
    return None


def mean_partner(path, kept, column):
    found = [step[1 - column] for step in path if step[column] == kept]
    return sum(found) / len(found) if found else None


def agreement(query_phases, match_phases, path):
    """(covered, all) of the first partners, counted by hand."""
    same = judged = labelled = 0
    for frame, phase in enumerate(query_phases):
        partner = first_partner(path, frame, 0)
        if phase < 0 or (partner is not None and match_phases[partner] < 0):
            continue
        labelled += 1
        if partner is not None:
            judged += 1
            same += phase == match_phases[partner]
    return (same / judged if judged else math.nan, same / labelled if labelled else math.nan)


def cycle(forward_path, backward_path, labels):
    """Labels (one per query frame) carried to the match and back by first partners.

    forward_path pairs (query, match), the match kept; backward_path pairs (match, query), the query kept.
    """
    on_match = {}
    for query, match in forward_path:
        on_match.setdefault(match, labels[query])
    back = {}
    for match, query in backward_path:
        back.setdefault(query, on_match[match])
    return [back[query] for query in range(len(labels))]


def tau_b(x, y):
    """Kendall's τ-b by counting every pair."""
    concordant = discordant = tied_x = tied_y = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            dx, dy = np.sign(x[j] - x[i]), np.sign(y[j] - y[i])
            concordant += dx * dy > 0
            discordant += dx * dy < 0
            tied_x += dx == 0
            tied_y += dy == 0
    pairs = len(x) * (len(x) - 1) / 2
    scale = math.sqrt((pairs - tied_x) * (pairs - tied_y))
    return (concordant - discordant) / scale if scale else math.nan


def frame_precision(embeddings, phases, cutoff, stride):
    """Precision@cutoff per clip, one query frame at a time, distances by numpy's norm."""
    per_clip = []
    for i, (mine, wanted) in enumerate(zip(embeddings, phases, strict=True)):
        pool = [
            (embeddings[j][t], phases[j][t])
            for j in range(len(embeddings))
            if j != i
            for t in range(0, len(phases[j]), stride)
            if phases[j][t] >= 0
        ]
        hits = []
        for t in range(0, len(wanted), stride):
            if wanted[t] >= 0:
                nearest = sorted(pool, key=lambda entry: np.linalg.norm(entry[0] - mine[t]))[:cutoff]
                hits.append(sum(phase == wanted[t] for _, phase in nearest) / len(nearest))
        per_clip.append(sum(hits) / len(hits) if hits else math.nan)
    return per_clip


def random_path(random, n, m):
    """A monotone path from (0, 0) to (n−1, m−1)."""
    path = [(0, 0)]
    while path[-1] != (n - 1, m - 1):
        i, j = path[-1]
        moves = [(a, b) for a, b in ((i + 1, j + 1), (i + 1, j), (i, j + 1)) if a < n and b < m]
        path.append(moves[random.integers(0, len(moves))])
    return path
