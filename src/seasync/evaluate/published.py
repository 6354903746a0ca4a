"""Published data sets as their authors lay them out: Penn Action, UCF101, Kinetics-700."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync.clip import Clip
from seasync.encoders.vector import clip_vector_parts
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate.dataset import (
    Dataset,
    Frames,
    IncompleteData,
    Item,
    Phases,
    find_videos,
    read_csv,
    require,
)
from seasync.evaluate.events import read_events
from seasync.evaluate.untrusted import read_mat, read_npy, read_pickle

# Penn Action's annotated joints as frame features: real motion without pictures.


NAME = "joints"
FPS = 30.0  # Penn Action states no frame rate; 4 frames then span the motion recipe's 1/7.5 s
MIRROR = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11])  # head; then left, right of six joints
ABSENT = 1.01  # an unannotated joint is written as invisible at (1, 1)

Array = NDArray[np.float64]


def encode_joints(
    x: NDArray[Any], y: NDArray[Any], visibility: NDArray[Any], *, name: str = NAME
) -> Encoding:
    """Encode 13 joints over a clip.

    Parameters
    ----------
    x, y, visibility : numpy.ndarray [shape=(T, 13)]
        Positions in pixels, and whether the joint is visible.
    name : str
        Where they come from, for errors.

    Raises
    ------
    DataError
        If the shapes differ from (T, 13).
    """
    if x.ndim != 2 or x.shape[1:] != (13,) or y.shape != x.shape or visibility.shape != x.shape or not len(x):
        raise DataError(
            f"{name}: expected x, y, visibility (T, 13), got {x.shape}, {y.shape}, {visibility.shape}"
        )
    features = joint_features(x, y, visibility)
    seconds = np.arange(len(features)) / FPS
    mean, trajectory = clip_vector_parts(features, seconds)
    stream = Stream(NAME, seconds, np.arange(len(features)), features)
    return Encoding(NAME, (stream,), mean, trajectory)


def joint_features(x: NDArray[Any], y: NDArray[Any], visibility: NDArray[Any]) -> NDArray[np.float32]:
    """Joint positions relative to the clip's own center and size, smoothed: (T, 13) each → (T, 26).

    Gaps are interpolated in time; a joint that is never seen takes its mirror's place, or else the body's
    center. Positions are taken minus the median centroid, over 1.6 × the median RMS spread, and smoothed with
    a Gaussian of σ = 1 frame.
    """
    seen = np.asarray((visibility > 0) | (np.maximum(x, y) > ABSENT))
    place = _fill(np.stack([x, y], axis=2).astype(np.float64), seen)
    centroid = place.mean(1, keepdims=True)
    spread = np.median(np.sqrt(((place - centroid) ** 2).sum(2).mean(1)))
    scaled = (place - np.median(centroid, axis=0)) / (1.6 * max(float(spread), 1e-6))
    return _smooth(scaled.reshape(len(place), 26)).astype(np.float32)


def _fill(place: Array, seen: NDArray[np.bool_]) -> Array:
    times = np.arange(len(place))
    filled = place.copy()
    ever = np.asarray(seen.any(0))
    for joint in np.flatnonzero(ever):
        known = seen[:, joint]
        for axis in range(2):
            filled[:, joint, axis] = np.interp(times, times[known], place[known, joint, axis])
    for joint in np.flatnonzero(~ever):
        if ever[MIRROR[joint]]:
            filled[:, joint] = filled[:, MIRROR[joint]]
        else:
            filled[:, joint] = filled[:, ever].mean(1) if ever.any() else 0
    return filled


def _smooth(features: Array) -> Array:
    """Smooth with a Gaussian of σ = 1 frame over time, ends repeated: (T, d) → (T, d)."""
    reach = 4
    kernel = np.exp(-(np.arange(-reach, reach + 1) ** 2) / 2)
    kernel /= kernel.sum()
    padded = np.pad(features, ((reach, reach), (0, 0)), mode="edge")
    return np.asarray(sum(w * padded[i : i + len(features)] for i, w in enumerate(kernel)))


PENN_SOURCE = "Penn_Action.tar.gz from http://dreamdragon.github.io/PennAction/ holds frames/ and labels/"
PENN_ACTIONS = (
    "baseball_pitch",
    "baseball_swing",
    "bench_press",
    "bowl",
    "clean_and_jerk",
    "golf_swing",
    "jumping_jacks",
    "pushup",
    "pullup",
    "situp",
    "squat",
    "tennis_forehand",
    "tennis_serve",
)
EXCLUDED_ACTIONS = ("jump_rope", "strum_guitar")
TCC_SPELLING = {
    "bowling": "bowl",
    "pushups": "pushup",
    "pullups": "pullup",
    "situps": "situp",
    "squats": "squat",
}


def load_penn(root: Path) -> Dataset:
    """Load the 13 actions of alignment work; with phase labels, only clips that have them, in their split."""
    if not (root / "labels").is_dir() and (root / "train.pkl").exists():
        return load_carl(root)
    files = sorted(require(root / "labels", "Penn Action's labels folder", PENN_SOURCE).glob("[0-9]*.mat"))
    if not files:
        raise DataError(f"{root / 'labels'}: no 0001.mat …; {PENN_SOURCE}")
    phases = _penn_phases(root)
    items = [_penn_item(file, root / "frames" / file.stem, phases) for file in files]
    kept = tuple(item for item in items if item is not None)
    encoder = "joints" if any(item.clip is None for item in kept) else "dinov2-small"
    return Dataset("Penn Action", kept, encoder, paper="PennAction")


def _penn_item(file: Path, pictures: Path, phases: dict[str, tuple[str, Path]]) -> Item | None:
    content = read_mat(file, ("action", "x", "y", "visibility", "train"))
    action = action_name(str(content["action"].reshape(-1)[0]), where=file)
    if action is None or (phases and file.stem not in phases):
        return None
    length = len(content["x"])
    split = "train" if int(content["train"].reshape(-1)[0]) == 1 else "test"
    labelled = None
    if file.stem in phases:
        split, labels = phases[file.stem]
        ids = read_npy(labels).reshape(-1).astype(np.int64)
        labelled = Phases.per_frame(fit_length(ids, length, where=labels), clip=str(labels))
    joints = partial(encode_joints, content["x"], content["y"], content["visibility"], name=str(file))
    clip = Clip(str(pictures), label=action) if pictures.is_dir() else None
    return Item(file.stem, action, split, clip=clip, ready={"joints": joints}, phases=labelled)


def action_name(name: str, *, where: object) -> str | None:
    """The official spelling; None for the two actions that alignment work excludes."""
    action = TCC_SPELLING.get(name, name)
    if action in EXCLUDED_ACTIONS:
        return None
    if action not in PENN_ACTIONS:
        known = ", ".join(PENN_ACTIONS + EXCLUDED_ACTIONS)
        raise DataError(f"{where}: unknown action {name!r}; Penn Action has {known}")
    return action


def fit_length(labels: Frames, length: int, *, where: object) -> Frames:
    """Resample labels to `length` frames by floor(j · long / short), as CARL does."""
    if not len(labels) or max(length, len(labels)) > 2 * min(length, len(labels)):
        raise DataError(
            f"{where}: {len(labels)} labels for a clip of {length} frames; expected one per frame"
        )
    if len(labels) >= length:
        return labels[np.arange(length) * len(labels) // length]
    kept = np.arange(len(labels)) * length // len(labels)
    return labels[np.searchsorted(kept, np.arange(length), side="right") - 1]


def _penn_phases(root: Path) -> dict[str, tuple[str, Path]]:
    """Split and file of each clip's phase labels, by clip id; empty if there are none."""
    folder = next((f for f in (root, root.parent) if (f / "penn_action_labels").is_dir()), None)
    if folder is None:
        return {}
    found: dict[str, tuple[str, Path]] = {}
    for split, name in (("train", "train"), ("test", "val")):
        part = require(
            folder / "penn_action_labels" / name, f"the {name} half of the phase labels", "TCC publishes both"
        )
        for file in sorted(part.glob("*/*.npy")):
            action_name(file.parent.name, where=file)
            if not re.match(r"\d{4}", file.name):
                raise DataError(
                    f"{file}: expected a name that begins with the clip's number, such as 0001.npy"
                )
            found[file.name[:4]] = (split, file)
    return found


