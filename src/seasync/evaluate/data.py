"""Opening data sets: recognized by their layout, checked while they are read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from seasync import plugins
from seasync.clip import Clip
from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate.dataset import (
    Dataset,
    IncompleteData,
    Item,
    Phases,
    find_videos,
    parse_integers,
    read_csv,
)
from seasync.evaluate.events import load_events
from seasync.evaluate.published import UCF_LISTS, kinetics_lists, load_kinetics, load_penn, load_ucf
from seasync.evaluate.untrusted import read_npy
from seasync.options import DatasetKind, expect
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.sea import Sea
from seasync.sea.snapshot import Snapshot

# Any folder: <class>/<clip>.mp4, or <class>/<clip>.npy with one (T, d) array of features per clip.


SPLITS = {"train": "train", "test": "test", "val": "test", "validation": "test"}
FOLDER_LAYOUT = "expected <class>/<clip>.mp4"


def load_folder(root: Path) -> Dataset:
    """Load videos, labeled by their folder."""
    videos = find_videos(root)
    phases = _read_phases(root / "phases.csv", videos)
    items = []
    for name, file in videos.items():
        label, split = _label_of(name, root)
        clip = Clip(str(file), label=label)
        items.append(Item(name, label, split, clip=clip, phases=phases.get(name)))
    if not items:
        raise DataError(f"{root}: no videos found; {FOLDER_LAYOUT}")
    return Dataset(root.resolve().name, tuple(items), "dinov2-small")


def load_features(root: Path, *, fps: float = 30.0) -> Dataset:
    """Load features of any other system, one row per frame at `fps` rows per second."""
    files = {file.relative_to(root).as_posix(): file for file in sorted(root.rglob("*.npy"))}
    phases = _read_phases(root / "phases.csv", files)
    items = []
    for name, file in files.items():
        label, split = _label_of(name, root)
        ready = {"features": partial(_ready_features, file, fps)}
        items.append(Item(name, label, split, ready=ready, phases=phases.get(name)))
    if not items:
        raise DataError(f"{root}: no .npy files found; expected <class>/<clip>.npy, each (T, d)")
    return Dataset(root.resolve().name, tuple(items), "features")


def _ready_features(file: Path, fps: float) -> Encoding:
    features = read_npy(file)
    if features.ndim != 2 or not features.size:
        raise DataError(f"{file}: expected features (T, d), one row per frame, got shape {features.shape}")
    seconds = np.arange(len(features)) / fps
    mean, trajectory = clip_vector_parts(features.astype(np.float32), seconds)
    stream = Stream("features", seconds, np.arange(len(features)), features.astype(np.float32))
    return Encoding("features", (stream,), mean, trajectory)


def _label_of(name: str, root: Path) -> tuple[str, str | None]:
    """The label and split of a file, by its folders."""
    folders = name.split("/")[:-1]
    split = SPLITS.get(folders[0]) if len(folders) > 1 else None
    label = folders[1 if split else 0] if folders else ""
    if not label:
        raise DataError(f"{root / name}: not in a class folder; {FOLDER_LAYOUT}")
    return label, split


def _read_phases(file: Path, names: dict[str, Path]) -> dict[str, Phases]:
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


# A sea as a data set: its labeled clips with their frame features; clips of one file are a group.


def is_sea(place: str | Path) -> bool:
    """Whether a place is a sea and not a folder of data: a URI, or a folder with a sea in it."""
    return "://" in str(place) or next(Path(place, "_versions").glob("[0-9]*.manifest"), None) is not None


def load_sea(place: str | Path) -> Dataset:
    """Load the clips of a sea that have a label and frame features."""
    snapshot = Sea(place, create=False).record.snapshot()
    table = snapshot.table([*CLIP_COLUMNS, "content"], "label IS NOT NULL AND found_0 IS NOT NULL")
    encoder = snapshot.facts.encoder
    items = []
    for clip, content, row in zip(
        snapshot.clips_of(table), table["content"].to_pylist(), table["_rowid"].to_pylist(), strict=True
    ):
        ready = {encoder: partial(_stored_encoding, snapshot, row)}
        items.append(Item(str(clip.id), str(clip.label), group=content, clip=clip, ready=ready))
    if not items:
        raise DataError(
            f"{place}: no clip has a label and frame features; add them with `seasync add … --labels folder`"
        )
    if left := len(snapshot) - len(items):
        warnings.warn(
            f"{place}: {left} of {len(snapshot)} clips have no label or no frame features; they are ignored",
            IncompleteData,
            2,
        )
    return Dataset(Path(str(place)).name.removesuffix(".sea"), tuple(items), encoder)


def _stored_encoding(snapshot: Snapshot, row: int) -> Encoding:
    (encoding,) = snapshot.encodings([row])
    assert encoding is not None  # only rows that keep one are asked for
    return encoding


def open_dataset(path: str | Path, *, kind: DatasetKind | None = None, fps: float = 30.0) -> Dataset:
    """Open a data set.

    Parameters
    ----------
    path : path or URI
        A folder, a sea, or `NAME:PATH` for a kind of data set that an installed package adds.
    kind : str, optional
        One of `seasync.options.DatasetKind`. Default: recognized from the layout.
    fps : float
        Rate of ready-made features, which do not store it themselves.

    Raises
    ------
    DataError
        If there is no such folder, or it is not laid out as expected.
    """
    name, colon, rest = str(path).partition(":")
    if kind is None and colon and (plugin := plugins.find("datasets", name)):
        return plugin.run(lambda load: _expect_dataset(str(path), load(rest)))
    if kind == "sea" or (kind is None and is_sea(path)):
        return load_sea(path)
    root = Path(path)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; a data set is a folder, or a sea by path or URI")
    loaders: dict[DatasetKind, Callable[[Path], Dataset]] = {
        "penn": load_penn,
        "ucf101": load_ucf,
        "kinetics": load_kinetics,
        "events": load_events,
        "features": partial(load_features, fps=fps),
        "folder": load_folder,
    }
    if kind is not None:
        expect("kind", kind, DatasetKind, DataError)
    return loaders[kind or recognize(root)](root)


def _expect_dataset(path: str, loaded: object) -> Dataset:
    if not isinstance(loaded, Dataset):
        raise DataError(f"{path}: expected a seasync.evaluate.dataset.Dataset, got {loaded!r}")
    return loaded


def recognize(root: Path) -> DatasetKind:
    """Recognize the kind of data set by its files."""
    if next((root / "labels").glob("*.mat"), None) or (root / "train.pkl").exists():
        return "penn"
    if (root / UCF_LISTS).is_dir() or next(root.glob("**/v_*_g*_c*.avi"), None):
        return "ucf101"
    if kinetics_lists(root):
        return "kinetics"
    if (root / "events.csv").exists():
        return "events"
    if next(root.glob("**/*.npy"), None):
        return "features"
    return "folder"
