"""Where bytes live: places, downloads, atomic writes, bounded caches, locks, object storage."""

from seasync.files.local import DiskCache, atomic_write, cache_folder, expect_writable, lock, write_text
from seasync.files.location import Location, Place, is_uri
from seasync.files.store import exists, fetch, files_in

__all__ = [
    "DiskCache",
    "Location",
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
