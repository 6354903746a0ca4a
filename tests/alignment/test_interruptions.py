"""Foreign footage in the middle of a movement that goes on afterwards."""

from dataclasses import replace

import numpy as np
import pytest

from seasync.alignment import MOTION, align_encodings, align_many, score_many
from seasync.alignment.prepare import prepare
from tests.alignment.clips import encoding, retimed
from tests.alignment.test_partial import action, noisy
from tests.alignment.test_stored import batch_of, halved

SEEDS = 1, 5, 10, 11
LENGTH, CUT, MORE = 30, 14, 20
FAST = slice(8, 22)


def swing(length, seed):
    """Rest, four fast changes, rest; (length, 16)."""
    turns, at = np.random.default_rng(seed).normal(size=(4, 16)), np.arange(length)[:, None]
    places = np.array([0.3, 0.45, 0.55, 0.7]) * length
    return (np.tanh((at - places) / 2) @ turns).astype(np.float32)


def scene(features, seed):
    """The same movement in another place, with noise."""
    rng = np.random.default_rng(seed)
    place = rng.normal(0, 8, features.shape[1])
    return (features + place + rng.normal(0, 0.5, features.shape)).astype(np.float32)


def interrupted(seed, **options):
    """A movement, and the same interrupted; and which seconds of them belong together."""
    movement, places = swing(LENGTH, seed), (np.linspace(0, 1, LENGTH) ** 1.2) * (LENGTH - 1)
    other = scene(retimed(movement, places), seed)
    between = scene(swing(MORE, 1000 + seed), 100 + seed)
    features = np.concatenate([other[:CUT], between, other[CUT:]])
    match = encoding(features, shots=(0, CUT, CUT + MORE), **options)
    samples = np.arange(LENGTH) + MORE * (np.arange(LENGTH) >= CUT)
    return encoding(scene(movement, 50 + seed)), match, places / 7.5, match.seconds[samples]


def error(query, match, places, seconds, recipe=MOTION):
    """By how much the fast part of the interrupted match is off, in seconds."""
    return np.abs(align_encodings(query, match, recipe=recipe).warp(keep="match").at(seconds) - places)[
        FAST
    ].mean()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_movement_is_followed_across_an_interruption(seed):
    query, match, places, seconds = interrupted(seed, start=3.0)
    alignment = align_encodings(query, match)
    assert len(alignment.pieces) == 2
    assert alignment.coverage[0] > 0.95
    (_, left), (right, _) = (piece.match for piece in alignment.pieces)
    assert left == pytest.approx(seconds[CUT - 1] + 1 / 7.5, abs=0.15)
    assert right == pytest.approx(seconds[CUT], abs=0.15)
    assert error(query, match, places, seconds) < 0.12


@pytest.mark.parametrize("seed", SEEDS)
def test_where_no_shots_show_one_scene_the_movement_is_lost(seed):
    """Else the test above would say nothing."""
    assert error(*interrupted(seed), recipe=replace(MOTION, scene_distance=0.0)) > 1


@pytest.mark.parametrize("seed", SEEDS)
def test_an_interrupted_query_is_followed_as_well(seed):
    match, query, places, seconds = interrupted(seed)
    away = np.abs(align_encodings(query, match).warp(keep="query").at(seconds) - places)
    assert away[FAST].mean() < 0.12


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_to_another_take_of_the_movement_is_no_interruption(seed):
    one, other, _ = action(seed, 60)
    first, second = scene(other, seed), scene(other, 100 + seed)
    match = encoding(np.concatenate([first[:20], second[20:40], first[40:]]), shots=(0, 20, 40))
    assert prepare(match, MOTION).uninterrupted is not None
    assert align_encodings(encoding(scene(one, 50 + seed)), match).whole


@pytest.mark.parametrize(
    ("shots", "kept"),
    [
        ("AAAAAA", None),
        ("AAA BBB", None),
        ("AAA AAA BBB", None),
        ("AAA BBB CCC", None),
        ("AAA BB AAA", "+++--+++"),
        ("AAA BB C AAA B", "+++---++++"),
        ("CC AAA B AAA C A", "++" + "+++-+++-+"),
        ("AA BBB AA BBB", "++" + "+++--+++"),  # the longer scene
    ],
)
def test_what_lies_between_shots_that_look_alike_interrupts_them(shots, kept):
    looks = dict(zip("ABC", np.random.default_rng(0).normal(size=(3, 16)), strict=True))
    parts = [noisy(np.tile(looks[shot[0]], (len(shot), 1)), at) for at, shot in enumerate(shots.split())]
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    clip = prepare(encoding(np.concatenate(parts), shots=starts), MOTION)
    found = clip.uninterrupted
    assert (None if found is None else "".join(np.where(found[:: clip.factor], "+", "-"))) == kept


def test_many_pairs_are_solved_and_scored_as_each_alone():
    query, match, _, _ = interrupted(0)
    others = [interrupted(seed)[at] for seed in (1, 2, 3) for at in (0, 1)]
    for asked in (query, match):
        matches = [halved(clip) for clip in (match, query, *others)]
        alone = [align_encodings(asked, other) for other in matches]
        for one, many in zip(alone, align_many(asked, matches), strict=True):
            assert np.array_equal(one.path, many.path)
            assert (one.draq, *one.coverage) == pytest.approx((many.draq, *many.coverage))
        for together in (matches, batch_of(matches)):
            scores = score_many(asked, together, partial="auto")
            assert scores.draq == pytest.approx([one.draq for one in alone], rel=1e-5)
            assert scores.query_coverage == pytest.approx([one.coverage[0] for one in alone])


def test_interruptions_stay_where_clips_must_correspond_whole_or_at_anchors():
    query, match, _, seconds = interrupted(0)
    assert align_encodings(query, match, partial="never").whole
    inside = (1.0, float(seconds[CUT - 1] + 1.0))
    assert align_encodings(query, match, anchors=[inside]).warp(keep="query").at(1.0) == pytest.approx(
        inside[1], abs=0.1
    )
