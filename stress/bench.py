"""What the rounds work on: small footage, small encoders, an object store; each made once per run."""

from __future__ import annotations

import csv
import itertools
import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from seasync.sea.copies import copy
from seasync.sea.record import Record
from seasync.sea.rows import ENTRY_COLUMNS, stream_columns
from seasync.sea.sea import Sea
from tests.encoders.models import colour_grid, token_grid
from tests.scale.store import Store, running
from tests.sea.footage import facts, row, videos

Rows = dict[str, Any]  # by the clip's id


class Bench:
    """Footage, encoders and places below `folder`; `with` ends the object store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack, self._numbers = ExitStack(), itertools.count()
        os.environ["SEASYNC_CACHE"] = str(folder / "cache")
        self.encoder = f"onnx:{colour_grid(folder / 'grid.onnx', cells=8)}"
        self.other_encoder = f"onnx:{token_grid(folder / 'tokens.onnx')}"

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @cached_property
    def footage(self) -> Path:
        """Four short videos, eight clips if they are split."""
        return videos(self.folder / "clips", 4, frames=15)

    @cached_property
    def footage_list(self) -> Path:
        """The same as a list with labels."""
        file = self.folder / "list.csv"
        with file.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["file", "label"])
            writer.writerows([str(each), "listed"] for each in sorted(self.footage.rglob("*.mp4")))
        return file

    @cached_property
    def made(self) -> Path:
        """A sea of 40 made-up clips, with labels."""
        sea = Sea(self.folder / "made.sea")
        for start in range(0, 40, 10):
            labelled = [row(n, kind=n % 4, label=f"kind {n % 4}") for n in range(start, start + 10)]
            sea.record.append(labelled, facts())
        return Path(sea.uri)

    @cached_property
    def store(self) -> Store:
        """An object store, with the credentials to it in the environment."""
        (self.folder / "store").mkdir()
        store = self._stack.enter_context(running(self.folder / "store"))
        os.environ.update(store.environment)
        os.environ["SEASYNC_STORAGE_OPTIONS"] = "client_max_retries=2 client_retry_timeout=3"
        store.bucket("stress")
        return store

    def place(self, *, remote: bool) -> str:
        """A new place for a sea."""
        name = f"{next(self._numbers)}.sea"
        if remote:
            assert self.store
            return f"s3://stress/{name}"
        return str(self.folder / name)

    def copied(self, source: Path, *, remote: bool) -> str:
        """A copy of a sea at a new place."""
        place = self.place(remote=remote)
        copy(Record(source), Record(place))
        return place


def rows(sea: Sea) -> tuple[Rows, list[str]]:
    """All that a sea keeps of its clips, without its index, by id; and the ids that are there twice."""
    if not sea.exists():
        return {}, []
    snapshot = sea.record.snapshot()
    columns = [*ENTRY_COLUMNS, "frames", "mean", "trajectory", *stream_columns(snapshot.facts)]
    found: Rows = {}
    doubled = []
    for each in snapshot.dataset.to_table(columns=columns).to_pylist():
        if each["id"] in found:
            doubled.append(each["id"])
        found[each["id"]] = each
    return found, doubled


def lost(before: Rows, now: Rows, after: Rows) -> list[str]:
    """Clips that are neither as before the work nor as after it."""
    nothing = object()
    return [
        clip
        for clip in before.keys() | now.keys() | after.keys()
        if now.get(clip, nothing) not in (before.get(clip, nothing), after.get(clip, nothing))
    ]
