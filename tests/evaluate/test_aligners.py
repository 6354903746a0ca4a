"""The leaderboard of aligners on clips whose warps are known."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seasync.errors import DataError
from seasync.evaluate.data import open_dataset
from seasync.evaluate.study import Study
from seasync.evaluate.tables import make_table
from seasync.evaluate.tables.aligners import aligners
from tests.evaluate import datasets


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Features that run through three phases, with an event where each one begins."""
    dataset = open_dataset(datasets.features(tmp_path_factory.mktemp("features"), per_class=4, classes=2))
    items = tuple(replace(item, events=item.phases.starts[1:]) for item in dataset.items if item.phases)
    return Study.of(replace(dataset, items=items))


def write(file: Path, rows: list[list[object]]) -> Path:
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([["query", "match", "query_seconds", "match_seconds"], *rows])
    return file


def test_warps_of_others_stand_beside_ours(study: Study, tmp_path: Path) -> None:
    """Perfect ones have no error; those of half of the queries reach half of the events."""
    rows: list[list[object]] = []
    for query in study.queries[::2]:
        for match in study.gallery:
            if match.item.label == query.item.label:
                moments = zip(_marks(query), _marks(match), strict=True)
                rows += [[query.item.name, match.item.name, mine, theirs] for mine, theirs in moments]
    table = aligners(study, k=3, warps=[write(tmp_path / "perfect.csv", rows)])
    found = {row["aligner"]: row for row in table.rows}
    assert list(found) == ["uniform stretch", "plain DTW", "paper", "motion", "motion, consensus", "perfect"]
    assert found["perfect"]["event error ms"] == pytest.approx(0, abs=1e-6)
    assert found["perfect"]["events reached %"] == pytest.approx(50)
    assert found["uniform stretch"]["against stretch ms"] == 0
    assert found["motion"]["against stretch ms"] < 0
    assert found["motion"]["APA"] > found["uniform stretch"]["APA"]


def _marks(sample) -> list[float]:
    seconds = sample.encoding.seconds
    return [seconds[0], *np.interp(sample.item.events, sample.encoding.frames, seconds), seconds[-1]]


def test_what_needs_no_features_is_shown_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Study, "of", lambda *_, encoder, **__: replace(study, encoder=encoder))
    dataset = open_dataset(datasets_of(study))
    table = make_table("aligners", dataset, encoders=["one", "two"], k=2)
    assert [row["aligner"] for row in table.rows].count("uniform stretch") == 1
    assert [row["features"] for row in table.rows].count("two") == 4


def datasets_of(study: Study) -> Path:
    item = study.queries[0].item
    read = item.ready["features"]
    return Path(read.args[0]).parent.parent  # type: ignore[attr-defined]


def test_errors_say_what_is_wrong(study: Study, tmp_path: Path) -> None:
    name = study.queries[0].item.name
    with pytest.raises(DataError, match="line 2: elsewhere is no clip"):
        aligners(study, warps=[write(tmp_path / "a.csv", [[name, "elsewhere", 0, 0]])])
    with pytest.raises(DataError, match="line 2: expected seconds"):
        aligners(study, warps=[write(tmp_path / "b.csv", [[name, name, "now", 0]])])
    unmarked = Study.of(open_dataset(datasets_of(study)))
    with pytest.raises(DataError, match="no clip has events"):
        aligners(unmarked)
