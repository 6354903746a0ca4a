"""A small sample is filmed once; what the files hold is compared with what the truth says of them."""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from seasync.errors import DataError
from seasync.sample import Sample, alignment_error, make, true_warp
from seasync.sample.figure import perform
from seasync.sample.generate import frames, plan
from seasync.video import read, sound

SHORT = {"seed": 3, "seconds": (1.6, 2.4)}
SIZE = (120, 90)
RATE = 48_000


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    return make(tmp_path_factory.mktemp("sample"), clips=9, size=SIZE, jobs=2, **SHORT)


def pairs(sample):
    yield from ((a, b) for a, b in permutations(sample.clips, 2) if a.action == b.action)


def test_every_action_has_its_folder(sample):
    folders = {file.parent.name for file in sample.folder.rglob("*.mp4")}
    assert folders == set(sample.actions)
    assert len(folders) == 4


def test_files_hold_the_frames_of_the_truth_at_their_times(sample):
    for clip in sample.clips:
        times = np.concatenate([batch.seconds for batch in read(clip.file)])
        np.testing.assert_allclose(times, clip.seconds, atol=1e-4)
        assert len(clip.phases) == len(times)


def test_each_frame_of_the_file_is_the_picture_drawn_for_that_action_time(sample):
    clip = sample.clips[3]
    drawn = np.array(list(frames(plan(3, **SHORT), SIZE)), np.float32)
    filmed = np.concatenate([batch.data for batch in read(clip.file)]).astype(np.float32)
    apart = np.abs(drawn[clip.moving, None] - filmed[None, clip.moving]).mean((2, 3, 4))
    np.testing.assert_array_equal(apart.argmin(1), np.arange(clip.moving.sum()))


def test_the_figure_is_where_the_action_time_says():
    jack = plan(45, seed=1, seconds=(2.0, 2.0))
    assert jack.look.place == "sunset"
    dark = np.array(list(frames(jack, SIZE))).max(-1) < 60
    shown = -dark.any(2).argmax(1)  # the highest row of the dark figure
    at = perform(jack.look.body, jack.action, jack.clip.action_time)
    told = np.max([at[name][:, 1] for name in ("head", "l_fingers", "r_fingers")], 0)
    agreement = [np.corrcoef(np.roll(shown, lag), told)[0, 1] for lag in range(-4, 5)]
    assert np.argmax(agreement) == 4
    assert max(agreement) > 0.98


def test_a_click_is_heard_at_each_key_moment_and_nowhere_else(sample):
    for clip in sample.clips:
        loud = np.abs(np.diff(sound(clip.file, rate=RATE)[0])) > 0.08
        heard = np.flatnonzero(loud) / RATE
        onsets = heard[np.diff(heard, prepend=-1) > 0.05]
        np.testing.assert_allclose(onsets, clip.key_seconds, atol=1 / float(clip.fps))


def test_the_tone_heard_is_the_tone_known(sample):
    for clip in sample.clips[:4]:
        heard = sound(clip.file, rate=RATE)[0]
        spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard))))
        loudest = np.argmax(spectrum[: round(1000 * len(heard) / RATE)]) * RATE / len(heard)
        assert loudest == pytest.approx(clip.tone, rel=0.01)


def test_action_time_runs_from_0_to_1_and_stands_still_at_both_ends(sample):
    for clip in sample.clips:
        assert clip.action_time[0] == 0
        assert clip.action_time[-1] > 0.999
        assert (np.diff(clip.action_time) >= 0).all()
        assert not clip.moving[:2].any()
        assert not clip.moving[-2:].any()
        assert 0.4 < clip.moving.mean() < 0.9


def test_at_its_true_second_the_match_is_as_far_as_the_query(sample):
    for a, b in pairs(sample):
        there = true_warp(a, b)
        assert np.isnan(there).tolist() == (~a.moving).tolist()
        there = there[a.moving]
        assert (np.diff(there) > 0).all()
        np.testing.assert_allclose(
            np.interp(there, b.seconds, b.action_time), a.action_time[a.moving], atol=1e-9
        )


def test_there_and_back_is_the_identity(sample):
    for a, b in pairs(sample):
        way_back = np.interp(true_warp(a, b)[a.moving], b.seconds[b.moving], true_warp(b, a)[b.moving])
        away = np.abs(way_back - a.seconds[a.moving]) * float(a.fps)
        assert np.median(away) < 0.05  # only beside a hold, which lies between two frames, is it more


