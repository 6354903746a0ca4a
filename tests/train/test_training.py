"""Training on made-up features: what is drawn, what is learned, what is kept, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import PAPER
from seasync.clip import Clip
from seasync.encoders.temporal import TemporalEncoder, TemporalModel, over_shots, positions
from seasync.encoding import Floats
from seasync.errors import EncoderError, FeatureError
from tests.encoders.test_checkpoint import Trap
from tests.train.footage import Swings

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from seasync.train.clips import Pair, split  # noqa: E402
from seasync.train.fit import Training, TrainingPlan  # noqa: E402
from seasync.train.judge import Teacher, cycle_errors  # noqa: E402
from seasync.train.tasks import CarlTask, NmsTask, TaughtTask  # noqa: E402

NMS = NmsTask(width=32, layers=1, heads=2, feedforward=64, window=32, dropout=0.0)
CARL = CarlTask(width=32, layers=1, heads=2, feedforward=64, hidden=(32,), output=16, window=32, dropout=0.0)
TAUGHT = TaughtTask(width=32, layers=1, heads=2, feedforward=64, window=32, dropout=0.0)
PLAN = TrainingPlan(steps=60, batch=8, rate=3e-3, warmup=5, every=20)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pair(length: int, width: int = 3) -> Pair:
    """A clip whose features count its frames."""
    looks = np.repeat(np.arange(length, dtype=np.float32)[None, :, None], width, axis=2)
    seconds = np.arange(length) / 15
    return Pair(looks, looks, seconds, seconds, seconds)


def test_speeds_are_what_the_frames_say() -> None:
    task = replace(NMS, displaced=0.0, noise=0.0)
    for seed in range(20):
        at, speed = task.at_changing_speed(90, np.random.default_rng(seed))
        skips = np.array(task.skips)[speed]
        np.testing.assert_array_equal(np.diff(at), skips[:-1])
        assert len(at) <= task.window
        assert at[-1] < 90


def test_displaced_frames_are_labelled_and_all_others_are_in_place() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = NMS.displaced_order(30, rng)
        assert sorted(order) == list(range(30))
        assert (order != np.arange(30)).sum() == round(0.15 * 30)
    batch = replace(NMS, noise=0.0).draw([pair(60)], np.random.default_rng(0))
    shown, moved = batch.features[0, :, 0].numpy(), batch.labels["order"][0].numpy()
    assert (np.diff(shown[moved == 0]) > 0).all()
    assert (batch.labels["speed"][0].numpy()[moved == 1] == -1).all()


def test_positions_start_at_a_random_offset() -> None:
    batch = NMS.draw([pair(60)] * 40, np.random.default_rng(0))
    begins = batch.places[:, 0].numpy()
    assert begins.std() > 100
    np.testing.assert_array_equal(batch.places[0, 1:5] - batch.places[0, :4], 1)


def test_two_sequences_of_a_clip_carry_its_times() -> None:
    batch = replace(CARL, noise=0.0).draw([pair(50)], np.random.default_rng(1))
    np.testing.assert_allclose(batch.features[..., 0][batch.known] / 15, batch.labels["seconds"][batch.known])
    assert (batch.features[0, :5, 0] != batch.features[1, :5, 0]).any()


def test_sequence_loss_is_least_when_similar_frames_are_those_of_the_same_moment() -> None:
    task = replace(CARL, noise=0.0, output=40)
    batch = task.draw([pair(30)] * 2, np.random.default_rng(0))
    frame = (batch.labels["seconds"] * 15)[..., None]
    right = torch.nn.functional.normalize((-((frame - torch.arange(40)) ** 2) / 4).exp().float(), dim=-1)
    turned = right.clone()
    turned[1::2] = right[1::2].flip(-1)
    through = torch.nn.Identity()
    good = task.losses(through, right, batch)["sequence"]
    assert good < task.losses(through, turned, batch)["sequence"] - 1
    assert task.scores(through, right, batch)["same moment found"] == 1
    assert task.scores(through, turned, batch)["same moment found"] < 0.3


def test_files_are_held_out_whole_and_always_the_same() -> None:
    clips = [Clip(f"{n % 10}.mp4", start=float(n)) for n in range(40)]
    train, held = split(clips, 0.2, seed=3)
    assert sorted(train + held) == list(range(40))
    assert not {clips[n].file for n in train} & {clips[n].file for n in held}
    assert len(held) == 8
    assert split(clips[::-1], 0.2, seed=3)[1] == [39 - n for n in held[::-1]]
    assert split(clips, 0.2, seed=4) != (train, held)


@pytest.mark.parametrize(
    ("task", "scored"),
    [(NMS, "order AUC"), (CARL, "same moment found"), (TAUGHT, "same moment found")],
    ids=["nms", "carl", "taught"],
)
def test_pretext_tasks_are_learned_on_clips_never_seen(
    tmp_path: Path, task: NmsTask | CarlTask, scored: str
) -> None:
    plan = replace(PLAN, steps=120, every=60)
    best = Training(Swings(24), task, plan, tmp_path / "m.onnx").run().best
    untrained = Training(Swings(24), task, replace(plan, steps=1, rate=1e-9), tmp_path / "u.onnx").run().best
    assert best[scored] > untrained[scored] + 0.1
    if scored == "order AUC":
        assert best["order AUC"] > 0.6


@pytest.mark.parametrize("task", [NMS, CARL, TAUGHT], ids=["nms", "carl", "taught"])
def test_the_exported_file_gives_what_the_trained_model_gives(
    tmp_path: Path, task: NmsTask | CarlTask
) -> None:
    footage = Swings(12)
    training = Training(footage, task, replace(PLAN, steps=6, every=3), tmp_path / "m.onnx")
    training.run()
    features = footage.encodings([0])[0].features[:32]
    served = TemporalModel(tmp_path / "m.onnx").run(features)
    length = len(features)
    places = np.linspace(0, task.stretch - 1, length) if task.stretch else np.arange(length)
    model = training.model.eval()
    with torch.no_grad():
        known = torch.ones(1, length, dtype=torch.bool)
        expected = model(torch.from_numpy(features)[None], torch.from_numpy(places)[None], known)[0].numpy()
    np.testing.assert_allclose(served, expected, atol=1e-4)
    assert served.shape[1] == model.shape.dimension


@pytest.mark.parametrize("task", [NMS, CARL, TAUGHT], ids=["nms", "carl", "taught"])
def test_only_carl_distinguishes_frames_of_a_still_picture(tmp_path: Path, task: NmsTask | CarlTask) -> None:
    """The shortcut of absolute places: features that follow the clock whatever is shown."""
    Training(Swings(12), task, replace(PLAN, steps=4, every=4), tmp_path / "m.onnx").run()
    still = TemporalModel(tmp_path / "m.onnx").run(np.ones((40, 8), np.float32))
    follows_the_clock = np.abs(still - still[:1]).max() > 1e-4
    assert follows_the_clock == (task is CARL)


def test_the_taught_task_brings_same_moments_of_unseen_clips_together(tmp_path: Path) -> None:
    """Frames find those of the same phase in another clip better than by the features learned on."""
    Training(Swings(24), TAUGHT, replace(PLAN, steps=150, every=50), tmp_path / "m.onnx").run()
    model, unseen = TemporalModel(tmp_path / "m.onnx"), Swings(6, seed=7)
    before = [encoding.features for encoding in unseen.encodings(range(6))]
    after = [model.run(features) for features in before]
    assert phase_error(after, unseen.phases) < 0.7 * phase_error(before, unseen.phases)


def test_taught_pairs_carry_when_frames_of_one_clip_happen_in_the_other(tmp_path: Path) -> None:
    footage = Swings(24)
    training = Training(footage, TAUGHT, PLAN, tmp_path / "m.onnx")
    encodings = footage.encodings(range(24))
    errors = []
    for number, lesson in zip(
        training.train,
        training._pairs(training.train, np.random.default_rng(0), training.teachers[0]),
        strict=True,
    ):
        (other,) = (n for n, e in enumerate(encodings) if np.array_equal(e.features, lesson.other[0]))
        if other != number:
            there = np.interp(lesson.partner, lesson.seconds, footage.phases[number])
            errors.append(np.nanmean(np.abs(there - footage.phases[other])))
    assert len(errors) > 10
    assert np.mean(errors) < 0.04


def phase_error(features: list[Floats], phases: list[Floats]) -> float:
    """How far, in phase, a frame's most similar frame of the next clip is from it."""
    errors = []
    for n in range(1, len(features)):
        apart = ((features[n - 1][:, None] - features[n][None]) ** 2).sum(-1).argmin(1)
        errors.append(np.abs(phases[n][apart] - phases[n - 1]).mean())
    return float(np.mean(errors))


