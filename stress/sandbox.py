"""A process with limits that opens one hostile file after the other, as a command would."""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from stress.targets import Targets
from tests.sea.adding import context

context.set_forkserver_preload(["stress.targets"])
CPU_SECONDS, WALL_SECONDS = 10.0, 90.0  # for one file
MEMORY_BYTES = 2 << 30  # beyond what the process has when it starts
Outcome = tuple[str, str]  # "fine", or the measure that it counts for, and what was seen


class Sandbox:
    """Runs targets in a process that is started again whenever it dies."""

    def __init__(self, good: Path, work: Path) -> None:
        self._good, self._work = good, work
        self._process: Any = None
        self._pipe: Connection | None = None

    def open(self, target: str, file: Path) -> Outcome:
        """What comes of a file."""
        pipe, process = self._ready()
        begin, used = time.monotonic(), _cpu_seconds(process.pid)
        pipe.send((target, str(file)))
        while not pipe.poll(0.5):
            if not process.is_alive():
                break
            cpu = _cpu_seconds(process.pid) - used
            if cpu > CPU_SECONDS or time.monotonic() - begin > WALL_SECONDS:
                where = self._where()
                self.close()
                return "hung", f"{target}: stopped after {cpu:.0f} s of CPU time {where}"
        try:
            outcome: Outcome = pipe.recv()
        except (EOFError, OSError):
            process.join(10)
            code = process.exitcode
            name = signal.Signals(-code).name if code and code < 0 else f"exit code {code}"
            tail = (self._work / "log").read_text(errors="replace")[-300:]
            self.close()
            return "crashed", f"{target}: {name}: {tail}"
        return outcome

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def _ready(self) -> tuple[Connection, Any]:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            self.close()
            self._pipe, theirs = context.Pipe()
            given = (theirs, str(self._good), str(self._work))
            self._process = context.Process(target=_serve, args=given)
            self._process.start()
            theirs.close()
            assert self._pipe.recv() == "ready"
        return self._pipe, self._process

    def _where(self) -> str:
        """What the process was doing, by the stacks it writes on a signal."""
        with open(self._work / "log", "a+") as log:
            log.truncate(0)
        os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(0.5)
        lines = (self._work / "log").read_text(errors="replace").splitlines()
        return "; ".join(line.strip() for line in lines if "seasync" in line)[:400]


def _cpu_seconds(process: int) -> float:
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def _serve(pipe: Connection, good: str, work: str) -> None:
    import faulthandler
    import resource

    log = os.open(f"{work}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    os.chdir(work)
    targets = Targets(Path(good), Path(work))
    targets.warm_up()
    limit = psutil.Process().memory_info().vms + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    pipe.send("ready")
    while True:
        try:
            target, file = pipe.recv()
        except EOFError:
            return
        pipe.send(_outcome(targets, target, Path(file)))
        os.truncate(f"{work}/log", 0)


def _outcome(targets: Targets, target: str, file: Path) -> Outcome:
    from seasync.cli import _UsageError
    from seasync.errors import SeasyncError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            targets.run(target, file)
    except SeasyncError as error:
        if set("\n\r") & set(str(error)):
            return "other errors", f"{target}: more than one line: {str(error)[:300]!r}"
        return "fine", "refused"
    except MemoryError:
        return "over memory", f"{target}: {traceback.format_exc()[-400:]}"
    except _UsageError:
        return "fine", "usage"
    except BaseException as error:  # noqa: BLE001 - each is a finding
        places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
        what = f"{type(error).__name__}: {str(error)[:200]} ({' '.join(places[-5:])})"
        return ("over memory" if "bad alloc" in str(error) else "other errors"), f"{target}: {what}"
    return "fine", "read"
