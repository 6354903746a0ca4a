"""The tables on small data sets whose outcome is known in advance."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER, align_many, score_many
from seasync.errors import DataError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.metrics import fpe, partners
from seasync.evaluate.proxies import TCC, contextualized, phases, state_and_change
from seasync.evaluate.results import merge_tables
from seasync.evaluate.study import NATIVE, NO_CONTEXT, Study
from seasync.evaluate.tables import all_tables
from seasync.evaluate.tables.agreement import agreement, apa, indicators, percentile_curve
from seasync.evaluate.tables.retrieval import avr, cost, cycle_errors, rerank, resample
from tests import videos
from tests.encoders.models import colour_grid
from tests.evaluate import datasets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return datasets.features(tmp_path_factory.mktemp("features"), per_class=5)


@pytest.fixture(scope="module")
def study(folder):
    return Study.of(open_dataset(folder))


@pytest.fixture(scope="module")
def halves(folder):
    return Study.of(open_dataset(folder).halved())


@pytest.fixture(scope="module")
def penn(tmp_path_factory):
    return Study.of(open_dataset(datasets.penn(tmp_path_factory.mktemp("penn"))))


def row(table, **setting):
    (found,) = [r for r in table.rows if all(r.get(k) == v for k, v in setting.items())]
    return found


def test_without_a_split_each_clip_searches_all_others(study):
    assert study.leave_one_out
    for at, candidates in enumerate(study.retrieved(MOTION, 100)):
        assert sorted([*candidates, at]) == list(range(len(study.gallery)))


def test_with_a_split_test_clips_search_the_training_clips(penn):
    assert not penn.leave_one_out
    assert {s.item.split for s in penn.queries} == {"test"}
    assert {s.item.split for s in penn.gallery} == {"train"}


def test_another_data_set_can_be_the_gallery(folder, penn, tmp_path):
    other = datasets.features(tmp_path, classes=2, seed=9)
    crossed = Study.of(open_dataset(folder), open_dataset(other))
    assert not crossed.leave_one_out
    assert len(crossed.gallery) == 8
    assert crossed.paper is None
    penn_like = replace(open_dataset(folder), paper="PennAction")
    assert Study.of(penn_like, replace(open_dataset(other), paper="UCF101")).paper == "Penn ⇄ UCF"


def test_candidates_come_from_another_encoder_and_are_aligned_by_this_one(study, tmp_path):
    dataset = open_dataset(datasets.features(tmp_path, per_class=5, seed=3))
    other = Study.of(dataset)
    both = Study.of(open_dataset(datasets.features(tmp_path / "same", per_class=5)), retriever=other)
    assert [c.tolist() for c in both.retrieved(PAPER, 4)] == [c.tolist() for c in other.retrieved(PAPER, 4)]
    candidates = both.retrieved(PAPER, 4)
    np.testing.assert_allclose(
        both.align(1, candidates[1], PAPER)[0].draq, study.align(1, candidates[1], PAPER)[0].draq
    )
    assert both.rankings(candidates, PAPER)[0].order("none").tolist() == [0, 1, 2, 3]
    assert apa(both, k=3).rows[0]["candidates by"] == "features"


def test_videos_are_sampled_at_the_rate_asked_for_and_tables_say_so(tmp_path):
    encoder = f"onnx:{colour_grid(tmp_path / 'm.onnx')}"
    dataset = open_dataset(datasets.events(tmp_path / "golf", clips=4, frames=16))
    every = Study.of(dataset, encoder=encoder, fps=NATIVE)
    assert len(every.queries[0].encoding.seconds) == 16
    assert every.every_frame
    assert every.fps == pytest.approx(30)
    some = Study.of(replace(dataset, paper="PennAction"), encoder=encoder, fps=10)
    assert some.fps == pytest.approx(10)
    table = apa(some, k=2)
    assert table.rows[0]["fps"] == "10"
    assert "Ours at 10 frames per second, the paper's at every frame" in table.notes[0]


def test_a_split_with_one_side_only_is_an_error(folder):
    dataset = open_dataset(folder)
    with pytest.raises(DataError, match="0 test and 15 train clips"):
        Study.of(replace(dataset, items=tuple(replace(i, split="train") for i in dataset.items)))


def test_the_papers_similarity_is_the_cosine_of_standardized_means(study):
    mean = np.stack([s.encoding.mean for s in study.gallery]).astype(float)
    z = (mean - mean.mean(0)) / mean.std(0)
    cosine = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in z] for a in z]
    ours = study.similarities(PAPER)
    off = ~np.eye(len(z), dtype=bool)
    np.testing.assert_allclose(ours[off], np.array(cosine)[off], atol=1e-5)
    assert (np.diag(ours) == -np.inf).all()


def test_oracle_candidates_have_the_querys_label_and_are_never_the_query(study):
    for at, candidates in enumerate(study.oracle(3, seed=1)):
        assert len(set(candidates)) == 3
        assert at not in candidates
        assert set(study.gallery_labels[candidates]) == {study.query_labels[at]}


def test_reranking_orders_by_each_score(study):
    candidates = study.retrieved(MOTION, 6)
    rankings = study.rankings(candidates, MOTION)
    direct = score_many(
        study.queries[2].encoding, study.encodings(candidates[2]), recipe=MOTION, partial="auto"
    )
    assert rankings[2].order("draq").tolist() == np.argsort(direct.score).tolist()
    assert rankings[2].order("dtw").tolist() == np.argsort(direct.whole_cost).tolist()
    assert rankings[2].order("none").tolist() == list(range(6))
    similarity = study.similarities(MOTION)[2, candidates[2]]
    assert rankings[2].order("product").tolist() == np.argsort((1 - similarity) * direct.score).tolist()


def test_avr_has_every_setting_and_errors_of_the_pick(study):
    table = avr(study, k=4)
    assert len(table.rows) == 2 * (3 + 3 + 5)
    found = row(table, candidates="retrieved", recipe="paper", context=True, rerank="draq")
    candidates = study.retrieved(PAPER, 4)
    rankings = study.rankings(candidates, PAPER)
    errors = []
    for at, chosen in enumerate(candidates):
        pick = study.gallery[chosen[rankings[at].scores.draq.argmin()]].encoding
        forward = align_many(study.queries[at].encoding, [pick], recipe=PAPER)[0].path
        backward = align_many(pick, [study.queries[at].encoding], recipe=PAPER)[0].path
        n, m = len(study.queries[at].encoding.seconds), len(pick.seconds)
        errors.append(fpe(partners(forward, m, keep="match"), partners(backward[:, ::-1], n)))
    assert found["FPE"] == pytest.approx(np.mean(errors))
    assert found["FPE median"] == pytest.approx(np.median(errors))
    assert found["FPE_interval"][0] <= found["FPE"] <= found["FPE_interval"][1]
    unranked = row(table, candidates="retrieved", recipe="paper", context=True, rerank="none")
    assert unranked["FPE against none"] == 0
    assert found["FPE against none"] == pytest.approx(found["FPE"] - unranked["FPE"])
    assert row(table, candidates="oracle", recipe="motion", rerank="none")["same action %"] == 100
    assert found["CPE"] is not None


def test_a_clip_against_itself_has_no_cycle_error(study):
    for recipe in (NO_CONTEXT, PAPER, MOTION):
        errors = cycle_errors(study.queries[0], study.gallery[0], recipe, partial(resample, count=64))
        assert (errors.fpe, errors.cpe, errors.fixed) == pytest.approx((0, 0, 0), abs=1e-9)


def test_fixed_length_clips_keep_their_ends_and_their_course(study):
    encoding = study.queries[0].encoding
    fixed = resample(encoding, 64)
    assert len(fixed.features) == 64
    np.testing.assert_allclose(fixed.features[[0, -1]], encoding.features[[0, -1]], atol=1e-6)
    back = np.stack(
        [np.interp(encoding.seconds, fixed.seconds, column) for column in fixed.features.T], axis=1
    )
    assert np.abs(back - encoding.features).max() < 0.2
    single = replace(
        encoding.streams[0], seconds=np.zeros(1), frames=np.zeros(1, int), features=np.ones((1, 6), "f")
    )
    assert len(resample(replace(encoding, streams=(single,)), 64).features) == 64


def test_apa_is_high_where_phases_follow_the_features(study):
    table = apa(study, k=4)
    for recipe in ("paper", "motion"):
        for found in (r for r in table.rows if r["recipe"] == recipe):
            assert found["APA"] > 0.85
    assert row(table, recipe="motion")["APA top-product"] > 0.85


def test_apa_counts_other_actions_as_zero(study):
    everything_else = apa(study, k=14)
    assert row(everything_else, recipe="motion")["APA"] == pytest.approx(4 / 14, abs=0.05)


def test_apa_of_unlabelled_data_says_what_it_needs(tmp_path):
    unlabelled = Study.of(open_dataset(datasets.features(tmp_path, phases=False)))
    with pytest.raises(DataError, match="no phase labels and no events"):
        apa(unlabelled)


def test_events_that_meet_have_no_error(tmp_path):
    """The same features twice, events at the same frames: every event lands where it should."""
    dataset = open_dataset(datasets.features(tmp_path, per_class=2, classes=1))
    first = dataset.items[0]
    items = tuple(replace(first, name=name, events=np.array([4, 9, 15])) for name in ("a", "b"))
    found = row(apa(Study.of(replace(dataset, items=items))), recipe="motion")
    assert found["event error top-DRAQ"] == pytest.approx(0, abs=1e-6)
    assert found["events reached %"] == 100
    late = (items[0], replace(items[1], events=np.array([7, 12, 18])))
    found = row(apa(Study.of(replace(dataset, items=late))), recipe="motion")
    assert found["event error top-DRAQ"] == pytest.approx(3, abs=1e-6)  # frames at 30 a second
    assert found["event error top-DRAQ ms"] == pytest.approx(100, abs=1e-4)
    assert found["inner event error top-DRAQ"] == pytest.approx(3, abs=1e-6)


def test_noisy_features_disagree_more_and_position_alone_hardly_disagrees(study):
    rng = np.random.default_rng(0)

    def blurred(sample):
        lead = sample.encoding.streams[0]
        noise = rng.normal(scale=2 * lead.features.std(), size=lead.features.shape).astype(np.float32)
        told = replace(lead, features=lead.features + noise)
        return replace(sample, encoding=replace(sample.encoding, streams=(told,)))

    clips = tuple(map(blurred, study.queries))
    told, less = agreement(study, k=4), agreement(replace(study, queries=clips, gallery=clips), k=4)
    by = {"features": study.encoder, "recipe": "motion"}
    assert row(told, **by)["disagreement ms"] < row(less, **by)["disagreement ms"]
    clock = row(told, features="control: position only", recipe="motion")
    assert (
        clock["disagreement ms"] == row(less, features=clock["features"], recipe="motion")["disagreement ms"]
    )
    with pytest.raises(DataError, match="four of one"):
        agreement(study, k=2)


def test_rerank_counts_the_same_action_in_per_cent(study):
    table = rerank(study, k=10)
    assert len(table.rows) == 11
    plain = row(table, recipe="motion", rerank="none")
    labels = study.gallery_labels
    first = [
        labels[c[0]] == label
        for c, label in zip(study.retrieved(MOTION, 10), study.query_labels, strict=True)
    ]
    assert plain["R@1"] == pytest.approx(100 * np.mean(first))
    assert plain["R@10"] >= plain["R@1"]
    assert row(table, recipe="motion", rerank="product")["R@1"] == 100


def test_a_perfect_indicator_has_the_largest_area():
    agreement = np.repeat([1.0, 0.0], 50)
    query = np.tile(np.arange(10), 10)
    (y, low, high), area, bounds = percentile_curve(np.arange(100.0), agreement, query)
    np.testing.assert_allclose(y[:50], 1)
    assert y[-1] == 0.5
    assert area == pytest.approx(np.mean([min(1, 50 / p) for p in range(1, 101)]))
    assert bounds[0] <= area <= bounds[1]
    assert (low <= high).all()
    _, worst, _ = percentile_curve(-np.arange(100.0), agreement, query)
    assert worst < 0.2


def test_indicators_use_apa_where_phases_are_known_and_the_label_where_not(study, tmp_path):
    table = indicators(study, per_query=3)
    assert table.axes[1] == "APA"
    assert {r["indicator"] for r in table.rows} == {"DRAQ", "DTW", "−τ", "(1 − similarity) · DRAQ"}
    assert row(table, recipe="motion", indicator="(1 − similarity) · DRAQ")["area"] > 0.7
    assert table.settings["pairs"] == 15 * 6
    assert "Half of the pairs" in table.notes[-1]
    unlabelled = Study.of(open_dataset(datasets.features(tmp_path, phases=False)))
    assert indicators(unlabelled, per_query=2).axes[1] == "share of same action"


def test_indicators_of_one_action_say_so(tmp_path):
    alone = Study.of(open_dataset(datasets.features(tmp_path / "one", classes=1)))
    table = indicators(alone, per_query=2)
    assert table.settings["pairs"] == 4 * 2
    assert "One action only" in table.notes[-1]
    assert "Half of the pairs" not in " ".join(table.notes)
    unmarked = Study.of(open_dataset(datasets.features(tmp_path / "unmarked", classes=1, phases=False)))
    with pytest.raises(DataError, match="one action and no phases"):
        indicators(unmarked)
    single = Study.of(open_dataset(datasets.features(tmp_path / "many", per_class=1)))
    with pytest.raises(DataError, match="no action has two clips"):
        indicators(single)


def test_phases_put_the_controls_beside_the_features(halves):
    table = phases(halves, protocol=TCC)
    names = [r["features"] for r in table.rows]
    assert names[-2:] == ["control: position only", "control: untrained transformer"]
    assert row(table, features="control: position only")["tau"] > 0.8
    for found in table.rows:
        assert {"classification", "frame P@1", "frame P@5", "progression", "tau"} <= set(found)
        assert found["tau_interval"][0] <= found["tau"] <= found["tau_interval"][1]


def test_phases_without_labels_give_tau_alone(tmp_path):
    unlabelled = Study.of(open_dataset(datasets.features(tmp_path, phases=False)).halved())
    assert set(phases(unlabelled).rows[0]) == {"features", "kind", "context", "tau", "tau_interval"}


def test_phases_need_a_training_side(study):
    with pytest.raises(DataError, match="need a training side"):
        phases(study)


def test_context_and_change_are_what_the_recipes_say(study):
    f = study.queries[0].encoding.features.astype(float)
    t = 7
    running = np.array([f[: j + 1].sum(0) / len(f) for j in range(len(f))])
    np.testing.assert_allclose(
        contextualized(f)[t], np.append(f[t], running[t]) - np.append(f.mean(0), running.mean(0))
    )
    made = state_and_change(study.queries[0].encoding)
    state, change = (
        f - f.mean(0),
        np.array([f[min(j + 4, len(f) - 1)] - f[max(j - 4, 0)] for j in range(len(f))]),
    )
    np.testing.assert_allclose(made[t, :6], state[t] / np.sqrt((state**2).sum(1).mean()), rtol=1e-5)
    np.testing.assert_allclose(made[t, 6:], change[t] / np.sqrt((change**2).sum(1).mean()), rtol=1e-5)


def test_cost_measures_every_stage_and_what_is_stored(study):
    table = cost(study, clips=2)
    stages = {r["stage"]: r for r in table.rows}
    assert stages["cost matrix, DTW and DRAQ of a pair"]["ms"] > 0
    with_features = stages["sea, with frame features"]["bytes per clip"]
    assert with_features > stages["sea, clip vectors only"]["bytes per clip"] > 0
    assert "share %" not in table.rows[1]  # ready-made features were not extracted here
    assert not [note for note in table.notes if "share %" in note or "extracted for this table" in note]


def test_extraction_time_is_reported_with_each_stages_share_of_it(tmp_path):
    (tmp_path / "wave").mkdir()
    for n in range(3):
        videos.numbered(tmp_path / "wave" / f"{n}.mp4", 9)
    table = cost(
        Study.of(open_dataset(tmp_path), encoder=f"onnx:{colour_grid(tmp_path / 'm.onnx')}"), clips=1
    )
    assert table.rows[1]["share %"] > 0
    assert "`share %`" in table.notes[0]


def test_all_tables_skips_what_the_data_do_not_allow(tmp_path):
    tables = all_tables(open_dataset(datasets.features(tmp_path, phases=False)))
    assert [t.name for t in tables] == ["rerank", "avr", "agreement", "indicators", "cost", "phases"]
    missing = [note for note in tables[0].notes if note.startswith("Without")]
    assert [note.split(":")[0] for note in missing] == ["Without the table apa", "Without the table planted"]


def test_tables_of_several_encoders_are_merged(study):
    other = replace(study, encoder="others")
    both = merge_tables([indicators(study, per_query=1), indicators(other, per_query=1)])
    assert len(both.rows) == 14
    assert both.settings["encoder"] == ["features", "others"]
    assert both.curves[0].name.startswith("features, ")
    controls = [r["features"] for r in merge_tables([agreement(study), agreement(other)]).rows]
    assert controls.count("control: position only") == 3


def test_penn_joints_run_every_table(penn):
    assert row(apa(penn, k=2), recipe="motion")["APA"] is not None
    assert rerank(penn).paper[0]["dataset"] == "PennAction"
    assert row(avr(penn, k=2), recipe="motion", rerank="product", candidates="oracle")["CPE"] is not None
