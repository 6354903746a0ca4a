"""Adding to a sea: plan the clips, encode them, commit their rows.

`plan` says which clips of the videos must be encoded, and which the sea has already. A run does the work, in
this process, in several, or on a cluster (`seasync.sea.ray`), and yields it in shards, in the order of the
videos; `add` commits them at intervals. To continue after an interruption, an add needs nothing but the
record itself.
"""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from operator import itemgetter
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync import encoders, video
from seasync.alignment import MOTION
from seasync.alignment.prepare import grid_of
from seasync.clip import Clip
from seasync.encoders.encode import AHEAD, read_for
from seasync.encoders.encoder import TakesFrames
from seasync.errors import FeatureError, SeaError, SeasyncError, StoreError, VideoError
from seasync.files import is_uri, location, store
from seasync.repetitions import find_movements
from seasync.sea.index import EXACT_UP_TO
from seasync.sea.maintenance import relabel, tidy, tidy_after_add
from seasync.sea.record import Appender, Record
from seasync.sea.rows import ClipEntry, Row, SeaFacts, clip_id
from seasync.sea.sources import SourceVideo

if TYPE_CHECKING:
    from seasync.sea.ray import Cluster, RayRun

COMMIT_ROWS = 512
TIDY_COMMITS = 64


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


class KnownClips:
    """The clips that a sea has, or is about to have; with `where`, those that fulfil the condition.

    In a large sea clips are looked up content by content, with its index: all ids would take hundreds of
    bytes each.
    """

    def __init__(self, record: Record, where: str | None = None) -> None:
        self._by_content: dict[str, list[ClipEntry]] = {}
        self._ids: set[str] = set()
        self._planned: set[str] = set()
        large = record.exists() and where is None and len(record) > EXACT_UP_TO
        self._large_record = record if large else None
        if record.exists() and not large:
            self._read(record, where)

    def of(self, source: SourceVideo, content: str, split: str) -> list[ClipEntry]:
        """The clips of a video, if the sea has all of them; empty if any may be missing."""
        if self._large_record:
            self._read(self._large_record, f"content = '{content}'")
        known = self._by_content.get(content, [])
        if source.has_span or split == "none":
            wanted = clip_id(content, source.start or 0.0, source.end)
            return [entry for entry in known if entry.clip.id == wanted]
        parts = [entry for entry in known if entry.split == split]
        return parts if parts and len(parts) >= parts[0].parts else []

    def reserve(self, clip: str) -> bool:
        """Whether this clip, of the content asked for last, is new. From now on it is not."""
        new = clip not in self._ids and clip not in self._planned
        self._planned.add(clip)
        return new

    def _read(self, record: Record, where: str | None) -> None:
        self._ids, self._by_content = set(), {}
        for entry in record.snapshot().entries(where):
            self._ids.add(str(entry.clip.id))
            self._by_content.setdefault(entry.content, []).append(entry)


def split_name(split: str | float) -> str:
    """`none`, `shots`, `reps` or a number of seconds, as the record spells it."""
    if split in ("none", "shots", "reps"):
        return str(split)
    try:
        seconds = float(split)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SeaError(f"split {split!r}: expected none, shots, reps, or a number of seconds such as 5")
    return repr(seconds)


def plan(
    sources: Sequence[SourceVideo],
    making: "Making",
    known: KnownClips,
    encoder: encoders.Encoder,
    contents: Mapping[str, str] | None = None,
) -> Iterator[Step]:
    """Go through the videos: clips to encode, clips the sea has, files that cannot be read.

    `contents` has the hashes of files that have been hashed before. The encoder is used to find repetitions.
    """
    split = making.split
    for source in sources:
        file, size = str(source.file), size_of(source)
        if (shown := location.printable(file)) != file:  # the record holds text
            yield Failure(shown, f"{shown}: the name is not valid UTF-8; rename the file or folder", size)
            continue
        try:
            content = (contents or {}).get(file) or encoders.content_hash(file)
            if present := known.of(source, content, split):
                yield PresentClips(len(present), size, _update(source, present))
                continue
            spans = _spans(source, split, encoder, making.fps)
            pending = list(_cut(source, content, split, size, spans))
        except (VideoError, StoreError, OSError) as error:
            reason = f"{file}: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            yield Failure(file, reason, size)
            continue
        missing = [each for each in pending if known.reserve(str(each.entry.clip.id))]
        if len(missing) < len(pending):
            yield PresentClips(len(pending) - len(missing), 0 if missing else size)
        yield from missing


