"""Worker processes: everything that decodes a file runs in one, never in the server itself.

A file that hangs, fills the memory or crashes a decoder costs only its worker process, which is killed and
started again for the next call.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from seasync.errors import SeasyncError, ServeError

# Whose turn it is at something that only a few callers at a time can use.


class Turn:
    """Places that callers get in the order in which they ask for them; a lock, if there is one place.

    `threading.Lock` promises no order: of many callers, one may wait while later ones are served.

    Parameters
    ----------
    wait_seconds
        How long a caller waits at most. None: as long as it takes.
    places
        How many callers have their turn at the same time.
    """

    def __init__(self, wait_seconds: float | None = None, *, places: int = 1) -> None:
        self._seconds = wait_seconds
        self._guard = threading.Lock()
        self._free = list(range(places))
        self._waiting: deque[SimpleQueue[int]] = deque()

    @contextmanager
    def taken(self) -> Iterator[int]:
        """Wait for your turn, and keep it; gives the number of your place, the lowest that is free.

        Raises
        ------
        ServeError
            If it takes longer than `wait_seconds`.
        """
        place = self._take()
        try:
            yield place
        finally:
            self._pass_on(place)

    def _take(self) -> int:
        mine = SimpleQueue[int]()
        with self._guard:
            if self._free:
                return self._free.pop(0)
            self._waiting.append(mine)
        try:
            return mine.get(timeout=self._seconds)
        except Empty:
            pass
        with self._guard:
            if not mine.empty():  # it came at the last moment
                return mine.get()
            self._waiting.remove(mine)
        raise ServeError("the server has too much to do at the moment; try again later", status=503)

    def _pass_on(self, place: int) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().put(place)
            else:
                self._free = sorted([*self._free, place])


# What several threads look up, and only one of them should have to find.


V = TypeVar("V")


class Recent(Generic[V]):
    """The values that were used most recently, up to a total size. The newest is always kept.

    Parameters
    ----------
    limit
        How much is kept.
    size
        How much a value counts. Default: 1, so that `limit` is their number.
    """

    def __init__(self, limit: int, size: Callable[[V], int] = lambda value: 1) -> None:
        self._limit, self._size, self._total = limit, size, 0
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> V | None:
        """The value kept under `key`."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, value: V) -> None:
        """Keep a value, and drop others until all fit."""
        with self._lock:
            if key in self._kept:
                self._total -= self._size(self._kept.pop(key))
            self._kept[key] = value
            self._total += self._size(value)
            while self._total > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._total -= self._size(dropped)


log = logging.getLogger("seasync.serve")
Report = Callable[[Any], None]
INTERNAL_ERROR = "Internal error; the server's log has the details."
POLL_SECONDS = 0.1  # between two checks of the deadline and of `cancel`
START_SECONDS = 300.0  # for a process that has a time limit to start


class Cancelled(ServeError):
    """The call was cancelled."""

    def __init__(self) -> None:
        super().__init__("cancelled", status=409)


