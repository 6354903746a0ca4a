"""Files of this machine: caches that are bounded, files written whole or not at all, locks."""

import errno
import hashlib
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from seasync.errors import SeasyncError
from seasync.files.location import Location, Place

SLACK = 1 / 32  # the part of the limit that is kept free, so that not every file needs a look at all others


def cache_folder() -> Path:
    """The folder for everything that can be made again: `SEASYNC_CACHE`, or the user's cache folder."""
    if named := os.environ.get("SEASYNC_CACHE"):
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("seasync", appauthor=False))


def working_path(place: Location) -> Path:
    """Where to make a file that grows bit by bit: the place itself, or in the cache for one at a URI.

    The same URI always has the same path, so that interrupted work can continue.
    """
    if place.is_local:
        return place.path.absolute()
    name = hashlib.sha256(place.text.encode()).hexdigest()[:32]
    return cache_folder() / "working" / f"{name}{place.suffix}"


class DiskCache:
    """A folder of files, each known by what it was made of.

    Several processes may share it. Whatever goes wrong while it is trimmed, such as a file that another
    program holds open or deletes first, is no error: that file is skipped.

    Parameters
    ----------
    folder
        Where the files are; it is made by the first one written.
    limit_bytes
        How much the files may take together.
    in_use_seconds
        Files that were used so recently are never deleted, even if the folder is over its limit.

    Examples
    --------
    >>> cache = DiskCache(Path("cache/strips"), 1 << 30)
    >>> cache.find("a.mp4", 1.5, suffix=".jpg") is None
    True
    >>> file = cache.place("a.mp4", 1.5, suffix=".jpg")
    >>> with atomic_write(file, make_folder=True) as part:         # doctest: +SKIP
    ...     part.write_bytes(picture)
    >>> cache.trim_after(file)
    """

    def __init__(self, folder: Path, limit_bytes: float, *, in_use_seconds: float = 0.0) -> None:
        self.folder, self.limit_bytes, self.in_use_seconds = folder, limit_bytes, in_use_seconds
        self._room = 0.0  # bytes that may be written before all files are looked at again

    def place(self, *key: object, suffix: str) -> Path:
        """Where the file of this key is, or would be."""
        name = hashlib.sha256(repr(key).encode(errors="surrogateescape")).hexdigest()[:40]
        return self.folder / name[:2] / f"{name}{suffix}"

    def find(self, *key: object, suffix: str) -> Path | None:
        """The file of this key, if it is there; it counts as used now."""
        file = self.place(*key, suffix=suffix)
        return file if touch(file) else None

    def trim_after(self, file: Path) -> None:
        """`trim` after `file` was written, but not every time: looking at all files takes a while."""
        with suppress(OSError):
            self._room -= file.stat().st_size
        if self._room < 0:
            self._room = self.limit_bytes * SLACK
            self.trim(spare_bytes=int(self._room))

    def trim(self, *, spare_bytes: int = 0) -> int:
        """Delete the least recently used files until all are within the limit.

        Parameters
        ----------
        spare_bytes
            Leave room for so many bytes more.

        Returns
        -------
        int
            Bytes of the files that are left.
        """
        files = sorted(_files(self.folder))
        total = sum(size for _, size, _ in files)
        latest = time.time() - self.in_use_seconds
        for used, size, file in files:
            if total + spare_bytes <= self.limit_bytes or used > latest:
                break
            with suppress(OSError):  # on Windows a file that is open cannot be deleted
                file.unlink()
                total -= size
        return total


