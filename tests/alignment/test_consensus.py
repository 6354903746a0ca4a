"""Matches that correct each other: where most ways lead, and what stays as it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seasync.alignment import align_encodings, align_many, cost_matrix
from seasync.alignment.consensus import apply_consensus, disagreement
from seasync.errors import FeatureError
from tests.alignment.clips import encoding, retimed, walk


def paces(count, length=60, seed=3):
    """Monotone courses (length,) from 0 to length − 1, each at a changing pace of its own."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        steps = np.cumsum(rng.uniform(0.3, 1.7, length - 1))
        yield np.append(0, steps) / steps[-1] * (length - 1)


@pytest.fixture
def performed():
    """One movement at different paces, not quite the same each time, and where in it each frame is."""
    course, rng = walk(60, width=12, seed=1), np.random.default_rng(0)
    places = list(paces(9))
    clips = [encoding(retimed(course, place) + rng.normal(scale=1.2, size=course.shape)) for place in places]
    return clips, places


def errors(alignments, places):
    """Mean distance in the movement between a moment of the first clip and its partner."""
    found = []
    for alignment, place in zip(alignments, places[1:], strict=True):
        times = alignment.query_seconds
        partner = alignment.warp().at(times)
        there = np.interp(partner, np.arange(len(place)) / 7.5, place)
        found.append(np.abs(there - np.interp(times, np.arange(60) / 7.5, places[0])).mean())
    return np.array(found)


def test_consensus_brings_matches_nearer_to_the_truth(performed):
    (query, *matches), places = performed
    alone = align_many(query, matches)
    together = apply_consensus(alone, matches)
    assert errors(together, places).mean() < 0.9 * errors(alone, places).mean()


def test_consensus_corrects_one_wrong_alignment(performed):
    (query, *matches), places = performed
    alignments = align_many(query, matches, partial="never")
    right = errors(alignments, places)[0]
    n, m = (len(times) for times in (alignments[0].query_seconds, alignments[0].match_seconds))
    astray = [(0, j) for j in range(m)] + [(i, m - 1) for i in range(1, n)]
    wrong = replace(
        alignments[0],
        path=np.array(astray, np.int32),
        pieces=(replace(alignments[0].pieces[0], start=0, stop=len(astray)),),
    )
    mended = apply_consensus([wrong, *alignments[1:]], matches)
    assert errors([wrong], places[:2])[0] > 10
    assert errors(mended, places)[0] < 2 * right + 1


def test_paths_stay_paths_and_keep_their_ends_and_scores(performed):
    (query, *matches), _ = performed
    for recipe_partial in ("never", "always"):
        alone = align_many(query, matches, partial=recipe_partial)
        for before, after in zip(alone, apply_consensus(alone, matches), strict=True):
            assert (after.draq, after.coverage, len(after.pieces)) == (
                before.draq,
                before.coverage,
                len(before.pieces),
            )
            for old, new in zip(before.pieces, after.pieces, strict=True):
                path, was = after.path[new.start : new.stop], before.path[old.start : old.stop]
                steps = np.diff(path, axis=0)
                assert ((steps >= 0) & (steps <= 1)).all()
                assert (steps.sum(1) > 0).all()
                assert path[0].tolist() == was[0].tolist()
                assert path[-1].tolist() == was[-1].tolist()


def test_the_cost_is_that_of_the_path_that_is_returned(performed):
    (query, *matches), _ = performed
    kept = [align_encodings(query, match, partial="always") for match in matches]
    for alone in (kept, align_many(query, matches, partial="always")):
        together = apply_consensus(alone, matches)
        assert sum(each.dtw_cost for each in together) > 1.001 * sum(each.dtw_cost for each in alone)
        for before, after, match in zip(alone, together, matches, strict=True):
            cost = cost_matrix(query, match)
            assert after.dtw_cost == pytest.approx(cost[tuple(after.path.T)].sum(dtype=float), rel=1e-6)
            for old, new in zip(before.pieces, after.pieces, strict=True):
                cells = tuple(after.path[new.start : new.stop].T)
                assert new.dtw_cost == pytest.approx(cost[cells].sum(dtype=float), rel=1e-6)
                assert new.draq == old.draq


def test_matches_that_do_not_align_are_ignored(performed):
    (query, *matches), _ = performed
    strangers = [encoding(np.full((60, 12), value)) for value in range(4)]  # nothing moves in them
    among = [*matches, *strangers]
    alone, mixed = align_many(query, matches), align_many(query, among)
    assert not any(alignment.alignable for alignment in mixed[len(matches) :])
    for one, other in zip(apply_consensus(alone, matches), apply_consensus(mixed, among), strict=False):
        assert one.path.tolist() == other.path.tolist()


def test_consensus_with_fewer_than_two_helpers_changes_nothing(performed):
    (query, *matches), _ = performed
    alone = align_many(query, matches[:2])
    assert [a.path.tolist() for a in apply_consensus(alone, matches[:2])] == [a.path.tolist() for a in alone]
    assert apply_consensus([], []) == []


def test_disagreement_rises_with_noise_in_the_features(performed):
    clips, places = performed
    rng = np.random.default_rng(1)
    apart, wrong = [], []
    for noise in (0, 2, 6):
        query, *matches = [
            encoding(clip.features + rng.normal(scale=noise, size=clip.features.shape)) for clip in clips
        ]
        apart.append(disagreement(query, matches))
        wrong.append(errors(align_many(query, matches), places).mean())
    assert apart == sorted(apart)
    assert wrong == sorted(wrong)
    assert disagreement(clips[0], [clips[0]] * 4) == pytest.approx(0, abs=1e-9)
    with pytest.raises(FeatureError, match="three matches or more"):
        disagreement(clips[0], clips[1:3])
