"""Opening data sets: recognized by their layout, checked while they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from seasync import plugins
from seasync.errors import DataError
from seasync.evaluate.data import events, folder, kinetics, penn, sea_clips, ucf
from seasync.evaluate.dataset import Dataset
from seasync.options import DatasetKind, expect


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
    if kind == "sea" or (kind is None and sea_clips.is_sea(path)):
        return sea_clips.load(path)
    root = Path(path)
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; a data set is a folder, or a sea by path or URI")
    loaders: dict[DatasetKind, Callable[[Path], Dataset]] = {
        "penn": penn.load,
        "ucf101": ucf.load,
        "kinetics": kinetics.load,
        "events": events.load,
        "features": partial(folder.load_features, fps=fps),
        "folder": folder.load,
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
    if (root / ucf.LISTS).is_dir() or next(root.glob("**/v_*_g*_c*.avi"), None):
        return "ucf101"
    if kinetics.list_files(root):
        return "kinetics"
    if (root / "events.csv").exists():
        return "events"
    if next(root.glob("**/*.npy"), None):
        return "features"
    return "folder"
