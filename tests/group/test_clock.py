"""Takes on one clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seasync.clip import Clip
from seasync.encoders.encoder import clip_vector_parts
from seasync.encoding import Encoding
from seasync.errors import FeatureError
from seasync.group.clock import Take, group_of, medoid
from tests.alignment.clips import stream
from tests.group.takes import FPS, take, true_seconds

BENDS = {"a": 0.3, "b": -0.3, "c": 0.15, "d": -0.15}


@pytest.fixture(scope="module")
def group():
    return group_of(take("model"), [take(name, bend=bend) for name, bend in BENDS.items()])


def test_every_moment_of_the_reference_is_found_in_every_take(group):
    marks = [0.25, 0.5, 0.75]
    found = group.at([true_seconds(place) for place in marks])
    for row, bend in zip(found, BENDS.values(), strict=True):
        assert row == pytest.approx([true_seconds(place, bend=bend) for place in marks], abs=0.12)


def test_tempo_is_above_one_where_a_take_is_faster_than_the_reference(group):
    slow_first = group.tempo[list(BENDS).index("a")]
    inside = slow_first[5:-5]
    assert inside[:10].mean() < 0.95 < 1.05 < inside[-10:].mean()


def test_mean_and_spread_of_tempo_are_over_the_takes(group):
    middle = len(group.seconds) // 2
    logs = np.log(group.tempo[:, middle])
    assert group.tempo_mean[middle] == pytest.approx(np.exp(logs.mean()))
    assert group.tempo_spread[middle] == pytest.approx(np.exp(logs.std()))


def test_a_take_that_hurries_is_ahead_of_the_group(group):
    middle = len(group.seconds) // 2
    assert group.ahead[list(BENDS).index("b"), middle] > 0.05
    assert group.ahead[list(BENDS).index("a"), middle] < -0.05
    assert group.ahead[:, middle].mean() == pytest.approx(0, abs=1e-9)


def test_the_farthest_takes_come_first(group):
    names = [found.clip.file[0] for found, _ in group.outliers()]
    assert set(names[:2]) == {"a", "b"}


def test_time_is_normalized_to_the_reference(group):
    assert group.percent[0] == 0
    assert group.percent[-1] == 100


def test_a_take_of_another_movement_is_listed_not_forced():
    stranger = take("stranger", seed=99)
    group = group_of(take("model"), [take("a", bend=0.2), stranger])
    assert [found.clip.file for found in group.takes] == ["a.mp4"]
    assert [(out.clip.file, out.reason) for out in group.left_out] == [
        ("stranger.mp4", group.left_out[0].reason)
    ]
    assert "does not align" in group.left_out[0].reason


def judge_of(likelihoods):
    """A judge with these likelihoods: by the means of two encodings, in any order; else 0.9."""

    def judge(alignment):
        means = frozenset(id(clip.mean) for clip in (alignment.pair.query, alignment.pair.match))
        return replace(alignment, likelihood=likelihoods.get(means, 0.9))

    return judge


def test_the_verdict_of_a_sea_counts():
    model, same, other = take("model"), take("a", bend=0.2), take("b", bend=0.1)
    judge = judge_of({frozenset((id(model.encoding.mean), id(other.encoding.mean))): 0.3})
    group = group_of(model, [same, other], judge=judge)
    assert [aligned.clip.file for aligned in group.takes] == ["a.mp4"]
    assert [out.clip.file for out in group.left_out] == ["b.mp4"]


def test_a_take_that_fits_the_reference_alone_is_left_out():
    model, odd = take("model"), take("odd", bend=0.1)
    takes = [take(name, bend=bend) for name, bend in BENDS.items()]
    doubts = {frozenset((id(odd.encoding.mean), id(one.encoding.mean))): 0.2 for one in takes}
    group = group_of(model, [*takes, odd], judge=judge_of(doubts))
    assert [(out.clip.file, out.reason) for out in group.left_out] == [
        ("odd.mp4", "does not align with the other takes")
    ]
    alone = group_of(model, [*takes, odd], judge=judge_of(doubts), consensus=False)
    assert len(alone.takes) == 5


def test_a_take_that_fits_its_company_much_worse_than_they_fit_each_other_is_left_out():
    takes = [take(name, bend=bend) for name, bend in BENDS.items()]
    group = group_of(take("model"), [*takes, take("stranger", seed=99)], judge=judge_of({}))
    assert [out.clip.file for out in group.left_out] == ["stranger.mp4"]
    assert len(group.takes) == 4


def test_two_other_takes_do_not_outvote_the_reference():
    model, odd = take("model"), take("odd", bend=0.1)
    takes = [take("a", bend=0.3), take("b", bend=-0.3)]
    doubts = {frozenset((id(odd.encoding.mean), id(one.encoding.mean))): 0.2 for one in takes}
    assert len(group_of(model, [*takes, odd], judge=judge_of(doubts)).takes) == 3


def test_a_reference_that_fits_nothing_is_one_clear_line():
    with pytest.raises(FeatureError, match="none of 2 takes aligns with this reference"):
        group_of(take("stranger", seed=95), [take("a"), take("b", bend=0.1)])


def test_an_empty_group_is_one_clear_line():
    with pytest.raises(FeatureError, match="an empty group"):
        group_of(take("model"), [])


def test_takes_of_another_frame_rate_share_the_clock():
    fast = take("fast", length=120)  # twice as many samples of the same course
    group = group_of(take("model"), [fast, take("a", bend=0.1)])
    assert group.at([2.0])[0, 0] == pytest.approx(4.0 * 119 / 118, abs=0.15)


def test_the_medoid_is_the_take_in_the_middle():
    takes = [take("far", bend=0.9), take("middle"), take("near", bend=0.1), take("other", bend=-0.9)]
    assert takes[medoid(takes)].clip.file in ("middle.mp4", "near.mp4")


def test_json_holds_no_nan(group):
    import json

    assert "NaN" not in json.dumps(group.to_json())


def test_a_take_that_waits_before_it_begins_is_no_outlier():
    one = take("waits")
    lead = one.encoding.streams[0]
    still = np.repeat(lead.features[:1], 45, axis=0)  # three seconds
    waiting = stream(np.concatenate([still, lead.features]), fps=FPS)
    encoding = Encoding("test", (waiting,), *clip_vector_parts(waiting.features, waiting.seconds))
    waits = Take(Clip("waits.mp4"), encoding, 105 / FPS)
    group = group_of(take("model"), [waits, take("b", bend=-0.3), take("c", bend=0.1), take("d", bend=-0.05)])
    assert group.outliers()[0][0].clip.file == "b.mp4"
    assert not group.unusual()[0].any()
