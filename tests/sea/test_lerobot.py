"""Episodes of LeRobot data sets, in the two published layouts, made here."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from seasync.errors import SeaError
from seasync.sea.sources import episodes, find_videos

CAMERAS = {"observation.images.top": {"dtype": "video"}, "observation.images.wrist": {"dtype": "video"}}


def info(folder, version, video_path, features=CAMERAS):
    (folder / "meta").mkdir(parents=True)
    content = {"codebase_version": version, "chunks_size": 2, "video_path": video_path}
    (folder / "meta" / "info.json").write_text(
        json.dumps(content | {"features": features | {"action": {"dtype": "float32"}}})
    )


@pytest.fixture
def one_video_each(tmp_path):
    path = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    info(tmp_path / "v2", "v2.1", path)
    lines = [json.dumps({"episode_index": n, "tasks": [f"task {n % 2}"], "length": 90}) for n in range(3)]
    (tmp_path / "v2" / "meta" / "episodes.jsonl").write_text("\n".join(lines))
    return tmp_path / "v2"


@pytest.fixture
def many_in_one_video(tmp_path):
    info(tmp_path / "v3", "v3.0", "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4")
    key = "videos/observation.images.top/"
    rows = [
        {
            "episode_index": n,
            "tasks": ["put the orange into the drawer"],
            f"{key}chunk_index": 0,
            f"{key}file_index": n // 2,
            f"{key}from_timestamp": 4.0 * (n % 2),
            f"{key}to_timestamp": 4.0 * (n % 2) + 4.0,
        }
        for n in range(3)
    ]
    folder = tmp_path / "v3" / "meta" / "episodes" / "chunk-000"
    folder.mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist(rows), folder / "file-000.parquet")
    return tmp_path / "v3"


def test_a_video_per_episode(one_video_each):
    found = episodes(f"lerobot:{one_video_each}", "top")
    assert [(one.index, one.task, one.start) for one in found] == [
        (0, "task 0", None),
        (1, "task 1", None),
        (2, "task 0", None),
    ]
    assert found[2].file == one_video_each / "videos/chunk-001/observation.images.top/episode_000002.mp4"


def test_many_episodes_in_one_video(many_in_one_video):
    found = episodes(many_in_one_video, "observation.images.top")
    assert [(one.file.name, one.start, one.end) for one in found] == [
        ("file-000.mp4", 0.0, 4.0),
        ("file-000.mp4", 4.0, 8.0),
        ("file-001.mp4", 0.0, 4.0),
    ]


def test_episodes_are_videos_to_add_with_their_task_as_label(many_in_one_video):
    found = find_videos([f"lerobot:{many_in_one_video}#top"])
    assert len(found) == 3
    assert {video.label for video in found} == {"put the orange into the drawer"}
    assert (found[1].start, found[1].end) == (4.0, 8.0)


def test_one_of_several_cameras_must_be_chosen(one_video_each):
    with pytest.raises(SeaError, match="several cameras"):
        episodes(one_video_each)
    with pytest.raises(SeaError, match="no camera 'left'"):
        episodes(one_video_each, "left")


def test_another_folder_or_layout_is_one_clear_line(tmp_path):
    with pytest.raises(SeaError, match="expected the folder of a LeRobot data set"):
        episodes(tmp_path)
    info(tmp_path / "old", "v1.6", "x", {"top": {"dtype": "video"}})
    with pytest.raises(SeaError, match=r"expected v2\.1 or v3\.0"):
        episodes(tmp_path / "old")
