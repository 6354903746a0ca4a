"""Small data sets in exactly the layout in which the official ones come."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from scipy.io import savemat

from tests import videos


def penn_label(file: Path, *, action="squat", train=1, frames=20, seed=0, **replaced) -> Path:
    """One label file as Penn Action has it: 13 joints of a figure that moves up and down."""
    random = np.random.default_rng(seed)
    body = random.uniform(50, 150, 13)
    sway = np.sin(np.linspace(0, 2 * np.pi, frames))[:, None]
    content = {
        "action": action,
        "pose": "front",
        "x": np.tile(random.uniform(50, 150, 13), (frames, 1)) + random.normal(0, 0.3, (frames, 13)),
        "y": body + 20 * sway * (body > 90),
        "visibility": np.ones((frames, 13), np.uint8),
        "train": np.array([[train]], np.int32),
        "bbox": np.ones((frames, 4)),
        "dimensions": np.array([[240, 320, frames]], np.uint16),
        "nframes": np.array([[frames]], np.uint8),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    savemat(file, {k: v for k, v in (content | replaced).items() if v is not None})
    return file


def penn(root: Path, *, per_action=4, phases=True, actions=("squat", "bowl")) -> Path:
    """`per_action` clips of each action, half train; with phase labels as TCC and CARL name their folders."""
    number = 0
    for action in actions:
        for at in range(per_action):
            number += 1
            train, frames = at % 2 == 0, 18 + 3 * at
            seed = 100 * actions.index(action) + at
            penn_label(
                root / "labels" / f"{number:04d}.mat",
                action=action,
                train=1 if train else -1,
                frames=frames,
                seed=seed,
            )
            if phases:
                spelling = {"squat": "squats", "bowl": "bowling"}[action]
                folder = root / "penn_action_labels" / ("train" if train else "val") / spelling
                folder.mkdir(parents=True, exist_ok=True)
                np.save(folder / f"{number:04d}.npy", np.arange(frames) * 3 // frames)
    penn_label(root / "labels" / f"{number + 1:04d}.mat", action="jump_rope")
    return root


def ucf(root: Path, *, present=("Archery", "Bowling")) -> Path:
    """Two classes, two groups each; group 1 is test as in the official split 1."""
    lists = root / "ucfTrainTestlist"
    lists.mkdir(parents=True)
    (lists / "classInd.txt").write_text("1 Archery\n2 Bowling\n")
    train, test = [], []
    for number, name in enumerate(("Archery", "Bowling"), 1):
        for group in ("g01", "g08"):
            file = f"{name}/v_{name}_{group}_c01.avi"
            (test if group == "g01" else train).append(file if group == "g01" else f"{file} {number}")
            if name in present:
                (root / "UCF-101" / name).mkdir(parents=True, exist_ok=True)
                videos.numbered(root / "UCF-101" / file, 8, codec="mpeg4")
    (lists / "trainlist01.txt").write_text("\n".join(train) + "\n")
    (lists / "testlist01.txt").write_text("\n".join(test) + "\n")
    return root


def kinetics(root: Path) -> Path:
    """Three listed clips, one of them not there; key frames for the validation clip."""
    root.mkdir(parents=True)
    header = ["label", "youtube_id", "time_start", "time_end", "split"]
    for name, rows in (
        ("train.csv", [["kicking ball", "abc_-1", 4, 14, "train"], ["gone", "zzz", 0, 10, "train"]]),
        ("validate.csv", [["kicking ball", "def", 10, 20, "validate"]]),
    ):
        with (root / name).open("w", newline="") as opened:
            csv.writer(opened).writerows([header, *rows])
    for folder, name in (("train", "abc_-1_000004_000014"), ("val", "def_000010_000020")):
        (root / folder).mkdir()
        videos.numbered(root / folder / f"{name}.mp4", 12)
    (root / "key_frames.csv").write_text("clip,events\ndef_000010_000020.mp4,3 7\n")
    return root


def events(root: Path, *, clips=3, frames=16) -> Path:
    """Clips of one action with three named events each, in the columns of GolfDB-style files."""
    (root / "clips").mkdir(parents=True)
    rows = [["clip", "view", "player", "frames", "address", "top", "impact"]]
    for at in range(clips):
        videos.numbered(root / "clips" / f"swing_{at}.mp4", frames)
        rows.append([f"swing_{at}.mp4", "face-on", f"p{at // 2}", frames, 2 + at, 6 + at, 9 + at])
    with (root / "events.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(rows)
    return root


def features(root: Path, *, per_class=4, classes=3, seed=0, phases=True) -> Path:
    """Ready-made features: a course through feature space per class, speed and noise per clip."""
    random = np.random.default_rng(seed)
    rows = [["clip", "frame", "phase"]]
    for label in range(classes):
        knots = random.normal(size=(4, 6)) * 3
        for at in range(per_class):
            length = int(random.integers(24, 40))
            clock = np.linspace(0, 1, length) ** random.uniform(0.6, 1.6)
            course = np.stack([np.interp(clock, np.linspace(0, 1, 4), knot) for knot in knots.T], axis=1)
            file = root / f"class{label}" / f"clip{at}.npy"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, (course + random.normal(0, 0.05, course.shape)).astype(np.float32))
            name = f"class{label}/clip{at}.npy"
            rows += [[name, int(np.searchsorted(clock, phase / 3)), phase] for phase in range(3)]
    if phases:
        with (root / "phases.csv").open("w", newline="") as opened:
            csv.writer(opened).writerows(rows)
    return root
