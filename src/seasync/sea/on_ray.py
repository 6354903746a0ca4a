"""Adding on a Ray cluster: tasks plan, encode and write fragments; the driver commits them, in order, once.

A task is a pure function of its shard: run again after its worker or node died, it writes other files, and
those of the first try, which nobody commits, are swept when no one writes. All that a driver needs to go on
after an interruption is the record itself.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from seasync.errors import SeaError, SeasyncError
from seasync.files.objects import add_storage_options
from seasync.sea.cluster import Cluster
from seasync.sea.commit import Appender
from seasync.sea.encode import damage_to, here
from seasync.sea.ingest import Added, Run, Shard, about_of, agreed_fps, bring
from seasync.sea.maintenance import tidy_after_add
from seasync.sea.plan import Failure, Known, Present, Step, Work, plan, split_name
from seasync.sea.record import Record
from seasync.sea.rows import About, Row, schema, to_table
from seasync.sea.snapshot import one_of

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.sea.sources import Source

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


def planned(job: Job, sources: Sequence[Source]) -> list[Step]:
    """On a worker: what is to be done about these files, as far as the sea itself tells."""
    from seasync.encoders import content_hash

    record, contents = job.record(), {}
    for source in sources:
        try:
            contents[str(source.file)] = content_hash(str(source.file))
        except (SeasyncError, OSError):
            continue  # the plan will come upon it and say so
    asked = sorted(set(contents.values()))
    known = Known(record, one_of("content", asked) if asked else "false")
    return list(plan(sources, job.split, known, contents))


def looked_at(job: Job, work: Work) -> About | None:
    """On a worker: what a sea would be that begins with this clip; None if it cannot be read."""
    from seasync.encoders import get_encoder

    job.record()
    encoder = get_encoder(job.encoder)
    end = work.clip.start + min(work.duration, GLIMPSE_SECONDS)
    glimpse = replace(work, clip=replace(work.clip, end=end))
    ((_, outcome),) = here(iter([glimpse]), encoder, job.fps)
    return about_of(encoder, job.fps, outcome.encoding) if isinstance(outcome, Row) else None


def encoded(job: Job, works: Sequence[Work]) -> Shard:
    """On a worker: encode these clips and write their rows, where nobody sees them yet."""
    from seasync.encoders import get_encoder

    record, shard = job.record(), Shard()
    with damage_to(shard.damaged):
        for step, outcome in here(iter(works), get_encoder(job.encoder), job.fps):
            shard.note(step, outcome)
    if shard.rows:
        table = to_table(shard.rows, record.snapshot().about, frame_features=job.frame_features)
        shard.fragments, shard.ids = record.write_fragments(table)
    return replace(shard, rows=[])


def add(
    cluster: Cluster,
    record: Record,
    sources: Sequence[Source],
    encoder: Encoder,
    *,
    split: str | float = "none",
    fps: float | None = None,
    frame_features: bool = True,
    **how: Any,
) -> Added:
    """As `ingest.add`, on a cluster. Files must lie where all its nodes find them, by path or URI."""
    split, uri = split_name(split), record.uri if record.folder is None else str(record.folder.absolute())

    def run() -> Run:
        rate, threads = agreed_fps(record, encoder, fps), max(1, int(cluster.cpus))
        job = Job(uri, record.storage_options, encoder.name, rate, split, frame_features, threads)
        return _Run(ray, cluster, job, record)

    with cluster.joined() as ray:
        added = bring(record, sources, run, **how)
    if added.added:
        tidy_after_add(record, delete_unused=True)
    return added


class _Run:
    """The tasks of one add, and what comes of them, in the order of the sources."""

    def __init__(self, ray: Any, cluster: Cluster, job: Job, record: Record) -> None:
        self._ray, self._cluster, self._record = ray, cluster, record
        self._job = job  # goes with every task: an object of its own would die with the node that has it
        self._plan = cluster.remote(ray, planned, light=True)
        self._encode, self._look = cluster.remote(ray, encoded), cluster.remote(ray, looked_at)
        self._encode_one = cluster.remote(ray, encoded, attempts=2)
        self._under_way: deque[tuple[list[Step], list[Work], Any]] = deque()
        self._claimed: set[str] = set()
        self._counted, self._places = 0.0, 1
        self._appender = Appender(record)

    def shards(self, sources: Sequence[Source]) -> Generator[Shard]:
        try:
            yield from self._done(sources)
        finally:
            for _, _, task in self._under_way:
                if task is not None:
                    self._ray.cancel(task, force=False)

    def commit(self, shards: Sequence[Shard]) -> int:
        fragments = [fragment for shard in shards for fragment in shard.fragments]
        return self._appender.append_fragments(fragments, [clip for shard in shards for clip in shard.ids])

    def _done(self, sources: Sequence[Source]) -> Iterator[Shard]:
        others: list[Step] = []
        works: list[Work] = []
        for step in self._steps(sources):
            if isinstance(step, Work):
                if not works and not self._record.exists() and not self._begin(step):
                    yield self._singly([step])
                    continue
                works.append(step)
            else:
                others.append(step)
            if len(works) >= self._cluster.clips or len(others) >= PLANNED_FILES:
                self._submit(others, works)
                others, works = [], []
            while len(self._under_way) > self._ahead(AHEAD):
                yield self._finished()
        self._submit(others, works)
        while self._under_way:
            yield self._finished()

    def _ahead(self, tasks: int) -> int:
        """So many tasks for each place that the cluster has now."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            self._counted, self._places = time.monotonic(), self._cluster.places(self._ray)
        return tasks * self._places

    def _steps(self, sources: Sequence[Source]) -> Iterator[Step]:
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
                if isinstance(step, Work) and str(step.clip.id) in self._claimed:
                    yield Present(step.clip.file, 1, step.size)
                    continue
                if isinstance(step, Work):
                    self._claimed.add(str(step.clip.id))
                yield step

    def _planned(self, batch: Sequence[Source], task: Any) -> list[Step]:
        try:
            return list(self._got(task))
        except _WorkersDied as error:
            if len(batch) == 1:
                return [Failure(str(batch[0].file), f"{batch[0].file}: {error}", batch[0].size or 0)]
            halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            return [s for half in halves for s in self._planned(half, self._plan.remote(self._job, half))]

    def _begin(self, work: Work) -> bool:
        """Make the sea, empty, as the first clip that can be read tells; false if this one cannot be."""
        try:
            about = self._got(self._look.remote(self._job, work))
        except _WorkersDied:
            return False
        if about is not None:
            self._appender.create(schema(about).empty_table())
        return about is not None

    def _submit(self, others: list[Step], works: list[Work]) -> None:
        if others or works:
            task = self._encode.remote(self._job, works) if works else None
            self._under_way.append((others, works, task))

    def _finished(self) -> Shard:
        others, works, task = self._under_way.popleft()
        try:
            shard = self._got(task) if task is not None else Shard()
        except _WorkersDied:
            shard = self._singly(works)
        outcomes = [(step, step if isinstance(step, Failure) else None) for step in others]
        return replace(shard, outcomes=[*outcomes, *shard.outcomes])

    def _singly(self, works: Sequence[Work]) -> Shard:
        """Clips on their own, where together they killed every worker that tried: some may be good."""
        whole = Shard()
        tasks = [(work, self._encode_one.remote(self._job, [work])) for work in works]
        for work, task in tasks:
            try:
                shard = self._got(task)
            except _WorkersDied as error:
                reason = Failure(work.clip.file, f"{work.clip.file}: {error}", work.size)
                shard = Shard([(work, reason)])
            whole.outcomes += shard.outcomes
            whole.fragments += shard.fragments
            whole.ids += shard.ids
            whole.damaged += shard.damaged
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
