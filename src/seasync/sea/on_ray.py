"""Adding on a Ray cluster: tasks plan, encode and write fragments; the driver commits them, in order, once.

A task is a pure function of its shard: run again after its worker or node died, it writes other files, and
those of the first try, which nobody commits, are swept when no one writes. All that a driver needs to go on
after an interruption is the record itself.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError, SeasyncError
from seasync.files.objects import add_storage_options
from seasync.sea.cluster import Cluster
from seasync.sea.commit import Appender
from seasync.sea.encode_rows import encode_here
from seasync.sea.ingest import Added, Shard, agreed_fps, commit_shards
from seasync.sea.ingest_plan import (
    Failure,
    KnownClips,
    PendingClip,
    PresentClips,
    Step,
    plan,
    size_of,
    split_name,
)
from seasync.sea.maintenance import tidy_after_add
from seasync.sea.record import Record
from seasync.sea.rows import Row, SeaFacts, schema, to_table
from seasync.sea.snapshot import one_of

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.sea.sources import SourceVideo

PLANNED_FILES = 8  # files that one task looks into
GLIMPSE_SECONDS = 0.5  # of a first clip, to tell what an encoder makes
# Shards under way for each place: what waits is there when a place is free, and makes a cluster grow.
AHEAD = 3
COUNT_SECONDS = 5.0  # between looks at how large the cluster is


@dataclass(frozen=True)
class Job:
    """What a worker must know to do its part."""

    uri: str
    storage_options: dict[str, str]
    encoder: str
    fps: float
    split: str
    frame_features: bool
    threads: int

    def record(self) -> Record:
        """The sea, on a worker, with the options also for videos."""
        os.environ["SEASYNC_THREADS"] = str(self.threads)
        add_storage_options(self.storage_options)
        return Record(self.uri, storage_options=self.storage_options)


def planned(job: Job, sources: Sequence[SourceVideo]) -> list[Step]:
    """On a worker: what is to be done about these videos, as far as the sea itself tells."""
    from seasync.encoders import content_hash

    record, contents = job.record(), {}
    for source in sources:
        try:
            contents[str(source.file)] = content_hash(str(source.file))
        except (SeasyncError, OSError):
            continue  # the plan will come upon it and say so
    asked = sorted(set(contents.values()))
    known = KnownClips(record, one_of("content", asked) if asked else "false")
    return list(plan(sources, job.split, known, contents))


def first_facts(job: Job, clip: PendingClip) -> SeaFacts | None:
    """On a worker: the facts of a sea that begins with this clip; None if it cannot be read."""
    from seasync.encoders import get_encoder

    job.record()
    encoder = get_encoder(job.encoder)
    whole = clip.entry.clip
    end = whole.start + min(clip.entry.duration, GLIMPSE_SECONDS)
    glimpse = replace(clip, entry=replace(clip.entry, clip=replace(whole, end=end)))
    ((_, outcome),) = encode_here(iter([glimpse]), encoder, job.fps)
    return SeaFacts.of(encoder.name, job.fps, outcome.encoding) if isinstance(outcome, Row) else None


def encoded(job: Job, clips: Sequence[PendingClip]) -> Shard:
    """On a worker: encode these clips and write their rows, where nobody sees them yet."""
    from seasync.encoders import get_encoder

    record, shard = job.record(), Shard()
    for step, outcome in encode_here(iter(clips), get_encoder(job.encoder), job.fps):
        shard.add(step, outcome)
    if shard.rows:
        table = to_table(shard.rows, record.snapshot().facts, frame_features=job.frame_features)
        shard.fragments, shard.ids = record.write_fragments(table)
    return replace(shard, rows=[])


def add(
    cluster: Cluster,
    record: Record,
    sources: Sequence[SourceVideo],
    encoder: Encoder,
    *,
    split: str | float = "none",
    fps: float | None = None,
    frame_features: bool = True,
    commit_seconds: float = 20.0,
    progress: Callable[[Added], None] | None = None,
    wait: bool = True,
    waiting: Callable[[], None] | None = None,
) -> Added:
    """As `ingest.add`, on a cluster. All its nodes must find the videos by the same path or URI."""
    split, uri = split_name(split), record.uri if record.folder is None else str(record.folder.absolute())
    added = Added(len(sources), sum(map(size_of, sources)))
    with cluster.connected() as ray, record.writing(wait=wait, waiting=waiting):
        rate, threads = agreed_fps(record, encoder, fps), max(1, int(cluster.cpus))
        job = Job(uri, record.storage_options, encoder.name, rate, split, frame_features, threads)
        run = _RayRun(ray, cluster, job, record)
        commit_shards(record, run, sources, added, commit_seconds=commit_seconds, progress=progress)
    if added.added:
        tidy_after_add(record, delete_unused=True)
    return added


class _RayRun:
    """The tasks of one add, and what comes of them, in the order of the sources."""

    def __init__(self, ray: Any, cluster: Cluster, job: Job, record: Record) -> None:
        self._ray, self._cluster, self._record = ray, cluster, record
        self._job = job  # goes with every task: an object of its own would die with the node that has it
        self._plan = cluster.remote(ray, planned, light=True)
        self._encode, self._look = cluster.remote(ray, encoded), cluster.remote(ray, first_facts)
        self._encode_one = cluster.remote(ray, encoded, attempts=2)
        self._under_way: deque[tuple[list[Step], list[PendingClip], Any]] = deque()
        self._planned_ids: set[str] = set()
        self._counted, self._places = 0.0, 1
        self._appender = Appender(record)

    def shards(self, sources: Sequence[SourceVideo]) -> Generator[Shard]:
        try:
            yield from self._done(sources)
        finally:
            for _, _, task in self._under_way:
                if task is not None:
                    self._ray.cancel(task, force=False)

    def commit(self, shards: Sequence[Shard]) -> int:
        fragments = [fragment for shard in shards for fragment in shard.fragments]
        return self._appender.append_fragments(fragments, [clip for shard in shards for clip in shard.ids])

    def _done(self, sources: Sequence[SourceVideo]) -> Iterator[Shard]:
        others: list[Step] = []
        clips: list[PendingClip] = []
        for step in self._steps(sources):
            if isinstance(step, PendingClip):
                if not clips and not self._record.exists() and not self._begin(step):
                    yield self._singly([step])
                    continue
                clips.append(step)
            else:
                others.append(step)
            if len(clips) >= self._cluster.clips or len(others) >= PLANNED_FILES:
                self._submit(others, clips)
                others, clips = [], []
            while len(self._under_way) > self._ahead(AHEAD):
                yield self._finished()
        self._submit(others, clips)
        while self._under_way:
            yield self._finished()

    def _ahead(self, tasks: int) -> int:
        """So many tasks for each place that the cluster has now."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._counted, self._places = time.monotonic(), self._cluster.places(self._ray)
        return tasks * self._places

    def _steps(self, sources: Sequence[SourceVideo]) -> Iterator[Step]:
        """What is to be done, planned by tasks a little ahead; of clips that are there twice, the first."""
        left = iter(sources)
        plans: deque[Any] = deque()
        while True:
            while len(plans) < self._ahead(2):
                batch = list(islice(left, PLANNED_FILES))
                if not batch:
                    break
                plans.append((batch, self._plan.remote(self._job, batch)))
            if not plans:
                return
            for step in self._planned(*plans.popleft()):
                if isinstance(step, PendingClip) and str(step.entry.clip.id) in self._planned_ids:
                    yield PresentClips(step.file, 1, step.size)
                    continue
                if isinstance(step, PendingClip):
                    self._planned_ids.add(str(step.entry.clip.id))
                yield step

    def _planned(self, batch: Sequence[SourceVideo], task: Any) -> list[Step]:
        try:
            return list(self._got(task))
        except _WorkersDied as error:
            if len(batch) == 1:
                return [Failure(str(batch[0].file), f"{batch[0].file}: {error}", batch[0].size or 0)]
            halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            return [s for half in halves for s in self._planned(half, self._plan.remote(self._job, half))]

    def _begin(self, clip: PendingClip) -> bool:
        """Make the sea, empty, as the first clip that can be read tells; false if this one cannot be."""
        try:
            facts = self._got(self._look.remote(self._job, clip))
        except _WorkersDied:
            return False
        if facts is not None:
            self._appender.create(schema(facts).empty_table())
        return facts is not None

    def _submit(self, others: list[Step], clips: list[PendingClip]) -> None:
        if others or clips:
            task = self._encode.remote(self._job, clips) if clips else None
            self._under_way.append((others, clips, task))

    def _finished(self) -> Shard:
        others, clips, task = self._under_way.popleft()
        try:
            shard = self._got(task) if task is not None else Shard()
        except _WorkersDied:
            shard = self._singly(clips)
        first = Shard()
        for step in others:
            first.add(step, step if isinstance(step, Failure) else None)
        return replace(shard, outcomes=[*first.outcomes, *shard.outcomes], updates=first.updates)

    def _singly(self, clips: Sequence[PendingClip]) -> Shard:
        """Clips on their own, where together they killed every worker that tried: some may be good."""
        whole = Shard()
        tasks = [(clip, self._encode_one.remote(self._job, [clip])) for clip in clips]
        for clip, task in tasks:
            try:
                shard = self._got(task)
            except _WorkersDied as error:
                reason = Failure(clip.file, f"{clip.file}: {error}", clip.size)
                shard = Shard([(clip, reason)])
            whole.outcomes += shard.outcomes
            whole.fragments += shard.fragments
            whole.ids += shard.ids
        return whole

    def _got(self, task: Any) -> Any:
        """What a task gives; its own errors as they are, one line where its workers died."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(task)
        except RayTaskError as error:
            if isinstance(error.cause, SeasyncError):
                raise error.cause from None
            raise SeaError(f"a task on the cluster failed: {str(error).strip().splitlines()[-1]}") from error
        except RayError as error:
            raise _WorkersDied(f"every worker that tried it died ({type(error).__name__})") from error


class _WorkersDied(SeaError):
    """A task was tried as often as allowed."""
