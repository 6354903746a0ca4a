"""A sea as a data set: its labeled clips with their frame features; clips of one file are a group."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

from seasync.encoding import Encoding
from seasync.errors import DataError
from seasync.evaluate.dataset import Dataset, IncompleteData, Item
from seasync.sea.rows import CLIP_COLUMNS
from seasync.sea.sea import Sea
from seasync.sea.snapshot import Snapshot


def is_sea(place: str | Path) -> bool:
    """Whether a place is a sea and not a folder of data: a URI, or a folder with a sea in it."""
    return "://" in str(place) or next(Path(place, "_versions").glob("[0-9]*.manifest"), None) is not None


def load(place: str | Path) -> Dataset:
    """Load the clips of a sea that have a label and frame features."""
    snapshot = Sea(place, create=False).record.snapshot()
    table = snapshot.table([*CLIP_COLUMNS, "content"], "label IS NOT NULL AND found_0 IS NOT NULL")
    encoder = snapshot.facts.encoder
    items = []
    for clip, content, row in zip(
        snapshot.clips_of(table), table["content"].to_pylist(), table["_rowid"].to_pylist(), strict=True
    ):
        ready = {encoder: partial(_kept, snapshot, row)}
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


def _kept(snapshot: Snapshot, row: int) -> Encoding:
    (encoding,) = snapshot.encodings([row])
    assert encoding is not None  # only rows that keep one are asked for
    return encoding
