"""Files that are made once and kept up to a size; the least recently used go first."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


class Kept:
    """A folder of made files, by what they were made of."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder, self._limit = folder, limit_bytes
        folder.mkdir(parents=True, exist_ok=True)

    def place(self, *made_of: object, suffix: str) -> Path:
        """Where the file made of these is, or will be."""
        key = hashlib.sha256(repr(made_of).encode()).hexdigest()[:40]
        return self.folder / key[:2] / f"{key}{suffix}"

    def find(self, *made_of: object, suffix: str) -> Path | None:
        """The file made of these, if it is there; it then counts as used now."""
        file = self.place(*made_of, suffix=suffix)
        try:
            os.utime(file)
        except OSError:
            return None
        return file

    def trim(self) -> None:
        """Delete until what is left fits."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        for _, size, file in files:
            if total <= self._limit:
                return
            file.unlink(missing_ok=True)
            total -= size

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        for file in self.folder.glob("*/*"):
            status = file.stat()
            yield status.st_mtime, status.st_size, file


def stamp(file: Path) -> tuple[str, int, int]:
    """What tells a file from an older one of the same name."""
    status = file.stat()
    return str(file), status.st_mtime_ns, status.st_size
