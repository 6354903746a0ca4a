"""What the jobs of one kind do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seasync.serve.worker import WorkerProcess


@dataclass(frozen=True)
class JobType:
    """How jobs of one kind are done: `function(*arguments(sea, request), report=…)` in a worker process.

    Attributes
    ----------
    worker
        The process that does these jobs, one after the other.
    function
        Gets the arguments and a keyword `report`, to be called with (share done, message). Returns the
        job's result.
    arguments
        Makes the function's arguments from the sea's name and the request, when the job starts.
    after
        Called in the server with the request and the arguments when the function has returned.
    """

    worker: WorkerProcess
    function: Callable[..., Any]
    arguments: Callable[[str, dict[str, Any]], tuple[Any, ...]]
    after: Callable[[dict[str, Any], tuple[Any, ...]], None]
