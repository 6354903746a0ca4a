"""Limits on what requests may use."""

from __future__ import annotations

import os
from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of a server on uploads, decoding, memory and disk.

    Parameters
    ----------
    upload_bytes, quota_bytes
        Size of one upload, and of all uploads together.
    upload_hours
        How long an upload stays that is not part of a sea or of a comparison.
    pixels, video_seconds
        Largest picture and longest video.
    span_seconds
        Longest span that is encoded while a request waits: a query, or one side of an alignment.
    inspect_seconds, encode_seconds
        Time to inspect one file (type check, thumbnail, timeline), and to encode one span.
    wait_seconds
        How long a request waits for its turn to have something inspected or encoded; then it is refused.
    memory_bytes
        Memory of a process that inspects files, where the system can enforce it.
    body_bytes
        Size of a request that is not an upload.
    cache_bytes, film_bytes
        Disk space of thumbnails and browser copies together, and of films.
    alignment_bytes
        Memory of the alignments that are remembered.
    search_processes
        Processes that search while more searches wait than there are cores. Each holds the clip vectors or
        the index of the seas it searches.
    job_days, job_records
        How long, and how many, finished jobs are remembered.
    """

    upload_bytes: int = 4 * GIB
    quota_bytes: int = 20 * GIB
    upload_hours: float = 24.0
    pixels: int = 8192 * 4352
    video_seconds: float = 6 * 3600.0
    span_seconds: float = 300.0
    inspect_seconds: float = 60.0
    encode_seconds: float = 600.0
    wait_seconds: float = 300.0
    memory_bytes: int = 12 * GIB
    body_bytes: int = 1 << 20
    cache_bytes: int = 5 * GIB
    film_bytes: int = 10 * GIB
    alignment_bytes: int = GIB // 2
    search_processes: int = min(os.cpu_count() or 1, 4) if (os.cpu_count() or 1) > 1 else 0
    job_days: float = 7.0
    job_records: int = 1000
