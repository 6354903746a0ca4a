"""Uploaded videos: received in pieces, checked by decoding, kept within a quota."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from seasync.errors import ServeError
from seasync.serve.inspection import KnownFacts
from seasync.serve.models import Upload
from seasync.serve.security import Limits
from seasync.serve.stores import StateFolder

CHUNK = 1 << 20
RESERVE_BYTES = 1 << 29  # of the disk that uploads leave free

_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # of Windows, with any suffix


class UploadStore:
    """The uploaded videos of a server, named by the hash of their content."""

    def __init__(self, state: StateFolder, facts: KnownFacts, limits: Limits) -> None:
        self._state, self._facts, self._limits = state, facts, limits
        self._incoming = state.folder / "incoming"
        shutil.rmtree(self._incoming, ignore_errors=True)  # left over from an earlier run
        self._incoming.mkdir(mode=0o700)
        self._lock = threading.Lock()
        self._reserved = 0
        self.expire()

    async def receive(self, name: str, size: int, chunks: AsyncIterator[bytes]) -> Upload:
        """Receive `size` bytes as a video called `name`.

        Raises
        ------
        ServeError
            If it is too large, does not fit into the quota, or is not a video. Nothing of it is kept then.
        """
        async with self.received(size, chunks) as part:
            return await run_in_threadpool(self.take, part, name)

    @asynccontextmanager
    async def received(self, size: int, chunks: AsyncIterator[bytes]) -> AsyncIterator[Path]:
        """Receive `size` bytes into a temporary file."""
        with self.incoming(size) as part:
            await self._write(part, size, chunks)
            yield part

    @contextmanager
    def incoming(self, size: int) -> Iterator[Path]:
        """A place for a temporary file of `size` bytes, which count against the quota until it is deleted.

        Raises
        ------
        ServeError
            If the file is too large or does not fit into the quota.
        """
        self._reserve(size)
        part = self._incoming / secrets.token_hex(16)
        try:
            yield part
        finally:
            part.unlink(missing_ok=True)
            with self._lock:
                self._reserved -= size

    def take(self, part: Path, name: str) -> Upload:
        """Check a received file and keep it as an upload.

        Raises
        ------
        ServeError
            If it is not a video that this server accepts.
        """
        content, name, size = content_hash(part), _safe_name(name), part.stat().st_size
        if self._state("SELECT * FROM uploads WHERE id = ?", content):
            return self.get(content)[1]
        named = part.with_name(f"{part.name}.{name}")  # FFmpeg uses file names too
        part.rename(named)
        try:
            facts = self._facts.of(named)
            file = self._file(content, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            named.replace(file)  # on Windows, `rename` would not replace one that a crash left
            self._facts.remember(file, facts)
        finally:
            named.unlink(missing_ok=True)
        known = {"width": facts.width, "height": facts.height, "seconds": facts.length}
        row = {"id": content, "name": name, "bytes": size, "facts": json.dumps(known), "kept": 0}
        self._state.put("uploads", row | {"used": time.time()})
        return self.get(content)[1]

    def get(self, upload: str) -> tuple[Path, Upload]:
        """The file of an upload and its description. The upload counts as used now."""
        rows = self._state("SELECT * FROM uploads WHERE id = ?", upload)
        if not rows or not (file := self._file(upload, rows[0]["name"])).exists():
            raise ServeError(
                f"upload:{upload}: no such upload; it may have expired, upload the video again", status=404
            )
        self._state("UPDATE uploads SET used = ? WHERE id = ?", time.time(), upload)
        return file, _model(rows[0])

    def all(self) -> list[Upload]:
        """All uploads, the most recently used first."""
        return [_model(row) for row in self._state("SELECT * FROM uploads ORDER BY used DESC")]

    def keep(self, uploads: list[str]) -> None:
        """Keep uploads permanently: they are part of a sea now."""
        for upload in uploads:
            self._state("UPDATE uploads SET kept = 1 WHERE id = ?", upload)

    def remove(self, upload: str) -> None:
        """Delete an upload."""
        self.get(upload)
        self._forget(upload)

    def owner(self, file: Path) -> str | None:
        """The id of the upload whose file this is, or None."""
        inside = file.is_relative_to(self._state.uploads)
        return file.relative_to(self._state.uploads).parts[0] if inside else None

    def expire(self) -> None:
        """Delete uploads that nobody has used for a while and no comparison needs."""
        old = time.time() - self._limits.upload_hours * 3600
        for row in self._state(
            "SELECT id FROM uploads WHERE kept = 0 AND used < ? AND NOT EXISTS (SELECT 1 FROM comparisons "
            "WHERE alignment LIKE '%upload:' || uploads.id || '%')",  # its takes, too
            old,
        ):
            self._forget(row["id"])

    def _reserve(self, size: int) -> None:
        limit, quota = self._limits.upload_bytes, self._limits.quota_bytes
        if size > limit:
            raise ServeError(
                f"the file has {size / 1e6:.0f} MB; an upload may have at most {limit / 1e6:.0f} MB",
                status=413,
            )
        self.expire()
        with self._lock:
            (row,) = self._state("SELECT COALESCE(SUM(bytes), 0) AS total FROM uploads")
            if row["total"] + self._reserved + size > quota:
                raise ServeError(
                    f"no room: all uploads together may have at most {quota / 1e6:.0f} MB; delete some",
                    status=507,
                )
            if shutil.disk_usage(self._state.folder).free < self._reserved + size + RESERVE_BYTES:
                raise ServeError("no room: the server's disk is full", status=507)
            self._reserved += size

    async def _write(self, part: Path, size: int, chunks: AsyncIterator[bytes]) -> None:
        buffer, count = bytearray(), 0
        with part.open("xb") as file:
            async for chunk in chunks:
                count += len(chunk)
                if count > size:
                    raise ServeError("the request has more bytes than its Content-Length", status=400)
                buffer += chunk
                if len(buffer) >= CHUNK:
                    await run_in_threadpool(file.write, bytes(buffer))
                    buffer.clear()
            file.write(buffer)
        if count < size:
            raise ServeError(
                "the request has fewer bytes than its Content-Length; try the upload again", status=400
            )

    def _file(self, upload: str, name: str) -> Path:
        return self._state.uploads / upload / name

    def _forget(self, upload: str) -> None:
        self._state("DELETE FROM uploads WHERE id = ?", upload)
        shutil.rmtree(self._state.uploads / upload, ignore_errors=True)


def content_hash(file: Path) -> str:
    """The hash of a file's content, by which uploads are known."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:32]


def _safe_name(name: str) -> str:
    """A file name that is harmless on every system, with its suffix."""
    stem, dot, kind = re.sub(r"[^\w .()+-]+", "_", name.replace("\\", "/").split("/")[-1]).rpartition(".")
    stem, kind = (stem, kind) if dot else (kind, "")
    kind = re.sub(r"[^A-Za-z0-9]", "", kind)[:8]
    stem = stem.strip(" .")[:80] or "video"
    if _DEVICE.match(stem):
        stem = f"_{stem}"
    return stem + (f".{kind}" if kind else "")


def _model(row: sqlite3.Row) -> Upload:
    facts = json.loads(row["facts"])
    return Upload(
        id=row["id"],
        ref=f"upload:{row['id']}",
        name=row["name"],
        bytes=row["bytes"],
        kept=bool(row["kept"]),
        **facts,
    )
