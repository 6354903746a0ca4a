"""Inspecting a sea: what is in it, and whether it is intact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync.encoders import content_hash
from seasync.errors import FeatureError, SeaError, VideoError
from seasync.sea.calibration import calibrated_recipes
from seasync.sea.copy import bytes_of
from seasync.sea.record import Record
from seasync.sea.rows import CLIP_COLUMNS, clip_id, encodings, stream_columns
from seasync.sea.snapshot import Snapshot, plain_errors

if TYPE_CHECKING:
    import pyarrow as pa

READ_ROWS = 256


@dataclass(frozen=True)
class Problem:
    """Something wrong with a clip of the record, or with its file."""

    clip: str
    file: str
    what: str


def info(record: Record) -> dict[str, Any]:
    """Describe a sea in plain values. Reads all rows, a batch at a time."""
    snapshot = record.snapshot()
    index = snapshot.index
    return {
        "sea": record.uri,
        **_counted(snapshot),
        "bytes": bytes_of(record),
        "encoder": snapshot.facts.encoder,
        "fingerprint": snapshot.facts.fingerprint,
        "fps": snapshot.facts.fps,
        "streams": dict(snapshot.facts.streams),
        "index": index.kind if index else "exact",
        "unindexed": index.unindexed_rows(snapshot) if index else 0,
        "calibrated": calibrated_recipes(snapshot),
        "format": snapshot.facts.format,
        "version": snapshot.version,
    }


def _counted(snapshot: Snapshot) -> dict[str, Any]:
    """Clips, files, hours, labels. Memory holds eight bytes of each file's hash, no more."""
    clips = with_features = damaged = 0
    seconds, labels, contents = 0.0, Counter[str](), [np.empty(0, np.uint64)]
    for batch in snapshot.batches(["content", "duration", "label", "found_0", "damage"]):
        clips += len(batch)
        with_features += len(batch) - batch["found_0"].null_count
        damaged += len(batch) - batch["damage"].null_count
        seconds += batch["duration"].to_numpy().sum()
        labels.update(filter(None, batch["label"].to_pylist()))
        digits = batch["content"].unique().to_pylist()
        contents.append(np.array([int(each[-16:], 16) for each in digits], np.uint64))
    return {
        "clips": clips,
        "files": len(np.unique(np.concatenate(contents))),
        "hours": float(seconds) / 3600,
        "labels": dict(sorted(labels.items())),
        "with_frame_features": with_features,
        "damaged": damaged,
    }


def verify(
    record: Record, *, files: bool = True, progress: Callable[[int, int], None] | None = None
) -> list[Problem]:
    """Read every row and, with `files`, every video; see `Sea.verify`."""
    snapshot = record.snapshot()
    total, done = len(snapshot), 0
    problems: list[Problem] = []
    seen: set[str] = set()
    contents: dict[str, str | None] = {}
    for table in _whole_rows(snapshot, problems):
        kept = _encodings(table, snapshot)
        for clip, content, frames, encoding in zip(
            snapshot.clips_of(table),
            table["content"].to_pylist(),
            table["frames"].to_pylist(),
            kept,
            strict=True,
        ):
            name, wrong = str(clip.id), []
            if name in seen:
                wrong.append("its id is there twice")
            if name != clip_id(content, clip.start, clip.end):
                wrong.append("its id does not belong to its content and span")
            if isinstance(encoding, str):
                wrong.append(encoding)
            elif encoding is not None and encoding != frames:
                wrong.append(f"{encoding} frame features, not {frames}")
            if files:
                if clip.file not in contents:
                    contents[clip.file] = _content(clip.file)
                if contents[clip.file] is None:
                    wrong.append("the file is gone; if it has moved: `seasync sea relocate`")
                elif contents[clip.file] != content:
                    wrong.append("the file is not the one that was added")
            seen.add(name)
            problems += [Problem(name, clip.file, what) for what in wrong]
        done += len(table)
        if progress:
            progress(done, total)
    return problems


def _whole_rows(snapshot: Snapshot, problems: list[Problem]) -> Iterator[pa.Table]:
    """All rows with all they hold; a part of the record that cannot be read is a problem, not the end."""
    import pyarrow as pa

    columns = [*CLIP_COLUMNS, "content", "frames", "mean", "trajectory", *stream_columns(snapshot.facts)]
    for fragment in snapshot.dataset.get_fragments():
        try:
            with plain_errors(snapshot.dataset.uri):
                for batch in fragment.to_batches(columns=columns, batch_size=READ_ROWS):
                    yield pa.table(batch)
        except SeaError as error:
            problems.append(
                Problem("", snapshot.dataset.uri, f"{fragment.count_rows()} clips cannot be read ({error})")
            )


def _encodings(table: pa.Table, snapshot: Snapshot) -> list[int | str | None]:
    """Of each row the number of its frame features, None if it keeps none, or what is wrong with them."""
    found: list[int | str | None] = []
    for at in range(len(table)):
        try:
            (encoding,) = encodings(table.slice(at, 1), snapshot.facts)
        except (FeatureError, ValueError) as error:
            found.append(str(error))
        else:
            found.append(None if encoding is None else len(encoding.seconds))
    return found


def _content(file: str) -> str | None:
    try:
        return content_hash(file)
    except (OSError, VideoError):
        return None
