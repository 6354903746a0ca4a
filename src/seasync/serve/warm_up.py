"""Load at the server's start, in the background, what the first visitor would otherwise wait for.

That is the worker processes with the modules that they import, the encoder and the kernels. Together they
take as long as the work on two short videos itself.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from seasync.errors import EncoderError, SeasyncError
from seasync.serve.tasks import SeaLocation
from seasync.serve.worker import WorkerProcess

if TYPE_CHECKING:
    from seasync.encoding import Encoding

log = logging.getLogger("seasync.serve")
FRAMES = 8  # of noise, on which everything runs once


def warm_up(location: SeaLocation, *, encoder: WorkerProcess, others: tuple[WorkerProcess, ...]) -> None:
    """Start the worker processes and load what they need, in the background.

    Parameters
    ----------
    location
        A sea with the encoder to load. An encoder whose weights would have to be fetched is not loaded.
    encoder
        The process that encodes.
    others
        The processes that inspect videos and make films.
    """
    _in_background(lambda: _load_kernels(encoder.run(load_encoder, location)))
    _in_background(lambda: [worker.run(load_video) for worker in others])


def _in_background(work: Callable[[], object]) -> None:
    def attempt() -> None:
        try:
            work()
        except SeasyncError as error:  # it will be reported to whoever needs it
            log.info("warm-up: %s", error)

    threading.Thread(target=attempt, name="warm-up", daemon=True).start()


def load_encoder(location: SeaLocation) -> Encoding | None:
    """Load the encoder of a sea into this process, and run it once. None if that needs a download.

    Returns
    -------
    Encoding or None
        The encoding of a moment of noise.
    """
    from seasync.encoders.encoder import TakesFrames
    from seasync.video import Frames

    try:
        with _offline():
            encoder = location.open().encoder()
    except EncoderError:
        return None
    if not isinstance(encoder, TakesFrames):
        return None
    noise = np.random.default_rng(0).integers(0, 255, (FRAMES, *encoder.input_size, 3), np.uint8)
    return encoder.encode([Frames(noise, np.arange(FRAMES) / encoder.fps, np.arange(FRAMES))])


@contextmanager
def _offline() -> Iterator[None]:
    """Nothing is fetched in this process for a while."""
    before = os.environ.get("SEASYNC_OFFLINE")
    os.environ["SEASYNC_OFFLINE"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["SEASYNC_OFFLINE"]
        else:
            os.environ["SEASYNC_OFFLINE"] = before


def load_video() -> None:
    """Import what reads and writes videos into this process."""
    import seasync.render.films
    import seasync.render.frames
    import seasync.video.timetable  # noqa: F401


def _load_kernels(encoding: Encoding | None) -> None:
    """Load the modules of an alignment and the kernels, by aligning once."""
    from seasync.alignment import MOTION, align_encodings
    from seasync.alignment.prepare import refined

    if encoding is not None:
        align_encodings(encoding, encoding, recipe=refined(MOTION, encoding))
