"""Planned clips into rows: in this process, or in several. Each clip is treated the same wherever it runs."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import groupby
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from seasync.errors import FeatureError, SeaError, SeasyncError
from seasync.sea.ingest_plan import Failure, PendingClip, Step
from seasync.sea.rows import Row

if TYPE_CHECKING:
    from seasync.encoders import Encoder
    from seasync.encoders.encoder import TakesFrames
    from seasync.encoding import Encoding
    from seasync.video import Frames
    from seasync.video.damage import DamageLog

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
    from seasync.video.damage import DamageLog

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