def _update(source: SourceVideo, present: Sequence[ClipEntry]) -> LabelUpdate | None:
    """What changes for clips of the same file; another file of the same content changes nothing.

    Otherwise two copies in folders of other names would take the label from each other with every add.
    """
    changed = tuple(
        str(entry.clip.id)
        for entry in present
        if entry.clip.file == str(source.file)
        and (
            (source.label is not None and source.label != entry.clip.label)
            or (source.tags and source.tags != entry.tags)
        )
    )
    return LabelUpdate(changed, source.label, source.tags) if changed else None


def size_of(source: SourceVideo) -> int:
    """Bytes of a file, or of the images of a folder; 0 if it is not there."""
    if source.size is not None:
        return source.size
    if is_uri(source.file):
        return sum(each.size for each in store.objects(str(source.file)))
    file = Path(source.file)
    try:
        if file.is_dir():
            return sum(part.stat().st_size for part in file.iterdir())
        return file.stat().st_size
    except (OSError, ValueError):  # reported where it is opened; a list may name what cannot be a file
        return 0


def _cut(
    source: SourceVideo, content: str, split: str, size: int, spans: Sequence[tuple[float, float | None]]
) -> Iterator[PendingClip]:
    file = str(source.file)
    rate, length = video.probe(file).fps, video.frame_table(file).end
    split = "none" if source.has_span else split
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


def _spans(
    source: SourceVideo, split: str, encoder: encoders.Encoder, fps: float
) -> list[tuple[float, float | None]]:
    if split == "none" or source.has_span:
        return [(source.start or 0.0, source.end)]
    if split == "shots":
        return list(video.shots(source.file))
    if split == "reps":
        found = find_movements(encoders.encode_clip(Clip(str(source.file)), encoder, fps=fps))
        spans = [(one.start, one.end) for movement in found for one in movement.repetitions]
        return [*sorted(spans)] or [(0.0, None)]
    return list(video.windows(source.file, float(split)))


Outcome = Row | PresentClips | Failure
"""What comes of a step: the row of a clip, or why there is none; other steps as they are."""
Outcomes = Generator[tuple[Step, Outcome]]


def encode_here(steps: Iterator[Step], encoder: encoders.Encoder, fps: float) -> Outcomes:
    """Encode clips in this process, while a thread reads frames of this clip and the next."""
    reader = encoder if isinstance(encoder, TakesFrames) else None
    batches = video.ahead(_batches(video.ahead(steps, depth=8), reader, fps), depth=AHEAD)
    for (_, step, damage), group in groupby(batches, key=itemgetter(0)):
        if not isinstance(step, PendingClip):
            yield step, step
            continue
        try:
            if reader:
                encoding = reader.encode(_frames(group))
            else:
                clip = step.entry.clip
                encoding = damage.run(encoders.encode_clip, clip, encoder, fps=fps, cache=False)
            grid_of(encoding.seconds, MOTION)  # raises if no search could align it
            largest = max(float(np.abs(stream.features).max()) for stream in encoding.streams)
            if largest > float(np.finfo(np.float16).max):
                raise FeatureError(
                    f"frame features up to {largest:.3g}; a sea keeps them in half precision, up to 65504: "
                    "scale the encoder's output"
                )
            reports = "; ".join(dict.fromkeys(damage.reports)) or None
            yield step, Row(replace(step.entry, damage=reports), encoding)
        except SeasyncError as error:
            text = str(error)
            yield step, Failure(step.file, text if step.file in text else f"{step.file}: {text}")


Batch = tuple[tuple[int, Step, "video.DamageLog"], "video.Frames | SeasyncError | None"]


