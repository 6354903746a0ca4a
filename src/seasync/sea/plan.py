"""Planning an add: which clips of the videos must be encoded, and which the sea has already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seasync.clip import Clip
from seasync.errors import SeaError, StoreError, VideoError
from seasync.files import is_uri
from seasync.files.location import printable
from seasync.files.store import objects
from seasync.sea.index import EXACT_UP_TO
from seasync.sea.rows import ClipEntry, clip_id
from seasync.sea.sources import SourceVideo

if TYPE_CHECKING:
    from seasync.sea.record import Record


@dataclass(frozen=True)
class PendingClip:
    """A clip to encode, and its share of the bytes of its file."""

    entry: ClipEntry
    size: int

    @property
    def file(self) -> str:
        return self.entry.clip.file


@dataclass(frozen=True)
class LabelUpdate:
    """Clips of the sea that get another label (None: keep theirs) or other tags (empty: keep theirs)."""

    ids: tuple[str, ...]
    label: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True)
class PresentClips:
    """Clips of a file that the sea has already; `size` if nothing else of the file is to be done."""

    file: str
    count: int
    size: int
    update: LabelUpdate | None = None


@dataclass(frozen=True)
class Failure:
    """A file that could not be read, or a clip of it, and why."""

    file: str
    reason: str
    size: int = 0


Step = PendingClip | PresentClips | Failure


@dataclass(frozen=True)
class _Known:
    """What the plan needs to know of a clip of the sea; `split` and `parts` as in `ClipEntry`."""

    id: str
    content: str
    split: str
    parts: int
    file: str
    label: str | None
    tags: tuple[str, ...]


class KnownClips:
    """The clips that a sea has, or is about to have; with `where`, those that fulfil the condition.

    In a large sea clips are looked up content by content, with its index: all ids would take hundreds of
    bytes each.
    """

    def __init__(self, record: Record, where: str | None = None) -> None:
        self._by_content: dict[str, list[_Known]] = {}
        self._ids: set[str] = set()
        self._planned: set[str] = set()
        large = record.exists() and where is None and len(record) > EXACT_UP_TO
        self._large_record = record if large else None
        if record.exists() and not large:
            self._read(record, where)

    def of(self, source: SourceVideo, content: str, split: str) -> list[_Known]:
        """The clips of a video, if the sea has all of them; empty if any may be missing."""
        if self._large_record:
            self._read(self._large_record, f"content = '{content}'")
        known = self._by_content.get(content, [])
        if source.has_span or split == "none":
            wanted = clip_id(content, source.start or 0.0, source.end)
            return [clip for clip in known if clip.id == wanted]
        parts = [clip for clip in known if clip.split == split]
        return parts if parts and len(parts) >= parts[0].parts else []

    def reserve(self, clip: str) -> bool:
        """Whether this clip, of the content asked for last, is new. From now on it is not."""
        new = clip not in self._ids and clip not in self._planned
        self._planned.add(clip)
        return new

    def _read(self, record: Record, where: str | None) -> None:
        snapshot = record.snapshot()
        names = ["id", "content", "split", "parts", "file", "label", "tags"]
        table = snapshot.table(names, where)
        self._ids, self._by_content = set(table["id"].to_pylist()), {}
        for values in zip(*(table[name].to_pylist() for name in names), strict=True):
            clip, content, split, parts, file, label, tags = values
            known = _Known(clip, content, split, parts, snapshot.current_path(file), label, tuple(tags or ()))
            self._by_content.setdefault(content, []).append(known)


def split_name(split: str | float) -> str:
    """`none`, `shots` or a number of seconds, as the record spells it."""
    if split in ("none", "shots"):
        return str(split)
    try:
        seconds = float(split)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SeaError(f"split {split!r}: expected none, shots, or a number of seconds such as 5")
    return repr(seconds)


def plan(
    sources: Sequence[SourceVideo], split: str, known: KnownClips, contents: Mapping[str, str] | None = None
) -> Iterator[Step]:
    """Go through the videos: clips to encode, clips the sea has, files that cannot be read.

    `contents` has the hashes of files that have been hashed before.
    """
    from seasync.encoders import content_hash

    for source in sources:
        file, size = str(source.file), size_of(source)
        if (shown := printable(file)) != file:  # the record holds text
            yield Failure(shown, f"{shown}: the name is not valid UTF-8; rename the file or folder", size)
            continue
        try:
            content = (contents or {}).get(file) or content_hash(file)
            if present := known.of(source, content, split):
                yield PresentClips(file, len(present), size, _update(source, present))
                continue
            pending = list(_cut(source, content, split, size))
        except (VideoError, StoreError, OSError) as error:
            reason = f"{file}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            yield Failure(file, reason, size)
            continue
        missing = [each for each in pending if known.reserve(str(each.entry.clip.id))]
        if len(missing) < len(pending):
            yield PresentClips(file, len(pending) - len(missing), 0 if missing else size)
        yield from missing


def _update(source: SourceVideo, present: Sequence[_Known]) -> LabelUpdate | None:
    """What changes for clips of the same file; another file of the same content changes nothing.

    Otherwise two copies in folders of other names would take the label from each other with every add.
    """
    changed = tuple(
        clip.id
        for clip in present
        if clip.file == str(source.file)
        and (
            (source.label is not None and source.label != clip.label)
            or (source.tags and source.tags != clip.tags)
        )
    )
    return LabelUpdate(changed, source.label, source.tags) if changed else None


def size_of(source: SourceVideo) -> int:
    """Bytes of a file, or of the images of a folder; 0 if it is not there."""
    if source.size is not None:
        return source.size
    if is_uri(source.file):
        return sum(each.size for each in objects(str(source.file)))
    file = Path(source.file)
    try:
        if file.is_dir():
            return sum(part.stat().st_size for part in file.iterdir())
        return file.stat().st_size
    except (OSError, ValueError):  # reported where it is opened; a list may name what cannot be a file
        return 0


def _cut(source: SourceVideo, content: str, split: str, size: int) -> Iterator[PendingClip]:
    from seasync.video import probe
    from seasync.video.timetable import frame_table

    file = str(source.file)
    rate, length = probe(file).fps, frame_table(file).end
    split = "none" if source.has_span else split
    spans = _spans(source, split)
    for part, (start, end) in enumerate(spans):
        entry = ClipEntry(
            Clip(file, start, end, source.label, clip_id(content, start, end)),
            content=content,
            split=split,
            part=part,
            parts=len(spans),
            fps=None if rate is None else float(rate),
            duration=(length if end is None else min(end, length)) - start,
            tags=source.tags,
        )
        yield PendingClip(entry, size * (part + 1) // len(spans) - size * part // len(spans))


def _spans(source: SourceVideo, split: str) -> list[tuple[float, float | None]]:
    from seasync.video import shots, windows

    if split == "none":
        return [(source.start or 0.0, source.end)]
    return list(shots(source.file) if split == "shots" else windows(source.file, float(split)))