class WorkerProcess:
    """Runs module-level functions one after the other in a process of its own, started on first use.

    Parameters
    ----------
    name
        Name of the process, for logs and process lists.
    memory_bytes
        Limit on the memory that the process writes to. Only Linux enforces it.
    low_priority
        Whether the process leaves the cores to others that need them.
    wait_seconds
        How long a call waits for those before it, at most.
    """

    def __init__(
        self,
        name: str,
        *,
        memory_bytes: int | None = None,
        low_priority: bool = False,
        wait_seconds: float | None = None,
    ) -> None:
        self.name = name
        self._memory, self._low_priority = memory_bytes, low_priority
        self._turn = Turn(wait_seconds)
        self._closed = False
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
        report: Report | None = None,
        cancel: threading.Event | None = None,
    ) -> Any:
        """Call `function(*args)` in the process, after the calls that wait already.

        A call that waits longer than `wait_seconds` fails with status 503.

        Parameters
        ----------
        function
            A function at the top level of a module. Arguments and result are pickled.
        seconds
            Time limit. The start of the process does not count.
        report
            If given, the function gets a keyword `report`; what it passes to it arrives here.
        cancel
            Event that cancels the call.

        Raises
        ------
        ServeError
            With the function's own message if it raised a SeasyncError; also if it exceeds `seconds`, its
            process dies, or `close` is called. `Cancelled` if `cancel` is set.
        """
        with self._turn.taken():
            try:
                kind, value = self._run(function, args, seconds, report, cancel)
            except BaseException as error:
                exit_code = self._process.exitcode if self._process else None
                self._end()  # an answer that still comes must not be taken for that of the next call
                if not isinstance(error, EOFError | OSError):
                    raise
                self._expect_open()
                log.warning("worker %s died (%s) in %s", self.name, exit_code, function.__name__)
                raise ServeError(
                    "the worker process died; the file may be damaged, or too large for this server",
                    status=422,
                ) from error
        if kind == "refused":
            raise ServeError(value[0], status=value[1])
        if kind == "failed":
            log.error("worker %s failed in %s\n%s", self.name, function.__name__, value)
            raise ServeError(INTERNAL_ERROR, status=500)
        return value

    def _run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        seconds: float | None,
        report: Report | None,
        cancel: threading.Event | None,
    ) -> tuple[str, Any]:
        """The last message of a call: "done", "refused" or "failed", and what comes with it."""
        self._expect_open()
        pipe = self._ready()
        pipe.send((function, args, seconds is not None, report is not None))
        # A process that starts slowly, on a busy machine, must not be killed and started for each call anew.
        until = None if seconds is None else time.monotonic() + START_SECONDS
        while True:
            self._expect_open()
            if cancel is not None and cancel.is_set():
                raise Cancelled
            left = POLL_SECONDS if until is None else until - time.monotonic()
            if left <= 0:
                raise ServeError(f"stopped: it took longer than {seconds:g} s", status=504)
            if not pipe.poll(min(POLL_SECONDS, left)):
                continue
            kind, value = pipe.recv()
            if kind == "begun" and seconds is not None:
                until = time.monotonic() + seconds
            elif kind == "report" and report is not None:
                report(value)
            else:
                return kind, value

    def _expect_open(self) -> None:
        if self._closed:
            raise ServeError("the server is stopping", status=503)

    def _ready(self) -> Connection:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            self._end()
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(
                target=_serve_calls,
                args=(theirs, self._memory, self._low_priority),
                name=f"seasync-{self.name}",
                daemon=True,
            )
            self._process.start()
            theirs.close()
        return self._pipe

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def close(self) -> None:
        """End the process, whatever it is doing. Calls that run or wait fail; none starts it again."""
        self._closed = True
        process = self._process
        with suppress(ValueError):  # the call that runs has just ended it
            if process is not None and process.is_alive():
                process.kill()
        with self._turn.taken():
            self._end()


def _serve_calls(pipe: Connection, memory_bytes: int | None, low_priority: bool) -> None:
    """The process: one call after the other until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, daemon=True).start()
    if low_priority and sys.platform != "win32":
        os.nice(10)
    if memory_bytes and sys.platform == "linux":
        import resource

        # Not the address space: drivers and allocators reserve much more of it than they use.
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    while True:
        try:
            function, args, limited, reports = pipe.recv()
        except (EOFError, OSError):
            return
        if limited:
            pipe.send(("begun", None))
        keywords = {"report": lambda value: pipe.send(("report", value))} if reports else {}
        pipe.send(_outcome(function, args, keywords))


def _outcome(
    function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Report]
) -> tuple[str, Any]:
    import traceback
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "done", function(*args, **keywords)
    except SeasyncError as error:
        return "refused", (str(error), getattr(error, "status", 422))
    except MemoryError:
        return "refused", ("this file needs more memory than the server allows", 422)
    except Exception:  # noqa: BLE001 - the server logs it
        return "failed", traceback.format_exc()


def _end_with_server() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