def load_carl(root: Path) -> Dataset:
    """Load CARL's processed form: a pickled list of clips, and the videos."""
    items = []
    for split, name in (("train", "train.pkl"), ("test", "val.pkl")):
        file = require(root / name, f"CARL's processed {name}", "make both with CARL's dataset_preparation")
        content = read_pickle(file)
        entries = content[0] if isinstance(content, tuple | list) and content else None
        if not isinstance(entries, list):
            raise DataError(
                f"{file}: expected a pair (clips, indices by action) as CARL's preparation writes it"
            )
        items += [_carl_item(entry, root, split, file) for entry in entries]
    return Dataset("Penn Action (processed)", tuple(items), "dinov2-small", paper="PennAction")


def _carl_item(entry: Any, root: Path, split: str, file: Path) -> Item:
    try:
        name, video = str(entry["name"]), root / str(entry["video_file"])
        labels = np.asarray(entry["frame_label"]).reshape(-1).astype(np.int64)
        action = action_name(re.sub(r"^\d{4}", "", name), where=file)
    except (TypeError, KeyError, ValueError) as error:
        raise DataError(f"{file}: a clip without name, video_file or frame_label ({error})") from None
    if action is None or not video.exists():
        raise DataError(f"{video}: named in {file.name} but not there; keep the videos beside it")
    phases = Phases.per_frame(labels, clip=str(video))
    return Item(name, action, split, clip=Clip(str(video), label=action), phases=phases)


# UCF101: v_Class_gXX_cYY.avi under class folders, and the official lists of split 1.


UCF_SOURCE = (
    "UCF101.rar and UCF101TrainTestSplits-RecognitionTask.zip from https://www.crcv.ucf.edu/data/UCF101.php"
)
UCF_LISTS = "ucfTrainTestlist"


