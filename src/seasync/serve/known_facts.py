"""The facts about video files, each inspected once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from seasync.files.disk_cache import stamp
from seasync.serve.inspection import VideoFacts, inspect_video
from seasync.serve.limits import Limits
from seasync.serve.worker import WorkerProcess

REMEMBERED = 1024  # files whose facts stay in memory


class KnownFacts:
    """Inspects files in a worker process, and remembers what it found as long as a file does not change."""

    def __init__(self, worker: WorkerProcess, limits: Limits) -> None:
        self._worker, self._limits = worker, limits
        self._facts: OrderedDict[tuple[str, int, int], VideoFacts] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, file: Path) -> VideoFacts:
        """The facts about a file.

        Raises
        ------
        ServeError
            If it is not a video that this server accepts.
        """
        key = stamp(file)
        with self._lock:
            if key in self._facts:
                self._facts.move_to_end(key)
                return self._facts[key]
        found: VideoFacts = self._worker.run(
            inspect_video,
            str(file),
            self._limits.pixels,
            self._limits.video_seconds,
            seconds=self._limits.inspect_seconds,
        )
        self.remember(file, found)
        return found

    def remember(self, file: Path, facts: VideoFacts) -> None:
        """Note the facts about a file that has been inspected under another name."""
        with self._lock:
            self._facts[stamp(file)] = facts
            if len(self._facts) > REMEMBERED:
                self._facts.popitem(last=False)
