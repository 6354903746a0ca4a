"""Adding on a Ray cluster: tasks plan, encode and write fragments; the driver commits them, in order, once.

A task is a pure function of its shard: run again after its worker or node died, it writes other files, and
those of the first try, which nobody commits, are swept when no one writes. All that a driver needs to go on
after an interruption is the record itself.
"""

import math
import os
import socket
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import lance
import numpy as np

from seasync import encoders
from seasync.encoding import Floats
from seasync.errors import MissingExtra, SeaError, SeasyncError
from seasync.files.store import add_storage_options
from seasync.ranking import Moments
from seasync.sea import index, ingest, snapshot
from seasync.sea.ingest import Failure, PendingClip, Shard, Step
from seasync.sea.record import Appender, Record
from seasync.sea.rows import Row, SeaFacts, matrix, schema, to_table
from seasync.sea.sources import SourceVideo

CONNECT_SECONDS = 5
ATTEMPTS = 4  # of a task whose worker or node dies
AUTHENTICATION = "RAY_AUTH_MODE"
# Ray's own words name options of its programs, which ours have not.
NONE_HERE = (
    "no Ray cluster runs on this machine; start one with `ray start --head`, or say ray (one started for "
    "this work alone) or ray://HOST:PORT (one elsewhere)"
)


