"""Writers of a sea at a URI: any number may add at a time, but some work needs exclusive access.

Each writer keeps a small object in `_writers/` beside the record and renews it every 20 seconds. One that has
not renewed it for three minutes, by the store's own clock, counts as dead; on the same machine it counts
as dead as soon as its process has ended. A writer has exclusive access when it is announced and finds nobody
else; one that wants it gives way to those who add.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from seasync.errors import SeaError, SeasyncError
from seasync.files import local, lock, store

LOCK_NAME = "_writer.lock"  # in a folder, whose sea has one writer at a time


class Busy(SeaError):
    """Another process is writing, and the caller did not want to wait."""


@contextmanager
def lock_folder(
    folder: Path, *, wait: bool = True, waiting: Callable[[], None] | None = None
) -> Iterator[None]:
    """Be the only writer in `folder` (made if need be). `waiting` is called once if another one is at work.

    Raises
    ------
    SeaError
        If the folder cannot be written, or another process is writing and `wait` is false.
    """
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            began = not (folder / LOCK_NAME).exists()
            held.enter_context(lock(folder / LOCK_NAME, wait=wait, waiting=waiting))
            if began:  # what tells that a sea has begun here comes to the disk before all else
                local.flush(folder / LOCK_NAME, folder, folder.parent)
        except local.Locked as error:
            raise Busy(
                f"{folder}: another process is writing to this sea; try again when it is done"
            ) from error
        except OSError as error:
            raise SeaError(
                f"{folder}: cannot be written ({error.strerror}); check the folder's permissions"
            ) from error
        yield


FOLDER = "_writers"
BEAT_SECONDS, DEAD_SECONDS = 20.0, 180.0
LOOK_SECONDS = 0.5

_own_writers: set[str] = set()  # ids of the writers of this process


class SharedWriter:
    """A writer of the sea at `uri`, from `announce` to `withdraw`."""

    def __init__(self, uri: str, options: Mapping[str, str], *, alone: bool = False) -> None:
        self.id = uuid.uuid4().hex
        self.alone = alone
        self._folder, self._options = f"{uri.rstrip('/')}/{FOLDER}", options
        self._announcement = json.dumps({"alone": alone, "host": _host(), "process": os.getpid()}).encode()
        self._beaten = time.monotonic()
        self._dead: set[str] = set()  # objects of writers that were found dead
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def announce(self) -> None:
        _own_writers.add(self.id)
        store.write(self._object, self._announcement, self._options)
        self._beaten = time.monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat, daemon=True)
            self._thread.start()

    def others(self) -> dict[str, bool]:
        """The other writers, by id, and whether they want exclusive access."""
        there = store.objects(self._folder, self._options)
        now = max((each.written for each in there if each.uri == self._object), default=0.0)
        found = {}
        for each in there:
            if each.uri == self._object:
                continue
            announcement = store.read(each.uri, self._options)
            if announcement is None:
                continue
            writer, name = json.loads(announcement or b"{}"), each.uri.rpartition("/")[2]
            if _has_ended(name, writer) or each.written < now - DEAD_SECONDS:
                self._dead.add(each.uri)
            else:
                found[name] = bool(writer.get("alone"))
        return found

    def clear_dead(self, repair: Callable[[], None]) -> None:
        """Repair what dead writers may have left, then delete their objects, so that it is done once."""
        if self._dead:
            repair()
        while self._dead:
            store.delete(self._dead.pop(), self._options)

    def check(self) -> None:
        """Raise SeaError if others may take this writer for dead."""
        if time.monotonic() - self._beaten > DEAD_SECONDS - BEAT_SECONDS:
            raise SeaError(
                f"{self._folder}: could not be reached for {DEAD_SECONDS:g} s; run the command again: it "
                "continues after what is committed"
            )

    def withdraw(self) -> None:
        store.delete(self._object, self._options)

    def end(self) -> None:
        """Withdraw permanently. If the store is unreachable, others find out by the age of the object."""
        _own_writers.discard(self.id)
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
            with suppress(SeasyncError):  # `check` raises if it lasts
                store.write(self._object, self._announcement, self._options)
                self._beaten = time.monotonic()


@contextmanager
def writing(
    uri: str,
    options: Mapping[str, str],
    repair: Callable[[], None],
    *,
    alone: bool,
    wait: bool,
    waiting: Callable[[], None] | None,
) -> Iterator[SharedWriter]:
    """Be a writer of the sea at `uri`. `waiting` is called once if other writers are in the way.

    `repair` is called first if other writers have died, and at the end for those that died meanwhile.

    Raises
    ------
    Busy
        If others are in the way and `wait` is false.
    """
    writer = SharedWriter(uri, options, alone=alone)
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
        writer.clear_dead(repair)
        yield writer
        with suppress(SeasyncError):  # the work is done; the next writer looks again
            writer.others()
            writer.clear_dead(repair)
    finally:
        writer.end()


def _free(writer: SharedWriter) -> bool:
    """Whether this writer may write now. One that wants exclusive access gives way to those that do not."""
    others = writer.others()
    if not writer.alone:
        return not any(others.values())
    if others and (not all(others.values()) or min(others) < writer.id):
        writer.withdraw()
    return not others


def _host() -> str:
    """A name for this machine, or for the container in which process ids are valid."""
    space = Path("/proc/self/ns/pid")
    return f"{socket.gethostname()}/{uuid.getnode()}/{os.stat(space).st_ino if space.exists() else ''}"


def _has_ended(name: str, writer: Mapping[str, Any]) -> bool:
    """Whether a writer is one of this machine whose process has ended."""
    if writer.get("host") != _host():
        return False
    if writer["process"] == os.getpid():
        return name not in _own_writers
    if os.name != "posix":  # elsewhere signal 0 ends the process
        return False
    try:
        os.kill(writer["process"], 0)
    except ProcessLookupError:
        return True
    except OSError:  # the process of another user
        return False
    return False
