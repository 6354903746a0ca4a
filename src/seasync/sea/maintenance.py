"""Changing and cleaning up a sea: removing clips, following footage that has moved, deleting unused files."""

import json
import ntpath
import os
import posixpath
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seasync.encoders import content_hash
from seasync.errors import FeatureError, SeaError, VideoError
from seasync.files import Place, is_uri, location, store
from seasync.sea import calibration, checksums, copies, index
from seasync.sea.record import Record
from seasync.sea.rows import CHECKSUMS, ID_DIGITS, SEALING, SeaFacts, clip_id, encodings, matrix
from seasync.sea.snapshot import MOVES, Move, Snapshot, one_of, plain_errors, quoted, relocated
from seasync.sea.writers import Busy

if TYPE_CHECKING:
    from seasync.sea.ingest import LabelUpdate


SMALL_FRAGMENT_ROWS = 4096
KEEP_OLD_VERSIONS = timedelta(hours=1)
VALUES_AT_ONCE = 4096  # in one condition
NOWHERE, OLD, NEW = range(3)


def remove(
    record: Record,
    *,
    clips: Sequence[str] = (),
    files: Sequence[Place] = (),
    labels: Sequence[str] = (),
    wait: bool = True,
) -> int:
    """Remove clips by id (or its first 8 digits or more), by file or by label; see `Sea.remove`."""
    if short := [clip for clip in clips if len(clip) < 8]:
        raise SeaError(f"{short[0]!r}: give at least 8 digits of a clip's id")
    removed = 0
    with record.writing(wait=wait), plain_errors(record.uri):
        for condition in _conditions(record.snapshot(), clips, files, labels):
            dataset = record.open()
            if count := dataset.count_rows(filter=condition):
                dataset.delete(condition)
                removed += count
    return removed


def _conditions(
    snapshot: Snapshot, clips: Sequence[str], files: Sequence[Place], labels: Sequence[str]
) -> Iterator[str]:
    """SQL conditions that select the clips: as long as what is asked for, however many clips fulfil them."""
    named = [str(file) if is_uri(file) else str(Path(file).absolute()) for file in files]
    stored = sorted({path for file in named for path in snapshot.stored_paths(file)})
    whole = [clip for clip in clips if len(clip) >= ID_DIGITS]
    for column, values in (("id", whole), ("file", stored), ("label", labels)):
        for start in range(0, len(values), VALUES_AT_ONCE):
            yield one_of(column, values[start : start + VALUES_AT_ONCE])
    for clip in clips:
        if len(clip) < ID_DIGITS:
            yield f"starts_with(id, {quoted(clip)})"


def relabel(record: Record, updates: Sequence["LabelUpdate"]) -> int:
    """Give clips other labels and tags, in one commit; returns how many changed."""
    wanted = {clip: update for update in updates for clip in update.ids}

    def changed(row: dict[str, Any]) -> dict[str, Any]:
        update = wanted[row["id"]]
        return {"label": update.label or row["label"], "tags": update.tags or row["tags"]}

    return _change(record, list(wanted), changed)


def edit_clip(record: Record, clip: str, changes: Mapping[str, Any], *, wait: bool = True) -> None:
    """Set the `label` or the `tags` of one clip, or both. Empty ones remove them."""
    with record.writing(wait=wait):
        _change(record, [clip], lambda row: {**changes, "label": changes.get("label", row["label"]) or None})