def _batches(steps: Iterator[Step], encoder: TakesFrames | None, fps: float) -> Iterator[Batch]:
    """The frames of all clips, one clip after the other, for an encoder that takes frames.

    Each batch comes with its numbered step; an error stands in place of frames that cannot be read.
    """
    for number, step in enumerate(steps):
        key = number, step, video.DamageLog()
        if encoder is None or not isinstance(step, PendingClip):
            yield key, None
            continue
        try:
            frames = read_for(encoder, step.entry.clip, fps)
            while (batch := key[2].run(next, frames, None)) is not None:
                yield key, batch
        except SeasyncError as error:
            yield key, error


def _frames(group: Iterator[Batch]) -> Iterator[video.Frames]:
    for _, frames in group:
        if isinstance(frames, SeasyncError):
            raise frames
        if frames is not None:
            yield frames


def encode_in_processes(steps: Iterator[Step], encoder: str, fps: float, jobs: int) -> Outcomes:
    """Encode clips in `jobs` processes, in order, a few clips ahead of what is asked for."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting: deque[tuple[Step, Future[Outcome]]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _become_worker, (threads,)) as pool:
        try:
            for step in steps:
                work = Future[Outcome]()
                if isinstance(step, PendingClip):
                    work = pool.submit(_encode_one, step, encoder, fps)
                else:
                    work.set_result(step)
                waiting.append((step, work))
                if len(waiting) > 2 * jobs:
                    step, work = waiting.popleft()
                    yield step, work.result()
            for step, work in waiting:
                yield step, work.result()
        except BrokenProcessPool as error:
            raise SeaError(
                f"a worker process died ({error}); what is committed is safe, try again with fewer jobs"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _encode_one(clip: PendingClip, encoder: str, fps: float) -> Outcome:
    ((_, outcome),) = encode_here(iter([clip]), encoders.get_encoder(encoder), fps)
    return outcome


def _become_worker(threads: int) -> None:
    """Leave Ctrl-C to the parent, end with it even if it is killed, and share the cores."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["SEASYNC_THREADS"] = str(threads)
    parent = parent_process()
    assert parent is not None
    Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


@dataclass
class Added:
    """How an add is going, and how it went.

    Attributes
    ----------
    files, size
        Number and bytes of all videos; `done` bytes are dealt with.
    added
        Clips that were added, with their `seconds` of footage.
    present
        Clips that the sea had already; `updated` of them got another label or other tags.
    failed
        What could not be added, with reasons.
    damaged
        What could be read only in part, and was added as far as it goes.
    """

    files: int = 0
    size: int = 0
    done: int = 0
    added: int = 0
    present: int = 0
    updated: int = 0
    seconds: float = 0.0
    failed: list[Failure] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def include(self, other: "Added", durations: Sequence[float]) -> None:
        """Add what is counted in another one, whose clips last so many seconds."""
        self.done += other.done
        self.added += other.added
        self.present += other.present
        self.failed += other.failed
        self.damaged += other.damaged
        for seconds in durations:  # one by one: the same sum to the bit, however clips are put into shards
            self.seconds += seconds


@dataclass
class Shard:
    """Steps that were done together: their counts, and what is to be committed of them.

    Attributes
    ----------
    durations
        Seconds of the clips that are counted as added.
    rows
        What is to be written; or
    fragments
        what is written for the clips `ids`.
    updates
        Clips of the sea whose labels or tags are to change.
    """

    counts: Added = field(default_factory=Added)
    durations: list[float] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    fragments: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    updates: list[LabelUpdate] = field(default_factory=list)

    def add(self, step: Step, outcome: Outcome) -> None:
        """Take in what came of a step."""
        self.counts.done += step.size
        if isinstance(outcome, Row):
            self.counts.added += 1
            self.durations.append(outcome.entry.duration)
            self.counts.damaged += [outcome.entry.damage] if outcome.entry.damage else []
            self.rows.append(outcome)
        elif isinstance(outcome, Failure):
            self.counts.failed.append(outcome)
        else:
            self.counts.present += outcome.count
            self.updates += [outcome.update] if outcome.update else []


@dataclass(frozen=True)
class Making:
    """How an add makes its clips."""

    fps: float
    split: str
    frame_features: bool


@dataclass(frozen=True)
class AddOptions:
    """How an add goes about it; see `Sea.add`."""

    split: str | float = "none"
    fps: float | None = None
    frame_features: bool = True
    jobs: int = 1
    on: "Cluster | None" = None
    commit_seconds: float = 20.0
    progress: Callable[[Added], None] | None = None
    wait: bool = True
    waiting: Callable[[], None] | None = None


