"""Files as the operating system opens them: what lies at a URI is fetched once, into a bounded cache."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
import time
from contextlib import suppress
from os import PathLike
from pathlib import Path

from seasync.errors import VideoError
from seasync.files.objects import explained, is_uri, objects, opened, plain

LIMIT = "SEASYNC_VIDEO_CACHE_GB"
DEFAULT_GB = 20.0
FRESH_SECONDS = 60.0  # how long a file is believed to be as it was
IN_USE_SECONDS = 600.0  # what was asked for so lately is not deleted
CHUNK = 8 << 20

_seen: dict[str, tuple[float, Path]] = {}
_locks: dict[str, threading.Lock] = {}


def cache_folder() -> Path:
    """The folder for everything that can be made again: `SEASYNC_CACHE`, or the user's cache folder."""
    if named := os.environ.get("SEASYNC_CACHE"):
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("seasync", appauthor=False))


def fetch(file: str | PathLike[str]) -> Path:
    """Where a file is on this machine: a path as it is; what lies at a URI, after fetching it.

    Raises
    ------
    VideoError
        If it cannot be fetched, or does not fit into the cache.
    """
    uri = str(file)
    if not is_uri(uri):
        return Path(file)
    with _locks.setdefault(uri, threading.Lock()):
        checked, path = _seen.get(uri, (0.0, Path()))
        if time.monotonic() - checked > FRESH_SECONDS or not path.is_file():
            path = _download_once(uri)
            _seen[uri] = time.monotonic(), path
        with suppress(OSError):  # the least recently used go first; when it was written stays
            os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
        return path


def _download_once(uri: str) -> Path:
    with plain(uri, VideoError):
        found = [each for each in objects(uri) if each.uri == uri]
    if not found:
        raise VideoError(f"{uri}: no such file")
    (it,) = found
    name = hashlib.sha256(f"{uri}\n{it.size}\n{it.written}".encode()).hexdigest()[:32]
    folder = cache_folder() / "videos"
    path = folder / f"{name}{Path(uri).suffix.lower()}"
    if path.is_file() and path.stat().st_size == it.size:
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _make_room(folder, uri, it.size)
        _download(uri, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _too_full(uri, it.size, folder) from error
        raise VideoError(f"{uri}: cannot be fetched ({explained(str(error))})") from error
    return path


def _download(uri: str, path: Path) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    system, there = opened(uri)
    try:
        with system.open_input_stream(there) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target, CHUNK)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _make_room(folder: Path, uri: str, size: int) -> None:
    """Delete the least recently used until `size` more bytes fit, save those that may be in use."""
    limit = float(os.environ.get(LIMIT) or DEFAULT_GB) * 1e9
    kept = []
    for file in folder.iterdir():
        with suppress(OSError):  # another process may delete it meanwhile
            status = file.stat()
            kept.append((status.st_atime, status.st_size, file))
    total = sum(length for _, length, _ in kept)
    for used, length, file in sorted(kept):
        if total + size <= limit or time.time() - used < IN_USE_SECONDS:
            break
        file.unlink(missing_ok=True)
        total -= length
    free = shutil.disk_usage(folder).free
    if size > min(free, limit):
        raise _too_full(uri, size, folder)


def _too_full(uri: str, size: int, folder: Path) -> VideoError:
    return VideoError(
        f"{uri}: {size / 1e6:.0f} MB do not fit into the cache {folder}; make room there, name another "
        f"folder with SEASYNC_CACHE, or raise {LIMIT}"
    )