def load_ucf(root: Path) -> Dataset:
    """Load split 1: train and test clips of 101 actions; a warning counts missing clips."""
    lists = next((f / UCF_LISTS for f in (root, root.parent) if (f / UCF_LISTS).is_dir()), root / UCF_LISTS)
    require(lists, "the folder of official lists", UCF_SOURCE)
    classes = _ucf_classes(require(lists / "classInd.txt", "the list of classes", UCF_SOURCE))
    files = {Path(name).name: file for name, file in find_videos(root).items()}
    items, missing = [], []
    for split in ("train", "test"):
        listed = require(lists / f"{split}list01.txt", f"the {split} list of split 1", UCF_SOURCE)
        for line in listed.read_text().split("\n"):
            if not line.strip():
                continue
            name = Path(line.split()[0]).name
            label, group = _ucf_label(name, classes, listed)
            if name in files:
                clip = Clip(str(files[name]), label=label)
                items.append(Item(Path(name).stem, label, split, group=f"{label} {group}", clip=clip))
            else:
                missing.append(line.split()[0])
    if not items:
        raise DataError(
            f"{root}: none of the {len(missing)} listed videos is there (first: {missing[0]}); {UCF_SOURCE}"
        )
    if missing:
        lost, all_listed = len(missing), len(missing) + len(items)
        warnings.warn(
            f"{root}: {lost} of {all_listed} listed videos are missing (first: {missing[0]})",
            IncompleteData,
            2,
        )
    return Dataset("UCF101", tuple(items), "dinov2-small", paper="UCF101")


def _ucf_classes(file: Path) -> set[str]:
    return {line.split()[1] for line in file.read_text().splitlines() if len(line.split()) == 2}


def _ucf_label(name: str, classes: set[str], where: Path) -> tuple[str, str]:
    found = re.fullmatch(r"v_(\w+)_(g\d+)_c\d+\.avi", name)
    if not found:
        raise DataError(f"{where}: expected names such as v_Archery_g01_c01.avi, got {name!r}")
    if found[1] not in classes and found[1].lower() not in {c.lower() for c in classes}:
        raise DataError(f"{where}: {name} is of class {found[1]!r}, which classInd.txt does not list")
    return found[1], found[2]


# Kinetics-700: the official CSV lists, trimmed clips, and key frames if there are any.


KINETICS_SOURCE = "https://github.com/cvdfoundation/kinetics-dataset has the lists and the trimmed clips"
KINETICS_COLUMNS = ("label", "youtube_id", "time_start", "time_end", "split")
KINETICS_SPLITS = {"train": "train", "val": "test", "validate": "test", "validation": "test"}


def load_kinetics(root: Path) -> Dataset:
    """Load the lists: training clips are the gallery, (marked) validation clips the queries."""
    rows = [row | {"list": str(f)} for f in kinetics_lists(root) for row in read_csv(f, KINETICS_COLUMNS)]
    if not rows:
        raise DataError(
            f"{root}: no CSV list with the columns {', '.join(KINETICS_COLUMNS)}; {KINETICS_SOURCE}"
        )
    files = {key: file for file in find_videos(root).values() if (key := _kinetics_key(file.stem))}
    marks = root / "key_frames.csv"
    events = read_events(marks) if marks.exists() else {}
    items, missing = [], 0
    for row in rows:
        split = KINETICS_SPLITS.get(row["split"])
        if split is None:
            continue
        key = (row["youtube_id"], *_kinetics_span(row))
        if key not in files:
            missing += 1
            continue
        file = files[key]
        moments = events.get(file.name, events.get(file.stem))
        if events and split == "test" and moments is None:
            continue
        phases = None if moments is None else Phases.between(moments)
        clip = Clip(str(file), label=row["label"])
        items.append(Item(file.stem, row["label"], split, clip=clip, phases=phases, events=moments))
    if not items:
        raise DataError(
            f"{root}: none of the {missing} listed clips is there as ID_START_END.mp4; {KINETICS_SOURCE}"
        )
    if missing:
        warnings.warn(f"{root}: {missing} of {len(rows)} listed clips are missing", IncompleteData, 2)
    return Dataset("Kinetics-700", tuple(items), "dinov2-small", paper="Kinetics")


def kinetics_lists(root: Path) -> list[Path]:
    """The CSV files with the header of a Kinetics list."""
    found = []
    for file in sorted(root.glob("*.csv")) + sorted(root.glob("annotations/*.csv")):
        with file.open(encoding="utf-8-sig", errors="replace") as opened:
            if "youtube_id" in opened.readline().strip().split(","):
                found.append(file)
    return found


def _kinetics_key(stem: str) -> tuple[str, int, int] | None:
    found = re.fullmatch(r"(.+)_(\d+)_(\d+)", stem)
    return (found[1], int(found[2]), int(found[3])) if found else None


def _kinetics_span(row: dict[str, str]) -> tuple[int, int]:
    try:
        return int(float(row["time_start"])), int(float(row["time_end"]))
    except ValueError:
        raise DataError(
            f"{row['list']}: time_start and time_end of {row['youtube_id']} must be seconds, "
            f"got {row['time_start']!r} and {row['time_end']!r}"
        ) from None