@pytest.mark.parametrize("task", [NMS, CARL], ids=["nms", "carl"])
def test_validation_reports_the_cycle_error(tmp_path: Path, task: NmsTask | CarlTask) -> None:
    footage = Swings(12)
    plan = replace(PLAN, steps=1, every=1, held_out=0.4)
    training = Training(footage, replace(task, window=64), plan, tmp_path / "m.onnx")
    told = training.run().best["cycle error"]
    encoder = TemporalEncoder("learned", footage, TemporalModel(tmp_path / "m.onnx"))  # type: ignore[arg-type]
    served = [encoder.over(encoding) for encoding in footage.encodings(training.held_out)]
    assert told == pytest.approx(cycle_errors(served, PAPER).mean(), rel=0.05)
    assert told > 0


def test_positions_are_the_same_in_torch_and_in_numpy() -> None:
    from seasync.train.tasks import sines

    places = np.array([0.0, 1.0, 2.5, 999.0])
    np.testing.assert_allclose(
        sines(torch.from_numpy(places)[None], 32)[0].numpy(), positions(places, 32), atol=1e-6
    )


def test_an_interrupted_training_goes_on_exactly_where_it_was(tmp_path: Path) -> None:
    task, plan = replace(NMS, dropout=0.2), replace(PLAN, steps=12, every=4)
    whole = Training(Swings(12), task, plan, tmp_path / "whole.onnx")
    straight = whole.run()
    Training(Swings(12), task, plan, tmp_path / "parts.onnx").run(until=5)
    second = Training(Swings(12), task, plan, tmp_path / "parts.onnx")
    assert second.step == 5
    resumed = second.run()
    assert resumed.history == straight.history
    assert (tmp_path / "parts.onnx").read_bytes() == (tmp_path / "whole.onnx").read_bytes()


