"""The state folder: what a server remembers between runs, its jobs and its uploads."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seasync.errors import ServeError

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

    def put_if_room(self, table: str, row: dict[str, Any]) -> None:
        """Insert or replace a row, unless the disk is full."""
        self.if_room(lambda: self.put(table, row))

    def if_room(self, change: Callable[[], object]) -> None:
        """Make a change that can wait. On a full disk it stays in memory only."""
        try:
            change()
        except sqlite3.OperationalError as error:
            log.warning("%s: %s", self.folder, error)

    def close(self) -> None:
        """Close the database and let another server use the folder."""
        with self._lock:
            self._database.close()
