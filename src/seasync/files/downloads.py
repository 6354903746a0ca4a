"""What lies at a URI, as a file of this machine: fetched once, into a bounded cache."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections import OrderedDict
from pathlib import Path
from weakref import WeakValueDictionary

from seasync.errors import VideoError
from seasync.files.atomic import PendingFile, why_not_written
from seasync.files.disk_cache import DiskCache, cache_folder, touch
from seasync.files.location import Location, Place
from seasync.files.objects import CHUNK, Object, explained, objects, opened

LIMIT = "SEASYNC_VIDEO_CACHE_GB"
DEFAULT_GB = 20.0
FRESH_SECONDS = 60.0  # how long a file is believed to be unchanged
IN_USE_SECONDS = 600.0  # what was asked for so recently is not deleted
REMEMBERED = 1024  # URIs

_seen: OrderedDict[str, tuple[float, Path]] = OrderedDict()
_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()  # one as long as anyone uses it
_guard = threading.Lock()


def fetch(file: Place) -> Path:
    """The path of a file on this machine; what lies at a URI is downloaded first, unless the cache has it.

    The cache is `videos` in `SEASYNC_CACHE`, of at most `SEASYNC_VIDEO_CACHE_GB` gigabytes (20).

    Raises
    ------
    VideoError
        If it is not there, cannot be read to its end, or does not fit into the cache.
    StoreError
        If the store cannot be reached.
    """
    location = Location(file)
    if location.is_local:
        return location.path
    uri = location.text
    with _guard:
        lock = _locks.setdefault(uri, threading.Lock())
        checked, path = _seen.get(uri, (-FRESH_SECONDS, Path()))
    with lock:
        if time.monotonic() - checked >= FRESH_SECONDS or not path.is_file():
            path = _find_or_download(location)
            with _guard:
                _seen[uri] = time.monotonic(), path
                _seen.move_to_end(uri)
                while len(_seen) > REMEMBERED:
                    _seen.popitem(last=False)
        touch(path)
        return path


def _find_or_download(location: Location) -> Path:
    uri = location.text
    found = [each for each in objects(uri) if each.uri == uri]
    if not found:
        raise VideoError(f"{uri}: no such file")
    (there,) = found
    cache = DiskCache(cache_folder() / "videos", _limit_bytes(), in_use_seconds=IN_USE_SECONDS)
    path = cache.place(uri, there.size, there.written, suffix=location.suffix.lower())
    if path.is_file() and path.stat().st_size == there.size:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        cache.trim(spare_bytes=there.size)
        if there.size > min(shutil.disk_usage(cache.folder).free, cache.limit_bytes):
            raise _too_full(there, cache.folder)
        _download(uri, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _too_full(there, cache.folder) from error
        here = error.filename is not None
        reason = why_not_written(error, path) if here else explained(str(error))
        raise VideoError(f"{uri}: cannot be fetched ({reason})") from error
    return path


def _download(uri: str, path: Path) -> None:
    system, there = opened(uri)
    pending = PendingFile(path)
    try:
        with system.open_input_stream(there) as source, pending.path.open("wb") as target:
            shutil.copyfileobj(source, target, CHUNK)
        pending.commit()
    finally:
        pending.discard()


def _limit_bytes() -> float:
    given = os.environ.get(LIMIT)
    try:
        return float(given or DEFAULT_GB) * 1e9
    except ValueError:
        raise VideoError(f"{LIMIT}={given}: expected a number of gigabytes, such as 20") from None


def _too_full(there: Object, folder: Path) -> VideoError:
    return VideoError(
        f"{there.uri}: {there.size / 1e6:.0f} MB do not fit into the cache {folder}; make room there, name "
        f"another folder with SEASYNC_CACHE, or raise {LIMIT}"
    )
