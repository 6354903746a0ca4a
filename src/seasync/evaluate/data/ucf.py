"""UCF101: v_Class_gXX_cYY.avi under class folders, and the official lists of split 1.

UCF-101/<Class>/v_<Class>_g01_c01.avi …
ucfTrainTestlist/{classInd,trainlist01,testlist01}.txt      in the folder or beside it
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

from seasync.clip import Clip
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, IncompleteData, Item, find_videos, require

SOURCE = (
    "UCF101.rar and UCF101TrainTestSplits-RecognitionTask.zip from https://www.crcv.ucf.edu/data/UCF101.php"
)
LISTS = "ucfTrainTestlist"


def load(root: Path) -> Dataset:
    """Load split 1: train and test clips of 101 actions; a warning counts missing clips."""
    lists = next((f / LISTS for f in (root, root.parent) if (f / LISTS).is_dir()), root / LISTS)
    require(lists, "the folder of official lists", SOURCE)
    classes = _classes(require(lists / "classInd.txt", "the list of classes", SOURCE))
    files = {Path(name).name: file for name, file in find_videos(root).items()}
    items, missing = [], []
    for split in ("train", "test"):
        listed = require(lists / f"{split}list01.txt", f"the {split} list of split 1", SOURCE)
        for line in listed.read_text().split("\n"):
            if not line.strip():
                continue
            name = Path(line.split()[0]).name
            label, group = _parse(name, classes, listed)
            if name in files:
                clip = Clip(str(files[name]), label=label)
                items.append(Item(Path(name).stem, label, split, group=f"{label} {group}", clip=clip))
            else:
                missing.append(line.split()[0])
    if not items:
        raise DataError(
            f"{root}: none of the {len(missing)} listed videos is there (first: {missing[0]}); {SOURCE}"
        )
    if missing:
        lost, all_listed = len(missing), len(missing) + len(items)
        warnings.warn(
            f"{root}: {lost} of {all_listed} listed videos are missing (first: {missing[0]})",
            IncompleteData,
            2,
        )
    return Dataset("UCF101", tuple(items), "dinov2-small", paper="UCF101")


def _classes(file: Path) -> set[str]:
    return {line.split()[1] for line in file.read_text().splitlines() if len(line.split()) == 2}


def _parse(name: str, classes: set[str], where: Path) -> tuple[str, str]:
    found = re.fullmatch(r"v_(\w+)_(g\d+)_c\d+\.avi", name)
    if not found:
        raise DataError(f"{where}: expected names such as v_Archery_g01_c01.avi, got {name!r}")
    if found[1] not in classes and found[1].lower() not in {c.lower() for c in classes}:
        raise DataError(f"{where}: {name} is of class {found[1]!r}, which classInd.txt does not list")
    return found[1], found[2]
