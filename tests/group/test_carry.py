"""Marks from a few labeled clips to all."""

from __future__ import annotations

import numpy as np
import pytest

from seasync.alignment import PAPER
from seasync.errors import DataError
from seasync.group.carry import Carrier, LabeledClip, Votes, confirmed, doubtful_first
from seasync.group.clock import group_of
from seasync.marks import Mark
from tests.group.takes import take, true_seconds

PLACES = {"start": 0.1, "top": 0.45, "end": 0.85}


def labeled(name, *, bend=0.0, length=60):
    one = take(name, bend=bend, length=length)
    marks = tuple(Mark(mark, true_seconds(place, bend=bend, length=length)) for mark, place in PLACES.items())
    return LabeledClip(one.clip, one.encoding, marks)


def carried(carrier, takes):
    return carrier.carry([one.clip for one in takes], lambda numbers: [takes[n].encoding for n in numbers])


def test_marks_of_one_clip_reach_all_that_align():
    bends = np.linspace(-0.4, 0.4, 7)
    takes = [take(f"t{n}", bend=bend) for n, bend in enumerate(bends)]
    for bend, found in zip(bends, carried(Carrier([labeled("model")]), takes), strict=True):
        assert [mark.name for mark in found.marks] == list(PLACES)
        for mark in found.marks:
            assert mark.seconds == pytest.approx(true_seconds(PLACES[mark.name], bend=bend), abs=0.15)


def test_a_clip_of_another_movement_gets_no_marks():
    (found,) = carried(Carrier([labeled("model")]), [take("stranger", seed=99)])
    assert found.marks == ()
    assert found.confidence == 0


def test_confidence_grows_with_labeled_clips_that_agree():
    targets = [take(f"t{n}", bend=0.05 * n) for n in range(4)]
    one = carried(Carrier([labeled("a")], tolerance_seconds=0.2), targets)
    many = carried(
        Carrier([labeled(f"m{n}", bend=0.1 * n - 0.4) for n in range(8)], tolerance_seconds=0.2), targets
    )
    assert np.mean([found.confidence for found in many]) > np.mean([found.confidence for found in one])


def test_one_labeled_clip_makes_nothing_sure():
    targets = [take(f"t{n}") for n in range(4)]
    found = carried(Carrier([labeled("model")], tolerance_seconds=5.0), targets)
    assert all(each.marks and not each.sure for each in found)


def test_answers_near_the_median_are_averaged_and_far_ones_ignored():
    votes = Votes((0, 1, 2, 3), np.ones(4), np.array([[1.0], [1.01], [1.02], [9.0]]))
    middle, spread = votes.middle()
    assert middle[0] == pytest.approx(1.01, abs=0.005)
    assert spread[0] > 1.9


def test_a_phase_keeps_its_two_ends():
    model = take("model")
    clip = LabeledClip(
        model.clip,
        model.encoding,
        (Mark("swing", true_seconds(0.3), true_seconds(0.7)), Mark("rest", 3.5, 3.8)),
    )
    (found,) = carried(Carrier([clip]), [take("t", bend=0.3)])
    swing = next(mark for mark in found.marks if mark.name == "swing")
    assert swing.seconds == pytest.approx(true_seconds(0.3, bend=0.3), abs=0.15)
    assert swing.end == pytest.approx(true_seconds(0.7, bend=0.3), abs=0.15)


def test_a_name_that_comes_twice_is_carried_twice():
    model = take("model")
    clip = LabeledClip(model.clip, model.encoding, (Mark("step", 1.0), Mark("step", 2.0)))
    (found,) = carried(Carrier([clip]), [take("t")])
    assert [round(mark.seconds, 1) for mark in found.marks] == [1.0, 2.0]


def test_the_most_doubtful_come_first_and_confirmed_ones_count_as_labeled():
    targets = [take("near", bend=0.05), take("stranger", seed=99)]
    found = carried(Carrier([labeled("model")]), targets)
    assert doubtful_first(found)[0].clip.file == "stranger.mp4"
    again = confirmed(found[0], targets[0].encoding)
    assert all(mark.confidence is None for mark in again.marks)
    assert len(Carrier([labeled("model"), again]).labeled) == 2


def test_no_marks_at_all_is_one_clear_line():
    model = take("model")
    with pytest.raises(DataError, match="label at least one"):
        Carrier([LabeledClip(model.clip, model.encoding, ())])


def test_a_group_carries_marks_by_the_recipe_it_was_aligned_with():
    model = labeled("model")
    own, takes = take("model"), [take(f"t{n}", bend=0.15 * n) for n in range(3)]
    group = group_of(own, takes, recipe=PAPER)
    found = group.carry_marks({"model": model.marks})
    expected = carried(Carrier([model], recipe=PAPER), takes)
    assert [found[f"t{n}"] for n in range(3)] == [each.marks for each in expected]


def test_a_group_of_a_sea_carries_marks_with_the_verdicts_of_the_sea():
    asked = []

    def judge(alignment):
        asked.append(alignment)
        return alignment

    own, other = take("model"), take("t")
    group = group_of(own, [other], consensus=False, judge=judge)
    asked.clear()
    group.carry_marks({"model": labeled("model").marks})
    assert asked
