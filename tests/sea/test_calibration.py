"""What a product says in per cent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.alignment import MOTION, PAPER, align_encodings
from seasync.alignment.judge import Calibration, shipped_calibrations
from seasync.encoders.weights import DINOV2_SMALL
from seasync.errors import SeaError
from seasync.sea.calibration import CALIBRATION, calibration_error, calibration_of, fit_curve, judged
from seasync.sea.sea import Sea
from tests.cli.run import seasync
from tests.sea.footage import encoding, facts, row


def test_the_fit_finds_the_curve_the_pairs_were_drawn_from() -> None:
    rng = np.random.default_rng(0)
    truth = Calibration(-6.0, -4.0)
    product = np.exp(rng.uniform(-4, 0.5, 40_000))
    same = rng.random(len(product)) < truth.probability(product)
    # Even odds: as many of one kind as of the other, whatever the draw.
    kept = np.concatenate([np.flatnonzero(same)[: (~same).sum()], np.flatnonzero(~same)[: same.sum()]])
    fitted = fit_curve(product[kept], same[kept])
    assert fitted.b == pytest.approx(truth.b, rel=0.1)
    assert calibration_error(fitted.probability(product[kept]), same[kept]) < 0.02


def test_a_lower_product_means_a_higher_probability() -> None:
    probability = Calibration(-8.57, -12.26).probability([0.01, 0.3, 0.5, 0.7, 2.0])
    assert (np.diff(probability) < 0).all()
    assert probability[0] > 0.99
    assert probability[-1] < 0.01


def test_calibration_error_of_a_wrong_curve() -> None:
    same = np.arange(1000) % 2 == 0
    assert calibration_error(np.full(1000, 0.9), same) == pytest.approx(0.4)
    assert calibration_error(np.where(same, 0.99, 0.01), same) == pytest.approx(0.01)


def test_a_labeled_sea_keeps_its_calibration(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    query = encoding(100, kind=1, frames=20)
    assert sea.search(query)[0].alignability is None
    fitted = sea.calibrate()
    assert all(curve.b < 0 for curve in fitted.values())
    assert all(curve.error < 0.1 for curve in fitted.values())
    assert fitted["search"].false_half <= 0.15
    assert fitted["search"].recall >= 0.85
    matches = Sea(tmp_path / "s.sea").search(query, candidates=40, k=40)
    assert matches[0].better_than is None
    likely = {match.clip.label: match.alignability for match in matches}
    assert likely["kind 1"] > 0.9 > 0.1 > likely["kind 2"]
    assert all(match.alignable == (match.alignability >= 0.5) for match in matches)
    assert matches[0].alignment.likelihood == matches[0].alignability
    [kept] = sea.record.snapshot().encodings(sea.record.snapshot().table([])["_rowid"].to_numpy()[:1])
    alone = align_encodings(query, kept)
    assert alone.likelihood is None
    found = next(match for match in matches if match.clip.id == sea.clips()[0].id)
    of_search = judged(sea.record.snapshot(), alone, "search").likelihood
    assert of_search == pytest.approx(found.alignability, abs=1e-3)
    assert judged(sea.record.snapshot(), alone).likelihood != of_search
    assert sea.search(query, recipe=PAPER)[0].alignability is None
    assert sea.info()["calibrated"] == [MOTION.name]


def test_the_command_tells_what_it_fitted(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    told = json.loads(seasync("calibrate", "--sea", tmp_path / "s.sea", "--json").stdout)
    assert told["pair"]["b"] < 0
    assert told["search"]["error"] < 0.1
    printed = seasync("calibrate", "--sea", tmp_path / "s.sea").stdout
    assert f"fitted to {told['pair']['pairs']} pairs and {told['search']['pairs']} searches" in printed
    assert f"the first match of a search: off by {told['search']['error']:.1%}" in printed
    assert f"{told['search']['false_half']:.0%} get 50% or more" in printed


def test_a_calibration_belongs_to_the_values_of_a_recipe_not_to_its_name(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    sea.calibrate()
    snapshot = sea.record.snapshot()
    assert calibration_of(snapshot, MOTION) is not None
    assert calibration_of(snapshot, replace(MOTION, power=1.0)) is None
    for same in (replace(MOTION, name="mine"), replace(MOTION, candidates=100, rerank="draq", power=2)):
        assert calibration_of(snapshot, same) == calibration_of(snapshot, MOTION)


@pytest.mark.parametrize("key", ["motion", "78fab7185bb7302a"])  # by name, and by the values before these
def test_calibrations_of_earlier_recipes_are_left_alone_and_said_once(tmp_path: Path, key: str) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(0), row(1)], facts())
    entry = {"recipe": "motion", "a": -5.0, "b": -10.0, "error": 0.02, "pairs": 7}
    sea.record.put_metadata({CALIBRATION: json.dumps({key: entry})})
    snapshot = sea.record.snapshot()
    assert calibration_of(snapshot, replace(MOTION, penalty=0.1)) is None
    with pytest.warns(UserWarning, match="calibrated with an earlier recipe; run `seasync calibrate`"):
        assert calibration_of(snapshot, MOTION) is None
    assert calibration_of(snapshot, MOTION) is None  # without another warning
    assert sea.info()["calibrated"] == []


def test_the_default_encoder_comes_with_a_calibration_for_the_default_recipe() -> None:
    for encoder in ("dinov2-small/0cd026c8/224", f"dinov2-small/{DINOV2_SMALL.sha256[:8]}/224/flow"):
        for of in ("pair", "search"):
            assert (of, encoder, MOTION.fingerprint) in shipped_calibrations()


def test_too_few_labels_are_refused(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, label="one") for n in range(30)], facts())
    with pytest.raises(SeaError, match="30 clips with 1 labels; calibration needs 20"):
        sea.calibrate()


def test_answers_move_the_likelihoods_and_can_be_taken_back(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    sea.calibrate()
    query = sea.clips()[0].id

    def likely() -> list[float]:
        return [match.alignability for match in sea.search(query, k=39, candidates=39)]

    before = likely()
    matches = sea.search(query, k=39, candidates=39)
    unsure = min(matches, key=lambda match: abs(match.alignability - 0.5))
    assert sea.confirm(unsure, same=False) < unsure.alignability
    lower = likely()
    assert all(now <= then for now, then in zip(lower, before, strict=True))
    sea.confirm(unsure, same=False)
    assert likely() == lower  # the same answer counts once
    assert sea.confirm(unsure, same=True) > unsure.alignability
    assert sea.info()["answers"] == 1
    assert sea.confirm(unsure, same=None) == unsure.alignability
    assert likely() == before
    assert sea.info()["answers"] == 0


def test_an_encoding_has_no_name_to_keep_an_answer_by(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    with pytest.raises(SeaError, match="expected a match of a search for a file or a clip"):
        sea.confirm(sea.search(encoding(100, kind=1, frames=20))[0], same=True)


def test_the_command_keeps_answers(tmp_path: Path) -> None:
    sea = Sea(tmp_path / "s.sea")
    sea.record.append([row(n, kind=n % 4, label=f"kind {n % 4}", frames=20) for n in range(40)], facts())
    sea.calibrate()
    query = sea.clips()[0].id
    asked = ("search", query, "--sea", tmp_path / "s.sea", "-k", "3")
    assert "2, 12.mp4: another movement, " in seasync(*asked, "--same", "1", "--different", "2").stderr
    assert sea.info()["answers"] == 2
    assert "taken back" in seasync(*asked, "--unsaid", "1", "--unsaid", "2").stderr
    assert sea.info()["answers"] == 0
    assert "ranks of its matches" in seasync(*asked, "--same", "4").stderr
