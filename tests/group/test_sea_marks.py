"""Marks of a few clips of a sea carried to all: episodes, unknown clips, what the command says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from typer.testing import CliRunner

from seasync.alignment import MOTION
from seasync.alignment.judge import Calibration
from seasync.cli import app
from seasync.errors import DataError, FeatureError, UnknownClips
from seasync.group import align_group, carry_over_sea
from seasync.marks import Mark, read_marks
from seasync.sea.calibration import with_calibration
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid
from tests.serve.films import film, pace

COURSES = [pace(60), pace(72, bend=0.7), pace(50, bend=-0.6)]  # three episodes at 30 frames a second
STARTS = np.cumsum([0, *map(len, COURSES)]) / 30


def when(episode: int, progress: float) -> float:
    """Seconds from the start of the episode."""
    return float(np.searchsorted(COURSES[episode], progress)) / 30


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LeRobot data set in layout v3: three episodes in one file."""
    folder = tmp_path_factory.mktemp("v3")
    key = "videos/observation.images.top/"
    film(
        folder / f"{key}chunk-000/file-000.mp4",
        [place for course in COURSES for place in course],
        action="arc",
    )
    (folder / "meta" / "episodes").mkdir(parents=True)
    path = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    features = {"observation.images.top": {"dtype": "video"}}
    info = {"codebase_version": "v3.0", "video_path": path, "features": features}
    (folder / "meta" / "info.json").write_text(json.dumps(info))
    places = {f"{key}chunk_index": 0, f"{key}file_index": 0}
    rows = [
        {"episode_index": n, "tasks": ["arc"], **places}
        | {f"{key}from_timestamp": STARTS[n], f"{key}to_timestamp": STARTS[n + 1]}
        for n in range(3)
    ]
    parquet.write_table(pa.Table.from_pylist(rows), folder / "meta" / "episodes" / "file-000.parquet")
    return folder


@pytest.fixture(scope="module")
def sea(data_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Sea:
    folder = tmp_path_factory.mktemp("sea")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEASYNC_CACHE", str(folder / "cache"))
        sea = Sea(folder / "episodes.sea", f"onnx:{colour_grid(folder / 'tiny.onnx')}")
        sea.add(f"lerobot:{data_set}")
    return sea


def test_sub_tasks_of_one_episode_reach_the_others_by_their_numbers(sea: Sea, tmp_path: Path) -> None:
    labeled, everyone = tmp_path / "labeled.parquet", tmp_path / "all.parquet"
    row = {
        "episode_index": 1,
        "subtask_names": ["reach", "lift"],
        "subtask_start_times": [when(1, 0.25), when(1, 0.6)],
        "subtask_end_times": [when(1, 0.6), when(1, 0.9)],
    }
    parquet.write_table(pa.Table.from_pylist([row]), labeled)
    result = CliRunner().invoke(app, ["transfer", str(labeled), "--sea", sea.uri, "--to", str(everyone)])
    assert result.exit_code == 0, result.output
    found = read_marks(everyone)
    assert list(found) == ["episode_000000", "episode_000001", "episode_000002"]
    for n, marks in enumerate(found.values()):
        assert [mark.name for mark in marks] == ["reach", "lift"]
        assert marks[1].seconds == pytest.approx(when(n, 0.6), abs=0.2)
        assert marks[1].end == pytest.approx(when(n, 0.9), abs=0.2)


def test_the_list_of_doubtful_clips_says_how_many_it_leaves_out(
    sea: Sea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seasync.cli.pair.DOUBTFUL_SHOWN", 1)
    (tmp_path / "marks.csv").write_text("clip,name,seconds\nepisode_000001,top,1.0\n")
    words = ["transfer", str(tmp_path / "marks.csv"), "--sea", sea.uri, "--to", str(tmp_path / "all.csv")]
    said = CliRunner().invoke(app, words).output.splitlines()
    assert said[-3].startswith("2 clips to check")
    assert said[-1] == "  … and 1 more (--json lists all)"


def test_marks_of_unknown_clips_are_named_in_one_line(sea: Sea) -> None:
    known = {"episode_000000": [Mark("top", 1.0)]}
    with pytest.warns(UnknownClips, match=r"1 clips that are not in this sea are ignored: typo\.mp4"):
        carry_over_sea(sea, known | {"typo.mp4": [Mark("top", 1.0)]})
    with pytest.raises(DataError, match=r"the marks are of typo\.mp4: expected clips of this sea"):
        carry_over_sea(sea, {"typo.mp4": [Mark("top", 1.0)]})


def test_a_mark_outside_its_episode_is_one_clear_line(sea: Sea) -> None:
    with pytest.raises(DataError, match=r"the mark 'late' is at 7.4 s, outside the clip"):
        carry_over_sea(sea, {"episode_000001": [Mark("late", 5.4)]})


def test_a_sea_that_is_calibrated_decides_what_aligns(sea: Sea, tmp_path: Path) -> None:
    strict = Sea(shutil.copytree(sea.uri, tmp_path / "strict.sea"))
    marks = {"episode_000000": [Mark("top", 1.0)]}
    assert all(each.marks for each in carry_over_sea(strict, marks)[1])
    assert len(align_group(None, strict).takes) == 2
    never = with_calibration(
        strict.record.snapshot(), MOTION, {"pair": Calibration(-50.0, 0.0), "search": Calibration(-50.0, 0.0)}
    )
    strict.record.put_metadata(never)
    assert not any(each.marks for each in carry_over_sea(strict, marks)[1])
    with pytest.raises(FeatureError, match="none of 2 takes aligns with this reference"):
        align_group(None, strict)


def test_marks_that_were_carried_do_not_count_as_labels(sea: Sea) -> None:
    set_by_hand, carried = [Mark("top", 1.0)], [Mark("top", 0.2, confidence=0.4)]
    labeled, rest = carry_over_sea(sea, {"episode_000000": set_by_hand, "episode_000001": carried})
    assert [clip.marks for clip in labeled] == [tuple(set_by_hand)]
    assert len(rest) == 2
    with pytest.raises(DataError, match="every mark has a confidence, so all were carried over"):
        carry_over_sea(sea, {"episode_000001": carried})


def test_a_clip_whose_marks_were_partly_checked_counts_as_labeled(sea: Sea) -> None:
    marks = [Mark("start", 0.3, confidence=0.7), Mark("top", 1.0)]
    labeled, _ = carry_over_sea(sea, {"episode_000000": marks})
    assert [clip.marks for clip in labeled] == [tuple(marks)]
