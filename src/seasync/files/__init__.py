"""Where bytes live: places, downloads, atomic writes, bounded caches, locks, object storage."""

from seasync.files.cache import DiskCache, cache_folder
from seasync.files.local import Locked, atomic_write, expect_writable, lock, write_text
from seasync.files.location import Location, Place, is_uri
from seasync.files.store import exists, fetch, files_in

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
