"""Writers of a sea at a URI: any number add at a time, while one that builds or sweeps is alone.

Each writer keeps a small object in `_writers/` beside the record and writes it anew every so often. One that
has not done so for three minutes, by the store's own clock, is dead; one of this machine is as soon as its
process is gone. To be alone is to be announced and to find nobody else: who wants it gives way to those who
add.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from seasync.errors import SeaError, SeasyncError
from seasync.files.objects import delete, objects, read, write
from seasync.sea.lock import Busy

FOLDER = "_writers"
BEAT_SECONDS, DEAD_SECONDS = 20.0, 180.0
LOOK_SECONDS = 0.5

_here: set[str] = set()  # writers of this process


class Writer:
    """One who writes to the sea at `uri`, from `announce` to `withdraw`."""

    def __init__(self, uri: str, options: Mapping[str, str], *, alone: bool = False) -> None:
        self.id = uuid.uuid4().hex
        self.alone = alone
        self._folder, self._options = f"{uri.rstrip('/')}/{FOLDER}", options
        self._said = json.dumps({"alone": alone, "host": _host(), "process": os.getpid()}).encode()
        self._beaten = time.monotonic()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def announce(self) -> None:
        _here.add(self.id)
        write(self._object, self._said, self._options)
        self._beaten = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, daemon=True)
            self._thread.start()

    def others(self) -> dict[str, bool]:
        """Who else writes, by id, and whether they want to be alone. Traces of dead ones are wiped away."""
        there = objects(self._folder, self._options)
        now = max((each.written for each in there if each.uri == self._object), default=0.0)
        found = {}
        for each in there:
            if each.uri == self._object:
                continue
            said = read(each.uri, self._options)
            if said is None:
                continue
            about, name = json.loads(said or b"{}"), each.uri.rpartition("/")[2]
            if _gone(name, about) or each.written < now - DEAD_SECONDS:
                delete(each.uri, self._options)
            else:
                found[name] = bool(about.get("alone"))
        return found

    def check(self) -> None:
        """Raise SeaError if others may take this writer for dead."""
        if time.monotonic() - self._beaten > DEAD_SECONDS - BEAT_SECONDS:
            raise SeaError(
                f"{self._folder}: could not be reached for {DEAD_SECONDS:g} s; run it again, it goes on from "
                "what is committed"
            )

    def withdraw(self) -> None:
        delete(self._object, self._options)

    def end(self) -> None:
        """Withdraw for good; a store that is gone is no matter, the others will see."""
        _here.discard(self.id)
        self._ended.set()
        if self._thread:
            self._thread.join()
        with suppress(SeasyncError):
            self.withdraw()

    @property
    def _object(self) -> str:
        return f"{self._folder}/{self.id}"

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            with suppress(SeasyncError):  # `check` tells if it lasts
                write(self._object, self._said, self._options)
                self._beaten = time.monotonic()


@contextmanager
def writing(
    uri: str,
    options: Mapping[str, str],
    *,
    alone: bool = False,
    wait: bool = True,
    waiting: Callable[[], None] | None = None,
) -> Iterator[Writer]:
    """Be a writer of the sea at `uri`. `waiting` is called once if others are in the way.

    Raises
    ------
    Busy
        If others are in the way and `wait` is false.
    """
    writer = Writer(uri, options, alone=alone)
    try:
        writer.announce()
        while not _free(writer):
            if not wait:
                raise Busy(f"{uri}: another process is writing to this sea; try again when it is done")
            if waiting:
                waiting()
                waiting = None
            time.sleep(LOOK_SECONDS)
            writer.announce()
        yield writer
    finally:
        writer.end()


def _free(writer: Writer) -> bool:
    """Whether this one may write now; who wants to be alone steps back before those who do not."""
    others = writer.others()
    if not writer.alone:
        return not any(others.values())
    if others and (not all(others.values()) or min(others) < writer.id):
        writer.withdraw()
    return not others


def _host() -> str:
    """This machine, as far as processes are known by their numbers."""
    space = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}/{uuid.getnode()}/{os.stat(space).st_ino if space.exists() else ''}"


def _gone(name: str, about: Mapping[str, Any]) -> bool:
    """Whether a writer is known to be no more: one of this machine whose process has ended."""
    if about.get("host") != _host():
        return False
    if about["process"] == os.getpid():
        return name not in _here
    if os.name != "posix":  # elsewhere signal 0 is no question
        return False
    try:
        os.kill(about["process"], 0)
    except ProcessLookupError:
        return True
    except OSError:  # not ours to ask
        return False
    return False
