"""Folders of files that can be made again: bounded in size, the least recently used go first."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from seasync.files.location import Location

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
