"""Which files the tools of the MCP server may read, and where they may write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from seasync.errors import SeasyncError, ServeError
from seasync.serve.security import Roots


class AllowedFolders:
    """The folders that were named when the server was started; nothing outside is read or written."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = Roots(roots)
        missing = [root for root in roots if "://" not in root and not Path(root).is_dir()]
        if missing or not roots:
            raise SeasyncError(f"--root {missing[0] if missing else ''}: expected a folder that exists")

    @property
    def names(self) -> list[str]:
        """Paths and URIs of the folders."""
        return self._roots.all

    def existing(self, file: str) -> str:
        """The real path or the URI of a file or folder inside. Links are followed first."""
        try:
            return self._roots.resolve(file)
        except ServeError:
            raise SeasyncError(
                f"{file[:200]!r}: not found in the allowed folders ({', '.join(self.names)})"
            ) from None

    def new(self, file: str) -> str:
        """Where a new file inside may be written. What exists is never overwritten."""
        place = Path(file)
        if "://" in file or place.name in ("", ".", ".."):
            raise SeasyncError(f"{file[:200]!r}: expected a file name in one of the allowed folders")
        parent = str(place.parent) if place.is_absolute() or place.parent != Path() else self.names[0]
        target = Path(self.existing(parent)) / place.name
        if os.path.lexists(target):
            raise SeasyncError(f"{target}: exists already; choose another name")
        return str(target)
