"""Opening data sets, recognized by their layout: folders, seas, Penn Action, UCF101 and Kinetics-700."""

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seasync import plugins
from seasync.clip import Clip
from seasync.encoders import clip_vector_parts, pose
from seasync.encoding import Encoding, Stream
from seasync.errors import DataError
from seasync.evaluate import dataset, untrusted
from seasync.evaluate.dataset import Dataset, Item, Phases
from seasync.options import DatasetKind, expect
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.sea import Sea
from seasync.sea.snapshot import Snapshot

Array = NDArray[np.float64]
IMAGE_ENCODER = "dinov2-small"  # the default for sets of videos


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
        "events": dataset.load_events,
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


# Any folder: <class>/<clip>.mp4, or <class>/<clip>.npy with one (T, d) array of features per clip.


SPLITS = {"train": "train", "test": "test", "val": "test", "validation": "test"}
FOLDER_LAYOUT = "expected <class>/<clip>.mp4"


def load_folder(root: Path) -> Dataset:
    """Load videos, labeled by their folder."""
    items = _labeled_items(root, dataset.find_videos(root))
    if not items:
        raise DataError(f"{root}: no videos found; {FOLDER_LAYOUT}")
    items = [replace(item, clip=Clip(str(root / item.name), label=item.label)) for item in items]
    return Dataset(root.resolve().name, tuple(items), IMAGE_ENCODER)


def load_features(root: Path, *, fps: float = 30.0) -> Dataset:
    """Load features of any other system, one row per frame at `fps` rows per second."""
    files = {file.relative_to(root).as_posix(): file for file in sorted(root.rglob("*.npy"))}
    items = _labeled_items(root, files)
    if not items:
        raise DataError(f"{root}: no .npy files found; expected <class>/<clip>.npy, each (T, d)")
    read = {name: {"features": partial(_ready_features, file, fps)} for name, file in files.items()}
    return Dataset(root.resolve().name, tuple(replace(i, ready=read[i.name]) for i in items), "features")


def _labeled_items(root: Path, files: dict[str, Path]) -> list[Item]:
    """An item for each file, with label and split by its folders, and phases if there are any."""
    phases = _read_phases(root / "phases.csv", files)
    return [Item(name, *_label_of(name, root), phases=phases.get(name)) for name in files]


def _ready_features(file: Path, fps: float) -> Encoding:
    features = untrusted.read_npy(file)
    if features.ndim != 2 or not features.size:
        raise DataError(f"{file}: expected features (T, d), one row per frame, got shape {features.shape}")
    return _as_encoding("features", features.astype(np.float32), fps)


def _as_encoding(name: str, features: NDArray[np.float32], fps: float) -> Encoding:
    seconds = np.arange(len(features)) / fps
    stream = Stream(name, seconds, np.arange(len(features)), features)
    return Encoding(name, (stream,), *clip_vector_parts(features, seconds))


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
    for row in dataset.read_csv(file, ("clip", "frame", "phase")):
        if row["clip"] not in names:
            hint = f"give the path below {file.parent}"
            raise DataError(f"{file}: names {row['clip']}, which is not there; {hint}")
        where, frame, phase = f"{file}, {row['clip']}", row["frame"], row["phase"]
        numbers = dataset.parse_integers(f"{frame} {phase}", where=where)
        if len(numbers) != 2:
            raise DataError(f"{where}: expected a frame and a phase, got {frame!r}, {phase!r}")
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
    contents, rows = (table[column].to_pylist() for column in ("content", "_rowid"))
    items = []
    for clip, content, row in zip(snapshot.clips_of(table), contents, rows, strict=True):
        ready = {encoder: partial(_stored_encoding, snapshot, row)}
        items.append(Item(str(clip.id), str(clip.label), group=content, clip=clip, ready=ready))
    if not items:
        raise DataError(
            f"{place}: no clip has a label and frame features; add them with `seasync add … --labels folder`"
        )
    if left := len(snapshot) - len(items):
        lost = f"{left} of {len(snapshot)} clips have no label or no frame features; they are ignored"
        warnings.warn(f"{place}: {lost}", dataset.IncompleteData, 2)
    return Dataset(Path(str(place)).name.removesuffix(".sea"), tuple(items), encoder)


