"""Where bytes live: places, downloads, atomic writes, bounded caches, locks, object storage."""

from seasync.files.atomic import atomic_write, expect_writable, write_text
from seasync.files.disk_cache import DiskCache, cache_folder
from seasync.files.downloads import fetch
from seasync.files.location import Location, Place, is_uri
from seasync.files.lock import Locked, lock
from seasync.files.objects import exists, files_in

__all__ = [
    "DiskCache",
    "Location",
    "Locked",
    "Place",
    "atomic_write",
    "cache_folder",
    "exists",
    "expect_writable",
    "fetch",
    "files_in",
    "is_uri",
    "lock",
    "write_text",
]
