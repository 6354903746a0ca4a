"""Planned clips into rows: in this process, or in several. What is done for a clip is the same anywhere."""

from __future__ import annotations

import os
import signal
import warnings
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from seasync.errors import FeatureError, PartlyDecoded, SeaError, SeasyncError
from seasync.sea.plan import Failure, Step, Work
from seasync.sea.rows import Row

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoders.encoder import TakesFrames
    from seasync.encoding import Encoding
    from seasync.video import Frames

Batch = tuple[tuple[int, Step], "Frames | SeasyncError | None"]
Outcomes = Generator[tuple[Step, "Row | Failure | None"]]


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
