"""Proxy tasks against scikit-learn, scipy and counting; and what the controls do to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import kendalltau
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.svm import SVC

from seasync.encoders import encode_clip, get_encoder
from seasync.encoders.temporal import untrained_carl
from seasync.errors import DataError, EncoderError
from seasync.evaluate import proxies
from seasync.evaluate.proxies import position_only
from tests.evaluate import naive
from tests.videos import numbered


def clips(seed, count=5, dimension=4):
    """Clips of one action in three phases whose features drift with the phase."""
    random = np.random.default_rng(seed)
    embeddings, phases = [], []
    for _ in range(count):
        labels = np.repeat([0, 1, 2], random.integers(2, 9, 3))
        embeddings.append(random.normal(size=(len(labels), dimension)) + labels[:, None])
        phases.append(labels)
    return embeddings, phases


@pytest.mark.parametrize("protocol", [proxies.CARL, proxies.TCC])
def test_tau_is_the_mean_over_ordered_pairs(protocol):
    embeddings, _ = clips(0)
    mean, count = proxies.set_tau(embeddings, protocol)
    each = []
    for i, a in enumerate(embeddings):
        for j, b in enumerate(embeddings):
            x, y = protocol.embed(a)[:: protocol.stride], protocol.embed(b)[:: protocol.stride]
            if i != j and len(x) > 1:
                each.append(kendalltau(np.arange(len(x)), cdist(x, y, "sqeuclidean").argmin(1)).statistic)
    known = count > 0
    assert (mean[known] * count[known]).sum() / count.sum() == pytest.approx(np.nanmean(each))
    assert count.sum() == np.isfinite(each).sum()


def test_tau_of_single_frames_counts_no_pair():
    mean, count = proxies.set_tau([np.ones((1, 2)), np.ones((1, 2))], proxies.CARL)
    assert count.tolist() == [0, 0]
    assert np.isnan(mean).all()


@pytest.mark.parametrize("cutoff", [1, 5])
def test_frame_retrieval_agrees_with_a_direct_search(cutoff):
    embeddings, phases = clips(1)
    phases[2][::3] = -1
    found = proxies.frame_retrieval(embeddings, phases, proxies.TCC, cutoffs=(cutoff,))[:, 0]
    np.testing.assert_allclose(found, naive.frame_precision(embeddings, phases, cutoff, 5))


def test_frame_retrieval_of_an_unlabelled_clip_is_unknown():
    embeddings, phases = clips(1, count=3)
    phases[0][:] = -1
    found = proxies.frame_retrieval(embeddings, phases, proxies.CARL)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1:]).all()


@pytest.mark.parametrize(
    ("protocol", "model"), [(proxies.CARL, LogisticRegression(max_iter=100_000)), (proxies.TCC, SVC())]
)
def test_phase_classification_is_micro_accuracy_of_the_named_classifier(protocol, model):
    train, test = clips(2), clips(3)
    test[1][0][:2] = -1
    accuracy, frames = proxies.phase_classification(train, test, protocol)
    x = np.concatenate([protocol.embed(e) for e in train[0]])
    model.fit(x, np.concatenate(train[1]))
    wanted = np.concatenate(test[1])
    predicted = model.predict(np.concatenate([protocol.embed(e) for e in test[0]]))
    micro = accuracy_score(wanted[wanted >= 0], predicted[wanted >= 0])
    assert (accuracy * frames).sum() / frames.sum() == pytest.approx(micro)


def test_phase_classification_needs_two_phases():
    embeddings, phases = clips(2)
    with pytest.raises(DataError, match="fewer than two phases"):
        proxies.phase_classification(
            (embeddings, [p * 0 for p in phases]), (embeddings, phases), proxies.CARL
        )


def test_phase_progression_is_the_mean_r2_over_boundaries():
    train, test = clips(4), clips(5)
    found = proxies.phase_progression(train, test, proxies.TCC)
    scores = []
    for boundary in range(2):

        def target(labels, boundary=boundary):
            last = max(t for t, label in enumerate(labels) if label == boundary)
            return [(t - last) / len(labels) for t in range(len(labels))]

        model = LinearRegression().fit(
            np.concatenate(train[0]), np.concatenate([target(p) for p in train[1]])
        )
        wanted = np.concatenate([target(p) for p in test[1]])
        scores.append(r2_score(wanted, model.predict(np.concatenate(test[0]))))
    assert found.r2() == pytest.approx(np.mean(scores))
    assert found.r2(np.array([0, 1, 2, 3, 4])) == pytest.approx(found.r2())


def test_a_missing_phase_ends_where_the_one_before_it_ends():
    distance = proxies.boundary_distance(np.array([0, 0, 2, 2]), 2)
    np.testing.assert_allclose(distance[:, 1], distance[:, 0])
    np.testing.assert_allclose(proxies.boundary_distance(np.array([2, 2]), 1)[:, 0], [0.5, 1])


def test_position_alone_wins_tau():
    lengths = [30, 44, 61]
    mean, _ = proxies.set_tau([position_only(n) for n in lengths], proxies.CARL)
    assert mean.min() > 0.98


def test_the_untrained_transformer_orders_features_that_know_nothing():
    """The paper's control: τ near 1 by position alone, whatever the frames show."""
    random = np.random.default_rng(0)
    noise = [random.normal(size=(n, 64)).astype(np.float32) for n in (40, 58, 83, 120)]
    plain, _ = proxies.set_tau(noise, proxies.CARL)
    gamed, _ = proxies.set_tau([untrained_carl(64).run(x) for x in noise], proxies.CARL)
    assert np.abs(plain).mean() < 0.2
    assert gamed.mean() > 0.99


def test_methods_stand_in_the_order_of_the_papers_table():
    def rows(name):
        kinds = [(name, False), (name, True), ("control: position only", False)]
        return [
            {"features": f, "context": c, "kind": "control" if f.startswith("control") else "frame features"}
            for f, c in kinds
        ]

    several = [row for name in ("a", "a+nms:n.onnx", "a+tcc:t.onnx") for row in rows(name)]
    shown = [(row["features"], row["context"]) for row in proxies.in_paper_order(several)]
    methods = ["a+tcc:t.onnx", "a", "a+nms:n.onnx"]
    expected = [(name, context) for context in (False, True) for name in methods]
    assert shown == [*expected, ("control: position only", False)]


def test_the_untrained_transformer_is_an_encoder_like_any_other(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(10, 8)).astype(np.float32))
    numbered(tmp_path / "a.mp4", 10)
    encoding = encode_clip(tmp_path / "a.mp4", f"features:{tmp_path}+carl:untrained", cache=False)
    assert encoding.features.shape[1] == 128
    with pytest.raises(EncoderError, match=r"ENCODER\+carl:untrained"):
        get_encoder("carl:untrained")
