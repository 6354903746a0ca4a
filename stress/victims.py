"""Work on a sea in a process of its own, so that it can be killed at any moment."""

from __future__ import annotations

import os
import random
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import lance  # imported once, by the server that the processes are forked from
import onnxruntime

from seasync.errors import SeasyncError
from seasync.sea import copies as reencoding
from seasync.sea.copies import copy
from seasync.sea.ray import Cluster
from seasync.sea.record import Record
from seasync.sea.sea import Sea
from tests.sea.adding import context
from tests.sea.footage import facts, row

assert lance
assert onnxruntime
context.set_forkserver_preload([__name__])


def add(uri: str, encoder: str, paths: list[str], jobs: int = 1, labels: str | None = "folder") -> None:
    """Commit after every clip, so that there is much to interrupt."""
    Sea(uri, encoder).add(*paths, labels=labels, split=0.5, commit_seconds=0, jobs=jobs)  # type: ignore[arg-type]


def add_on_ray(uri: str, encoder: str, paths: list[str], cluster: str) -> None:
    on = Cluster(cluster, clips=2)
    Sea(uri, encoder).add(*paths, labels="folder", split=0.5, commit_seconds=0, on=on)


def rebuild(uri: str) -> None:
    Sea(uri).rebuild("ivf_pq")


def remove(uri: str, clips: list[str], labels: list[str]) -> None:
    """Several commits: whole ids, a first part of an id, labels."""
    Sea(uri).remove(clips=[*clips[1:], clips[0][:12]], labels=labels)


def copy_to(uri: str, target: str) -> None:
    copy(Record(uri), Record(target))


def reencode(uri: str, target: str, encoder: str) -> None:
    reencoding.OFTEN = 2
    reencoding.reencode_from_videos(Sea(uri), Sea(target, encoder))


def sweep(uri: str) -> None:
    Sea(uri).sweep()


def adapt(uri: str, target: str) -> None:
    """With so few steps the result may be worse; then there is no new sea."""
    from typer.testing import CliRunner

    from seasync.cli import app

    quick = ["--steps", "40", "--width", "16", "--layers", "1", "--held-out", "0.5", "--json"]
    done = CliRunner().invoke(app, ["sea", "adapt", "--sea", uri, "--to", target, *quick])
    if done.exit_code:
        raise done.exception or RuntimeError(done.output)


WORK: dict[str, Callable[..., None]] = {
    each.__name__: each for each in (add, add_on_ray, rebuild, remove, copy_to, reencode, sweep, adapt)
}


def run(begun: Event, environment: Mapping[str, str], log: str, name: str, given: dict[str, Any]) -> None:
    """The process: in a group of its own, so that its own processes can be killed with it."""
    os.setsid()
    os.environ.update(environment)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    begun.set()
    WORK[name](**given)


def started(log: Path, name: str, given: dict[str, Any]) -> Any:
    """A process that has begun this work."""
    begun = context.Event()
    process = context.Process(target=run, args=(begun, dict(os.environ), str(log), name, given))
    process.start()
    begun.wait(120)
    return process


def attempt(
    pipe: Connection,
    begun: Event,
    environment: Mapping[str, str],
    user: int | None,
    name: str,
    given: dict[str, Any],
) -> None:
    """The process: do the work, and send what came of it: "done", or the error's type and message."""
    os.environ.update(environment)
    if user is not None:
        os.setgid(user)
        os.setuid(user)
    begun.wait(60)
    try:
        WORK[name](**given)
    except SeasyncError as error:
        pipe.send(("refused", str(error)))
    except BaseException as error:  # noqa: BLE001 - each is a finding
        pipe.send((type(error).__name__, f"{error} ({traceback.format_exc()[-300:]})"))
    else:
        pipe.send(("done", ""))


class Attempt:
    """Work that is under way in a process, from `start` on."""

    def __init__(self, name: str, given: dict[str, Any], begun: Any, *, user: int | None = None) -> None:
        self._pipe, theirs = context.Pipe()
        told = (theirs, begun, dict(os.environ), user, name, given)
        self.process = context.Process(target=attempt, args=told)
        self.process.start()
        theirs.close()

    def outcome(self, seconds: float = 120.0) -> tuple[str, str]:
        """What came of it: "done", "refused", "hung", "crashed", or the type of another error."""
        if not self._pipe.poll(seconds):
            self.process.kill()
            return "hung", f"after {seconds:g} s"
        try:
            kind, text = self._pipe.recv()
        except EOFError:
            self.process.join()
            return "crashed", f"exit code {self.process.exitcode}"
        self.process.join()
        return kind, text


def append_rows(uri: str, first: int, count: int) -> None:
    """Begin a sea with made-up rows, or add them to it."""
    record = Record(uri)
    with record.writing():
        record.append([row(n) for n in range(first, first + count)], facts())


def add_with_clock(uri: str, encoder: str, paths: list[str], seed: int) -> None:
    """Add while the clock jumps back and forth by days, by time that goes on evenly only in `monotonic`."""
    rng, real = random.Random(seed), time.time
    time.time = lambda: real() + rng.choice([0, 0, 3600, -3600, 86400 * 400, -86400 * 400])
    add(uri, encoder, paths)


WORK |= {"append_rows": append_rows, "add_with_clock": add_with_clock}
