"""The folders whose files a server may open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from seasync.errors import ServeError


class Roots:
    """Allowed folders. Whatever leads out of them, by `..` or through a link, is not found."""

    def __init__(self, folders: Iterable[str | Path]) -> None:
        found = sorted({Path(folder).resolve() for folder in folders})
        self.folders = tuple(
            folder for folder in found if not any(other in folder.parents for other in found)
        )

    def find(self, path: str | Path) -> Path:
        """The file or folder itself, links followed.

        A missing file and a forbidden one give the same error: a client learns nothing of what is outside.
        """
        for place in [Path(path)] if Path(path).is_absolute() else [root / path for root in self.folders]:
            try:
                found = place.resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            if self._inside(found):
                return found
        raise ServeError(
            f"{str(path)[:200]!r}: not a file or folder under the folders that are served "
            "(`seasync serve --root`)",
            status=403,
        )

    def hold(self, footage: Path) -> bool:
        """Whether a video, or a folder of pictures with all that is in it, lies inside."""
        parts = [footage, *footage.iterdir()] if footage.is_dir() else [footage]
        return all(self._inside(part.resolve()) for part in parts)

    def _inside(self, path: Path) -> bool:
        return any(path == root or root in path.parents for root in self.folders)
