"""The folders, local or at URIs, whose files a server may open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from seasync.errors import ServeError, StoreError
from seasync.files import Location, is_uri


class Roots:
    """Allowed folders. A path that leads out of them, by `..` or through a link, is not found.

    Parameters
    ----------
    folders
        Paths, or URIs such as s3://bucket/clips.
    """

    def __init__(self, folders: Iterable[str | Path]) -> None:
        given = list(folders)
        found = sorted({Path(folder).resolve() for folder in given if not is_uri(folder)})
        self.folders = tuple(
            folder for folder in found if not any(other in folder.parents for other in found)
        )
        self.uris = tuple(sorted({str(folder).rstrip("/") for folder in given if is_uri(folder)}))
        self._local_uris = [_path(uri) for uri in self.uris if Location(uri).is_local]

    @property
    def all(self) -> list[str]:
        """Paths and URIs of all folders."""
        return [*map(str, self.folders), *self.uris]

    def resolve(self, file: str) -> str:
        """The real path or the URI of a file or folder inside.

        Raises
        ------
        ServeError
            If it is missing or outside. The message is the same, so clients learn nothing about what exists
            outside.
        """
        if not is_uri(file):
            return str(self._resolve_path(file))
        if not self._contains_uri(file):
            raise _outside(file)
        return file

    def _resolve_path(self, path: str) -> Path:
        for place in [Path(path)] if Path(path).is_absolute() else [root / path for root in self.folders]:
            try:
                found = place.resolve(strict=True)
            except (OSError, ValueError, RuntimeError):
                continue
            if self._contains_path(found):
                return found
        raise _outside(path)

    def contains(self, footage: Path | str) -> bool:
        """Whether a video, or a folder of pictures with everything in it, lies inside."""
        if is_uri(footage):
            return self._contains_uri(str(footage))
        path = Path(footage)
        parts = [path, *path.iterdir()] if path.is_dir() else [path]
        return all(self._contains_path(part.resolve()) for part in parts)

    def _contains_path(self, path: Path) -> bool:
        return _lies_in(path, self.folders)

    def _contains_uri(self, uri: str) -> bool:
        """A file by its real path, the rest literally: no URI that a store might read as another place."""
        if set(uri) & set("?#\\\0") or not is_uri(uri):
            return False
        if Location(uri).is_local:
            try:
                return _lies_in(_path(uri), self._local_uris)
            except (StoreError, OSError, ValueError, RuntimeError):
                return False
        is_plain = "%" not in uri and not {"..", "."} & set(uri.split("/"))
        return is_plain and any(uri == root or uri.startswith(f"{root}/") for root in self.uris)


def _path(uri: str) -> Path:
    """The real path behind a file:// URI."""
    return Location(uri).path.resolve()


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _outside(file: str) -> ServeError:
    return ServeError(
        f"{file[:200]!r}: not a file or folder under the served folders (`seasync serve --root`)",
        status=403,
    )
