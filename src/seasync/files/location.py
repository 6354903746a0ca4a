"""A place where bytes live: a local path, or a URI such as `s3://bucket/clips/a.mp4`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from os import PathLike
from pathlib import Path, PurePath
from urllib.parse import quote, unquote

from seasync.errors import StoreError, VideoError

# Two letters at least: `C:` is a drive of Windows.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SQUASHED = re.compile(r"(s3|gs|az|file|https?):[/\\][^/\\]")
_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")
_OF_WINDOWS = re.compile(r"[A-Za-z]:[/\\]|\\\\")


def is_uri(place: Place) -> bool:
    """Whether this names something by a URI, not by a path."""
    return _URI.match(str(place)) is not None


def is_of_windows(path: str) -> bool:
    """Whether this is an absolute path of Windows, on whatever system it is asked: seas travel.

    >>> is_of_windows("C:/clips"), is_of_windows(r"\\\\server\\clips"), is_of_windows("/clips")
    (True, True, False)
    """
    return _OF_WINDOWS.match(path) is not None


@dataclass(frozen=True, init=False, order=True, repr=False)
class Location(PathLike[str]):
    """A local path or a URI, exactly as it was given.

    A `pathlib.Path` turns `s3://bucket/a` into `s3:/bucket/a`; a `Location` never does. Only a local one can
    be used as a path (`open(location)`, `Path(location)`); a URI raises an error there instead of becoming a
    path that does not exist. Use `seasync.files.fetch` to read what lies at a URI and
    `seasync.files.atomic_write` to write to it.

    Parameters
    ----------
    place
        A path, a URI, or another location.

    Raises
    ------
    StoreError
        If `place` is empty, or a `Path` that was made from a URI and has lost one of its slashes.

    Examples
    --------
    >>> Location("s3://bucket/clips/a.mp4").parent.join("b.mp4")
    Location('s3://bucket/clips/b.mp4')
    >>> Location("s3://bucket/clips/a.mp4").suffix
    '.mp4'
    """

    text: str

    def __init__(self, place: Place) -> None:
        text = place.text if isinstance(place, Location) else os.fspath(place)
        if not isinstance(text, str) or not text or "\0" in text:
            raise StoreError(f"{place!r}: expected a path, or a URI such as s3://bucket/file.mp4")
        if isinstance(place, PurePath) and _SQUASHED.match(text) and not os.path.lexists(text):
            raise StoreError(f"{text}: a URI that became a Path has lost a slash; give the URI as a string")
        object.__setattr__(self, "text", text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Location({self.text!r})"

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def scheme(self) -> str | None:
        """`s3`, `gs`, `az`, `file`, … of a URI; None for a path."""
        found = _URI.match(self.text)
        return found[1].lower() if found else None

    @property
    def is_local(self) -> bool:
        """Whether this is a path, or a `file://` URI."""
        return self.scheme in (None, "file")

    @property
    def path(self) -> Path:
        """The local path.

        Raises
        ------
        StoreError
            If this is a URI of a store, or of another machine.
        """
        if self.scheme is None:
            return Path(self.text)
        if not self.is_local:
            raise StoreError(f"{self.text}: a URI, not a path; fetch it first")
        host, slash, rest = self.text.partition("://")[2].partition("/")
        path = unquote(slash + rest, errors="surrogateescape")
        if os.name == "nt":
            path = path[1:] if _DRIVE.match(path) else path
            return Path(f"//{host}{path}" if host not in ("", "localhost") else path)
        if host not in ("", "localhost") or not path:
            raise StoreError(f"{self.text}: expected file:///PATH, a file of this machine")
        return Path(path)

    @property
    def uri(self) -> str:
        """The URI itself, or the `file://` URI of a path."""
        return Path(self.text).absolute().as_uri() if self.scheme is None else self.text

    @property
    def name(self) -> str:
        """The last part, as in `Path.name`."""
        if self.scheme is None:
            return PurePath(self.text).name
        name = self._inside.rstrip("/").rpartition("/")[2]
        return unquote(name, errors="surrogateescape") if self.is_local else name

    @property
    def suffix(self) -> str:
        """The last part's file extension, with its dot, as in `Path.suffix`."""
        return self.name[len(self.stem) :]

    @property
    def stem(self) -> str:
        """The last part without its extension, as in `Path.stem`."""
        if self.is_local:
            return PurePath(self.name).stem
        start, _, end = self.name.rpartition(".")  # a store knows no `.`, `..` or backslashes
        return start if start and end else self.name

    @property
    def parent(self) -> Location:
        """The folder this lies in; a bucket and the root of a disk lie in themselves."""
        if self.scheme is None:
            return Location(str(PurePath(self.text).parent))
        folder, slash, _ = self._inside.rstrip("/").rpartition("/")
        if not folder:
            return self if not slash else Location(f"{self._start}/")
        return Location(f"{self._start}{folder}")

    def join(self, *names: str) -> Location:
        """A place below this one; the names are separated by slashes."""
        if self.scheme is None:
            return Location(str(PurePath(self.text, *names)))
        added = "/".join(quote(os.fsencode(name)) if self.is_local else name for name in names)
        return Location(f"{self.text.rstrip('/') if self._inside else self.text}/{added}")

    def with_name(self, name: str) -> Location:
        """Another place in the same folder."""
        return self.parent.join(name)

    def with_suffix(self, suffix: str) -> Location:
        """The same place with another file extension."""
        return self.with_name(f"{self.stem}{suffix}")

    @property
    def _start(self) -> str:
        return self.text[: self.text.index("://") + 3]

    @property
    def _inside(self) -> str:
        return self.text.partition("://")[2]


def printable(place: Place) -> str:
    """A place as text that can be printed and stored: bytes of a name that are not UTF-8 as `\\xe9`.

    >>> printable("caf\\udce9.mp4")
    'caf\\\\xe9.mp4'
    """
    shown = re.sub("[\udc80-\udcff]", lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", str(place))
    return shown.encode(errors="backslashreplace").decode()  # Windows has other surrogates


def below_common_folder(files: Iterable[str]) -> dict[str, str]:
    """What each file is called below the folder that all of them share, by path or URI, with slashes.

    >>> below_common_folder(["s3://b/clips/a/1.mp4", "s3://b/clips/2.mp4"])
    {'s3://b/clips/a/1.mp4': 'a/1.mp4', 's3://b/clips/2.mp4': '2.mp4'}
    """
    parts = {file: (file if is_uri(file) else PurePath(file).as_posix()).split("/") for file in files}
    folders = [names[:-1] for names in parts.values()]
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False)))
    return {file: "/".join(names[shared:]) for file, names in parts.items()}


def expect_ordinary(place: Place) -> None:
    """Raise VideoError if a path is something that must not be opened to be read: a FIFO, socket or device.

    Opening a FIFO waits for a writer, and a device may never end.
    """
    try:
        mode = os.stat(place).st_mode
    except OSError:  # reported where it is opened
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
        kind = next((name for test, name in kinds if test(mode)), "a device")
        raise VideoError(f"{place}: {kind}, not a file; expected a video or a folder of pictures")


Place = str | PathLike[str]
"""What calls take as a file or folder: a path or URI as text, a `Path`, or a `Location`."""
