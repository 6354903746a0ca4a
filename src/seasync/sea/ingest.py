"""Adding to a sea: plan the clips, encode them, commit their rows.

A run does the work, in this process, in several, or on a cluster (`on_ray`), and gives it in shards, in the
order of the sources; `bring` commits them every so often. All it needs to go on after an interruption is the
record itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from seasync.errors import SeaError
from seasync.sea.commit import Appender
from seasync.sea.encode import damage_to, here, pooled
from seasync.sea.maintenance import tidy, tidy_after_add
from seasync.sea.plan import Failure, Known, Present, Step, plan, size_of, split_name
from seasync.sea.rows import FORMAT, About, Row
from seasync.sea.sources import Source

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoding import Encoding
    from seasync.sea.record import Record

COMMIT_ROWS = 512
TIDY_COMMITS = 64


@dataclass
class Added:
    """How an add is going, and how it went.

    files, size    number and bytes of all sources; `done` bytes are dealt with
    added          clips that came in, with their `seconds` of footage; `present` were there already
    failed         what could not be added, with reasons
    damaged        what was read only in part, and is in as far as it goes
    """

    files: int = 0
    size: int = 0
    done: int = 0
    added: int = 0
    present: int = 0
    seconds: float = 0.0
    failed: list[Failure] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def note(self, step: Step, outcome: float | Failure | None) -> None:
        """Count a step: so many seconds came in, or it failed, or there was nothing to do."""
        self.done += step.size
        if isinstance(outcome, float):
            self.added += 1
            self.seconds += outcome
        elif isinstance(outcome, Failure):
            self.failed.append(outcome)
        elif isinstance(step, Present):
            self.present += step.clips

    def came_twice(self, clips: int) -> None:
        """Count clips that another writer brought first as what they are."""
        self.added, self.present = self.added - clips, self.present + clips


@dataclass
class Shard:
    """Steps that were done together: with each the seconds that came in, or why not.

    rows       that came of them, to be written; or
    fragments  written for the clips `ids`, to be committed
    """

    outcomes: list[tuple[Step, float | Failure | None]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    fragments: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def note(self, step: Step, outcome: Row | Failure | None) -> None:
        if isinstance(outcome, Row):
            self.rows.append(outcome)
        self.outcomes.append((step, outcome.duration if isinstance(outcome, Row) else outcome))


class Run(Protocol):
    """Whoever does the work of an add."""

    def shards(self, sources: Sequence[Source]) -> Generator[Shard]:
        """What comes of the sources, in their order. Closed early, it stops."""
        ...

    def commit(self, shards: Sequence[Shard]) -> int:
        """Bring shards into the record, in one commit; how many clips are new."""
        ...


def add(
    record: Record,
    sources: Sequence[Source],
    encoder: Encoder,
    *,
    split: str | float = "none",
    fps: float | None = None,
    frame_features: bool = True,
    jobs: int = 1,
    **how: Any,
) -> Added:
    """Add what is missing of `sources`; see `Sea.add`."""
    split = split_name(split)

    def run() -> Run:
        return _Here(record, encoder, agreed_fps(record, encoder, fps), split, frame_features, jobs)

    added = bring(record, sources, run, **how)
    if added.added:
        tidy_after_add(record)
    return added


def bring(
    record: Record,
    sources: Sequence[Source],
    run: Callable[[], Run],
    *,
    commit_seconds: float = 20.0,
    progress: Callable[[Added], None] | None = None,
    wait: bool = True,
    waiting: Callable[[], None] | None = None,
) -> Added:
    """Commit what the run gives. Whatever ends it, Ctrl-C included: what is encoded is kept."""
    added = Added(len(sources), sum(map(size_of, sources)))
    with record.writing(wait=wait, waiting=waiting), damage_to(added.damaged):
        running = run()
        commits = _Commits(running, added, commit_seconds)
        try:
            with closing(running.shards(sources)) as shards:
                for shard in shards:
                    commits.take(shard)
                    if progress:
                        progress(added)
        finally:
            commits.flush()
    return added


class _Commits:
    """Shards on their way into the record, and the counts."""

    def __init__(self, run: Run, added: Added, seconds: float) -> None:
        self._run, self._added, self._seconds = run, added, seconds
        self._pending: list[Shard] = []
        self._last = time.monotonic()

    def take(self, shard: Shard) -> None:
        for step, outcome in shard.outcomes:
            self._added.note(step, outcome)
        self._added.damaged += shard.damaged
        if shard.rows or shard.fragments:
            self._pending.append(shard)
        rows = sum(len(each.rows) for each in self._pending)
        if rows >= COMMIT_ROWS or time.monotonic() - self._last > self._seconds:
            self.flush()

    def flush(self) -> None:
        shards, self._pending = self._pending, []
        self._last = time.monotonic()
        if shards:
            clips = sum(len(each.rows) + len(each.ids) for each in shards)
            self._added.came_twice(clips - self._run.commit(shards))


class _Here:
    """The work done on this machine, clip by clip."""

    def __init__(
        self, record: Record, encoder: Encoder, fps: float, split: str, frame_features: bool, jobs: int
    ) -> None:
        self._record, self._encoder, self._fps, self._split = record, encoder, fps, split
        self._frame_features, self._jobs = frame_features, jobs
        self._appender = Appender(record)
        self._commits = 0

    def shards(self, sources: Sequence[Source]) -> Generator[Shard]:
        steps = plan(sources, self._split, Known(self._record))
        if self._jobs == 1:
            outcomes = here(steps, self._encoder, self._fps)
        else:
            outcomes = pooled(steps, self._encoder.name, self._fps, self._jobs)
        with closing(outcomes):
            for step, outcome in outcomes:
                shard = Shard()
                shard.note(step, outcome)
                yield shard

    def commit(self, shards: Sequence[Shard]) -> int:
        rows = [row for shard in shards for row in shard.rows]
        if self._record.exists():
            about = self._record.snapshot().about
        else:
            about = about_of(self._encoder, self._fps, rows[0].encoding)
        new = self._appender.append(rows, about, frame_features=self._frame_features)
        self._commits += 1
        if self._commits % TIDY_COMMITS == 0:
            tidy(self._record)
        return new


def about_of(encoder: Encoder, fps: float, encoding: Encoding) -> About:
    """What a sea is that holds such encodings."""
    streams = tuple((stream.name, stream.features.shape[1]) for stream in encoding.streams)
    return About(FORMAT, encoder.name, encoder.fingerprint, fps, streams, len(encoding.trajectory))


def agreed_fps(record: Record, encoder: Encoder, fps: float | None) -> float:
    """The sea's own rate; of a new one what is asked for, or the encoder's."""
    if not record.exists():
        return fps or encoder.fps
    about = record.snapshot().about
    if fps and fps != about.fps:
        raise SeaError(
            f"{record.uri}: sampled at {about.fps:g} fps, not {fps:g}; leave --fps out, or make a new sea"
        )
    return about.fps
