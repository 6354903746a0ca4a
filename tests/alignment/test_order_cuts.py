"""Clips put together again, and cuts between pieces in another order."""

from dataclasses import replace

import numpy as np
import pytest

from seasync.alignment import MOTION, align_encodings, align_many
from seasync.alignment import partial as choosing
from seasync.alignment.any_order import edited, pieces_of
from seasync.alignment.prepare import prepare
from tests.alignment.clips import encoding, retimed, walk
from tests.alignment.test_stored import at_25_fps


@pytest.mark.parametrize("seconds", [np.arange(40) / 7.5, 5 + at_25_fps(40)], ids=["even", "25 fps"])
def test_an_edited_clip_is_prepared_as_if_it_had_been_filmed_so(seconds):
    features = walk(40, seed=3)
    clip = prepare(encoding(features, seconds=seconds, shots=(0, 10, 25)), MOTION)
    samples = np.r_[20:35, 0:12]
    made, places = edited(clip, samples, MOTION)
    assert np.array_equal(made.lead.features, features[samples])
    assert made.lead.shots.tolist() == [0, 5, 25]  # 20 and 0 are no cuts here, 25 and 10 are
    expected = encoding(features[samples], seconds=made.lead.seconds, shots=(0, 5, 25))
    assert np.array_equal(made.streams[0].arrays.grid, prepare(expected, MOTION).streams[0].arrays.grid)
    assert np.diff(made.lead.seconds) == pytest.approx(1 / 7.5, abs=0.03)
    there = clip.seconds[places]
    for run, first in ((slice(0, 15), 20), (slice(15, 27), 0)):
        own = made.seconds.searchsorted(made.lead.seconds[run] - 1e-6)
        assert there[own] == pytest.approx(seconds[first : first + len(own)], abs=0.06)


def test_a_clip_edited_to_itself_is_itself():
    clip = prepare(encoding(walk(30), shots=(0, 12)), MOTION)
    made, places = edited(clip, np.arange(30), MOTION)
    assert places.tolist() == list(range(len(clip)))
    assert np.array_equal(made.streams[0].arrays.rows, clip.streams[0].arrays.rows)


def test_a_path_is_split_where_it_jumps_and_no_frame_is_in_two_pieces():
    cells = [[0, 5], [1, 6], [1, 6], [2, 7], [2, 0], [3, 1], [3, 2], [5, 3], [6, 3], [6, 8]]
    pieces = [np.array([[0, 4], [0, 5]], np.int32)]
    pieces_of(np.array(cells, np.int32), pieces)
    assert [piece.tolist() for piece in pieces[1:]] == [
        [[1, 6], [2, 7]],
        [[3, 1], [3, 2]],
        [[5, 3], [6, 3]],
    ]


def swapped(seed, cut=0.5, length=60):
    """A movement and the same in two pieces, in the other order; and where its samples are in the second."""
    movement, rng = walk(length, 16, seed), np.random.default_rng(seed)
    places = (np.linspace(0, 1, length) ** 1.1) * (length - 1)
    one, other = (part + rng.normal(0, 1.0, part.shape) for part in (movement, retimed(movement, places)))
    order = np.roll(np.arange(length), -int(cut * length))
    return encoding(one), encoding(other[order]), places[order] / 7.5


def error(alignment, truth):
    """By how much each of the match's samples is off, in seconds."""
    times = np.arange(len(truth)) / 7.5
    return np.abs(alignment.warp(keep="match").at(times) - truth)


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.63])
@pytest.mark.parametrize("seed", range(3))
def test_cuts_are_found_to_the_sample(seed, cut):
    query, match, truth = swapped(seed, cut)
    alignment = align_encodings(query, match, order="any")
    starts = sorted(piece.match[0] for piece in alignment.pieces)
    assert starts == pytest.approx([0, (60 - int(cut * 60)) / 7.5], abs=0.14)
    assert np.median(error(alignment, truth)) < 0.1


def test_moving_the_cuts_brings_them_nearer(monkeypatch):
    def off():
        found = []
        for seed in range(8):
            query, match, _ = swapped(seed, 0.63)
            pieces = align_encodings(query, match, order="any").pieces
            found.append(min(abs(piece.match[0] - 23 / 7.5) for piece in pieces))
        return np.mean(found)

    near = off()
    monkeypatch.setattr(choosing, "with_moved_cuts", lambda pair, cost, whole, found, *rest: found)
    assert near < off()


def test_pieces_cover_both_clips_and_share_no_frame():
    for seed in range(6):
        query, match, _ = swapped(seed, 0.4)
        alignment = align_encodings(query, match, order="any")
        for side, length in ((0, len(alignment.query_seconds)), (1, len(alignment.match_seconds))):
            taken = [set(alignment.path[p.start : p.stop, side].tolist()) for p in alignment.pieces]
            assert sum(map(len, taken)) == len(set().union(*taken)) > 0.95 * length


def test_many_matches_in_any_order_are_aligned_as_each_alone():
    query = swapped(0)[0]
    matches = [swapped(seed, cut)[1] for seed, cut in ((0, 0.5), (0, 0.3), (1, 0.5), (2, 0.4))]
    for match, found in zip(matches, align_many(query, matches, order="any"), strict=True):
        alone = align_encodings(query, match, order="any")
        assert np.array_equal(found.path, alone.path)
        assert found.draq == pytest.approx(alone.draq)


def test_clips_of_several_streams_keep_the_cuts_they_have():
    query, match, _ = swapped(1)
    both = [
        replace(clip, streams=(*clip.streams, replace(clip.streams[0], name="more")))
        for clip in (query, match)
    ]
    assert len(align_encodings(*both, order="any").pieces) == 2