def _stored_encoding(snapshot: Snapshot, row: int) -> Encoding:
    (encoding,) = snapshot.encodings([row])
    assert encoding is not None  # only rows that keep one are asked for
    return encoding


# Penn Action's annotated joints as frame features: real motion without pictures.


JOINTS = "joints"
JOINTS_FPS = 30.0  # Penn Action states no frame rate; 4 frames then span the motion recipe's 1/7.5 s
MIRROR = np.array([0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11])  # head; then left, right of six joints
ABSENT = 1.01  # an unannotated joint is written as invisible at (1, 1)


def encode_joints(
    x: NDArray[Any], y: NDArray[Any], visibility: NDArray[Any], *, name: str = JOINTS
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
    return _as_encoding(JOINTS, joint_features(x, y, visibility), JOINTS_FPS)


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
    return pose.smooth(scaled.reshape(len(place), 26), deviation=1, reach=4).astype(np.float32)


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


PENN_SOURCE = "Penn_Action.tar.gz from http://dreamdragon.github.io/PennAction/ holds frames/ and labels/"
PENN_ACTIONS = (
    "baseball_pitch", "baseball_swing", "bench_press", "bowl", "clean_and_jerk", "golf_swing",
    "jumping_jacks", "pushup", "pullup", "situp", "squat", "tennis_forehand", "tennis_serve",
)  # fmt: skip
EXCLUDED_ACTIONS = ("jump_rope", "strum_guitar")
TCC_SPELLING = {f"{name}s": name for name in ("pushup", "pullup", "situp", "squat")} | {"bowling": "bowl"}


def load_penn(root: Path) -> Dataset:
    """Load the 13 actions of alignment work; with phase labels, only clips that have them, in their split."""
    if not (root / "labels").is_dir() and (root / "train.pkl").exists():
        return load_carl(root)
    labels = dataset.require(root / "labels", "Penn Action's labels folder", PENN_SOURCE)
    files = sorted(labels.glob("[0-9]*.mat"))
    if not files:
        raise DataError(f"{labels}: no 0001.mat …; {PENN_SOURCE}")
    phases = _penn_phases(root)
    items = [_penn_item(file, root / "frames" / file.stem, phases) for file in files]
    kept = tuple(item for item in items if item is not None)
    encoder = JOINTS if any(item.clip is None for item in kept) else IMAGE_ENCODER
    return Dataset("Penn Action", kept, encoder, paper="PennAction")


def _penn_item(file: Path, pictures: Path, phases: dict[str, tuple[str, Path]]) -> Item | None:
    content = untrusted.read_mat(file, ("action", "x", "y", "visibility", "train"))
    action = action_name(str(content["action"].reshape(-1)[0]), where=file)
    if action is None or (phases and file.stem not in phases):
        return None
    length = len(content["x"])
    split = "train" if int(content["train"].reshape(-1)[0]) == 1 else "test"
    labelled = None
    if file.stem in phases:
        split, labels = phases[file.stem]
        ids = untrusted.read_npy(labels).reshape(-1).astype(np.int64)
        labelled = Phases.per_frame(fit_length(ids, length, where=labels), clip=str(labels))
    joints = partial(encode_joints, content["x"], content["y"], content["visibility"], name=str(file))
    clip = Clip(str(pictures), label=action) if pictures.is_dir() else None
    return Item(file.stem, action, split, clip=clip, ready={JOINTS: joints}, phases=labelled)


def action_name(name: str, *, where: object) -> str | None:
    """The official spelling; None for the two actions that alignment work excludes."""
    action = TCC_SPELLING.get(name, name)
    if action in EXCLUDED_ACTIONS:
        return None
    if action not in PENN_ACTIONS:
        known = ", ".join(PENN_ACTIONS + EXCLUDED_ACTIONS)
        raise DataError(f"{where}: unknown action {name!r}; Penn Action has {known}")
    return action


def fit_length(labels: dataset.Frames, length: int, *, where: object) -> dataset.Frames:
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
        half = folder / "penn_action_labels" / name
        part = dataset.require(half, f"the {name} half of the phase labels", "TCC publishes both")
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
        source = "make both with CARL's dataset_preparation"
        file = dataset.require(root / name, f"CARL's processed {name}", source)
        content = untrusted.read_pickle(file)
        entries = content[0] if isinstance(content, tuple | list) and content else None
        if not isinstance(entries, list):
            raise DataError(
                f"{file}: expected a pair (clips, indices by action) as CARL's preparation writes it"
            )
        items += [_carl_item(entry, root, split, file) for entry in entries]
    return Dataset("Penn Action (processed)", tuple(items), IMAGE_ENCODER, paper="PennAction")


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
    dataset.require(lists, "the folder of official lists", UCF_SOURCE)
    known = dataset.require(lists / "classInd.txt", "the list of classes", UCF_SOURCE).read_text()
    classes = {line.split()[1] for line in known.splitlines() if len(line.split()) == 2}
    files = {Path(name).name: file for name, file in dataset.find_videos(root).items()}
    items, missing = [], []
    for split in ("train", "test"):
        listed = dataset.require(lists / f"{split}list01.txt", f"the {split} list of split 1", UCF_SOURCE)
        for line in filter(str.strip, listed.read_text().split("\n")):
            name = Path(line.split()[0]).name
            label, group = _ucf_label(name, classes, listed)
            if name in files:
                clip = Clip(str(files[name]), label=label)
                items.append(Item(Path(name).stem, label, split, group=f"{label} {group}", clip=clip))
            else:
                missing.append(line.split()[0])
    _report_missing(root, "videos", missing, len(missing) + len(items), items, UCF_SOURCE)
    return Dataset("UCF101", tuple(items), IMAGE_ENCODER, paper="UCF101")


def _report_missing(
    root: Path, what: str, missing: list[str], listed: int, items: list[Item], source: str
) -> None:
    """Warn if some of what a data set lists is not there; raise DataError if nothing is."""
    first = f" (first: {missing[0]})" if missing else ""
    if not items:
        raise DataError(f"{root}: none of the {len(missing)} listed {what} is there{first}; {source}")
    if missing:
        lost = f"{len(missing)} of {listed} listed {what} are missing{first}"
        warnings.warn(f"{root}: {lost}", dataset.IncompleteData, 3)


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
    rows = [(row, file) for file in kinetics_lists(root) for row in dataset.read_csv(file, KINETICS_COLUMNS)]
    if not rows:
        columns = ", ".join(KINETICS_COLUMNS)
        raise DataError(f"{root}: no CSV list with the columns {columns}; {KINETICS_SOURCE}")
    files = {key: file for file in dataset.find_videos(root).values() if (key := _kinetics_key(file.stem))}
    marks = root / "key_frames.csv"
    events = dataset.read_events(marks) if marks.exists() else {}
    items, missing = [], []
    for row, listed in rows:
        split = KINETICS_SPLITS.get(row["split"])
        if split is None:
            continue
        try:
            span = int(float(row["time_start"])), int(float(row["time_end"]))
        except ValueError:
            raise DataError(
                f"{listed}: time_start and time_end of {row['youtube_id']} must be seconds, "
                f"got {row['time_start']!r} and {row['time_end']!r}"
            ) from None
        file = files.get((row["youtube_id"], *span))
        if file is None:
            missing.append("{}_{}_{}".format(row["youtube_id"], *span))
            continue
        moments = events.get(file.name, events.get(file.stem))
        if not events or split == "train" or moments is not None:
            phases = None if moments is None else Phases.between(moments)
            clip = Clip(str(file), label=row["label"])
            items.append(Item(file.stem, row["label"], split, clip=clip, phases=phases, events=moments))
    _report_missing(root, "clips", missing, len(rows), items, f"named ID_START_END.mp4; {KINETICS_SOURCE}")
    return Dataset("Kinetics-700", tuple(items), IMAGE_ENCODER, paper="Kinetics")


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