def test_key_moments_belong_together_under_the_true_warp(sample):
    for a, b in pairs(sample):
        there, slack = true_warp(a, b), 1 / float(b.fps)
        for mine, yours in zip(a.key_seconds, b.key_seconds, strict=True):
            assert (there[a.moving & (a.seconds <= mine)] <= yours + slack).all()
            assert (there[a.moving & (a.seconds >= mine)] >= yours - slack).all()


def test_phases_change_at_the_key_moments(sample):
    for clip in sample.clips:
        began = clip.seconds[np.flatnonzero(np.diff(clip.phases)) + 1]
        late = began - clip.key_seconds
        assert ((late >= -1e-6) & (late <= 1.5 / float(clip.fps))).all()
        assert clip.phases.max() + 1 == len(clip.phase_names)


def test_alignment_error_is_the_distance_from_the_truth_in_frames(sample):
    a, b = next(pairs(sample))
    moving = a.moving

    def off_by(frames: float):
        return lambda seconds: true_warp(a, b)[moving] + frames / float(b.fps)

    np.testing.assert_allclose(alignment_error(a, b, off_by(0)), 0)
    np.testing.assert_allclose(alignment_error(a, b, off_by(-3)), 3)
    np.testing.assert_allclose(alignment_error(a, b, off_by(3), fps=b.fps / 2), 1.5)
    assert len(alignment_error(a, b, off_by(0))) == moving.sum()


def test_clips_of_different_actions_have_no_true_warp(sample):
    with pytest.raises(DataError, match="one action"):
        true_warp(sample.clips[0], sample.clips[1])


def test_loading_gives_back_the_truth(sample):
    loaded = Sample.load(sample.folder)
    for was, now in zip(sample.clips, loaded.clips, strict=True):
        np.testing.assert_allclose(now.action_time, was.action_time, atol=1e-6)
        np.testing.assert_array_equal(now.phases, was.phases)
        np.testing.assert_allclose(now.key_seconds, was.key_seconds, atol=1e-5)
        known = ("file", "action", "look", "distractor", "fps", "phase_names", "tone")
        assert [getattr(now, name) for name in known] == [getattr(was, name) for name in known]


def test_phases_csv_says_where_each_phase_begins(sample):
    with (sample.folder / "phases.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for clip in sample.clips:
        name = clip.file.relative_to(sample.folder).as_posix()
        begun = [(int(row["frame"]), int(row["phase"])) for row in rows if row["clip"] == name]
        firsts, numbers = zip(*begun, strict=True)
        told = np.repeat(numbers, np.diff([*firsts, len(clip.phases)]))
        np.testing.assert_array_equal(told, clip.phases)


def test_the_same_seed_draws_the_same_pixels_and_another_seed_others():
    def drawn(seed: int) -> bytes:
        return np.array(list(frames(plan(5, seed=seed, seconds=(1.0, 1.2)), SIZE))).tobytes()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_sixty_clips_have_all_actions_rates_and_distractors():
    plans = [plan(index, seed=0, seconds=(3.0, 6.0)) for index in range(60)]
    assert min(sum(p.action.name == name for p in plans) for name in {p.action.name for p in plans}) >= 15
    assert {p.clip.fps for p in plans} == {Fraction(24), Fraction(25), Fraction(30), Fraction(30000, 1001)}
    assert all(3 <= len(p.clip.seconds) / p.clip.fps <= 6.1 for p in plans)
    for p in plans:
        alike = [q for q in plans if q.look.number == p.look.number and q is not p]
        if p.clip.distractor == "look":
            assert alike
            assert all(q.action is not p.action and q.look == p.look for q in alike)
        elif p.clip.distractor == "motion":
            assert not alike
    assert [sum(p.clip.distractor == kind for p in plans) for kind in ("look", "motion")] == [8, 8]


def test_a_folder_without_truth_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"truth\.json"):
        Sample.load(tmp_path)
    (tmp_path / "truth.json").write_text("[]")
    with pytest.raises(DataError, match=r"truth\.json"):
        Sample.load(tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"clips": 0}, {"seconds": (4.0, 3.0)}, {"seconds": (0.1, 3.0)}, {"size": (8, 8)}]
)
def test_nonsense_is_refused_before_anything_is_drawn(tmp_path, wrong):
    with pytest.raises(DataError, match="sample: expected"):
        make(tmp_path / "new", **wrong)
    assert not (tmp_path / "new").exists()


def test_progress_tells_each_clip(tmp_path):
    told = []
    made = make(tmp_path, clips=2, seconds=(1.0, 1.0), size=(64, 48), progress=told.append)
    assert told == list(made.clips)
