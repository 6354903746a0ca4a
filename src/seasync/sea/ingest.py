"""Adding to a sea: plan the clips, encode them, commit their rows.

`row_of` is a pure function from one planned clip to its row and can run anywhere; `add` maps it over the plan
and commits what comes back, in the order of the plan, every so often. All it needs to go on after an
interruption is the record itself.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from seasync.errors import FeatureError, PartlyDecoded, SeaError, SeasyncError
from seasync.sea.plan import Failure, Known, Present, Step, Work, plan, size_of, split_name
from seasync.sea.rows import FORMAT, About, Row
from seasync.sea.sources import Source

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoders.encoder import TakesFrames
    from seasync.encoding import Encoding
    from seasync.sea.record import Record
    from seasync.video import Frames

Batch = tuple[tuple[int, Step], "Frames | SeasyncError | None"]
Outcomes = Generator[tuple[Step, "Row | Failure | None"]]
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


def add(
    record: Record,
    sources: Sequence[Source],
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
    """Add what is missing of `sources`; see `Sea.add`."""
    split = split_name(split)
    added = Added(len(sources), size_of_all(sources))
    with record.writing(wait=wait, waiting=waiting), damage_to(added.damaged):
        rate = agreed_fps(record, encoder, fps)
        steps = plan(sources, split, Known(record))
        outcomes = here(steps, encoder, rate) if jobs == 1 else pooled(steps, encoder.name, rate, jobs)
        commits = _Commits(record, encoder, rate, frame_features)
        try:
            for step, outcome in outcomes:
                if isinstance(outcome, Row):
                    commits.pending.append(outcome)
                added.note(step, outcome.duration if isinstance(outcome, Row) else outcome)
                if commits.due(commit_seconds):
                    commits.flush()
                if progress:
                    progress(added)
        except BaseException:  # whatever ends it, Ctrl-C included: what is encoded is kept
            commits.flush()
            raise
        finally:
            outcomes.close()
        commits.flush()
    added.came_twice(commits.twice)
    if commits.count:
        record.upkeep()
    return added


def row_of(work: Work, encoder: str, fps: float) -> tuple[Row | Failure, list[str]]:
    """Read and encode one planned clip, the same wherever it runs: its row, and what was found damaged."""
    from seasync.encoders import get_encoder

    damaged: list[str] = []
    with damage_to(damaged):
        ((_, outcome),) = here(iter([work]), get_encoder(encoder), fps)
    assert outcome is not None
    return outcome, damaged


def here(steps: Iterator[Step], encoder: Encoder, fps: float) -> Outcomes:
    """Encode clips in this process, while frames of this one and the next are read in the background."""
    from seasync.encoders import encode_clip
    from seasync.encoders.encoder import TakesFrames
    from seasync.video import ahead

    reader = encoder if isinstance(encoder, TakesFrames) else None
    batches = ahead(_batches(ahead(steps, depth=8), reader, fps), depth=4)
    for (_, step), group in groupby(batches, key=itemgetter(0)):
        if not isinstance(step, Work):
            yield step, step if isinstance(step, Failure) else None
            continue
        try:
            encoding = (
                reader.encode(_frames(group))
                if reader
                else encode_clip(step.clip, encoder, fps=fps, cache=False)
            )
            yield step, _row(step, encoding)
        except SeasyncError as error:
            yield step, _failure(step, error)


def pooled(steps: Iterator[Step], encoder: str, fps: float, jobs: int) -> Outcomes:
    """Encode clips in `jobs` processes, in order, a few clips ahead of what is asked for."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    waiting: deque[tuple[Step, Future[tuple[Row | Failure, list[str]]] | None]] = deque()
    with ProcessPoolExecutor(jobs, get_context("spawn"), _become_worker, (threads,)) as pool:
        try:
            for step in steps:
                work = pool.submit(row_of, step, encoder, fps) if isinstance(step, Work) else None
                waiting.append((step, work))
                while len(waiting) > 2 * jobs:
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _outcome(
    step: Step, work: Future[tuple[Row | Failure, list[str]]] | None
) -> tuple[Step, Row | Failure | None]:
    if work is None:
        return step, step if isinstance(step, Failure) else None
    try:
        outcome, damaged = work.result()
    except BrokenProcessPool as error:
        raise SeaError(
            f"a worker process died ({error}); what is committed is safe, try again with fewer jobs"
        ) from error
    for text in damaged:
        warnings.warn(text, PartlyDecoded, stacklevel=2)
    return step, outcome


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


