"""`python -m stress.small_server SEA STATE ENCODER MINUTES ROOT…`: a server with small limits.

Days and hours are compressed: 24 hours of what a server forgets with time pass in MINUTES.
"""

from __future__ import annotations

import sys

from seasync.sea import record
from seasync.serve import Limits, backend, serve

DAY_MINUTES = 24 * 60.0
MB = 1 << 20


def small_limits(minutes: float) -> Limits:
    """Limits that a few clients reach within minutes."""
    share = minutes / DAY_MINUTES
    return Limits(
        upload_bytes=2 * MB,
        quota_bytes=3 * MB,
        upload_hours=24 * share / 4,
        pixels=1 << 21,
        video_seconds=600,
        inspect_seconds=30,
        encode_seconds=60,
        memory_bytes=4 << 30,
        cache_bytes=2 * MB,
        film_bytes=MB,
        alignment_bytes=8 * MB,
        job_days=7 * share / 4,
        job_records=60,
    )


if __name__ == "__main__":
    sea, state, encoder, minutes, *roots = sys.argv[1:]
    backend.FILM_IN_USE_SECONDS = 5.0
    record.METADATA_CACHE_BYTES = 2 * MB
    serve(
        sea,
        encoder=encoder,
        port=0,
        token="stress-token",
        roots=roots,
        state=state,
        limits=small_limits(float(minutes)),
        ready=lambda address: print(address, flush=True),
    )
