"""Adapting a sea, and the two measures that decide about it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from seasync.alignment import MOTION
from seasync.cli import app
from seasync.encoders import get_encoder
from seasync.errors import EncoderError, SeaError
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid, token_grid
from tests.train.footage import Swings, sliding_squares

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from seasync.options import TrainKind  # noqa: E402
from seasync.train import TrainingPlan, train_on  # noqa: E402
from seasync.train.adapt import reencode  # noqa: E402
from seasync.train.judge import (  # noqa: E402
    Errors,
    agreement_errors,
    cycle_errors,
    decreased,
    judge,
    planted_errors,
    retime,
)

Pair = tuple[Errors, Errors] | None


def test_a_retimed_clip_shows_at_each_moment_what_the_truth_says() -> None:
    (encoding,) = Swings(1).encodings([0])
    retimed, truth = retime(encoding, np.random.default_rng(0))
    pace = np.diff(truth) / np.diff(retimed.seconds)
    assert pace.min() > 0
    assert pace.max() / pace.min() > 1.5
    assert (truth[0], truth[-1]) == pytest.approx((encoding.seconds[0], encoding.seconds[-1]))
    there = np.interp(truth, encoding.seconds, encoding.features[:, 0])
    np.testing.assert_allclose(retimed.features[:, 0], there, atol=1e-5)


def test_decreased_needs_a_change_larger_than_its_standard_error() -> None:
    before = np.linspace(80, 120, 9)
    assert decreased(before, before - 1)
    assert not decreased(before, before)
    assert not decreased(before, before + 1)
    assert not decreased(before, before - np.array([9, -8, 9, -9, 8, -9, 9, -8, 0]))


def test_one_error_may_not_improve_at_the_cost_of_the_other() -> None:
    errors = np.linspace(80, 120, 9)
    same, lower, higher, a_little_higher = errors, errors - 20, errors + 100, errors + 20

    def is_better(agreement: Pair, planted: Pair) -> bool:
        return judge(agreement, planted)[0]

    assert is_better((errors, lower), None)
    assert not is_better((errors, same), None)
    assert is_better(None, (errors, lower))
    assert not is_better(None, (errors, same))
    assert not is_better(None, None)
    assert is_better((errors, lower), (errors, a_little_higher))
    assert not is_better((errors, lower), (errors, higher)), "clocks agree"
    assert is_better((errors, same), (errors, lower))
    assert not is_better((errors, a_little_higher), (errors, lower))
    assert not is_better((errors, same), (errors, same))


def test_the_verdict_gives_its_reason_with_both_changes_and_their_standard_errors() -> None:
    errors, noise = np.full(4, 100.0), np.array([-30.0, 10.0, -30.0, 10.0])
    for agreement, planted, why in (
        (
            (errors, errors + noise),
            (errors, errors),
            r"no error falls .*disagree -10.0 ± 10.0 ms, planted truth \+0",
        ),
        ((errors, errors - 20), None, r"disagree less.* \(clips disagree -20.0 ± 0.0 ms\)"),
        ((errors, errors - 20), (errors, errors + 50), r"less, but .* a frame or more.*planted truth \+50.0"),
        (
            (errors, errors + 5),
            (errors, errors - 9),
            r"closely, but clips disagree more \(clips disagree \+5.0",
        ),
        (
            (errors, errors),
            (errors, errors - 9),
            r"more closely \(clips disagree \+0.0 ± 0.0 ms, planted truth -9.0",
        ),
        (None, None, r"nothing could be measured"),
    ):
        assert re.search(why, judge(agreement, planted)[1])


def test_errors_are_small_if_features_identify_the_moment() -> None:
    good = Swings(8).encodings(range(8))
    rng = np.random.default_rng(1)
    retimed, truths = zip(*(retime(encoding, rng) for encoding in good), strict=True)
    right = planted_errors(good, retimed, truths, MOTION)
    assert right.mean() < 60
    untrue = [encoding.seconds for encoding in good]  # as if nothing had been retimed
    assert planted_errors(good, retimed, untrue, MOTION).mean() > 2 * right.mean()
    assert cycle_errors(good, MOTION).mean() < 30


def test_agreement_uses_the_same_clips_and_needs_enough_of_them() -> None:
    good = Swings(8).encodings(range(8))
    mixed = list(good)
    for n in range(0, 8, 2):  # every other one backwards
        stream = good[n].streams[0]
        mixed[n] = replace(good[n], streams=(replace(stream, features=stream.features[::-1].copy()),))
    agreement = agreement_errors(good, mixed, MOTION)
    assert agreement is not None
    assert agreement[0].mean() < agreement[1].mean()
    assert agreement_errors(good[:3], good[:3], MOTION) is None


@pytest.fixture
def sea(tmp_path: Path) -> Sea:
    torch.set_num_threads(1)
    sea = Sea(tmp_path / "old.sea", f"onnx:{token_grid(tmp_path / 'frames.onnx')}")
    sea.add(sliding_squares(tmp_path / "videos", 8), labels="folder", tags=["squares"])
    return sea


def adapt(sea: Sea, to: Path, *options: str) -> dict[str, object]:
    quick = ["--steps", "4", "--width", "16", "--layers", "1", "--held-out", "0.5", "--json"]
    arguments = ["sea", "adapt", "--sea", sea.uri, "--to", str(to), *quick, *options]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    said: dict[str, object] = json.loads(result.stdout)
    return said


def train(sea: Sea, file: Path, kind: TrainKind) -> None:
    train_on(sea, kind=kind, file=file, plan=TrainingPlan(steps=4), size={"width": 16, "layers": 1})


@pytest.mark.parametrize("recipe", ["motion", "paper"])
def test_before_and_after_are_reported_and_only_a_better_encoder_is_used(
    tmp_path: Path, sea: Sea, recipe: str
) -> None:
    said = adapt(sea, tmp_path / "new.sea", "--recipe", recipe)
    (planted_before, planted_after), (before, after) = said["planted"], said["agreement"]  # type: ignore[misc]
    assert min(planted_before, planted_after, before, after) >= 0
    assert (planted_before, before) != (planted_after, after)
    assert said["judged"] == 4
    assert said["better"] == Path(tmp_path / "new.sea").exists()
    if not said["better"]:
        assert said["encoder"] == sea.encoder().name
        assert said["sea"] == sea.uri
    assert adapt(sea, tmp_path / "new.sea", "--recipe", recipe) == said


def test_a_rejected_encoder_leaves_nothing_behind_so_other_settings_can_be_tried(
    tmp_path: Path, sea: Sea
) -> None:
    (tmp_path / "videos").rename(tmp_path / "gone")
    there = {file.name for file in tmp_path.iterdir()}
    cycles = []
    for width in "16", "32":  # three clips cannot disagree, and without videos no truth is planted
        said = adapt(sea, tmp_path / "new.sea", "--held-out", "0.35", "--width", width)
        cycles.append(said["cycle"])
        assert (said["better"], said["judged"]) == (False, 3)
        assert "nothing could be measured" in str(said["why"])
        assert {file.name for file in tmp_path.iterdir()} == there
    assert cycles[0] != cycles[1], "the second model was judged, not the first once more"


def test_too_few_held_out_clips_are_refused_before_training(tmp_path: Path, sea: Sea) -> None:
    with pytest.raises(SeaError, match=r"1 of 8 clips held out, too few to judge by"):
        adapt(sea, tmp_path / "new.sea", "--held-out", "0.1")
    assert not (tmp_path / "new.ckpt").exists()


def test_an_interrupted_adaptation_is_resumed_or_restarted(tmp_path: Path, sea: Sea) -> None:
    train(sea, tmp_path / "new.onnx", "nms")
    with pytest.raises(EncoderError, match=r"other clips or settings; start over with --restart"):
        adapt(sea, tmp_path / "new.sea")
    assert "why" in adapt(sea, tmp_path / "new.sea", "--restart")


def test_an_existing_sea_and_its_model_are_not_overwritten(tmp_path: Path, sea: Sea) -> None:
    with pytest.raises(SeaError, match="there is a sea already; name a new one"):
        adapt(sea, Path(sea.uri))
    assert not (tmp_path / "old.onnx").exists()
    train(sea, tmp_path / "new.onnx", "nms")
    model = (tmp_path / "new.onnx").read_bytes()
    Sea(tmp_path / "new.sea", f"{sea.encoder().name}+nms:{tmp_path / 'new.onnx'}").add(tmp_path / "videos")
    with pytest.raises(SeaError, match="there is a sea already; name a new one"):
        adapt(sea, tmp_path / "new.sea", "--restart")
    assert (tmp_path / "new.onnx").read_bytes() == model


def test_a_sea_of_several_streams_is_adapted_and_keeps_them(tmp_path: Path, sea: Sea) -> None:
    old, beside = sea.encoder().name, f"onnx:{colour_grid(tmp_path / 'beside.onnx')}"
    two = Sea(tmp_path / "two.sea", f"{old}+{beside}")
    two.add(tmp_path / "videos")
    for recipe, streams in (
        ("motion", [old, beside, f"{old}+taught:{tmp_path / 'motion.onnx'}"]),
        ("paper", [f"{old}+taught:{tmp_path / 'paper.onnx'}", beside]),
    ):
        said = adapt(two, tmp_path / f"{recipe}.sea", "--recipe", recipe)
        assert said["planted"] is not None
        if said["better"]:
            adapted = Sea(tmp_path / f"{recipe}.sea")
            assert list(adapted.info()["streams"]) == streams
            assert said["encoder"] == adapted.encoder().name == "+".join(streams)
            assert len(adapted.search(adapted.clips()[0].file)) == 7
        else:
            assert said["encoder"] == two.encoder().name


def test_clips_are_reencoded_from_the_record_alone_and_only_once(tmp_path: Path, sea: Sea) -> None:
    train(sea, tmp_path / "first.onnx", "nms")
    old = sea.encoder().name
    learned = get_encoder(f"{old}+nms:{tmp_path / 'first.onnx'}")
    target = Sea(tmp_path / "second.sea", learned)
    assert reencode(sea, target, learned.over, None) == 8  # type: ignore[attr-defined]
    assert reencode(sea, target, learned.over, None) == 8  # type: ignore[attr-defined]
    reopened = Sea(tmp_path / "second.sea")
    assert [(c.id, c.file, c.label) for c in reopened.clips()] == [
        (c.id, c.file, c.label) for c in sea.clips()
    ]
    assert not reopened.verify()
    assert reopened.encoder().fingerprint == learned.fingerprint
    assert len(reopened.search(sea.clips()[0].file)) == 7


def test_reencoding_resumes_after_an_interruption_between_commits(
    tmp_path: Path, sea: Sea, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(sea, tmp_path / "first.onnx", "nms")
    learned = get_encoder(f"{sea.encoder().name}+nms:{tmp_path / 'first.onnx'}")
    target = Sea(tmp_path / "second.sea", learned)
    monkeypatch.setattr("seasync.train.adapt.ROWS", 3)
    asked: list[int] = []

    def stop_at_the_second(_: str, done: int, total: int) -> None:
        asked.append(total)
        if done == 3 and total == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reencode(sea, target, learned.over, stop_at_the_second)  # type: ignore[attr-defined]
    assert len(target.clips()) == 3
    reencode(sea, target, learned.over, lambda *said: asked.append(said[2]))  # type: ignore[attr-defined]
    assert asked == [8, 8, 5, 5]
    assert sorted(clip.id for clip in target.clips()) == sorted(clip.id for clip in sea.clips())


def test_an_encoder_with_old_and_learned_features_is_loaded_by_its_name(tmp_path: Path, sea: Sea) -> None:
    train(sea, tmp_path / "first.onnx", "taught")
    old = sea.encoder().name
    both = get_encoder(f"{old}+{old}+taught:{tmp_path / 'first.onnx'}")
    assert both.name == f"{old}+{old}+taught:{tmp_path / 'first.onnx'}"
    assert both.fingerprint.startswith(sea.encoder().fingerprint)
    new = Sea(tmp_path / "both.sea", both.name)
    new.add(tmp_path / "videos")
    assert list(new.info()["streams"]) == [old, f"{old}+taught:{tmp_path / 'first.onnx'}"]