def add(record: Record, sources: Sequence[SourceVideo], encoder: encoders.Encoder, how: AddOptions) -> Added:
    """Add the clips of `sources` that are missing; see `Sea.add`.

    Whatever ends it, Ctrl-C included: what is encoded is kept.
    """
    split, on = split_name(how.split), how.on
    added = Added(len(sources), sum(map(size_of, sources)))
    with on.connected() if on else nullcontext() as ray, record.writing(wait=how.wait, waiting=how.waiting):
        making = Making(_agreed_fps(record, encoder, how.fps), split, how.frame_features)
        if on:
            from seasync.sea.ray import RayRun

            run: _LocalRun | RayRun = RayRun(ray, on, record, encoder.name, making)
        else:
            run = _LocalRun(record, encoder, making, how.jobs)
        commits = _Commits(record, run, added, how.commit_seconds)
        try:
            with closing(run.shards(sources)) as shards:
                for shard in shards:
                    commits.take(shard)
                    if how.progress:
                        how.progress(added)
        finally:
            commits.flush()
    if added.added:
        tidy_after_add(record, delete_unused=on is not None)
    return added


class _Commits:
    """Shards on their way into the record, and the counts."""

    def __init__(self, record: Record, run: "_LocalRun | RayRun", added: Added, seconds: float) -> None:
        self._record, self._run, self._added, self._seconds = record, run, added, seconds
        self._pending: list[Shard] = []
        self._last = time.monotonic()

    def take(self, shard: Shard) -> None:
        self._added.include(shard.counts, shard.durations)
        if shard.rows or shard.fragments or shard.updates:
            self._pending.append(shard)
        rows = sum(len(each.rows) for each in self._pending)
        if rows >= COMMIT_ROWS or time.monotonic() - self._last > self._seconds:
            self.flush()

    def flush(self) -> None:
        shards, self._pending = self._pending, []
        self._last = time.monotonic()
        if clips := sum(len(each.rows) + len(each.ids) for each in shards):
            others = clips - self._run.commit(shards)  # that another writer added first
            self._added.added, self._added.present = self._added.added - others, self._added.present + others
        if updates := [update for each in shards for update in each.updates]:
            self._added.updated += relabel(self._record, updates)


class _LocalRun:
    """The work done on this machine, clip by clip."""

    def __init__(self, record: Record, encoder: encoders.Encoder, making: Making, jobs: int) -> None:
        self._record, self._encoder, self._making, self._jobs = record, encoder, making, jobs
        self._appender = Appender(record)
        self._commits = 0

    def shards(self, sources: Sequence[SourceVideo]) -> Generator[Shard]:
        """What comes of the videos, in their order. Closed early, it stops."""
        fps, steps = self._making.fps, plan(sources, self._making, KnownClips(self._record), self._encoder)
        if self._jobs == 1:
            outcomes = encode_here(steps, self._encoder, fps)
        else:
            outcomes = encode_in_processes(steps, self._encoder.name, fps, self._jobs)
        with closing(outcomes):
            for step, outcome in outcomes:
                shard = Shard()
                shard.add(step, outcome)
                yield shard

    def commit(self, shards: Sequence[Shard]) -> int:
        """Write the clips of shards into the record, in one commit; returns how many are new."""
        rows = [row for shard in shards for row in shard.rows]
        if self._record.exists():
            facts = self._record.snapshot().facts
        else:
            facts = SeaFacts.of(self._encoder.name, self._making.fps, rows[0].encoding)
        new = self._appender.append(rows, facts, frame_features=self._making.frame_features)
        self._commits += 1
        if self._commits % TIDY_COMMITS == 0:
            tidy(self._record)
        return new


def _agreed_fps(record: Record, encoder: encoders.Encoder, fps: float | None) -> float:
    """The sea's own rate; for a new sea the rate asked for, or the encoder's."""
    if not record.exists():
        return fps or encoder.fps
    facts = record.snapshot().facts
    if fps and fps != facts.fps:
        raise SeaError(
            f"{record.uri}: sampled at {facts.fps:g} fps, not {fps:g}; leave --fps out, or make a new sea"
        )
    return facts.fps
