"""The methods of Table 3: each loss against its formula written out, what is drawn, what is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.encoders.temporal import TemporalModel, with_earlier
from seasync.errors import EncoderError
from tests import naive
from tests.train.footage import Swings
from tests.train.test_training import one_thread as one_thread, pair

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from seasync.train import methods  # noqa: E402
from seasync.train.fit import TASKS, Training, TrainingPlan, train_on  # noqa: E402

ALL = {kind: task for kind, task in TASKS.items() if issubclass(task, methods.FrameTask)}
PLAN = TrainingPlan(steps=60, batch=8, rate=3e-3, warmup=5, every=20)


@pytest.fixture
def clips() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two pairs of clips of unit vectors, of 9 and 7 frames, and the times of the first ones."""
    random = np.random.default_rng(0)
    one, other = random.normal(size=(2, 9, 5)), random.normal(size=(2, 7, 5))
    times = np.sort(random.uniform(size=(2, 9)), axis=1)
    return (
        one / np.linalg.norm(one, axis=-1, keepdims=True),
        other / np.linalg.norm(other, axis=-1, keepdims=True),
        times,
    )


def test_cycle_back_regression_is_the_formula(clips) -> None:
    one, other, times = clips
    found = methods.tcc_loss(*map(torch.from_numpy, clips), 0.1, 0.001)
    expected = [naive.tcc_loss(a, b, t, 0.1, 0.001) for a, b, t in zip(one, other, times, strict=True)]
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-6)


def test_n_pairs_is_the_formula(clips) -> None:
    anchors, positives = clips[0][:, :7], clips[1]
    found = methods.n_pairs_loss(torch.from_numpy(anchors), torch.from_numpy(positives), 0.002)
    expected = [naive.n_pairs_loss(a, p, 0.002) for a, p in zip(anchors, positives, strict=True)]
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-6)


def test_soft_dtw_and_frames_kept_apart_are_the_formulas(clips) -> None:
    one, other, times = clips
    cost = np.array([[[naive.square(a, b) for b in y] for a in x] for x, y in zip(one, other, strict=True)])
    found = methods.soft_dtw(torch.from_numpy(cost), 0.1).numpy()
    np.testing.assert_allclose(found, [naive.soft_dtw(each, 0.1) for each in cost], rtol=1e-6)
    near = torch.tensor([[0.2], [0.4]]).double()
    apart = methods.contrastive_idm(torch.from_numpy(one), torch.from_numpy(times), near, 2.0).numpy()
    expected = [naive.contrastive_idm(x, t, n, 2.0) for x, t, n in zip(one, times, (0.2, 0.4), strict=True)]
    np.testing.assert_allclose(apart, expected, rtol=1e-6)


def test_the_global_alignment_is_the_formula(clips) -> None:
    one, other, _ = clips
    found = methods.gta_loss(torch.from_numpy(one), torch.from_numpy(other), 0.1, 0.1, 0.1)
    expected = [naive.gta_loss(a, b, 0.1, 0.1, 0.1) for a, b in zip(one, other, strict=True)]
    np.testing.assert_allclose([float(each) for each in found], np.mean(expected, axis=0), rtol=1e-6)


def test_positives_of_a_time_contrastive_network_are_near_their_anchors() -> None:
    task = methods.TcnTask()
    for seed in range(20):
        seconds = np.arange(90) / 30
        at = task.chosen(seconds, np.random.default_rng(seed)).reshape(-1, 2)
        away = np.abs(at[:, 0] - at[:, 1])
        assert (away >= 1).all()
        assert (away <= 5).all()


def test_three_of_four_triplets_are_out_of_order() -> None:
    at = np.concatenate(
        [methods.SalTask().chosen(np.arange(40) / 30, np.random.default_rng(n)) for n in range(100)]
    )
    first, second = np.diff(at.reshape(-1, 3), axis=1).T
    assert (np.sign(first) != np.sign(second)).mean() == pytest.approx(0.75, abs=0.05)
    assert (first > 0)[np.sign(first) == np.sign(second)].mean() == pytest.approx(0.5, abs=0.15)


def test_each_frame_is_seen_with_an_earlier_one() -> None:
    frames = np.arange(6, dtype=np.float32)[:, None]
    assert with_earlier(frames, 2).tolist() == [[0, 0], [1, 0], [2, 0], [3, 1], [4, 2], [5, 3]]
    batch = methods.TccTask().draw([pair(60)], np.random.default_rng(0))
    now, before = batch.features[0, :, 0], batch.features[0, :, 3]
    assert (now - before == now.clamp(max=4)).all()


@pytest.mark.parametrize("kind", ALL)
def test_the_exported_file_gives_what_the_trained_model_gives(tmp_path: Path, kind: str) -> None:
    footage = Swings(12)
    training = Training(footage, ALL[kind](), replace(PLAN, steps=4, every=2), tmp_path / "m.onnx")
    training.run()
    features = footage.encodings([0])[0].features
    served = TemporalModel(tmp_path / "m.onnx").run(features)
    seen = torch.from_numpy(with_earlier(features, 4))[None]
    with torch.no_grad():
        known = torch.ones(seen.shape[:2], dtype=torch.bool)
        expected = training.model.eval()(seen, known.double(), known)[0].numpy()
    np.testing.assert_allclose(served, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["tcc", "lav", "gta"])
def test_clips_never_seen_are_ordered_better_than_before(tmp_path: Path, kind: str) -> None:
    best = Training(Swings(24), ALL[kind](), PLAN, tmp_path / "m.onnx").run()
    assert best.best["tau"] > best.history[0]["tau"]


@pytest.mark.parametrize("kind", ALL)
def test_losses_fall(tmp_path: Path, kind: str) -> None:
    losses: list[float] = []
    training = Training(Swings(24), ALL[kind](dropout=0.0), PLAN, tmp_path / "m.onnx")
    training.run(report=lambda _, values: losses.append(sum(v for n, v in values.items() if n in LOSSES)))
    assert np.mean(losses[-10:]) < np.mean(losses[:10])


LOSSES = ("cycle", "pairs", "order", "path", "apart")


def test_pairs_are_of_one_action(tmp_path: Path) -> None:
    footage = Swings(20)
    footage.clips = [replace(clip, label="ab"[n % 2]) for n, clip in enumerate(footage.clips)]
    training = Training(footage, methods.TccTask(), PLAN, tmp_path / "m.onnx")
    for n in training.train:
        other = training._of_one_action(n, np.random.default_rng(n))
        assert other != n
        assert other in training.train
        assert footage.clips[other].label == footage.clips[n].label


def test_a_size_that_a_method_does_not_have_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="tcc has no layers to choose"):
        train_on([], kind="tcc", file=tmp_path / "m.onnx", size={"layers": 2})
