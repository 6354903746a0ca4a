"""Adding to a sea: plan the clips, encode them, commit their rows.

A run does the work, in this process, in several, or on a cluster (`on_ray`), and yields it in shards, in the
order of the videos; `commit_shards` commits them at intervals. To continue after an interruption, an add
needs nothing but the record itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seasync.errors import FeatureError, SeaError, SeasyncError
from seasync.sea.maintenance import relabel, tidy, tidy_after_add
from seasync.sea.plan import (
    Failure,
    KnownClips,
    LabelUpdate,
    PendingClip,
    PresentClips,
    Step,
    plan,
    size_of,
    split_name,
)
from seasync.sea.record import Appender
from seasync.sea.rows import Row, SeaFacts
from seasync.sea.sources import SourceVideo

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoders.encoder import TakesFrames
    from seasync.encoding import Encoding
    from seasync.sea.record import Record
    from seasync.video import Frames
    from seasync.video.timetable import DamageLog


# Planned clips into rows: in this process, or in several. Each clip is treated the same wherever it
# runs.


Outcome = Row | Failure | None
"""The row of a clip, or why there is none; None where there was nothing to do."""
Outcomes = Generator[tuple[Step, Outcome]]


def encode_row(clip: PendingClip, encoder: str, fps: float) -> Row | Failure:
    """Read and encode one planned clip."""
    from seasync.encoders import get_encoder

    ((_, outcome),) = encode_here(iter([clip]), get_encoder(encoder), fps)
    assert outcome is not None
    return outcome


def encode_here(steps: Iterator[Step], encoder: Encoder, fps: float) -> Outcomes:
    """Encode clips in this process, while a thread reads frames of this clip and the next."""
    from seasync.encoders.encode import AHEAD
    from seasync.encoders.encoder import TakesFrames
    from seasync.video import ahead

    reader = encoder if isinstance(encoder, TakesFrames) else None
    batches = ahead(_batches(ahead(steps, depth=8), reader, fps), depth=AHEAD)
    for (_, step, damage), group in groupby(batches, key=itemgetter(0)):
        if not isinstance(step, PendingClip):
            yield step, step if isinstance(step, Failure) else None
            continue
        try:
            if reader:
                encoding = reader.encode(_frames(group))
            else:
                encoding = damage.run(_encode_clip, step, encoder, fps)
            yield step, _row(step, encoding, damage)
        except SeasyncError as error:
            yield step, _failure(step, error)


def encode_in_processes(steps: Iterator[Step], encoder: str, fps: float, jobs: int) -> Outcomes:
    """Encode clips in `jobs` processes, in order, a few clips ahead of what is asked for."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting: deque[tuple[Step, Future[Row | Failure] | None]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _become_worker, (threads,)) as pool:
        try:
            for step in steps:
                work = pool.submit(encode_row, step, encoder, fps) if isinstance(step, PendingClip) else None
                waiting.append((step, work))
                while len(waiting) > 2 * jobs:
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _outcome(step: Step, work: Future[Row | Failure] | None) -> tuple[Step, Outcome]:
    if work is None:
        return step, step if isinstance(step, Failure) else None
    try:
        return step, work.result()
    except BrokenProcessPool as error:
        raise SeaError(
            f"a worker process died ({error}); what is committed is safe, try again with fewer jobs"
        ) from error


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


Batch = tuple[tuple[int, Step, "DamageLog"], "Frames | SeasyncError | None"]


def _batches(steps: Iterator[Step], encoder: TakesFrames | None, fps: float) -> Iterator[Batch]:
    """The frames of all clips, one clip after the other, for an encoder that takes frames.

    Each batch comes with its numbered step; an error stands in place of frames that cannot be read.
    """
    from seasync.encoders.encode import read_for
    from seasync.video.timetable import DamageLog

    for number, step in enumerate(steps):
        key = number, step, DamageLog()
        if encoder is None or not isinstance(step, PendingClip):
            yield key, None
            continue
        try:
            frames = read_for(encoder, step.entry.clip, fps)
            while (batch := key[2].run(next, frames, None)) is not None:
                yield key, batch
        except SeasyncError as error:
            yield key, error


def _frames(group: Iterator[Batch]) -> Iterator[Frames]:
    for _, frames in group:
        if isinstance(frames, SeasyncError):
            raise frames
        if frames is not None:
            yield frames


def _encode_clip(clip: PendingClip, encoder: Encoder, fps: float) -> Encoding:
    from seasync.encoders import encode_clip

    return encode_clip(clip.entry.clip, encoder, fps=fps, cache=False)


def _row(clip: PendingClip, encoding: Encoding, damage: DamageLog) -> Row:
    largest = max(float(np.abs(stream.features).max()) for stream in encoding.streams)
    if largest > float(np.finfo(np.float16).max):
        raise FeatureError(
            f"frame features up to {largest:.3g}; a sea keeps them in half precision, up to 65504: "
            "scale the encoder's output"
        )
    return Row(replace(clip.entry, damage="; ".join(dict.fromkeys(damage.reports)) or None), encoding)


def _failure(clip: PendingClip, error: SeasyncError) -> Failure:
    text = str(error)
    return Failure(clip.file, text if clip.file in text else f"{clip.file}: {text}")


COMMIT_ROWS = 512
TIDY_COMMITS = 64


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

    def count(self, step: Step, outcome: ClipAdded | Failure | None) -> None:
        """Count a step and what came of it."""
        self.done += step.size
        if isinstance(outcome, ClipAdded):
            self.added += 1
            self.seconds += outcome.seconds
            self.damaged += [outcome.damage] if outcome.damage else []
        elif isinstance(outcome, Failure):
            self.failed.append(outcome)
        elif isinstance(step, PresentClips):
            self.present += step.count

    def count_duplicates(self, clips: int) -> None:
        """Count clips as present that another writer added first."""
        self.added, self.present = self.added - clips, self.present + clips


