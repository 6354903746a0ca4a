"""A lane: one process of its own that does one thing after the other.

Whatever decodes a file happens in a lane, never in the server: a file that hangs, eats memory or crashes a
decoder costs its lane, which is killed and begun anew with the next thing to do.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from seasync.errors import SeasyncError, ServeError

log = logging.getLogger("seasync.serve")
Say = Callable[[Any], None]
BROKEN = "something went wrong here; the server's log says what"
SLICE = 0.1  # seconds between looks at the clock and at `stop`


class Stopped(ServeError):
    """What a lane did was called off."""

    def __init__(self) -> None:
        super().__init__("called off", status=409)


class Lane:
    """Runs module-level functions in its process, started when first needed.

    memory_bytes  address space of the process, where the system can limit it
    patient       whether it leaves the cores to others who want them
    """

    def __init__(self, name: str, *, memory_bytes: int | None = None, patient: bool = False) -> None:
        self.name = name
        self._memory, self._patient = memory_bytes, patient
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(
        self,
        function: Callable[..., Any],
        *args: Any,
        seconds: float | None = None,
        say: Say | None = None,
        stop: threading.Event | None = None,
    ) -> Any:
        """`function(*args)` in the lane, after what is there already; with `say`, it gets that as a keyword.

        Raises
        ------
        ServeError
            With the function's own message if it raised a SeasyncError; if it took more than `seconds`,
            or its process died; Stopped if `stop` was set.
        """
        with self._lock:
            try:
                return self._run(function, args, seconds, say, stop)
            except (EOFError, OSError) as error:
                died = self._process.exitcode if self._process else None
                self._end()
                log.warning("lane %s died (%s) in %s", self.name, died, function.__name__)
                raise ServeError(
                    "the process that worked on it died; the file may be damaged, or too large here",
                    status=422,
                ) from error
            except ServeError as error:
                if error.status in (409, 504):
                    self._end()
                raise

    def _run(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        seconds: float | None,
        say: Say | None,
        stop: threading.Event | None,
    ) -> Any:
        pipe = self._ready()
        pipe.send((function, args, say is not None))
        until = None if seconds is None else time.monotonic() + seconds
        while True:
            if not pipe.poll(SLICE):
                if stop is not None and stop.is_set():
                    raise Stopped
                if until is not None and time.monotonic() > until:
                    raise ServeError(f"took longer than {seconds:g} s, and was given up", status=504)
                continue
            kind, value = pipe.recv()
            if kind == "said" and say is not None:
                say(value)
            elif kind == "done":
                return value
            elif kind == "refused":
                raise ServeError(value[0], status=value[1])
            elif kind == "failed":
                log.error("lane %s failed in %s\n%s", self.name, function.__name__, value)
                raise ServeError(BROKEN, status=500)

    def _ready(self) -> Connection:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            self._end()
            context = get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(
                target=_work,
                args=(theirs, self._memory, self._patient),
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
        """End the process, whatever it is doing; `run` then fails."""
        if self._process is not None and self._process.is_alive():
            self._process.kill()
        with self._lock:
            self._end()


def _work(pipe: Connection, memory_bytes: int | None, patient: bool) -> None:
    """The lane's process: one request after the other, until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, daemon=True).start()
    if patient and sys.platform != "win32":
        os.nice(10)
    if memory_bytes and sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    while True:
        try:
            function, args, says = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(_outcome(function, args, {"say": lambda value: pipe.send(("said", value))} if says else {}))


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], say: dict[str, Say]) -> tuple[str, Any]:
    import traceback
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "done", function(*args, **say)
    except SeasyncError as error:
        return "refused", (str(error), getattr(error, "status", 422))
    except MemoryError:
        return "refused", ("needs more memory than this server allows", 422)
    except Exception:  # noqa: BLE001 - the other end logs it
        return "failed", traceback.format_exc()


def _end_with_server() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