def _batches(steps: Iterator[Step], encoder: TakesFrames | None, fps: float) -> Iterator[Batch]:
    """The frames of all clips one after the other, each with its numbered step, for an encoder that takes
    frames; an error in place of those that cannot be read."""
    from seasync.encoders.encode import BATCH
    from seasync.video import read

    for numbered in enumerate(steps):
        step = numbered[1]
        if encoder is None or not isinstance(step, Work):
            yield numbered, None
            continue
        clip, size, fit = step.clip, encoder.input_size, encoder.fit
        try:
            for frames in read(
                clip.file, fps=fps, start=clip.start, end=clip.end, size=size, fit=fit, batch=BATCH
            ):
                yield numbered, frames
        except SeasyncError as error:
            yield numbered, error


def _frames(group: Iterator[Batch]) -> Iterator[Frames]:
    for _, frames in group:
        if isinstance(frames, SeasyncError):
            raise frames
        if frames is not None:
            yield frames


def _row(work: Work, encoding: Encoding) -> Row:
    largest = max(float(np.abs(stream.features).max()) for stream in encoding.streams)
    if largest > float(np.finfo(np.float16).max):
        raise FeatureError(
            f"frame features up to {largest:.3g}; a sea keeps them in half precision, up to 65504: "
            "scale the encoder's output"
        )
    return Row(
        work.clip,
        work.content,
        work.split,
        work.part,
        work.parts,
        work.fps,
        work.duration,
        work.tags,
        encoding,
    )


def _failure(work: Work, error: SeasyncError) -> Failure:
    text = str(error)
    return Failure(work.clip.file, text if work.clip.file in text else f"{work.clip.file}: {text}")


class _Commits:
    """Rows on their way into the record."""

    def __init__(self, record: Record, encoder: Encoder, fps: float, frame_features: bool) -> None:
        self.pending: list[Row] = []
        self.count = self.twice = 0
        self._record, self._encoder, self._fps, self._frame_features = record, encoder, fps, frame_features
        self._last = time.monotonic()

    def due(self, seconds: float) -> bool:
        return len(self.pending) >= COMMIT_ROWS or time.monotonic() - self._last > seconds

    def flush(self) -> None:
        rows, self.pending = self.pending, []
        self._last = time.monotonic()
        if rows:
            about = self._about(rows[0])
            self.twice += len(rows) - self._record.append(rows, about, frame_features=self._frame_features)
            self.count += 1
            if self.count % TIDY_COMMITS == 0:
                self._record.tidy()

    def _about(self, row: Row) -> About:
        if self._record.exists():
            return self._record.snapshot().about
        return about_of(self._encoder, self._fps, row.encoding)


def about_of(encoder: Encoder, fps: float, encoding: Encoding) -> About:
    """What a sea is that holds such encodings."""
    streams = tuple((stream.name, stream.features.shape[1]) for stream in encoding.streams)
    return About(FORMAT, encoder.name, encoder.fingerprint, fps, streams, len(encoding.trajectory))


def size_of_all(sources: Sequence[Source]) -> int:
    """Bytes of all sources."""
    return sum(map(size_of, sources))


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


@contextmanager
def damage_to(damaged: list[str]) -> Iterator[None]:
    """Collect what files are found damaged; other warnings go where they would have gone, a little later."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PartlyDecoded)
        yield
    for warning in caught:
        if isinstance(warning.message, PartlyDecoded):
            damaged.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
