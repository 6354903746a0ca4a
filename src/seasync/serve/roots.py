"""The folders, here or at URIs, whose files a server may open."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from seasync.errors import ServeError
from seasync.files import is_uri


class Roots:
    """Allowed folders. Whatever leads out of them, by `..` or through a link, is not found.

    folders  paths, or URIs such as s3://bucket/clips
    """

    def __init__(self, folders: Iterable[str | Path]) -> None:
        given = list(folders)
        found = sorted({Path(folder).resolve() for folder in given if not is_uri(folder)})
        self.folders = tuple(
            folder for folder in found if not any(other in folder.parents for other in found)
        )
        self.uris = tuple(sorted({_straight(str(folder).rstrip("/")) for folder in given if is_uri(folder)}))

    @property
    def all(self) -> list[str]:
        return [*map(str, self.folders), *self.uris]

    def place(self, file: str) -> str:
        """A file's or folder's path, links followed, or its URI, as long as it is inside."""
        if not is_uri(file):
            return str(self.find(file))
        if not self._holds_uri(file):
            raise _outside(file)
        return file

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
        raise _outside(path)

    def hold(self, footage: Path | str) -> bool:
        """Whether a video, or a folder of pictures with all that is in it, lies inside."""
        if is_uri(footage):
            return self._holds_uri(str(footage))
        path = Path(footage)
        parts = [path, *path.iterdir()] if path.is_dir() else [path]
        return all(self._inside(part.resolve()) for part in parts)

    def _inside(self, path: Path) -> bool:
        return any(path == root or root in path.parents for root in self.folders)

    def _holds_uri(self, uri: str) -> bool:
        """Literally: nothing that some store might read as another place."""
        uri = _straight(uri)
        is_plain = not set(uri) & set("%?#\\\0") and not {"..", "."} & set(uri.split("/"))
        return is_plain and any(uri == root or uri.startswith(f"{root}/") for root in self.uris)


def _straight(uri: str) -> str:
    """A URI of this machine's files with its links followed; any other as it is."""
    scheme, _, path = uri.partition("://")
    return f"file://{Path(path).resolve()}" if scheme == "file" else uri


def _outside(file: str | Path) -> ServeError:
    return ServeError(
        f"{str(file)[:200]!r}: not a file or folder under the folders that are served "
        "(`seasync serve --root`)",
        status=403,
    )
