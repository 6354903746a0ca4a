"""Any folder: <class>/<clip>.mp4, or <class>/<clip>.npy with one (T, d) array of features per clip.

train/<class>/… and test/<class>/… (or val/) give a split. An optional phases.csv has `clip` (the path below
the folder), `frame` and `phase`: from that frame on, the clip is in that phase. A row of features is a frame.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from seasync.clip import Clip
from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, Item, Phases, find_videos, parse_integers, read_csv
from seasync.evaluate.untrusted import read_npy

SPLITS = {"train": "train", "test": "test", "val": "test", "validation": "test"}
LAYOUT = "expected <class>/<clip>.mp4"


def load(root: Path) -> Dataset:
    """Load videos, labeled by their folder."""
    videos = find_videos(root)
    phases = _phases(root / "phases.csv", videos)
    items = []
    for name, file in videos.items():
        label, split = _place(name, root)
        clip = Clip(str(file), label=label)
        items.append(Item(name, label, split, clip=clip, phases=phases.get(name)))
    if not items:
        raise DataError(f"{root}: no videos found; {LAYOUT}")
    return Dataset(root.resolve().name, tuple(items), "dinov2-small")


def load_features(root: Path, *, fps: float = 30.0) -> Dataset:
    """Load features of any other system, one row per frame at `fps` rows per second."""
    files = {file.relative_to(root).as_posix(): file for file in sorted(root.rglob("*.npy"))}
    phases = _phases(root / "phases.csv", files)
    items = []
    for name, file in files.items():
        label, split = _place(name, root)
        ready = {"features": partial(_encode, file, fps)}
        items.append(Item(name, label, split, ready=ready, phases=phases.get(name)))
    if not items:
        raise DataError(f"{root}: no .npy files found; expected <class>/<clip>.npy, each (T, d)")
    return Dataset(root.resolve().name, tuple(items), "features")


def _encode(file: Path, fps: float) -> Encoding:
    features = read_npy(file)
    if features.ndim != 2 or not features.size:
        raise DataError(f"{file}: expected features (T, d), one row per frame, got shape {features.shape}")
    seconds = np.arange(len(features)) / fps
    mean, trajectory = clip_vector_parts(features.astype(np.float32), seconds)
    stream = Stream("features", seconds, np.arange(len(features)), features.astype(np.float32))
    return Encoding("features", (stream,), mean, trajectory)


def _place(name: str, root: Path) -> tuple[str, str | None]:
    """The label and split of a file, by its folders."""
    folders = name.split("/")[:-1]
    split = SPLITS.get(folders[0]) if len(folders) > 1 else None
    label = folders[1 if split else 0] if folders else ""
    if not label:
        raise DataError(f"{root / name}: not in a class folder; {LAYOUT}")
    return label, split


def _phases(file: Path, names: dict[str, Path]) -> dict[str, Phases]:
    if not file.exists():
        return {}
    marks: dict[str, list[tuple[int, int]]] = {}
    for row in read_csv(file, ("clip", "frame", "phase")):
        if row["clip"] not in names:
            raise DataError(
                f"{file}: names {row['clip']}, which is not there; give the path below {file.parent}"
            )
        numbers = parse_integers(f"{row['frame']} {row['phase']}", where=f"{file}, {row['clip']}")
        if len(numbers) != 2:
            raise DataError(
                f"{file}, {row['clip']}: expected a frame and a phase, got {row['frame']!r}, {row['phase']!r}"
            )
        marks.setdefault(row["clip"], []).append((int(numbers[0]), int(numbers[1])))
    columns = {name: np.array(sorted(rows), np.int64).T for name, rows in marks.items()}
    return {name: Phases(starts, ids) for name, (starts, ids) in columns.items()}
