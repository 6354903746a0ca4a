"""Uploads: received in pieces, checked by decoding in a lane, kept within a quota."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.concurrency import run_in_threadpool

from seasync.errors import ServeError
from seasync.serve.lane import Lane
from seasync.serve.limits import Limits
from seasync.serve.look import Facts, look
from seasync.serve.models import Upload
from seasync.serve.state import State

CHUNK = 1 << 20
SPARE = 1 << 29  # bytes of the disk that uploads leave free


class Uploads:
    """The uploaded videos of a server, by the hash of their content."""

    def __init__(self, state: State, lane: Lane, limits: Limits) -> None:
        self._state, self._lane, self._limits = state, lane, limits
        self._incoming = state.folder / "incoming"
        shutil.rmtree(self._incoming, ignore_errors=True)  # what an earlier run did not finish
        self._incoming.mkdir(mode=0o700)
        self._lock = threading.Lock()
        self._reserved = 0
        self.expire()

    async def receive(self, name: str, size: int, chunks: AsyncIterator[bytes]) -> Upload:
        """Take in `size` bytes as a video called `name`.

        Raises
        ------
        ServeError
            If it is too large, there is no room, or it is not a video; nothing of it is kept then.
        """
        self._reserve(size)
        part = self._incoming / secrets.token_hex(16)
        try:
            content = await self._write(part, size, chunks)
            return await run_in_threadpool(self._take, part, content, _plain(name), size)
        finally:
            part.unlink(missing_ok=True)
            with self._lock:
                self._reserved -= size

    def get(self, upload: str) -> tuple[Path, Upload]:
        """The file and what is known of it; it counts as used now."""
        rows = self._state("SELECT * FROM uploads WHERE id = ?", upload)
        if not rows or not (file := self._file(upload, rows[0]["name"])).exists():
            raise ServeError(
                f"upload:{upload}: no such upload; it may have expired, upload it again", status=404
            )
        self._state("UPDATE uploads SET used = ? WHERE id = ?", time.time(), upload)
        return file, _model(rows[0])

    def all(self) -> list[Upload]:
        return [_model(row) for row in self._state("SELECT * FROM uploads ORDER BY used DESC")]

    def keep(self, uploads: list[str]) -> None:
        """These are part of a sea now: they do not expire."""
        for upload in uploads:
            self._state("UPDATE uploads SET kept = 1 WHERE id = ?", upload)

    def remove(self, upload: str) -> None:
        self.get(upload)
        self._forget(upload)

    def owner(self, file: Path) -> str | None:
        """The id of the upload that `file` is, if it is one."""
        inside = file.is_relative_to(self._state.uploads)
        return file.relative_to(self._state.uploads).parts[0] if inside else None

    def expire(self) -> None:
        """Forget what nobody has used for a while."""
        old = time.time() - self._limits.upload_hours * 3600
        for row in self._state("SELECT id FROM uploads WHERE kept = 0 AND used < ?", old):
            self._forget(row["id"])

    def _reserve(self, size: int) -> None:
        limit, quota = self._limits.upload_bytes, self._limits.quota_bytes
        if size > limit:
            raise ServeError(f"{size / 1e6:.0f} MB; an upload has at most {limit / 1e6:.0f} MB", status=413)
        self.expire()
        with self._lock:
            (row,) = self._state("SELECT COALESCE(SUM(bytes), 0) AS total FROM uploads")
            if row["total"] + self._reserved + size > quota:
                raise ServeError(
                    f"no room: all uploads together have at most {quota / 1e6:.0f} MB; delete some",
                    status=507,
                )
            if shutil.disk_usage(self._state.folder).free < self._reserved + size + SPARE:
                raise ServeError("no room: the server's disk is full", status=507)
            self._reserved += size

    async def _write(self, part: Path, size: int, chunks: AsyncIterator[bytes]) -> str:
        digest, buffer, count = hashlib.sha256(), bytearray(), 0
        with part.open("xb") as file:
            async for chunk in chunks:
                count += len(chunk)
                if count > size:
                    raise ServeError("more bytes than Content-Length says", status=400)
                buffer += chunk
                if len(buffer) >= CHUNK:
                    await run_in_threadpool(file.write, bytes(buffer))
                    digest.update(buffer)
                    buffer.clear()
            file.write(buffer)
            digest.update(buffer)
        if count < size:
            raise ServeError("fewer bytes than Content-Length says; the upload broke off", status=400)
        return digest.hexdigest()[:32]

    def _take(self, part: Path, content: str, name: str, size: int) -> Upload:
        """Check what was received and give it its place."""
        if rows := self._state("SELECT * FROM uploads WHERE id = ?", content):
            file, upload = self.get(rows[0]["id"])
            return upload
        named = part.with_name(f"{part.name}.{name}")  # FFmpeg looks at names too
        part.rename(named)
        try:
            bounds = self._limits.pixels, self._limits.video_seconds
            facts: Facts = self._lane.run(look, str(named), *bounds, seconds=self._limits.look_seconds)
            file = self._file(content, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            named.rename(file)
        finally:
            named.unlink(missing_ok=True)
        known = {"width": facts.width, "height": facts.height, "seconds": facts.length}
        row = {"id": content, "name": name, "bytes": size, "facts": json.dumps(known), "kept": 0}
        self._state.put("uploads", row | {"used": time.time()})
        return self.get(content)[1]

    def _file(self, upload: str, name: str) -> Path:
        return self._state.uploads / upload / name

    def _forget(self, upload: str) -> None:
        self._state("DELETE FROM uploads WHERE id = ?", upload)
        shutil.rmtree(self._state.uploads / upload, ignore_errors=True)


def _plain(name: str) -> str:
    """A file name that is harmless everywhere and still tells its kind."""
    stem, dot, kind = re.sub(r"[^\w .()+-]+", "_", name.replace("\\", "/").split("/")[-1]).rpartition(".")
    stem, kind = (stem, kind) if dot else (kind, "")
    kind = re.sub(r"[^A-Za-z0-9]", "", kind)[:8]
    return (stem.strip(" .")[:80] or "video") + (f".{kind}" if kind else "")


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
