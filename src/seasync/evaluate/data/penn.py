"""Penn Action: official annotations, with pictures and the phase labels of TCC/CARL if they are there.

frames/0001/000001.jpg …                           pictures (optional)
labels/0001.mat …                                  action, joints, train flag
penn_action_labels/{train,val}/<action>/0001….npy  phases, one integer per frame (optional; here or beside)

or CARL's processed form: train.pkl, val.pkl and the videos they name.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, Frames, Item, Phases, require
from seasync.evaluate.joints import encode_joints
from seasync.evaluate.untrusted import read_mat, read_npy, read_pickle

SOURCE = "Penn_Action.tar.gz from http://dreamdragon.github.io/PennAction/ holds frames/ and labels/"
ACTIONS = (
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


def load(root: Path) -> Dataset:
    """Load the 13 actions of alignment work; with phase labels, only clips that have them, in their split."""
    if not (root / "labels").is_dir() and (root / "train.pkl").exists():
        return load_processed(root)
    files = sorted(require(root / "labels", "Penn Action's labels folder", SOURCE).glob("[0-9]*.mat"))
    if not files:
        raise DataError(f"{root / 'labels'}: no 0001.mat …; {SOURCE}")
    phases = _phase_files(root)
    items = [_item(file, root / "frames" / file.stem, phases) for file in files]
    kept = tuple(item for item in items if item is not None)
    encoder = "joints" if any(item.clip is None for item in kept) else "dinov2-small"
    return Dataset("Penn Action", kept, encoder, paper="PennAction")


def _item(file: Path, pictures: Path, phases: dict[str, tuple[str, Path]]) -> Item | None:
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
    if action not in ACTIONS:
        known = ", ".join(ACTIONS + EXCLUDED_ACTIONS)
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


def _phase_files(root: Path) -> dict[str, tuple[str, Path]]:
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


def load_processed(root: Path) -> Dataset:
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
        items += [_processed_item(entry, root, split, file) for entry in entries]
    return Dataset("Penn Action (processed)", tuple(items), "dinov2-small", paper="PennAction")


def _processed_item(entry: Any, root: Path, split: str, file: Path) -> Item:
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
