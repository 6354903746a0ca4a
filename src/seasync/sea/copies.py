"""A sea written to another place: copied as it is, or with its clips encoded again."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from shutil import copyfileobj
from typing import TYPE_CHECKING

import pyarrow as pa

from seasync.clip import Clip
from seasync.encoders import encode_clip
from seasync.encoding import Encoding
from seasync.errors import SeaError, VideoError
from seasync.files import Location, atomic_write
from seasync.files.store import CHUNK, Object, objects, opened, plain, read
from seasync.sea.record import Record
from seasync.sea.rows import ENTRY_COLUMNS, Row, SeaFacts, stream_columns

if TYPE_CHECKING:
    from seasync.sea.sea import Sea


AT_ONCE = 8  # files that are under way
READ_ROWS = 256


def copy(record: Record, target: Record, *, progress: Callable[[int, int], None] | None = None) -> int:
    """Copy the latest version of a sea; gives the bytes that had to be moved.

    Its files never change, so what an earlier, interrupted copy has brought stays; the manifest comes last,
    and with it the sea is there, whole. A target that is an earlier version of the same sea is brought up to
    date.

    Raises
    ------
    SeaError
        If another sea is there already.
    """
    version = record.snapshot().version
    needed = _needed(record)
    manifest = _manifest(record, version)
    with target.writing():
        _check_is_earlier(record, target)
        there = {name: each.size for name, each in _files(target).items()}
        missing = {name: each for name, each in needed.items() if there.get(name) != each.size}
        total, done = sum(each.size for each in missing.values()), 0
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for name, _ in zip(missing, pool.map(partial(_move, record, target), missing), strict=True):
                done += missing[name].size
                if progress:
                    progress(done, total)
        _move(record, target, manifest, whole=True)
        return done + _files(target)[manifest].size


def differences(record: Record, other: Record) -> dict[str, str]:
    """Clips that are in one of two seas only, or not the same in both, by id, and what it is."""
    here, there = record.snapshot(), other.snapshot()
    if here.facts != there.facts:
        return {"": f"{record.uri} is {here.facts}, {other.uri} is {there.facts}"}
    left, right = dict(_digests(record)), dict(_digests(other))
    found = dict.fromkeys(sorted(left.keys() - right.keys()), f"not in {other.uri}")
    found |= dict.fromkeys(sorted(right.keys() - left.keys()), f"not in {record.uri}")
    changed = (clip for clip in sorted(left.keys() & right.keys()) if left[clip] != right[clip])
    return found | dict.fromkeys(changed, f"not the same in {other.uri}")


def bytes_of(record: Record) -> int:
    """What a sea takes, old versions included."""
    return sum(each.size for each in _files(record).values())


def _digests(record: Record) -> Iterator[tuple[str, bytes]]:
    """The id of each clip, and a hash of all that is kept of it."""
    snapshot = record.snapshot()
    columns = [*ENTRY_COLUMNS, "frames", "mean", "trajectory", *stream_columns(snapshot.facts)]
    for batch in snapshot.batches(columns, size=READ_ROWS):
        for at in range(len(batch)):
            yield batch["id"][at].as_py(), _digest(batch.slice(at, 1))


def _digest(row: pa.Table) -> bytes:
    """Of one row, however it is laid out in memory."""
    digest = hashlib.sha256()
    for column in row.itercolumns():
        for value in _values(column.combine_chunks()):
            digest.update(value)
        digest.update(b"\0")
    return digest.digest()


def _values(array: pa.Array) -> Iterator[bytes]:
    """The bytes of a column of one row; lists by their lengths and their values, numbers as they are."""
    yield b"null" if array.null_count else b"here"
    if array.null_count:
        return
    while hasattr(array, "flatten"):
        yield str(len(array)).encode()
        array = array.flatten()
    numbers = pa.types.is_primitive(array.type)
    yield array.to_numpy(zero_copy_only=False).tobytes() if numbers else repr(array.to_pylist()).encode()


def _needed(record: Record) -> dict[str, Object]:
    """The files that the latest version uses, without its manifest, by their names in the sea."""
    dataset = record.snapshot().dataset
    data = {f"data/{file.path}" for each in dataset.get_fragments() for file in each.metadata.files}
    segments = (segment for each in dataset.describe_indices() for segment in each.segments)
    indices = {f"_indices/{segment.uuid}" for segment in segments}
    named = f"_transactions/{dataset.version - 1}-"
    return {
        name: each
        for name, each in _files(record).items()
        if name in data or name.rpartition("/")[0] in indices or name.startswith(("_deletions/", named))
    }


def _manifest(record: Record, version: int) -> str:
    names = {f"_versions/{version}.manifest", f"_versions/{2**64 - 1 - version:020}.manifest"}
    found = sorted(names & _files(record).keys())
    if not found:
        raise SeaError(f"{record.uri}: version {version} was deleted meanwhile; run the copy again")
    return found[0]


def _check_is_earlier(record: Record, target: Record) -> None:
    """Raise SeaError unless the target is empty, or what the sea was at an earlier version."""
    if not target.exists():
        return
    name = _manifest(target, target.snapshot().version)
    here, there = (read(_place(each, name), each.storage_options) for each in (record, target))
    if here != there:
        raise SeaError(f"{target.uri}: another sea is there; name a place where none is")


def _files(record: Record) -> dict[str, Object]:
    root = _place(record, "")
    return {each.uri.removeprefix(root): each for each in objects(root, record.storage_options)}


def _place(record: Record, name: str) -> str:
    return f"{Location(record.uri).uri.rstrip('/')}/{name}"


def _move(record: Record, target: Record, name: str, *, whole: bool = False) -> None:
    """Copy one file. With `whole` nothing is written before all of it is read.

    A part of a file, left by a copy that breaks off, has another size; the next copy replaces it.
    """
    source, source_path = opened(_place(record, name), record.storage_options)
    with plain(target.uri, SeaError), source.open_input_stream(source_path) as stream:
        content = BytesIO(stream.read()) if whole else stream
        sink, path = opened(_place(target, name), target.storage_options)
        if target.folder is None:
            with sink.open_output_stream(path) as out:
                copyfileobj(content, out, CHUNK)
        else:
            with atomic_write(path, make_folder=True, error=SeaError) as part, part.open("wb") as out:
                copyfileobj(content, out, CHUNK)


Encode = Callable[[Clip, Encoding | None], Encoding]
ROWS = 256  # clips that are written at a time
OFTEN = 16  # … where each takes a while


def reencode(
    source: "Sea",
    target: "Sea",
    encode: Encode,
    *,
    condition: str | None = None,
    rows: int = ROWS,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write the clips of `source` to `target`, encoded by `encode`.

    Clips that `target` already has are left alone, so an interrupted call can be repeated. It commits after
    every `rows` clips. `source` does not change.

    Parameters
    ----------
    encode : callable
        From a clip and what the old sea holds of it (None without frame features) to its new encoding.
    condition : str, optional
        Which clips, in SQL; default: all.
    progress : callable, optional
        Called with the clips done and all that are to be done.

    Returns
    -------
    list of str
        Why clips were left out: their files cannot be read.
    """
    snapshot = source.record.snapshot()
    wanted = snapshot.table(["id"], condition)
    there = set(target.record.snapshot().table(["id"])["id"].to_pylist()) if target.exists() else set()
    ids, row_ids = (wanted[name].to_pylist() for name in ("id", "_rowid"))
    missing = [row for clip, row in zip(ids, row_ids, strict=True) if clip not in there]
    new, failures = target.encoder(), list[str]()
    with target.record.writing():
        for start in range(0, len(missing), rows):
            chosen = missing[start : start + rows]
            entries = snapshot.entries_of(snapshot.take(chosen, ENTRY_COLUMNS))
            written = list[Row]()
            for entry, held in zip(entries, snapshot.encodings(chosen), strict=True):
                if progress:
                    progress(start + len(written), len(missing))
                try:
                    written.append(Row(entry, encode(entry.clip, held)))
                except VideoError as error:
                    failures.append(str(error))
            if written:
                facts = SeaFacts.of(new.name, snapshot.facts.fps, written[0].encoding)
                target.record.append(written, facts)
    return failures


def reencode_from_videos(
    source: "Sea", target: "Sea", *, progress: Callable[[int, int], None] | None = None
) -> list[str]:
    """Write the clips of `source` to `target`, read from their videos and encoded by `target`'s encoder.

    Raises
    ------
    SeaError
        If both have the same encoder: there is nothing to do.
    """
    encoder, fps = target.encoder(), source.fps
    if encoder.fingerprint == source.record.snapshot().facts.fingerprint:
        raise SeaError(f"{source.uri}: is already encoded by {encoder.name}; name another encoder")
    return reencode(
        source, target, lambda clip, _: encode_clip(clip, encoder, fps=fps), rows=OFTEN, progress=progress
    )
