"""Which clips of the sources are to be encoded, and which the sea has already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seasync.clip import Clip
from seasync.errors import SeaError, StoreError, VideoError
from seasync.files import is_uri
from seasync.files.location import printable
from seasync.files.objects import objects
from seasync.sea.index import EXACT_UP_TO
from seasync.sea.rows import clip_id
from seasync.sea.sources import Source

if TYPE_CHECKING:
    from seasync.sea.record import Record


@dataclass(frozen=True)
class Work:
    """A clip to encode: number `part` of the `parts` its file is cut into, of `size` bytes."""

    clip: Clip
    content: str
    split: str
    part: int
    parts: int
    fps: float | None
    duration: float
    tags: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Present:
    """Clips of a file that the sea has already; `size` as far as nothing else of the file is to be done."""

    file: str
    clips: int
    size: int


@dataclass(frozen=True)
class Failure:
    """A file that could not be read, or a clip of it, and why."""

    file: str
    reason: str
    size: int = 0


Step = Work | Present | Failure


class Known:
    """The clips a sea has, or is about to have; with `where`, those that fulfil the condition.

    Of a sea that is not small they are looked up content by content, by its index: the ids of all would take
    hundreds of bytes each.
    """

    def __init__(self, record: Record, where: str | None = None) -> None:
        self._ids: set[str] = set()
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}
        self._claimed: set[str] = set()
        large = record.exists() and where is None and len(record) > EXACT_UP_TO
        self._looked_up_in = record if large else None
        if record.exists() and not large:
            self._read(record, where)

    def of(self, source: Source, content: str, split: str) -> int:
        """How many clips there are of a source that is in whole; 0 if any may be missing."""
        if self._looked_up_in:
            self._read(self._looked_up_in, f"content = '{content}'")
        if source.has_span or split == "none":
            return int(self._has(clip_id(content, source.start or 0.0, source.end)))
        count, parts = self._counts.get((content, split), (0, 1))
        return count if count >= parts else 0

    def claim(self, clip: str) -> bool:
        """Whether this clip, of the content asked for last, is new. From now on it is not."""
        new = not self._has(clip)
        self._claimed.add(clip)
        return new

    def _has(self, clip: str) -> bool:
        return clip in self._ids or clip in self._claimed

    def _read(self, record: Record, where: str | None) -> None:
        names = ["id", "content", "split", "parts"]
        table = record.snapshot().table(names, where)
        self._ids, self._counts = set(), {}
        for clip, content, split, parts in zip(*(table[n].to_pylist() for n in names), strict=True):
            self._ids.add(clip)
            count, _ = self._counts.get((content, split), (0, parts))
            self._counts[content, split] = count + 1, parts


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
    sources: Sequence[Source], split: str, known: Known, contents: Mapping[str, str] | None = None
) -> Iterator[Step]:
    """Step by step through the sources: clips to encode, clips already known, files that cannot be read.

    contents  of files that have been hashed before
    """
    from seasync.encoders import content_hash

    for source in sources:
        file, size = str(source.file), size_of(source)
        if (shown := printable(file)) != file:  # the record holds text
            yield Failure(shown, f"{shown}: the name is not valid UTF-8; rename the file or folder", size)
            continue
        try:
            content = (contents or {}).get(file) or content_hash(file)
            if count := known.of(source, content, split):
                yield Present(file, count, size)
                continue
            works = list(_cut(source, content, split, size))
        except (VideoError, StoreError, OSError) as error:
            reason = f"{file}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            yield Failure(file, reason, size)
            continue
        missing = [work for work in works if known.claim(str(work.clip.id))]
        if len(missing) < len(works):
            yield Present(file, len(works) - len(missing), 0 if missing else size)
        yield from missing


def size_of(source: Source) -> int:
    """Bytes of a file, or of the images of a folder; 0 if it is not there."""
    if source.size is not None:
        return source.size
    if is_uri(source.file):
        return sum(each.size for each in objects(str(source.file)))
    file = Path(source.file)
    if file.is_dir():
        return sum(part.stat().st_size for part in file.iterdir())
    return file.stat().st_size if file.exists() else 0


def _cut(source: Source, content: str, split: str, size: int) -> Iterator[Work]:
    from seasync.video import probe
    from seasync.video.timetable import frame_table

    file = str(source.file)
    rate, length = probe(file).fps, frame_table(file).end
    fps = None if rate is None else float(rate)
    split = "none" if source.has_span else split
    spans = _spans(source, split)
    for part, (start, end) in enumerate(spans):
        clip = Clip(file, start, end, source.label, clip_id(content, start, end))
        duration = (length if end is None else min(end, length)) - start
        share = size * (part + 1) // len(spans) - size * part // len(spans)
        yield Work(clip, content, split, part, len(spans), fps, duration, source.tags, share)


def _spans(source: Source, split: str) -> list[tuple[float, float | None]]:
    from seasync.video import shots, windows

    if split == "none":
        return [(source.start or 0.0, source.end)]
    return list(shots(source.file) if split == "shots" else windows(source.file, float(split)))