def touch(file: Path) -> bool:
    """Let a file count as used now; whether it is there. When it was written stays: that is part of keys."""
    try:
        os.utime(file, ns=(time.time_ns(), file.stat().st_mtime_ns))
    except PermissionError:  # someone else's file, in a shared folder
        return True
    except OSError:
        return False
    return True


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each file below a folder was last used, its size, and its path; those that vanish are left out."""
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.stat(os.path.join(where, name))
                yield max(status.st_atime, status.st_mtime), status.st_size, Path(where, name)


def stamp(file: Path) -> tuple[str, int, int]:
    """What distinguishes a file from an older one of the same name: path, time of change, bytes."""
    status = file.stat()
    return str(file), status.st_mtime_ns, status.st_size


ABANDONED_SECONDS = 86_400.0  # a temporary file this old belongs to a process that was killed
RENAME_SECONDS = 2.0  # how long to wait, on Windows, for a program that holds the old file open
_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def atomic_write(
    target: Place, *, make_folder: bool = False, error: type[SeasyncError] = SeasyncError
) -> Iterator[Path]:
    """A temporary path to write to, which becomes `target` if the block ends well.

    If the block raises, nothing of it is left. Two processes may write the same target: each has its own
    temporary file, and the last one to finish wins. A target at a URI is written to this machine first and
    uploaded at the end.

    Parameters
    ----------
    target
        A path or URI. The temporary file lies beside a path and has the same extension.
    make_folder
        Make the target's folder if it is missing.
    error
        What to raise if the file cannot be written.

    Examples
    --------
    >>> with atomic_write("edit.otio") as part:         # doctest: +SKIP
    ...     part.write_text(text)
    """
    expect_writable(target, make_folder=make_folder, error=error)
    with write_errors(target, error):
        pending = PendingFile(target)
        try:
            yield pending.path
            pending.commit()
        finally:
            pending.discard()


def write_text(
    target: Place, text: str, *, make_folder: bool = False, error: type[SeasyncError] = SeasyncError
) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with atomic_write(target, make_folder=make_folder, error=error) as part:
        part.write_text(text, encoding="utf-8")


def expect_writable(
    target: Place,
    *,
    sources: Iterable[Place] = (),
    make_folder: bool = False,
    error: type[SeasyncError] = SeasyncError,
) -> None:
    """Raise `error` unless `target` can be written without losing one of the `sources`.

    Worth asking before long work. With `make_folder` the folder is made if it is missing.
    """
    place = Location(target)
    if any(place == Location(source) for source in sources if not place.is_local):
        raise error(f"{target}: would overwrite one of the inputs; choose another name")
    if not place.is_local:
        from seasync.files.store import expect_bucket

        expect_bucket(place.text)
        return
    path, folder = place.path, place.path.parent
    if make_folder:
        with write_errors(target, error):
            folder.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        raise error(f"{target}: cannot be written: there is no folder {folder}; make it, or name another")
    if path.exists() and not path.is_file():
        raise error(f"{target}: is not a file; name one to write to")
    inputs = [source for source in map(Location, sources) if source.is_local and source.path.exists()]
    if path.exists() and any(path.samefile(source.path) for source in inputs):
        raise error(f"{target}: would overwrite one of the inputs; choose another name")
    if not os.access(folder, os.W_OK):
        raise error(f"{target}: the folder {folder} cannot be written to; name another")


class PendingFile:
    """A file that is being written under a temporary name: `path`. End it with `commit` or `discard`."""

    def __init__(self, target: Place) -> None:
        self.target = Location(target)
        self._folder: Path | None = None
        if not self.target.is_local:
            self._folder = Path(tempfile.mkdtemp(prefix="seasync-"))
            self.path = self._folder / self.target.name
            return
        place = Path(os.path.realpath(self.target.path))  # what a link points to is written, the link stays
        start = f".{place.stem[:40]}."
        _delete_abandoned(place.parent, start)
        self._place = place
        self.path = place.with_name(f"{start}{os.getpid()}-{secrets.token_hex(4)}.part{place.suffix}")

    def commit(self) -> None:
        """Let the target be what was written."""
        if self._folder:
            from seasync.files.store import upload

            upload(self.path, str(self.target))
        else:
            flush(self.path)
            _replace(self.path, self._place)

    def discard(self) -> None:
        """Delete what was written and not committed."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def write_errors(target: Place, error: type[SeasyncError]) -> Iterator[None]:
    """Turn the system's errors into one line that names the file and says what to do."""
    try:
        yield
    except OSError as caught:
        if not _is_about_writing(caught, Location(target)):
            raise
        raise error(f"{target}: cannot be written ({why_not_written(caught, target)})") from caught


def _is_about_writing(caught: OSError, target: Location) -> bool:
    """An error that names another file, such as one that was to be read, is not about this one."""
    if not isinstance(caught.filename, str):
        return True
    beside = Path(os.path.realpath(target.path)).parent if target.is_local else Path(tempfile.gettempdir())
    named = Path(caught.filename)
    return named == beside or beside in named.parents or named in beside.parents


def why_not_written(caught: OSError, target: Place) -> str:
    """What the system says about a file that could not be written, and what to do about it."""
    reason, place = caught.strerror or str(caught), Location(target)
    ours = place.is_local and cache_folder().absolute() in place.path.absolute().parents
    if caught.errno in _FULL:
        other = "name another folder with SEASYNC_CACHE" if ours else "name another place"
        return f"{reason}; make room, or {other}"
    if caught.errno in _FORBIDDEN:
        if ours:
            return f"{reason}; name a cache folder that you may write to with SEASYNC_CACHE"
        return f"{reason}; check the folder's permissions, and close programs that have the file open"
    return reason


def _delete_abandoned(folder: Path, start: str) -> None:
    """Delete temporary files that processes which were killed have left here for this target."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(start) and ".part" in entry.name):
                continue
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > ABANDONED_SECONDS:
                    os.unlink(entry.path)


def flush(*places: Path) -> None:
    """Bring files and the entries of folders to the disk: some systems report a full disk only now."""
    for place in places:
        if os.name == "nt" and place.is_dir():  # which writes them by itself
            continue
        number = os.open(place, os.O_RDONLY if place.is_dir() else os.O_RDWR)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _replace(source: Path, target: Path) -> None:
    """Rename; on Windows a virus scanner or a player may hold the old file open for a moment."""
    end = time.monotonic() + (RENAME_SECONDS if os.name == "nt" else 0.0)
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.05)


# One process at a time: a lock that the operating system holds, and releases when its process dies.


LOOK_SECONDS = 0.2


class Locked(OSError):
    """Another process holds the lock, and the caller did not want to wait."""


@contextmanager
def lock(file: Path, *, wait: bool = True, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock `file` (made if need be, and left there: deleting it would let two hold it).

    Parameters
    ----------
    wait
        Wait while another process, or another thread of this one, holds it.
    waiting
        Called once if there is anyone to wait for.

    Raises
    ------
    Locked
        If another one holds it and `wait` is false.
    OSError
        If the file cannot be opened or locked.
    """
    with file.open("ab") as opened:
        if not _take(opened):
            if not wait:
                raise Locked(f"{file}: held by another process")
            if waiting:
                waiting()
            while not _take(opened):
                time.sleep(LOOK_SECONDS)
        yield


if sys.platform == "win32":
    import msvcrt

    def _take(file: BinaryIO) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
