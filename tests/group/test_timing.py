"""When marks happen, how long phases last, and what is said of it."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from seasync.errors import DataError
from seasync.group.clock import group_of
from seasync.marks import Mark
from seasync.render.timing_page import timing_csv, timing_markdown, timing_page, write_timing
from tests.group.takes import take, true_seconds

PLACES = {"start": 0.1, "top": 0.5, "end": 0.9}


def marks(*, bend=0.0, length=60):
    return [Mark(name, true_seconds(place, bend=bend, length=length)) for name, place in PLACES.items()]


@pytest.fixture(scope="module")
def group():
    return group_of(take("model"), [take("slow-start", bend=0.5), take("b", bend=-0.2), take("c")])


@pytest.fixture(scope="module")
def timing(group):
    return group.timing({"model": marks()})


def test_each_mark_is_told_in_seconds_and_frames_of_its_take(timing):
    found = {(mark.take, mark.mark): mark for mark in timing.marks}
    assert len(found) == 4 * 3
    top = found["slow-start", "top"]
    assert top.seconds == pytest.approx(true_seconds(0.5, bend=0.5), abs=0.15)
    assert top.frame == pytest.approx(30 * top.seconds, abs=1)
    assert not top.given
    assert found["model", "top"].given


def test_phases_are_compared_with_the_reference_and_the_mean(timing):
    phase = next(p for p in timing.phases if p.take == "slow-start" and p.phase == "start to top")
    true = true_seconds(0.5, bend=0.5) - true_seconds(0.1, bend=0.5) - true_seconds(0.5) + true_seconds(0.1)
    assert phase.to_reference == pytest.approx(true, abs=0.15)
    same = [p.seconds for p in timing.phases if p.phase == "start to top"]
    assert phase.to_mean == pytest.approx(phase.seconds - sum(same) / len(same), abs=1e-4)


def test_shares_of_a_take_add_up(timing):
    shares = [phase.percent for phase in timing.phases if phase.take == "b"]
    assert sum(shares) == pytest.approx(100, abs=0.05)


def test_the_largest_difference_is_said_first_in_words(timing):
    first = timing.words()[0]
    assert first.startswith("slow-start: ")
    assert "than the reference" in first
    assert not any(sentence.startswith("model") for sentence in timing.words())


def test_marks_of_a_take_reach_the_reference_and_the_others(group):
    timing = group.timing({"slow-start.mp4": marks(bend=0.5)})
    found = {(mark.take, mark.mark): mark for mark in timing.marks}
    assert found["slow-start", "top"].given
    assert found["model", "top"].seconds == pytest.approx(true_seconds(0.5), abs=0.15)
    assert found["c", "end"].seconds == pytest.approx(true_seconds(0.9), abs=0.15)


def test_a_marked_phase_is_reported_by_its_own_name(group):
    swing = Mark("swing", true_seconds(0.2), true_seconds(0.7))
    timing = group.timing({"model": [swing, Mark("landing", true_seconds(0.8))]})
    assert timing.phase_names == ("swing",)
    slow = next(phase for phase in timing.phases if phase.take == "slow-start")
    true = true_seconds(0.7, bend=0.5) - true_seconds(0.2, bend=0.5)
    assert slow.seconds == pytest.approx(true, abs=0.15)
    assert slow.to_reference == pytest.approx(true - (swing.end - swing.seconds), abs=0.15)
    assert timing.names == ("swing", "swing ends", "landing")


def test_marks_of_unknown_clips_are_one_clear_line(group):
    with pytest.raises(DataError, match=r"the marks are of other\.mp4"):
        group.timing({"other.mp4": marks()})


def test_a_mark_outside_its_clip_is_one_clear_line(group):
    with pytest.raises(DataError, match=r"model: the mark 'late' is at 99 s, outside the clip"):
        group.timing({"model": [Mark("late", 99.0)]})


def test_the_table_has_a_row_per_mark_and_phase(timing):
    rows = list(csv.DictReader(timing_csv(timing).splitlines()))
    assert sum(row["kind"] == "mark" for row in rows) == 12
    assert sum(row["kind"] == "phase" for row in rows) == 8


def test_markdown_and_page_say_the_words_and_name_every_take(group, timing):
    for text in (timing_markdown(group, timing), timing_page(group, timing)):
        assert timing.words()[0] in text
        for name in timing.takes:
            assert name in text


def test_names_are_escaped_in_the_page():
    group = group_of(take("<b>model"), [take("a", bend=0.2)])
    page = timing_page(group, group.timing({"<b>model": marks()}))
    assert "<b>model" not in page
    assert "&lt;b&gt;model" in page


def test_the_ending_decides_the_form(group, timing, tmp_path):
    for ending, begins in ((".csv", "take,"), (".json", "{"), (".md", "# "), (".html", "<!doctype")):
        write_timing(group, timing, tmp_path / f"timing{ending}")
        assert (tmp_path / f"timing{ending}").read_text(encoding="utf-8").startswith(begins)


def test_marks_carried_within_a_group_keep_given_ones(group, tmp_path):
    found = group.carry_marks({"model": marks()}, tmp_path / "all.csv")
    assert [mark.confidence for mark in found["model"]] == [None] * 3
    assert all(mark.confidence is not None for mark in found["b"])
    assert (tmp_path / "all.csv").read_text().count("\n") == 1 + 4 * 3


def test_phases_that_follow_each_other_are_put_in_proportion(group, timing):
    lines = timing_markdown(group, timing).splitlines()
    head = next(line for line in lines if line.startswith("| take"))
    assert head.endswith("| start to top : top to end |")
    first = next(line for line in lines if line.startswith("| model"))
    assert first.endswith("| 1.0 : 1 |")
    assert "start to top : top to end" in timing_page(group, timing)


def test_differences_to_reference_and_mean_are_also_in_frames_and_percent(timing):
    rows = [row for row in csv.DictReader(timing_csv(timing).splitlines()) if row["kind"] == "phase"]
    mean = np.mean([float(row["seconds"]) for row in rows if row["name"] == "start to top"])
    reference = next(row for row in rows if (row["take"], row["name"]) == ("model", "start to top"))
    for row in (row for row in rows if row["name"] == "start to top"):
        seconds = float(row["seconds"])
        apart = seconds - float(reference["seconds"])
        assert float(row["to_reference_frames"]) == pytest.approx(apart * 30, abs=0.02)
        assert float(row["to_mean_frames"]) == pytest.approx((seconds - mean) * 30, abs=0.02)
        assert float(row["to_reference_percent"]) == pytest.approx(
            100 * apart / float(reference["seconds"]), abs=0.1
        )
        assert float(row["to_mean_percent"]) == pytest.approx(100 * (seconds / mean - 1), abs=0.1)


def test_the_table_ends_with_the_mean_and_calls_the_reference_so(group, timing):
    durations = [phase.seconds for phase in timing.phases if phase.phase == "start to top"]
    lines = timing_markdown(group, timing).splitlines()
    assert any(line.startswith("| model (reference) |") for line in lines)
    last = next(line for line in lines if line.startswith("| mean ± spread"))
    assert f"| {np.mean(durations):.2f} ± {np.std(durations):.2f} |" in last
