"""What a server remembers between runs: its state folder, and the comparisons that people keep."""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seasync.errors import ServeError
from seasync.options import Side
from seasync.serve.models import AlignmentRequest, Comparison

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
        If the folder cannot be written to, or another server uses it.
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
        except sqlite3.OperationalError as error:
            raise ServeError(
                f"{folder}: another server uses this folder ({error}); choose another one with --state"
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
        self._database.execute("BEGIN EXCLUSIVE")
        self._database.execute("COMMIT")
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            self._database.executescript(script + f"PRAGMA user_version = {number};")

    def __call__(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Run one statement in its own transaction."""
        with self._lock:
            return self._database.execute(sql, values).fetchall()

    def put(self, table: str, row: dict[str, Any]) -> None:
        """Insert or replace a row."""
        places = ", ".join("?" * len(row))
        self(f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({places})", *row.values())

    def put_if_possible(self, table: str, row: dict[str, Any]) -> None:
        """Insert or replace a row, unless the disk is full or the database does not work."""
        self.if_possible(lambda: self.put(table, row))

    def if_possible(self, change: Callable[[], object]) -> None:
        """Make a change that can wait. Where the database refuses it, it stays in memory only."""
        try:
            change()
        except sqlite3.Error as error:
            log.warning("%s: %s", self.folder, error)

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

    def add(
        self,
        sea: str,
        alignment: AlignmentRequest,
        videos: Mapping[Side, str],
        *,
        name: str | None,
        grid: bool = False,
    ) -> Comparison:
        """Keep a comparison. The same request again in the same sea is the same comparison."""
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

    def get(self, comparison: str) -> Comparison:
        """The comparison with this id, or ServeError."""
        return _model(self._row(comparison))

    def all(self) -> list[Comparison]:
        """All comparisons, the most recently changed first."""
        return [_model(row) for row in self._state("SELECT * FROM comparisons ORDER BY changed DESC")]

    def update(
        self,
        comparison: str,
        *,
        name: str | None = None,
        alignment: AlignmentRequest | None = None,
        videos: Mapping[Side, str] | None = None,
    ) -> Comparison:
        """Change the name of a comparison, or its alignment and the names of the videos."""
        row = dict(self._row(comparison))
        known = AlignmentRequest.model_validate_json(row["alignment"])
        if videos is not None:
            row["videos"] = json.dumps(videos)
        self._put(row | {"name": name or row["name"], "changed": time.time()}, alignment or known)
        return self.get(comparison)

    def remove(self, comparison: str) -> None:
        """Forget a comparison. Its uploads expire like others from now on."""
        self._row(comparison)
        self._state("DELETE FROM comparisons WHERE id = ?", comparison)

    def uses(self, upload: str) -> bool:
        """Whether a comparison uses this upload."""
        text = f"%upload:{upload}%"  # as query, match, or one of the takes that correct them
        return bool(self._state("SELECT id FROM comparisons WHERE alignment LIKE ?", text))

    def _row(self, comparison: str) -> sqlite3.Row:
        rows = self._state("SELECT * FROM comparisons WHERE id = ?", comparison)
        if not rows:
            raise ServeError(f"{comparison}: no such comparison", status=404)
        return rows[0]

    def _put(self, row: dict[str, object], alignment: AlignmentRequest) -> None:
        refs = {"query": alignment.query, "match": alignment.match}
        self._state.put("comparisons", row | refs | {"alignment": alignment.model_dump_json()})


def _shortened(name: str) -> str:
    """A file's name, if need be without its middle: two of them fit into the name of a comparison."""
    return name if len(name) <= LONGEST_NAME else f"{name[:40]}…{name[len(name) - LONGEST_NAME + 41 :]}"


def _model(row: sqlite3.Row) -> Comparison:
    return Comparison(
        id=row["id"],
        name=row["name"],
        sea=row["sea"],
        alignment=AlignmentRequest.model_validate_json(row["alignment"]),
        grid=bool(row["grid"]),
        videos=json.loads(row["videos"]),
        created=row["created"],
        changed=row["changed"],
    )
