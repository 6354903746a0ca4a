"""What a server remembers: its state folder with comparisons and uploads, and annotations of seas."""

import hashlib
import json
import logging
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from seasync.errors import SeaError, SeasyncError, ServeError
from seasync.files import is_uri
from seasync.files.local import flush
from seasync.options import Side
from seasync.sea.disk import DatasetFolder
from seasync.sea.record import create_dataset
from seasync.sea.snapshot import plain_errors, quoted
from seasync.serve import media, models, security

if TYPE_CHECKING:
    import lance

log = logging.getLogger("seasync.serve")

# Numbered migrations: entry n takes the tables from version n to n + 1.
MIGRATIONS = (
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, kind TEXT, sea TEXT, title TEXT, request TEXT, state TEXT, attempts INTEGER,
        progress REAL, message TEXT, error TEXT, result TEXT, created REAL, started REAL, ended REAL
    );
    CREATE TABLE uploads (
        id TEXT PRIMARY KEY, name TEXT, bytes INTEGER, facts TEXT, kept INTEGER, used REAL
    );
    """,
    """
    CREATE TABLE comparisons (
        id TEXT PRIMARY KEY, name TEXT, sea TEXT, alignment TEXT, query TEXT, match TEXT, videos TEXT,
        created REAL, changed REAL
    );
    """,
    "ALTER TABLE comparisons ADD COLUMN grid INTEGER NOT NULL DEFAULT 0;",
)


class StateFolder:
    """A folder with `state.sqlite`, `uploads/`, `films/` and `seas/`. One server at a time uses it.

    Raises
    ------
    ServeError
        If the folder cannot be written to, another server uses it, or a newer Seasync has written it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uploads = folder / "uploads"
        self.films = folder / "films"
        self.seas = folder / "seas"
        self._lock = threading.Lock()
        try:
            for part in (folder, self.uploads, self.films, self.seas):
                part.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open()
        except OSError as error:
            raise ServeError(
                f"{folder}: cannot write to this folder ({error.strerror}); choose another one with --state"
            ) from error
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise ServeError(
                    f"{folder}: another server uses this folder ({error}); choose another one with --state"
                ) from error
            raise ServeError(
                f"{folder / 'state.sqlite'}: cannot be used ({error}); restore it from a backup, or choose "
                "another folder with --state"
            ) from error

    def _open(self) -> None:
        # Exclusive: the operating system releases the lock when the process ends, however it ends.
        self._database = sqlite3.connect(
            self.folder / "state.sqlite", check_same_thread=False, isolation_level=None, timeout=0.5
        )
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        self._database.row_factory = sqlite3.Row
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise ServeError(
                f"{self.folder}: written by a newer Seasync; upgrade with `pip install -U seasync`, or "
                "choose another folder with --state"
            )
        self._database.execute("BEGIN EXCLUSIVE")
        self._database.execute("COMMIT")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            self._database.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")

    def __call__(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Run one statement in its own transaction."""
        with self._lock:
            return self._database.execute(sql, values).fetchall()

    def put(self, table: str, row: dict[str, Any]) -> None:
        """Insert or replace a row."""
        places = ", ".join("?" * len(row))
        self(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})", *row.values())

    @contextmanager
    def if_possible(self) -> Iterator[None]:
        """Make a change that can wait: whatever fails, it stays in memory only."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the thread that does the jobs must go on
            log.warning("%s: not written: %s: %s", self.folder, type(error).__name__, error)

    def close(self) -> None:
        """Close the database and let another server use the folder."""
        with self._lock:
            self._database.close()


# Comparisons that people keep, in the state folder of the server.


LONGEST_NAME = 57


class ComparisonStore:
    """The comparisons of a server. Uploads that a comparison uses do not expire."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._lock = threading.RLock()  # from reading a row to writing it

    def add(
        self,
        sea: str,
        alignment: models.AlignmentRequest,
        videos: Mapping[Side, str],
        *,
        name: str | None,
        grid: bool = False,
    ) -> models.Comparison:
        """Keep a comparison. The same request again in the same sea is the same comparison."""
        with self._lock:
            text = alignment.model_dump_json()
            same = "SELECT * FROM comparisons WHERE sea = ? AND alignment = ? AND grid = ?"
            rows = self._state(same, sea, text, int(grid))
            if rows:
                return self.update(rows[0]["id"], name=name)
            now = time.time()
            comparison = secrets.token_hex(16)
            others = f"{1 + len(alignment.takes)} takes" if grid else _shortened(videos["match"])
            default = f"{_shortened(videos['query'])} and {others}"
            row = {"id": comparison, "sea": sea, "videos": json.dumps(videos), "created": now, "changed": now}
            self._put(row | {"name": name or default, "grid": int(grid)}, alignment)
            return self.get(comparison)

    def get(self, comparison: str) -> models.Comparison:
        """The comparison with this id, or ServeError."""
        return _comparison(self._row(comparison))

    def all(self) -> list[models.Comparison]:
        """All comparisons, the most recently changed first."""
        return [_comparison(row) for row in self._state("SELECT * FROM comparisons ORDER BY changed DESC")]

    def update(
        self,
        comparison: str,
        *,
        name: str | None = None,
        alignment: models.AlignmentRequest | None = None,
        videos: Mapping[Side, str] | None = None,
    ) -> models.Comparison:
        """Change the name of a comparison, or its alignment and the names of the videos."""
        with self._lock:
            row = dict(self._row(comparison))
            known = models.AlignmentRequest.model_validate_json(row["alignment"])
            if videos is not None:
                row["videos"] = json.dumps(videos)
            self._put(row | {"name": name or row["name"], "changed": time.time()}, alignment or known)
            return self.get(comparison)

    def remove(self, comparison: str) -> None:
        """Forget a comparison. Its uploads expire like others from now on."""
        with self._lock:
            self._row(comparison)
            self._state("DELETE FROM comparisons WHERE id = ?", comparison)

    def _row(self, comparison: str) -> sqlite3.Row:
        rows = self._state("SELECT * FROM comparisons WHERE id = ?", comparison)
        if not rows:
            raise ServeError(f"{comparison}: no such comparison", status=404)
        return rows[0]

    def _put(self, row: dict[str, object], alignment: models.AlignmentRequest) -> None:
        refs = {"query": alignment.query, "match": alignment.match}
        self._state.put("comparisons", row | refs | {"alignment": alignment.model_dump_json()})


def _shortened(name: str) -> str:
    """A file's name, if need be without its middle: two of them fit into the name of a comparison."""
    return name if len(name) <= LONGEST_NAME else f"{name[:40]}…{name[len(name) - LONGEST_NAME + 41 :]}"


def _comparison(row: sqlite3.Row) -> models.Comparison:
    known = {name: row[name] for name in row.keys() if name not in ("query", "match")}  # noqa: SIM118
    return models.Comparison(**known | {name: json.loads(row[name]) for name in ("alignment", "videos")})


# Uploaded videos: received in pieces, checked by decoding, kept within a quota.


CHUNK = 1 << 20
RESERVE_BYTES = 1 << 29  # of the disk that uploads leave free

_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # of Windows, with any suffix


# Of an upload: the comparisons (as query, match, or one of the takes), and the jobs that are not over.
_IN_COMPARISON = "EXISTS (SELECT 1 FROM comparisons WHERE instr(alignment, 'upload:' || uploads.id))"
_IN_JOB = "EXISTS (SELECT 1 FROM jobs WHERE ended IS NULL AND instr(request, uploads.id))"


class UploadStore:
    """The uploaded videos of a server, named by the hash of their content.

    Parameters
    ----------
    in_seas
        Gives the ids of all uploads that a sea uses.
    """

    def __init__(
        self,
        state: StateFolder,
        facts: media.KnownFacts,
        limits: security.Limits,
        in_seas: Callable[[], set[str]],
    ) -> None:
        self._state, self._facts, self._limits, self._in_seas = state, facts, limits, in_seas
        self._incoming = state.folder / "incoming"
        shutil.rmtree(self._incoming, ignore_errors=True)  # left over from an earlier run
        self._incoming.mkdir(mode=0o700)
        self._lock = threading.Lock()
        self._reserved: dict[Path, int] = {}  # bytes of temporary files that count against the quota
        self.expire()

    async def receive(self, name: str, size: int, chunks: AsyncIterator[bytes]) -> models.Upload:
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
        """Receive `size` bytes into a temporary file. They count against the quota as they come."""
        with self.incoming(0) as part:
            await run_in_threadpool(self._expect_room, part, size)
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
        part = self._incoming / secrets.token_hex(16)
        if size:
            self._expect_room(part, size)
        try:
            self._reserve(part, size)
            yield part
        finally:
            part.unlink(missing_ok=True)
            with self._lock:
                self._reserved.pop(part, None)

    def take(self, part: Path, name: str) -> models.Upload:
        """Check a received file and keep it as an upload.

        Raises
        ------
        ServeError
            If it is not a video that this server accepts.
        """
        content, name, size = content_hash(part), _safe_name(name), part.stat().st_size
        if self._is_whole(content):
            return self.get(content)[1]
        named = part.with_name(f"{part.name}.{name}")  # FFmpeg uses file names too
        part.rename(named)
        try:
            facts = self._facts.of(named)
            flush(named)
            known = {"width": facts.width, "height": facts.height, "seconds": facts.length}
            row: dict[str, Any] = {"id": content, "name": name, "bytes": size, "kept": 0}
            row["facts"] = json.dumps(known)
            with self._lock:  # the same file may come under several names at once
                if rows := self._state("SELECT * FROM uploads WHERE id = ?", content):
                    row = dict(rows[0])
                file = self._file(content, row["name"])
                file.parent.mkdir(parents=True, exist_ok=True)
                named.replace(file)  # on Windows, `rename` would not replace one that a crash left
                flush(file.parent, self._state.uploads)
                self._state.put("uploads", row | {"used": time.time()})
            self._facts.remember(file, facts)
        finally:
            named.unlink(missing_ok=True)
        return self.get(content)[1]

    def _is_whole(self, upload: str) -> bool:
        """Whether an upload is known, and its file is still what was uploaded."""
        rows = self._state("SELECT * FROM uploads WHERE id = ?", upload)
        with suppress(OSError):
            return bool(rows) and content_hash(self._file(upload, rows[0]["name"])) == upload
        return False

    def get(self, upload: str) -> tuple[Path, models.Upload]:
        """The file of an upload and its description. The upload counts as used now."""
        rows = self._state("SELECT * FROM uploads WHERE id = ?", upload)
        if not rows or not (file := self._file(upload, rows[0]["name"])).exists():
            raise ServeError(
                f"upload:{upload}: no such upload; it may have expired, upload the video again", status=404
            )
        self._state("UPDATE uploads SET used = ? WHERE id = ?", time.time(), upload)
        return file, _upload(rows[0])

    def all(self) -> list[models.Upload]:
        """All uploads, the most recently used first."""
        return [_upload(row) for row in self._state("SELECT * FROM uploads ORDER BY used DESC")]

    def keep_used(self, uploads: Iterable[str]) -> None:
        """Keep those of these uploads that a sea uses permanently, even while that sea is out of reach."""
        used = self._in_seas()
        for upload in used.intersection(uploads):
            self._state("UPDATE uploads SET kept = 1 WHERE id = ?", upload)

    def use_of(self, upload: str) -> str | None:
        """What needs this upload: a sea, a comparison or a job."""
        if upload in self._in_seas():
            return "a sea"
        asked = f"SELECT {_IN_COMPARISON} AS compared, {_IN_JOB} AS asked FROM uploads WHERE id = ?"
        for row in self._state(asked, upload):
            return "a comparison" if row["compared"] else "a job" if row["asked"] else None
        return None

    def remove(self, upload: str) -> None:
        """Delete an upload that nothing needs.

        Raises
        ------
        ServeError
            If there is no such upload, or something needs it.
        """
        self.get(upload)
        if use := self.use_of(upload):
            raise ServeError(f"this upload is part of {use}; delete that first", status=409)
        self._forget(upload)

    def release(self, uploads: set[str]) -> None:
        """Delete those of these uploads that nothing needs. The others expire once nothing needs them."""
        for upload in uploads - self._in_seas() if uploads else ():
            self._state("UPDATE uploads SET kept = 0 WHERE id = ?", upload)
            if self.use_of(upload) is None:
                self._forget(upload)

    def owner(self, file: Path) -> str | None:
        """The id of the upload whose file this is, or None."""
        inside = file.is_relative_to(self._state.uploads)
        return file.relative_to(self._state.uploads).parts[0] if inside else None

    def expire(self) -> None:
        """Delete uploads that nobody has used for a while and that no comparison, job or sea needs."""
        old = time.time() - self._limits.upload_hours * 3600
        unused = f"kept = 0 AND used < ? AND NOT {_IN_COMPARISON} AND NOT {_IN_JOB}"
        found = [row["id"] for row in self._state(f"SELECT id FROM uploads WHERE {unused}", old)]
        if not found:
            return
        try:
            self.keep_used(found)
        except (SeasyncError, OSError) as error:
            log.warning("no upload expires while it cannot be told which ones the seas use: %s", error)
            return
        for upload in found:
            self._forget(upload, unused, old)

    def _expect_room(self, part: Path, size: int) -> None:
        """Raise ServeError if a file of this size is too large or does not fit at the moment."""
        if size > self._limits.upload_bytes:
            raise ServeError(
                f"the file has {size / 1e6:.0f} MB; an upload may have at most "
                f"{self._limits.upload_bytes / 1e6:.0f} MB",
                status=413,
            )
        self.expire()
        self._reserve(part, size)
        with self._lock:
            del self._reserved[part]

    def _reserve(self, part: Path, size: int) -> None:
        """Count `size` bytes of a temporary file against the quota, instead of those counted before."""
        quota = self._limits.quota_bytes
        with self._lock:
            (row,) = self._state("SELECT COALESCE(SUM(bytes), 0) AS total FROM uploads")
            before = self._reserved.get(part, 0)
            if row["total"] + sum(self._reserved.values()) - before + size > quota:
                raise ServeError(
                    f"no room: all uploads together may have at most {quota / 1e6:.0f} MB; delete some",
                    status=507,
                )
            if shutil.disk_usage(self._state.folder).free < size - before + RESERVE_BYTES:
                raise ServeError("no room: the server's disk is full", status=507)
            self._reserved[part] = size

    async def _write(self, part: Path, size: int, chunks: AsyncIterator[bytes]) -> None:
        buffer, count = bytearray(), 0

        def write() -> None:
            self._reserve(part, count)
            file.write(buffer)
            buffer.clear()

        with part.open("xb") as file:
            async for chunk in chunks:
                count += len(chunk)
                if count > size:
                    raise ServeError("the request has more bytes than its Content-Length", status=400)
                buffer += chunk
                if len(buffer) >= CHUNK:
                    await run_in_threadpool(write)
            await run_in_threadpool(write)
        if count < size:
            raise ServeError(
                "the request has fewer bytes than its Content-Length; try the upload again", status=400
            )

    def _file(self, upload: str, name: str) -> Path:
        return self._state.uploads / upload / name

    def _forget(self, upload: str, where: str = "TRUE", *values: Any) -> None:
        """Delete an upload, if this holds for it still."""
        with self._lock:
            if self._state(f"DELETE FROM uploads WHERE id = ? AND {where} RETURNING id", upload, *values):
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


def _upload(row: sqlite3.Row) -> models.Upload:
    known = {name: row[name] for name in ("id", "name", "bytes", "kept")}
    return models.Upload(ref=f"upload:{row['id']}", **known, **json.loads(row["facts"]))


# Anchors, marks and names that people set by hand. They live in the sea, so every server of it sees them.


CLEANUP_INTERVAL = 64  # commits


class AnnotationStore:
    """JSON values by name, in a small Lance dataset at a path or a URI.

    A value is replaced as a whole, in one commit. Of two writers, the later one wins.

    Parameters
    ----------
    uri
        Path or URI of the dataset. The first value creates it.
    storage_options
        Options for object storage.
    """

    def __init__(self, uri: str, storage_options: Mapping[str, str]) -> None:
        self._uri, self._options = uri, dict(storage_options) or None
        self._lock = threading.Lock()
        self._commits = 0
        self._disk = None if is_uri(uri) else DatasetFolder(Path(uri))
        self._seen: lance.LanceDataset | None = None  # stays open, to ask for the newest version

    def get(self, name: str) -> Any:
        """The value with this name, or None."""
        return self._select(f"name = {quoted(name)}").get(name)

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """All values whose names start with `prefix`."""
        return self._select(f"starts_with(name, {quoted(prefix)})")

    @property
    def version(self) -> int:
        """Another number after each change by this or another server; 0 as long as nothing has been set."""
        if self._seen is not None:
            with suppress(SeaError), plain_errors(self._uri):
                return int(self._seen.latest_version)
        self._seen = self._open()
        return 0 if self._seen is None else int(self._seen.version)

    def _select(self, where: str) -> dict[str, Any]:
        dataset = self._open()
        if dataset is None:
            return {}
        with plain_errors(self._uri):
            rows = dataset.to_table(columns=["name", "value"], filter=where).to_pylist()
        return {row["name"]: json.loads(row["value"]) for row in rows}

    def put(self, name: str, value: Any) -> None:
        """Set a value. None removes it."""
        with self._lock, plain_errors(self._uri):
            self._put(name, value)
            if self._disk:
                self._disk.sync()

    def _put(self, name: str, value: Any) -> None:
        import pyarrow as pa

        dataset = self._open()
        if value is None:
            if dataset is not None:
                dataset.delete(f"name = {quoted(name)}")
            return
        table = pa.table({"name": [name], "value": [json.dumps(value)], "changed": [time.time()]})
        if dataset is None:
            if create_dataset(table, self._uri, self._options):
                return
            dataset = self._open()
            assert dataset is not None
        merge = dataset.merge_insert("name").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(table)
        self._commits += 1
        if self._commits % CLEANUP_INTERVAL == 0:
            dataset = self._open()
            assert dataset is not None
            dataset.optimize.compact_files()
            dataset.cleanup_old_versions()

    def _open(self) -> "lance.LanceDataset | None":
        import lance

        try:
            with plain_errors(self._uri):
                return lance.dataset(self._uri, storage_options=self._options)
        except SeaError as error:
            if "was not found" in str(error):
                return None  # nothing has been set yet
            if not (self._disk and self._disk.drop_torn_commit()):
                raise  # the store may be out of reach, with notes in it
        return self._open()