def _change(record: Record, clips: Sequence[str], changed: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Change labels and tags, in one commit. Lance writes changed rows again, behind all others."""
    snapshot, tables = record.snapshot(), []
    for start in range(0, len(clips), VALUES_AT_ONCE):
        some = one_of("id", clips[start : start + VALUES_AT_ONCE])
        table = snapshot.table(["id", "label", "tags", CHECKSUMS], some).drop_columns("_rowid")
        rows = [row | changed(row) for row in table.to_pylist()]
        tables.append(checksums.with_changed(table, pa.Table.from_pylist(rows, table.schema), snapshot.facts))
    both = pa.concat_tables(tables)
    record.check_still_writer()
    with plain_errors(record.uri):
        record.open().merge_insert("id").when_matched_update_all().execute(both)
    return len(both)


def relocate(record: Record, root: Place, *, old: Place | None = None) -> int:
    """Record that the footage under the folder `old` is now under `root`; see `Sea.relocate`."""
    with record.writing():
        snapshot = record.snapshot()
        if not len(snapshot):
            raise SeaError(f"{record.uri}: the sea is empty; nothing has moved")
        old = str(old or _common_folder(snapshot))
        new = str(root).rstrip("/") if is_uri(root) else str(Path(root).absolute())
        move = (old, new)
        moved, found, stayed = _count_moved(snapshot, move, record.storage_options)
        if not found or stayed:
            none = f"none of the files under {old} is found here"
            some = f"{stayed} of {moved} files under {old} are still there and not here"
            raise SeaError(f"{root}: {some if found else none}; name their old folder with --from")
        record.put_metadata({MOVES: json.dumps([*snapshot.moves, move])})
    return found


def _count_moved(snapshot: Snapshot, move: Move, storage_options: dict[str, str]) -> tuple[int, int, int]:
    """How many files the move concerns, are at their new place, and are at their old place only."""
    at_old, at_new = (_exists_in(folder, storage_options) for folder in move)
    # Nine bytes for each file: a million paths would take hundreds of megabytes.
    hashes, places = array("q"), array("b")
    for file in _files(snapshot):
        later = relocated(file, (move,))
        if later != file:
            hashes.append(hash(file))
            places.append(NEW if at_new(later) else OLD if at_old(file) else NOWHERE)
    _, first = np.unique(np.array(hashes, np.int64), return_index=True)
    once = np.array(places, np.int8)[first]
    return len(once), int((once == NEW).sum()), int((once == OLD).sum())


def _files(snapshot: Snapshot) -> Iterator[str]:
    """The current paths of all clips' files, a batch at a time; a file of several clips may come again."""
    for batch in snapshot.batches(["file"]):
        yield from map(snapshot.current_path, batch["file"].unique().to_pylist())


def _exists_in(folder: str, storage_options: dict[str, str]) -> Callable[[str], bool]:
    """A function that tells whether a file in `folder`, a path or a URI, exists."""
    if not is_uri(folder):
        return os.path.exists
    return {each.uri for each in store.objects(folder, storage_options)}.__contains__


def _common_folder(snapshot: Snapshot) -> str:
    """The deepest folder that contains all of the sea's files, by path or URI."""
    common: dict[str, str] = {}  # by scheme
    for file in _files(snapshot):
        scheme, _, rest = file.rpartition("://")
        paths = ntpath if location.is_of_windows(file) else posixpath
        folder = paths.dirname(rest)
        common[scheme] = paths.commonpath([common.get(scheme, folder), folder])
        if len(common) > 1:
            raise SeaError("the sea's files lie in several places; say which have moved with --from")
    ((scheme, folder),) = common.items()
    return f"{scheme}://{folder}" if scheme else folder


def sweep(record: Record) -> int:
    """Delete files that no version uses; see `Sea.sweep`."""
    # What others have written and not committed yet is used by no version either.
    with record.writing(alone=True, wait=False), plain_errors(record.uri):
        stats = record.open().cleanup_old_versions(older_than=KEEP_OLD_VERSIONS, delete_unverified=True)
    return int(stats.bytes_removed)


def tidy(record: Record, *, delete_unused: bool = False) -> None:
    """Join the small fragments that many commits leave; delete what no version of the last hour uses.

    `delete_unused` also deletes files that no version uses at all; you must be the only writer.
    """
    with plain_errors(record.uri):
        dataset = record.open()
        small = sum(f.count_rows() < SMALL_FRAGMENT_ROWS for f in dataset.get_fragments())
        if small > 8 and not record.has_other_writers():
            dataset.optimize.compact_files(target_rows_per_fragment=SMALL_FRAGMENT_ROWS)
        dataset.cleanup_old_versions(older_than=KEEP_OLD_VERSIONS, delete_unverified=delete_unused)


def tidy_after_add(record: Record, *, delete_unused: bool = False) -> None:
    """Tidy, and rebuild the index if it is due; while others write, the last of them does it."""
    with suppress(Busy), record.writing(alone=True, wait=False):
        tidy(record, delete_unused=delete_unused)
        if index.is_due(record.snapshot()):
            index.build(record)


@dataclass(frozen=True)
class SeaProblem:
    """Something wrong with a clip of the record, or with its file."""

    clip: str
    file: str
    what: str


def info(record: Record) -> dict[str, Any]:
    """Describe a sea in plain values.

    Reads all rows, a batch at a time, and keeps eight bytes of each file's hash, no more.
    """
    snapshot = record.snapshot()
    index, clips, with_features, damaged, seconds = snapshot.index, 0, 0, 0, 0.0
    labels, contents = Counter[str](), [np.empty(0, np.uint64)]
    for batch in snapshot.batches(["content", "duration", "label", "found_0", "damage"]):
        clips += len(batch)
        with_features += len(batch) - batch["found_0"].null_count
        damaged += len(batch) - batch["damage"].null_count
        seconds += batch["duration"].to_numpy().sum()
        labels.update(filter(None, batch["label"].to_pylist()))
        digits = batch["content"].unique().to_pylist()
        contents.append(np.array([int(each[-16:], 16) for each in digits], np.uint64))
    return {
        "sea": record.uri,
        "clips": clips,
        "files": len(np.unique(np.concatenate(contents))),
        "hours": float(seconds) / 3600,
        "labels": dict(sorted(labels.items())),
        "with_frame_features": with_features,
        "damaged": damaged,
        "bytes": copies.bytes_of(record),
        **{name: getattr(snapshot.facts, name) for name in ("encoder", "fingerprint", "fps", "format")},
        "streams": dict(snapshot.facts.streams),
        "index": index.kind if index else "exact",
        "unindexed": index.unindexed_rows(snapshot) if index else 0,
        "calibrated": calibration.calibrated_recipes(snapshot),
        "answers": len(calibration.answers_of(snapshot)),
        "version": snapshot.version,
    }


def verify(
    record: Record,
    *,
    files: bool = True,
    seal_too: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[SeaProblem]:
    """Read every row and, with `files`, every video; see `Sea.verify`."""
    snapshot = record.snapshot()
    total, done = len(snapshot), 0
    problems = [
        SeaProblem("", record.uri, f"its entry {entry} has changed since it was written")
        for entry in checksums.changed_entries(snapshot.metadata)
    ]
    problems += [
        SeaProblem(
            "", record.uri, f"{name} has changed since it was written: clips that were removed may be back"
        )
        for name in sorted(record.deletion_files() & snapshot.deletions.keys())
        if record.checksum_of(name) != snapshot.deletions[name]
    ]
    seen: set[str] = set()
    contents: dict[str, str | None] = {}
    for table in _whole_rows(snapshot, problems):
        rows = table.select(["content", "frames"]).to_pylist()
        changed = checksums.changed_columns(table, snapshot.facts)
        unlike = _wrong_vectors(table, snapshot)
        for at, (clip, row) in enumerate(zip(snapshot.clips_of(table), rows, strict=True)):
            name, content = str(clip.id), row["content"]
            wrong = _wrong_features(table.slice(at, 1), snapshot, row["frames"])
            if at in changed:
                what = ", ".join(changed[at])
                wrong.append(f"{what} changed since it was written; remove the clip and add it again")
            elif unlike[at]:
                wrong.append("its vector in the index is not that of the clip; run `seasync sea rebuild`")
            if name in seen:
                wrong.append("its id is there twice")
            if name != clip_id(content, clip.start, clip.end):
                wrong.append("its id does not belong to its content and span")
            if files:
                if clip.file not in contents:
                    contents[clip.file] = _content(clip.file)
                if contents[clip.file] is None:
                    wrong.append("the file is gone; if it has moved: `seasync sea relocate`")
                elif contents[clip.file] != content:
                    wrong.append("the file is not the one that was added")
            seen.add(name)
            problems += [SeaProblem(name, clip.file, what) for what in wrong]
        done += len(table)
        if progress:
            progress(done, total)
    if seal_too:
        seal(record, but={problem.clip for problem in problems})
    return problems


def _whole_rows(snapshot: Snapshot, problems: list[SeaProblem]) -> Iterator[pa.Table]:
    """All rows with all they hold; a part of the record that cannot be read is a problem, not the end."""
    columns = [*checksums.checked_columns(snapshot.facts), CHECKSUMS]
    columns += [snapshot.index.column] if snapshot.index else []
    for fragment in snapshot.dataset.get_fragments():
        try:
            with plain_errors(snapshot.dataset.uri):
                for batch in fragment.to_batches(
                    columns=snapshot.stored(columns), batch_size=copies.READ_ROWS
                ):
                    yield snapshot.completed(pa.table(batch), columns)
        except SeaError as error:
            what = f"{fragment.count_rows()} clips cannot be read ({error})"
            problems.append(SeaProblem("", snapshot.dataset.uri, what))


def _wrong_features(row: pa.Table, snapshot: Snapshot, frames: int) -> list[str]:
    """What is wrong with the frame features of one row, if it keeps any."""
    try:
        (encoding,) = encodings(row, snapshot.facts)
    except (FeatureError, ValueError) as error:
        return [str(error)]
    if encoding is None or len(encoding.seconds) == frames:
        return []
    return [f"{len(encoding.seconds)} frame features, not {frames}"]


def _wrong_vectors(table: pa.Table, snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which rows have a vector in the index that does not follow from what is stored of the clip."""
    if not snapshot.index:
        return np.zeros(len(table), bool)
    column = snapshot.index.column
    wanted = matrix(snapshot.index.with_vectors(table.drop_columns(column))[column])
    close = np.isclose(matrix(table[column]), wanted, rtol=1e-5, atol=1e-6)
    return np.asarray(~close.all(axis=1))


def seal(record: Record, *, but: Container[str] = ()) -> int:
    """Write the checksums that are missing, except of the clips `but`; returns how many clips had none.

    No other column is written again. Interrupted, it begins again.
    """
    with record.writing(alone=True), plain_errors(record.uri):
        snapshot, dataset = record.snapshot(), record.open()
        count = snapshot.without_checksums
        if SEALING in dataset.schema.names:
            dataset.drop_columns([SEALING])
        if count:
            columns = [*checksums.checked_columns(snapshot.facts), CHECKSUMS]
            dataset.add_columns(_sealed(snapshot.facts, but), read_columns=columns)
            dataset.drop_columns([CHECKSUMS])
            dataset.alter_columns({"path": SEALING, "name": CHECKSUMS})
        if entries := checksums.without_entry_checksums(snapshot.metadata):
            record.put_metadata(entries)
    return count


def _sealed(facts: SeaFacts, but: Container[str]) -> Any:
    """A function for Lance that computes checksums where there are none."""

    def sealed(batch: pa.RecordBatch) -> pa.RecordBatch:
        table = pa.table(batch)
        new = checksums.with_checksums(table, facts)[CHECKSUMS].to_pylist()
        rows = zip(table["id"].to_pylist(), table[CHECKSUMS].to_pylist(), new, strict=True)
        kept = [old or (None if clip in but else made) for clip, old, made in rows]
        return pa.record_batch([pa.array(kept, pa.binary())], names=[SEALING])

    return lance.batch_udf(output_schema=pa.schema([pa.field(SEALING, pa.binary())]))(sealed)


def _content(file: str) -> str | None:
    try:
        return content_hash(file)
    except (OSError, VideoError):
        return None