def _check_answers(address: str) -> None:
    """Raise SeaError at once where nobody listens; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise SeaError(f"{address}: no Ray cluster answers there ({error.strerror or error})") from error


def _connect(ray: Any, address: str, local_cpus: int) -> None:
    """Connect, in several attempts.

    Ray's server for clients (ray://) forks a process for each of them while other threads run. Such a process
    may hang before it begins; Ray gives up on it after half a minute, and the next one comes up.
    """
    started_here = {"num_cpus": local_cpus, "include_dashboard": False} if address == "local" else {}
    for left in reversed(range(ATTEMPTS)):
        try:
            with warnings.catch_warnings():  # Ray's processes are programs of their own, not forks
                warnings.filterwarnings("ignore", "lance is not fork-safe")
                ray.init(address, log_to_driver=False, logging_level="error", **started_here)
            return
        except ConnectionAbortedError:
            if not left:
                raise
            ray.shutdown()


@contextmanager
def _authentication_as_it_was() -> Iterator[None]:
    """Take back what Ray leaves in the environment when it starts a cluster: that its tokens are to be used.

    A driver that asks for tokens on a cluster without them can run tasks, but no actors: it refuses the calls
    of the cluster's head, which then takes it for dead.
    """
    before = os.environ.get(AUTHENTICATION)
    try:
        yield
    finally:
        if before is None and os.environ.pop(AUTHENTICATION, None) is not None:
            from ray._raylet import Config  # type: ignore[attr-defined]

            Config.initialize("")  # as Ray itself does when it has set it


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, and what one task takes of it.

    Attributes
    ----------
    on
        ``"ray"``: a cluster started on this machine for this work alone; ``"auto"``: the one that runs on
        this machine (for both, RAY_ADDRESS goes first); ``"ray://HOST:PORT"`` or ``"HOST:PORT"``: that one.
    tasks
        How many tasks run at a time, at most. 0: as many as there is room for.
    cpus
        CPU cores per task, and threads of its encoder.
    gpus
        GPUs per task; fractions are allowed.
    clips
        How many clips one task encodes.
    """

    on: str = "ray"
    tasks: int = 0
    cpus: float = 1
    gpus: float = 0
    clips: int = 32

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect to Ray; a cluster that this starts ends with the block.

        Raises
        ------
        SeaError
            If there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "work on a cluster") from None
        if ray.is_initialized():
            yield ray
            return
        named = os.environ.get("RAY_ADDRESS") if self.on in ("ray", "auto") else None
        cpus = self.tasks * self.cpus if self.tasks else os.cpu_count() or 1
        address = named or ("local" if self.on == "ray" else self.on)
        _check_answers(address)
        with _authentication_as_it_was():
            try:
                _connect(ray, address, max(1, math.ceil(cpus)))
            except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
                said = " ".join(str(error).split())[:200]
                none = NONE_HERE if address == "auto" else f"no Ray cluster answers there ({said})"
                raise SeaError(f"{address}: {none}") from error
            try:
                yield ray
            finally:
                ray.shutdown()

    def places(self, ray: Any) -> int:
        """How many tasks the cluster has room for at this moment."""
        there = ray.cluster_resources()
        room = there.get("CPU", 0) // self.cpus if self.cpus else float("inf")
        if self.gpus:
            room = min(room, there.get("GPU", 0) // self.gpus)
        return max(1, int(min(room, self.tasks or room)))

    def remote(self, ray: Any, function: Any, *, attempts: int = ATTEMPTS, light: bool = False) -> Any:
        """Make a function a task. Its process is used again, with the encoder it has loaded.

        A `light` task reads files and needs no GPU.
        """
        return ray.remote(
            num_cpus=self.cpus, num_gpus=0 if light else self.gpus, max_retries=attempts - 1, max_calls=0
        )(function)


PLANNED_FILES = 8  # files that one task looks into
GLIMPSE_SECONDS = 0.5  # of a first clip, to tell what an encoder makes
# Shards under way for each place: what waits is there when a place is free, and makes a cluster grow.
AHEAD = 3
COUNT_SECONDS = 5.0  # between looks at how large the cluster is
SAMPLES = 256  # vectors for each center of an index that is trained


Known = ingest.PresentClips | Failure  # steps that need no task


@dataclass(frozen=True)
class Task:
    """What a worker must know to do its part."""

    uri: str
    storage_options: dict[str, str]
    encoder: str
    making: ingest.Making
    threads: int

    def record(self) -> Record:
        """The sea, on a worker, with the options also for videos."""
        os.environ["SEASYNC_THREADS"] = str(self.threads)
        add_storage_options(self.storage_options)
        return Record(self.uri, storage_options=self.storage_options)

    def outcomes(self, clips: Iterable[PendingClip]) -> ingest.Outcomes:
        """On a worker: encode clips."""
        return ingest.encode_here(iter(clips), encoders.get_encoder(self.encoder), self.making.fps)


def planned(task: Task, sources: Sequence[SourceVideo]) -> list[Step]:
    """On a worker: what is to be done about these videos, as far as the sea itself tells."""
    record, contents = task.record(), {}
    for source in sources:
        try:
            contents[str(source.file)] = encoders.content_hash(str(source.file))
        except (SeasyncError, OSError):
            continue  # `plan` reports it
    asked = sorted(set(contents.values()))
    known = ingest.KnownClips(record, snapshot.one_of("content", asked) if asked else "false")
    return list(ingest.plan(sources, task.making, known, encoders.get_encoder(task.encoder), contents))


def first_facts(task: Task, clip: PendingClip) -> SeaFacts | None:
    """On a worker: the facts of a sea that begins with this clip; None if it cannot be read."""
    task.record()
    whole = clip.entry.clip
    end = whole.start + min(clip.entry.duration, GLIMPSE_SECONDS)
    glimpse = replace(clip, entry=replace(clip.entry, clip=replace(whole, end=end)))
    ((_, outcome),) = task.outcomes([glimpse])
    if not isinstance(outcome, Row):
        return None
    return SeaFacts.of(encoders.get_encoder(task.encoder).name, task.making.fps, outcome.encoding)


def encoded(task: Task, clips: Sequence[PendingClip]) -> Shard:
    """On a worker: encode these clips and write their rows, where nobody sees them yet."""
    record, shard = task.record(), Shard()
    for step, outcome in task.outcomes(clips):
        shard.add(step, outcome)
    if shard.rows:
        table = to_table(shard.rows, record.snapshot().facts, frame_features=task.making.frame_features)
        shard.fragments, shard.ids = record.write_fragments(table), table["id"].to_pylist()
    return replace(shard, rows=[])


class RayRun:
    """The tasks of one add, and what comes of them, in the order of the sources.

    All nodes of the cluster must find the videos by the same path or URI.
    """

    def __init__(
        self, ray: Any, cluster: Cluster, record: Record, encoder: str, making: ingest.Making
    ) -> None:
        self._ray, self._cluster, self._record = ray, cluster, record
        uri = record.uri if record.folder is None else str(record.folder.absolute())
        # It goes with every call: an object of its own would die with the node that has it.
        self._task = Task(uri, record.storage_options, encoder, making, max(1, int(cluster.cpus)))
        self._plan = cluster.remote(ray, planned, light=True)
        self._encode, self._look = cluster.remote(ray, encoded), cluster.remote(ray, first_facts)
        self._encode_one = cluster.remote(ray, encoded, attempts=2)
        self._under_way: deque[tuple[list[Known], list[PendingClip], Any]] = deque()
        self._planned_ids: set[str] = set()
        self._counted, self._places = 0.0, 1
        self._appender = Appender(record)

    def shards(self, sources: Sequence[SourceVideo]) -> Generator[Shard]:
        """What comes of the videos, in their order. Closed early, it stops."""
        try:
            yield from self._done(sources)
        finally:
            for _, _, work in self._under_way:
                if work is not None:
                    self._ray.cancel(work, force=False)

    def commit(self, shards: Sequence[Shard]) -> int:
        """Write the clips of shards into the record, in one commit; returns how many are new."""
        fragments = [fragment for shard in shards for fragment in shard.fragments]
        return self._appender.append_fragments(fragments, [clip for shard in shards for clip in shard.ids])

    def _done(self, sources: Sequence[SourceVideo]) -> Iterator[Shard]:
        others: list[Known] = []
        clips: list[PendingClip] = []
        for step in self._steps(sources):
            if isinstance(step, PendingClip):
                if not clips and not self._record.exists() and not self._begin(step):
                    yield from self._singly([step])
                    continue
                clips.append(step)
            else:
                others.append(step)
            if len(clips) >= self._cluster.clips or len(others) >= PLANNED_FILES:
                self._submit(others, clips)
                others, clips = [], []
            while len(self._under_way) > self._ahead(AHEAD):
                yield from self._finished()
        self._submit(others, clips)
        while self._under_way:
            yield from self._finished()

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
            while len(plans) < self._ahead(2) and (batch := list(islice(left, PLANNED_FILES))):
                plans.append((batch, self._plan.remote(self._task, batch)))
            if not plans:
                return
            for step in self._planned(*plans.popleft()):
                if isinstance(step, PendingClip):
                    if str(step.entry.clip.id) in self._planned_ids:
                        yield ingest.PresentClips(1, step.size)
                        continue
                    self._planned_ids.add(str(step.entry.clip.id))
                yield step

    def _planned(self, batch: Sequence[SourceVideo], work: Any) -> list[Step]:
        try:
            return list(self._result(work))
        except _WorkersDied as error:
            if len(batch) == 1:
                return [Failure(str(batch[0].file), f"{batch[0].file}: {error}", batch[0].size or 0)]
            halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
            return [s for half in halves for s in self._planned(half, self._plan.remote(self._task, half))]

    def _begin(self, clip: PendingClip) -> bool:
        """Make the sea, empty, as the first clip that can be read tells; false if this one cannot be."""
        try:
            facts = self._result(self._look.remote(self._task, clip))
        except _WorkersDied:
            return False
        if facts is not None:
            self._appender.create(schema(facts).empty_table())
        return facts is not None

    def _submit(self, others: list[Known], clips: list[PendingClip]) -> None:
        if others or clips:
            work = self._encode.remote(self._task, clips) if clips else None
            self._under_way.append((others, clips, work))

    def _finished(self) -> Iterator[Shard]:
        steps, clips, work = self._under_way.popleft()
        others = Shard()
        for step in steps:
            others.add(step, step)
        yield others
        if work is None:
            return
        try:
            yield self._result(work)
        except _WorkersDied:
            yield from self._singly(clips)

    def _singly(self, clips: Sequence[PendingClip]) -> Iterator[Shard]:
        """Clips on their own, where together they killed every worker that tried: some may be good."""
        for clip, work in [(clip, self._encode_one.remote(self._task, [clip])) for clip in clips]:
            try:
                yield self._result(work)
            except _WorkersDied as error:
                shard = Shard()
                shard.add(clip, Failure(clip.file, f"{clip.file}: {error}", clip.size))
                yield shard

    def _result(self, work: Any) -> Any:
        """What a task gives; its own errors as they are, one line where its workers died."""
        from ray.exceptions import RayError, RayTaskError

        try:
            return self._ray.get(work)
        except RayTaskError as error:
            if isinstance(error.cause, SeasyncError):
                raise error.cause from None
            raise SeaError(f"a task on the cluster failed: {str(error).strip().splitlines()[-1]}") from error
        except RayError as error:
            raise _WorkersDied(f"every worker that tried it died ({type(error).__name__})") from error


class _WorkersDied(SeaError):
    """A task was tried as often as allowed."""


def build_index(ray: Any, cluster: Cluster, record: Record, kind: str, column: str, rows: int) -> index.Index:
    """The index of a sea, built on the cluster by fragments; each step is one commit."""
    try:
        from lance_ray import create_index
    except ImportError:
        raise MissingExtra("ray", "an index built on a cluster") from None

    first = record.snapshot().table(["mean"], limit=1)
    if not len(first):
        raise SeaError(f"{record.uri}: the sea is empty; there is nothing to index")
    dataset, origin = record.open(), matrix(first["mean"])[0]
    fragments = dataset.get_fragments()
    count = min(len(fragments), 4 * cluster.places(ray))
    shares = np.array_split(np.array([each.fragment_id for each in fragments]), count)

    def of_all(function: Any, given: Any) -> list[Any]:
        """What `function` makes of each share of the fragments, in tasks."""
        task = cluster.remote(ray, _of_share, light=True)
        place = record.uri, record.storage_options, dataset.version
        return list(ray.get([task.remote(function, place, numbers.tolist(), given) for numbers in shares]))

    with _plain_errors():
        whole = Moments(origin.astype(np.float64))
        for part in of_all(_moments, origin):
            whole = whole.with_those_of(part)
        made = index.Index(kind, column, whole.standard())
        done = [pair for part in of_all(_with_vectors, made) for pair in part]
        if sum(each.physical_rows for each, _ in done) != sum(each.physical_rows for each in fragments):
            raise SeaError(f"{record.uri}: not all rows have a vector; nothing is committed, run it again")
        merge = lance.LanceOperation.Merge([fragment for fragment, _ in done], done[0][1])
        lance.LanceDataset.commit(dataset, merge, read_version=dataset.version)
        partitions, again = index.partitions(rows), ATTEMPTS - 1
        create_index(
            record.uri,
            column,
            index.KINDS[kind],
            metric="dot",
            num_partitions=partitions,
            sample_rate=max(2, min(SAMPLES, rows // max(partitions, 256))),
            num_workers=cluster.places(ray),
            storage_options=record.storage_options or None,
            ray_remote_args={"num_cpus": cluster.cpus, "max_restarts": again, "max_task_retries": again},
            **index.quantization(kind, record.open().schema.field(column).type.list_size),
        )
    return made


def _of_share(
    function: Any, place: tuple[str, dict[str, str], int], numbers: Sequence[int], given: Any
) -> Any:
    """On a worker: what a function makes of these fragments of the sea at a place."""
    uri, options, version = place
    dataset = lance.dataset(uri, version=version, storage_options=options or None)
    return function([dataset.get_fragment(number) for number in numbers], given)


def _moments(fragments: Sequence[Any], origin: Floats) -> Moments:
    found = Moments(origin.astype(np.float64))
    for fragment in fragments:
        for batch in fragment.to_batches(columns=["mean"]):
            found.take(matrix(batch["mean"]))
    return found


def _with_vectors(fragments: Sequence[Any], made: index.Index) -> list[tuple[Any, Any]]:
    vectors = index.vectors_of(made, fragments[0].schema)
    return [each.merge_columns(vectors, columns=["mean", "trajectory"]) for each in fragments]


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors of Ray and its workers as one line."""
    from ray.exceptions import RayError

    try:
        yield
    except (RayError, RuntimeError) as error:
        text = str(error).strip()
        said = text.splitlines()[-1].strip()
        if "references to the actor were removed" in text:
            said += "; if the cluster has no tokens: set RAY_AUTH_MODE=disabled"
        raise SeaError(
            f"the cluster could not build the index ({said}); the old one is in use, run it again"
        ) from error
