"""Where bytes live: places, downloads, atomic writes, bounded caches, locks, object storage."""

from seasync.files.atomic import atomic_write, expect_writable, write_text
from seasync.files.disk_cache import DiskCache, cache_folder
from seasync.files.downloads import fetch
from seasync.files.location import Location, is_uri
from seasync.files.lock import Locked, lock

__all__ = [
    "DiskCache",
    "Location",
    "Locked",
    "atomic_write",
    "cache_folder",
    "expect_writable",
    "fetch",
    "is_uri",
    "lock",
    "write_text",
]
