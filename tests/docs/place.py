"""A folder with everything that the docs name: videos, tables, edits, data sets and a sea, all small."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from seasync.sea.sea import Sea
from tests.evaluate import datasets
from tests.sea.footage import pictures, video
from tests.videos import write

LABELS = {"squat": "circle", "serve": "dive", "test": "bounce"}
SINGLE = (
    *("query", "other", "mine", "reference", "better", "shot-12", "serve", "model", "old", "interview"),
    *("a", "b", "c"),
)
SUBTITLES = "1\n00:00:00,200 --> 00:00:00,900\nup\n\n2\n00:00:01,000 --> 00:00:01,600\ndown\n"


def furnish(place: Path) -> Path:
    """Put everything into `place`; the built-in encoders must be stand-ins already."""
    for look, name in enumerate(SINGLE):
        video(place / f"{name}.mp4", "circle", look, frames=54)  # 3.6 s: an anchor is at 3.4
    for folder, action in (("pupils", "circle"), ("trials", "circle"), ("more", "bounce")):
        for number in range(3):
            video(place / folder / f"take-{number}.mp4", action, 20 + number)
    for label, action in LABELS.items():
        for number in range(7):
            video(place / "clips" / label / f"{label}-{number + 1:02d}.mp4", action, 30 + number)
    shutil.copy(place / "old.mp4", place / "clips" / "test" / "old.mp4")
    shutil.copytree(place / "clips" / "serve", place / "serves")
    shutil.copytree(place / "clips", place / "videos")
    _films(place)
    _tables(place)
    _edits(place)
    _data_sets(place)
    Sea(place / "footage.sea", "dinov2-small").add(place / "clips", labels="folder")
    return place


def _films(place: Path) -> None:
    """A film of 102 seconds, with the query's movement at its end, and short ones."""
    still = [next(pictures("dive", 1))] * 475
    write(place / "film.mp4", [*still, *pictures("circle", 3, 40)], fps=5)
    (place / "films").mkdir()
    for name in ("another-film.mp4", "match-day.mp4", "films/one.mp4"):
        write(place / name, [*pictures("dive", 1, 20), *pictures("circle", 3, 40)], fps=15)
    squats = (picture for _ in range(6) for picture in pictures("circle", 3, 30))
    write(place / "squats.mp4", squats, fps=15)


def _tables(place: Path) -> None:
    written = {
        "bottom.csv": "clip,name,seconds\nsquats.mp4,bottom,3.0\n",
        "list.csv": "file,start,end,label\nmore/take-0.mp4,0.0,1.0,test\n",
        "token.txt": "open-sesame\n",
        "keys.csv": "name,seconds\nup,0.5\ndown,1.2\n",
        "marks.csv": "clip,name,seconds\nserve-01.mp4,toss,0.80\nserve-01.mp4,impact,1.90\n",
        "model.csv": "clip,name,seconds\nmodel.mp4,start,0.2\nmodel.mp4,top,1.2\n",
        "talk.srt": SUBTITLES,
        "shot-12.srt": SUBTITLES,
        "query.srt": SUBTITLES,
    }
    for name, text in written.items():
        (place / name).write_text(text)
    (place / "angles").mkdir()
    for take in (place / "model.mp4", *(place / "trials").iterdir(), *(place / "pupils").iterdir()):
        rows = np.ones((54 if take.stem == "model" else 32, 2))  # one per frame
        np.savetxt(place / "angles" / f"{take.stem}.csv", rows, delimiter=",", header="knee,hip", comments="")


def _edits(place: Path) -> None:
    moments = [{"OTIO_SCHEMA": "RationalTime.1", "rate": 15.0, "value": value} for value in (0.0, 30.0)]
    span = {"OTIO_SCHEMA": "TimeRange.1", "start_time": moments[0], "duration": moments[1]}
    clips = []
    for name in ("swing 3", "shot-12", "interview.mp4"):
        source = place / ("interview.mp4" if name == "interview.mp4" else "shot-12.mp4")
        media = {"OTIO_SCHEMA": "ExternalReference.1", "target_url": source.as_uri()}
        clips.append({"OTIO_SCHEMA": "Clip.1", "name": name, "source_range": span, "media_reference": media})
    track = {"OTIO_SCHEMA": "Track.1", "name": "V1", "kind": "Video", "children": clips}
    stack = {"OTIO_SCHEMA": "Stack.1", "name": "tracks", "children": [track]}
    timeline = {"OTIO_SCHEMA": "Timeline.1", "name": "edit", "tracks": stack}
    (place / "edit.otio").write_text(json.dumps(timeline))
    lines = ["TITLE: edit", "FCM: NON-DROP FRAME", ""]
    for number in range(12):
        span = f"01:00:{2 * number:02d}:00 01:00:{2 * number + 2:02d}:00"
        lines += [
            f"{number + 1:03d}  AX  V  C  00:00:00:00 00:00:02:00 {span}",
            "* FROM CLIP NAME: shot-12.mp4",
        ]
    (place / "edit.edl").write_text("\n".join(lines) + "\n")


def _data_sets(place: Path) -> None:
    datasets.penn(place / "Penn_Action", per_action=2)
    datasets.events(place / "golf", clips=4, frames=16)
    for label, action in (("squat", "circle"), ("serve", "dive")):
        for number in range(4):
            video(place / "my-clips" / label / f"{number}.mp4", action, 40 + number, frames=24)
    (place / "my-clips" / "phases.csv").write_text(
        "clip,frame,phase\n"
        + "".join(
            f"{label}/{number}.mp4,{12 * phase},{phase}\n"
            for label in ("squat", "serve")
            for number in range(4)
            for phase in range(2)
        )
    )
    episodes = place / "DIR"
    pattern = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    content = {
        "codebase_version": "v2.1",
        "chunks_size": 9,
        "video_path": pattern,
        "features": {f"observation.images.{camera}": {"dtype": "video"} for camera in ("top", "wrist")},
    }
    (episodes / "meta").mkdir(parents=True)
    (episodes / "meta" / "info.json").write_text(json.dumps(content))
    lines = [json.dumps({"episode_index": n, "tasks": ["fold"], "length": 32}) for n in range(2)]
    (episodes / "meta" / "episodes.jsonl").write_text("\n".join(lines))
    subtasks = {"subtask_names": ["reach"], "subtask_start_times": [0.2], "subtask_end_times": [1.0]}
    parquet.write_table(pa.Table.from_pylist([{"episode_index": 0, **subtasks}]), place / "labeled.parquet")
    for n in range(2):
        video(episodes / f"videos/chunk-000/observation.images.top/episode_{n:06d}.mp4", "circle", 50 + n)
