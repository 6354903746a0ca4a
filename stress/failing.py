"""Makes call number k of those that can fail raise an error: of files, of SQL, of Lance, of worker processes.

Each call counts only if it is about something in one folder, so that imports and the tests' own files do not.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

import lance
import lance.fragment

FILE_CALLS = (
    "open",
    "mkdir",
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "fsync",
    "scandir",
    "truncate",
)
LANCE_READS = ("scanner", "_take_rows", "count_rows", "to_batches")
LANCE_WRITES = (
    *("delete", "add_columns", "drop_columns", "alter_columns", "update_schema_metadata"),
    *("create_index", "create_scalar_index", "drop_index", "cleanup_old_versions"),
)
WRITES = ("replace", "fsync", "commit", "execute", *LANCE_WRITES)  # may take effect, then fail


class Failing:
    """Counts calls; the one with number `at` fails, before it takes effect or, with `late`, after it."""

    def __init__(self, folder: Path, *, at: int | None = None, late: bool = False) -> None:
        self.calls: list[str] = []
        self._folder, self._at, self._late = os.path.realpath(folder), at, late
        self._guard = threading.RLock()

    def call(self, name: str, error: Exception, work: Callable[[], Any]) -> Any:
        """Do the work, unless this call is the one to fail."""
        with self._guard:
            self.calls.append(name)
            fails = len(self.calls) == self._at
        if not fails:
            return work()
        if self._late and name.rpartition(" ")[2] in WRITES:
            work()
        raise error

    def _is_inside(self, place: Any) -> bool:
        try:
            return os.path.realpath(os.fspath(place)).startswith(self._folder)
        except (TypeError, ValueError):
            return False

    def _file(self, name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        inside = name == "fsync" or (args and self._is_inside(args[0]))
        if not inside:
            return real(*args, **more)
        named = None if name == "fsync" else os.fspath(args[0])
        error = OSError(errno.EIO, os.strerror(errno.EIO), named)
        return self.call(f"file {name}", error, lambda: real(*args, **more))

    def _lance(self, name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        error = OSError("LanceError(IO): the disk did not answer")
        return self.call(f"lance {name}", error, lambda: real(*args, **more))

    def _message(self, name: str, real: Callable[..., Any], *args: Any) -> Any:
        if not threading.current_thread().name.startswith(("jobs-", "AnyIO", "asyncio", "MainThread")):
            return real(*args)
        error = EOFError() if name == "recv" else BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return self.call(f"message {name}", error, lambda: real(*args))

    @contextmanager
    def patched(self, *, messages: bool = False) -> Iterator[Failing]:
        """Put this in place of the real calls."""
        with ExitStack() as stack:

            def replaced(owner: Any, name: str, through: Callable[..., Any], *, static: bool = False) -> None:
                real = getattr(owner, name)

                def called(*args: Any, **more: Any) -> Any:
                    return through(name, real, *args, **more)

                stack.enter_context(patch.object(owner, name, staticmethod(called) if static else called))

            for name in FILE_CALLS:
                replaced(os, name, self._file)
            replaced(io, "open", self._file)
            stack.enter_context(patch.object(builtins, "open", io.open))
            for name in (*LANCE_READS, *LANCE_WRITES):
                replaced(lance.LanceDataset, name, self._lance)
            replaced(lance.LanceDataset, "commit", self._lance, static=True)
            for owner, name in ((lance, "dataset"), (lance.fragment, "write_fragments")):
                replaced(owner, name, self._lance)
            replaced(sys.modules["lance.dataset"].MergeInsertBuilder, "execute", self._lance)
            stack.enter_context(patch.object(CountedDatabase, "failing", self))
            if messages:
                for name in ("send", "recv"):
                    replaced(Connection, name, self._message)
            yield self


class CountedDatabase(sqlite3.Connection):
    """A connection whose statements count while a `Failing` is in place."""

    failing: ClassVar[Failing | None] = None

    def execute(self, *args: Any) -> Any:
        work = partial(super().execute, *args)
        if self.failing is None:
            return work()
        return self.failing.call("sql execute", sqlite3.OperationalError("disk I/O error"), work)


class Photographed(Failing):
    """Nothing fails; before each call, a copy of the folder as it is after a power failure at that moment.

    What was there at the beginning is on the disk. Of the rest, the disk has a file if the file was synced,
    and its name if its folder was. SQLite's own files are left out: it syncs by itself.
    """

    def __init__(self, folder: Path, photographs: Path, *, empty: bool) -> None:
        super().__init__(folder)
        self._taking = 0  # the thread that takes a photograph: its own calls do not count
        self._photographs, self._empty = photographs, empty
        self._files, self._names = set[int](), set[str]()
        for file in folder.rglob("*"):
            self._files.add(file.stat().st_ino)
            self._names.add(str(file))

    def call(self, name: str, error: Exception, work: Callable[[], Any]) -> Any:
        with self._guard:
            self.calls.append(name)
            self._taking = threading.get_ident()
            self.photograph()
            self._taking = 0
            return work()  # while other threads wait: nothing may change during a photograph

    def _is_inside(self, place: Any) -> bool:
        return self._taking != threading.get_ident() and super()._is_inside(place)

    def photograph(self) -> None:
        """Copy the folder; files that are not on the disk are left out, or have no content if so asked."""
        target = self._photographs / str(len(self.calls))
        target.mkdir(parents=True)
        for file in sorted(Path(self._folder).rglob("*")):
            place = target / file.relative_to(self._folder)
            if file.is_dir():
                place.mkdir(parents=True)
            elif file.stat().st_ino in self._files and str(file) in self._names:
                shutil.copyfile(file, place)
            elif self._empty and not file.name.startswith("."):
                place.touch()

    def _file(self, name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        done = super()._file(name, real, *args, **more)
        if name == "fsync":
            place = Path(os.readlink(f"/proc/self/fd/{args[0]}"))
            if place.is_dir():
                self._names |= {str(each) for each in place.iterdir()}
            self._files.add(os.fstat(args[0]).st_ino)
        return done