def test_ctrl_c_keeps_what_was_reached(tmp_path: Path) -> None:
    def stop(step: int, _: object) -> None:
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Training(Swings(12), NMS, PLAN, tmp_path / "m.onnx").run(report=stop)
    assert Training(Swings(12), NMS, PLAN, tmp_path / "m.onnx").step == 3


def test_training_stops_without_improvement(tmp_path: Path) -> None:
    plan = replace(PLAN, steps=400, every=2, patience=2, rate=1e-12)
    trained = Training(Swings(12), NMS, plan, tmp_path / "m.onnx").run()
    assert trained.steps < 40
    assert trained.best == max(trained.history, key=lambda scores: scores["score"])


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    Training(Swings(12), NMS, PLAN, file).run(until=1)
    for other in (replace(PLAN, seed=1), replace(PLAN, steps=70)):
        with pytest.raises(EncoderError, match=r"other clips or settings; start over with --restart"):
            Training(Swings(12), NMS, other, file)
    with pytest.raises(EncoderError, match="other clips or settings"):
        Training(Swings(12, seed=5), NMS, PLAN, file)
    with pytest.raises(EncoderError, match="other clips or settings"):
        Training(Swings(12), TAUGHT, PLAN, file)
    file.with_suffix(".ckpt").write_bytes(b"hello")
    with pytest.raises(EncoderError, match="not a checkpoint of a training"):
        Training(Swings(12), NMS, PLAN, file)


def test_code_in_a_training_checkpoint_is_refused_and_not_run(tmp_path: Path) -> None:
    torch.save({"identity": Trap(tmp_path / "sprung")}, tmp_path / "m.ckpt")
    with pytest.raises(EncoderError, match="not a checkpoint of a training"):
        Training(Swings(12), NMS, PLAN, tmp_path / "m.onnx")
    assert not (tmp_path / "sprung").exists()


def test_a_teacher_knows_which_moments_belong_together() -> None:
    footage = Swings(10)
    teacher = Teacher(footage, range(10))
    assert len(teacher) > 20
    errors = []
    for number in range(10):
        other, seconds = teacher.partner(number, np.random.default_rng(number)) or (0, None)
        if seconds is not None:
            known = ~np.isnan(seconds)
            there = np.interp(seconds[known], footage.encodings([number])[0].seconds, footage.phases[number])
            errors.append(np.abs(there - footage.phases[other][known]).mean())
    assert np.mean(errors) < 0.05


def test_long_shots_are_seen_in_windows_and_each_shot_by_itself(tmp_path: Path) -> None:
    training = Training(Swings(12), NMS, replace(PLAN, steps=1), tmp_path / "m.onnx")
    training.run()
    model = TemporalModel(tmp_path / "m.onnx")
    features = np.random.default_rng(0).normal(size=(100, 8)).astype(np.float32)
    long = model.run(features)
    # The first half stride is seen by the first window alone, the middle of the clip by two.
    np.testing.assert_allclose(long[:16], model.window(features[:32])[:16], atol=1e-5)
    share = 1 - np.abs(np.arange(32) - 15.5) / 17
    first, second = model.window(features[:32])[16 + 4], model.window(features[16:48])[4]
    blended = (share[20] * first + share[4] * second) / (share[20] + share[4])
    np.testing.assert_allclose(long[20], blended, atol=1e-5)
    both = over_shots(model, features[:60], np.array([0, 25]))
    np.testing.assert_array_equal(both[25:], model.run(features[25:60]))


def test_too_few_or_too_short_clips_are_refused(tmp_path: Path) -> None:
    from seasync.train.clips import VideoFootage
    from tests.videos import numbered

    videos = [numbered(tmp_path / f"{n}.mp4", 12) for n in range(3)]
    from seasync.encoders import get_encoder
    from tests.encoders.models import colour_grid

    with pytest.raises(FeatureError, match="training needs five or more"):
        VideoFootage(videos, get_encoder(f"onnx:{colour_grid(tmp_path / 'm.onnx')}"))
