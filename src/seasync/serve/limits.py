"""What a server lets requests take."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Bounds on what is uploaded, decoded and kept.

    upload_bytes   one uploaded file; quota_bytes: all of them together
    upload_hours   how long an upload that is not added to a sea stays
    pixels         of a video's picture; video_seconds: its length
    span_seconds   of what is encoded while a request waits: a query, or one side of an alignment
    look_seconds   time to look into one file (type check, thumbnail, timeline)
    encode_seconds time to encode one span
    memory_bytes   of a process that looks into files, where the system can enforce it
    body_bytes     of a request that is not an upload
    cache_bytes    of thumbnails and proxies together; film_bytes: of films
    """

    upload_bytes: int = 4 * GIB
    quota_bytes: int = 20 * GIB
    upload_hours: float = 24.0
    pixels: int = 8192 * 4352
    video_seconds: float = 6 * 3600.0
    span_seconds: float = 300.0
    look_seconds: float = 60.0
    encode_seconds: float = 600.0
    memory_bytes: int = 12 * GIB
    body_bytes: int = 1 << 20
    cache_bytes: int = 5 * GIB
    film_bytes: int = 10 * GIB
