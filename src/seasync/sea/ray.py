"""Adding on a Ray cluster: tasks plan, encode and write fragments; the driver commits them, in order, once.

A task is a pure function of its shard: run again after its worker or node died, it writes other files, and
those of the first try, which nobody commits, are swept when no one writes. All that a driver needs to go on
after an interruption is the record itself.
"""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seasync.errors import MissingExtra, SeaError, SeasyncError
from seasync.files.store import add_storage_options
from seasync.sea.index import KINDS, Index, partitions, quantization, vectors_of
from seasync.sea.ingest import Added, Shard, agreed_fps, commit_shards, encode_here
from seasync.sea.maintenance import tidy_after_add
from seasync.sea.plan import Failure, KnownClips, PendingClip, PresentClips, Step, plan, size_of, split_name
from seasync.sea.record import Appender, Record
from seasync.sea.rows import Row, SeaFacts, matrix, schema, to_table
from seasync.sea.snapshot import one_of
from seasync.similarity import Moments, Standard

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoding import Floats
    from seasync.sea.sources import SourceVideo


# Where Ray runs: a cluster that is there already, or one that is started on this machine and ended
# again.


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
        address = named or ("local" if self.on == "ray" else self.on)
        _check_answers(address)
        with _authentication_as_it_was():
            try:
                _connect(ray, address, self._local_cpus)
            except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
                said = " ".join(str(error).split())[:200]
                none = NONE_HERE if address == "auto" else f"no Ray cluster answers there ({said})"
                raise SeaError(f"{address}: {none}") from error
            try:
                yield ray
            finally:
                ray.shutdown()

    @property
    def _local_cpus(self) -> int:
        wanted = self.tasks * self.cpus if self.tasks else os.cpu_count() or 1
        return max(1, int(-(-wanted // 1)))

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


# The index of a sea, built on a Ray cluster: by fragments, each step with one commit.


SAMPLES = 256  # vectors for each center that is trained


def standard_on(ray: Any, cluster: Cluster, record: Record) -> Standard:
    """Mean and standard deviation of the set, by a pass of all workers."""
    first = record.snapshot().table(["mean"], limit=1)
    if not len(first):
        raise SeaError(f"{record.uri}: the sea is empty; there is nothing to index")
    origin = matrix(first["mean"])[0]
    task = cluster.remote(ray, _moments, light=True)
    parts = [
        task.remote(record.uri, record.storage_options, record.snapshot().version, numbers, origin)
        for numbers in _shares(ray, cluster, record)
    ]
    whole = Moments(origin.astype(np.float64))
    for part in _got(ray, parts):
        whole = whole.with_those_of(part)
    return whole.standard()


def write_vectors_on(ray: Any, cluster: Cluster, record: Record, index: Index) -> None:
    """The index's column, written beside each fragment by tasks, in one commit."""
    import lance
    from lance.dataset import LanceOperation

    dataset = record.open()
    task = cluster.remote(ray, _with_vectors, light=True)
    parts = [
        task.remote(record.uri, record.storage_options, dataset.version, numbers, index)
        for numbers in _shares(ray, cluster, record)
    ]
    done = [pair for part in _got(ray, parts) for pair in part]
    rows = sum(fragment.physical_rows for fragment, _ in done)
    if rows != sum(fragment.physical_rows for fragment in dataset.get_fragments()):
        raise SeaError(f"{record.uri}: not all rows have a vector; nothing is committed, run it again")
    operation = LanceOperation.Merge([fragment for fragment, _ in done], done[0][1])
    lance.LanceDataset.commit(dataset, operation, read_version=dataset.version)


def create_on(ray: Any, cluster: Cluster, record: Record, index: Index, rows: int) -> None:
    """Train the index and fill it, segment by segment, on the cluster; one commit."""
    try:
        from lance_ray import create_index
    except ImportError:
        raise MissingExtra("ray", "an index built on a cluster") from None
    from ray.exceptions import RayError

    centres, again = partitions(rows), ATTEMPTS - 1
    dimension = record.open().schema.field(index.column).type.list_size
    try:
        create_index(
            record.uri,
            index.column,
            KINDS[index.kind],
            metric="dot",
            num_partitions=centres,
            sample_rate=max(2, min(SAMPLES, rows // max(centres, 256))),
            num_workers=cluster.places(ray),
            storage_options=record.storage_options or None,
            ray_remote_args={"num_cpus": cluster.cpus, "max_restarts": again, "max_task_retries": again},
            **quantization(index.kind, dimension),
        )
    except (RayError, RuntimeError) as error:
        raise _failed(error) from error


def _moments(
    uri: str, options: dict[str, str], version: int, numbers: Sequence[int], origin: Floats
) -> Moments:
    found = Moments(origin.astype(np.float64))
    dataset = _at(uri, options, version)
    for number in numbers:
        for batch in dataset.get_fragment(number).to_batches(columns=["mean"]):
            found.take(matrix(batch["mean"]))
    return found


def _with_vectors(
    uri: str, options: dict[str, str], version: int, numbers: Sequence[int], index: Index
) -> list[tuple[Any, Any]]:
    dataset = _at(uri, options, version)
    made = vectors_of(index, dataset.schema)
    return [
        dataset.get_fragment(number).merge_columns(made, columns=["mean", "trajectory"]) for number in numbers
    ]


def _at(uri: str, options: dict[str, str], version: int) -> Any:
    import lance

    return lance.dataset(uri, version=version, storage_options=options or None)


def _shares(ray: Any, cluster: Cluster, record: Record) -> list[list[int]]:
    """The numbers of the fragments, a few for each task."""
    numbers = [fragment.fragment_id for fragment in record.snapshot().dataset.get_fragments()]
    count = min(len(numbers), 4 * cluster.places(ray))
    return [part.tolist() for part in np.array_split(np.array(numbers), count)]


def _got(ray: Any, tasks: Sequence[Any]) -> list[Any]:
    from ray.exceptions import RayError

    try:
        return list(ray.get(list(tasks)))
    except RayError as error:
        raise _failed(error) from error


def _failed(error: Exception) -> SeaError:
    text = str(error).strip()
    said = text.splitlines()[-1].strip()
    if "references to the actor were removed" in text:
        said += "; if the cluster has no tokens: set RAY_AUTH_MODE=disabled"
    return SeaError(f"the cluster could not build the index ({said}); the old one is in use, run it again")