@dataclass(frozen=True)
class ClipAdded:
    """A clip that was encoded: its length, and its damage if it has any."""

    seconds: float
    damage: str | None


@dataclass
class Shard:
    """Steps that were done together, with what came of each.

    Attributes
    ----------
    rows
        What is to be written; or
    fragments
        what is written for the clips `ids`, and to be committed.
    updates
        Clips of the sea whose labels or tags are to change.
    """

    outcomes: list[tuple[Step, ClipAdded | Failure | None]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    fragments: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    updates: list[LabelUpdate] = field(default_factory=list)

    def add(self, step: Step, outcome: Outcome) -> None:
        if isinstance(outcome, Row):
            self.rows.append(outcome)
            self.outcomes.append((step, ClipAdded(outcome.entry.duration, outcome.entry.damage)))
        else:
            self.outcomes.append((step, outcome))
        if isinstance(step, PresentClips) and step.update:
            self.updates.append(step.update)


class Run(Protocol):
    """Does the work of an add."""

    def shards(self, sources: Sequence[SourceVideo]) -> Generator[Shard]:
        """What comes of the videos, in their order. Closed early, it stops."""
        ...

    def commit(self, shards: Sequence[Shard]) -> int:
        """Write the clips of shards into the record, in one commit; returns how many are new."""
        ...


def add(
    record: Record,
    sources: Sequence[SourceVideo],
    encoder: Encoder,
    *,
    split: str | float = "none",
    fps: float | None = None,
    frame_features: bool = True,
    jobs: int = 1,
    commit_seconds: float = 20.0,
    progress: Callable[[Added], None] | None = None,
    wait: bool = True,
    waiting: Callable[[], None] | None = None,
) -> Added:
    """Add the clips of `sources` that are missing; see `Sea.add`."""
    split = split_name(split)
    added = Added(len(sources), sum(map(size_of, sources)))
    with record.writing(wait=wait, waiting=waiting):
        run = _LocalRun(record, encoder, agreed_fps(record, encoder, fps), split, frame_features, jobs)
        commit_shards(record, run, sources, added, commit_seconds=commit_seconds, progress=progress)
    if added.added:
        tidy_after_add(record)
    return added


def commit_shards(
    record: Record,
    run: Run,
    sources: Sequence[SourceVideo],
    added: Added,
    *,
    commit_seconds: float,
    progress: Callable[[Added], None] | None,
) -> None:
    """Commit what the run yields. Whatever ends it, Ctrl-C included: what is encoded is kept."""
    commits = _Commits(record, run, added, commit_seconds)
    try:
        with closing(run.shards(sources)) as shards:
            for shard in shards:
                commits.take(shard)
                if progress:
                    progress(added)
    finally:
        commits.flush()


class _Commits:
    """Shards on their way into the record, and the counts."""

    def __init__(self, record: Record, run: Run, added: Added, seconds: float) -> None:
        self._record, self._run, self._added, self._seconds = record, run, added, seconds
        self._pending: list[Shard] = []
        self._last = time.monotonic()

    def take(self, shard: Shard) -> None:
        for step, outcome in shard.outcomes:
            self._added.count(step, outcome)
        if shard.rows or shard.fragments or shard.updates:
            self._pending.append(shard)
        rows = sum(len(each.rows) for each in self._pending)
        if rows >= COMMIT_ROWS or time.monotonic() - self._last > self._seconds:
            self.flush()

    def flush(self) -> None:
        shards, self._pending = self._pending, []
        self._last = time.monotonic()
        clips = sum(len(each.rows) + len(each.ids) for each in shards)
        if clips:
            self._added.count_duplicates(clips - self._run.commit(shards))
        if updates := [update for each in shards for update in each.updates]:
            self._added.updated += relabel(self._record, updates)


class _LocalRun:
    """The work done on this machine, clip by clip."""

    def __init__(
        self, record: Record, encoder: Encoder, fps: float, split: str, frame_features: bool, jobs: int
    ) -> None:
        self._record, self._encoder, self._fps, self._split = record, encoder, fps, split
        self._frame_features, self._jobs = frame_features, jobs
        self._appender = Appender(record)
        self._commits = 0

    def shards(self, sources: Sequence[SourceVideo]) -> Generator[Shard]:
        steps = plan(sources, self._split, KnownClips(self._record))
        if self._jobs == 1:
            outcomes = encode_here(steps, self._encoder, self._fps)
        else:
            outcomes = encode_in_processes(steps, self._encoder.name, self._fps, self._jobs)
        with closing(outcomes):
            for step, outcome in outcomes:
                shard = Shard()
                shard.add(step, outcome)
                yield shard

    def commit(self, shards: Sequence[Shard]) -> int:
        rows = [row for shard in shards for row in shard.rows]
        if self._record.exists():
            facts = self._record.snapshot().facts
        else:
            facts = SeaFacts.of(self._encoder.name, self._fps, rows[0].encoding)
        new = self._appender.append(rows, facts, frame_features=self._frame_features)
        self._commits += 1
        if self._commits % TIDY_COMMITS == 0:
            tidy(self._record)
        return new


def agreed_fps(record: Record, encoder: Encoder, fps: float | None) -> float:
    """The sea's own rate; for a new sea the rate asked for, or the encoder's."""
    if not record.exists():
        return fps or encoder.fps
    facts = record.snapshot().facts
    if fps and fps != facts.fps:
        raise SeaError(
            f"{record.uri}: sampled at {facts.fps:g} fps, not {fps:g}; leave --fps out, or make a new sea"
        )
    return facts.fps
