"""Object storage by URI (s3://, gs://, az://), with the options and environment variables that Lance takes.

Options come from `SEASYNC_STORAGE_OPTIONS` (a JSON object, or KEY=VALUE separated by blanks;
`--storage-option` adds to it) and from the store's own variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT,
GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, …). Processes that are started later inherit both.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seasync.errors import SeasyncError, StoreError
from seasync.files.location import Location, Place
from seasync.files.systems import file_system, is_known

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

OPTIONS = "SEASYNC_STORAGE_OPTIONS"
CHUNK = 8 << 20
READ_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4)  # seconds before a failed read of a small object is tried again


@dataclass(frozen=True)
class Object:
    """A file at a URI: its size in bytes, and when it was written by the store's own clock, in seconds."""

    uri: str
    size: int
    written: float


def storage_options(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The options of the environment, and on top those that are given."""
    text = os.environ.get(OPTIONS, "").strip()
    if not text.startswith("{"):
        return parse_options(text.split()) | dict(given or {})
    try:
        found = json.loads(text)
        return {str(key).lower(): str(value) for key, value in found.items()} | dict(given or {})
    except (ValueError, AttributeError):
        raise StoreError(
            f'{OPTIONS}: expected a JSON object such as {{"aws_region": "eu-west-1"}}, or KEY=VALUE'
        ) from None


def parse_options(options: Iterable[str]) -> dict[str, str]:
    """KEY=VALUE texts as a dictionary."""
    pairs = [text.partition("=") for text in options]
    if wrong := [key for key, sign, _ in pairs if not (key and sign)]:
        raise StoreError(f"storage option {wrong[0]!r}: expected KEY=VALUE, such as aws_region=eu-west-1")
    return {key.lower(): value for key, _, value in pairs}


def add_storage_options(options: Mapping[str, str]) -> None:
    """Put options into the environment, where everything that opens a URI looks for them."""
    if options:
        os.environ[OPTIONS] = json.dumps(storage_options(options))


def opened(uri: str, options: Mapping[str, str] | None = None) -> tuple[FileSystem, str]:
    """The file system a URI lies in, and its path there.

    Raises
    ------
    StoreError
        If the scheme is unknown or the options do not fit it.
    """
    scheme, _, path = uri.partition("://")
    if not is_known(scheme):
        raise StoreError(f"{uri}: expected a path, or a URI that begins with s3://, gs:// or az://")
    if scheme == "file":
        path = Location(uri).path.as_posix()
    with plain(uri):
        return file_system(scheme, storage_options(options)), path


def objects(uri: str, options: Mapping[str, str] | None = None) -> list[Object]:
    """All objects at or below `uri`, in the order of their names; none if there are none."""
    from pyarrow.fs import FileSelector, FileType

    system, path = opened(uri, options)
    with plain(uri):
        there = system.get_file_info(path.rstrip("/"))
        if there.type == FileType.File:
            found = [there]
        else:
            selector = FileSelector(path.rstrip("/"), allow_not_found=True, recursive=True)
            found = [info for info in system.get_file_info(selector) if info.type == FileType.File]
    scheme = uri.partition("://")[0]
    named = (Path(info.path).as_uri() if scheme == "file" else f"{scheme}://{info.path}" for info in found)
    listed = [
        Object(name, info.size, (info.mtime_ns or 0) / 1e9) for name, info in zip(named, found, strict=True)
    ]
    return sorted(listed, key=lambda each: each.uri)


def exists(place: Place) -> bool:
    """Whether there is a file at a path or URI; there is none at a URI of an unknown kind."""
    from pyarrow.fs import FileType

    location = Location(place)
    if location.is_local:
        return os.path.isfile(location.path)  # unlike Path.is_file, no error for a name that is too long
    if not is_known(location.scheme):
        return False
    system, path = opened(location.text)
    with plain(location.text):
        return bool(system.get_file_info(path).type == FileType.File)


def files_in(folder: Place) -> list[Location]:
    """The files right in a folder or below a URI, in the order of their names; none if it is neither."""
    place = Location(folder)
    if place.is_local:
        path = place.path
        return [Location(file) for file in sorted(path.iterdir()) if file.is_file()] if path.is_dir() else []
    start = f"{place.text.rstrip('/')}/"
    found = (each.uri for each in objects(start) if each.uri.startswith(start))
    return [Location(uri) for uri in found if "/" not in uri.removeprefix(start)]


def matching(pattern: str, options: Mapping[str, str] | None = None) -> list[Object]:
    """The objects whose URIs fit a pattern with *, ** and ?."""
    fixed = re.split(r"[*?]", pattern)[0].rpartition("/")[0]
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    regex = "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern))
    return [found for found in objects(fixed, options) if re.fullmatch(regex, found.uri)]


def write(uri: str, content: bytes, options: Mapping[str, str] | None = None) -> None:
    """Put a small object there, in place of any that is."""
    system, path = opened(uri, options)
    with plain(uri):
        if uri.startswith("file://"):
            system.create_dir(path.rpartition("/")[0])
        with system.open_output_stream(path) as stream:
            stream.write(content)


def upload(file: Path, uri: str, options: Mapping[str, str] | None = None) -> None:
    """Put a file there, in place of any object that is; it is seen whole or not at all."""
    system, path = opened(uri, options)
    with plain(uri), file.open("rb") as source, system.open_output_stream(path) as stream:
        while chunk := source.read(CHUNK):
            stream.write(chunk)


def expect_bucket(uri: str, options: Mapping[str, str] | None = None) -> None:
    """Raise StoreError if the bucket of `uri` is not there or cannot be reached."""
    from pyarrow.fs import FileType

    system, path = opened(uri, options)
    with plain(uri):
        if system.get_file_info(path.partition("/")[0]).type == FileType.NotFound:
            raise StoreError(f"{uri}: the bucket does not exist; make the bucket (or container) first")


def read(uri: str, options: Mapping[str, str] | None = None) -> bytes | None:
    """The bytes of a small object, None if it is not there.

    An object that is deleted between the request for its size and the one for its content reads as a broken
    stream, because the answer "not found" is longer than the object. So a failed read is tried again while
    the store says that the object is there, and the last failure is reported.
    """
    from pyarrow.fs import FileType

    system, path = opened(uri, options)
    with plain(uri):
        for pause in READ_PAUSES:
            try:
                return _content(system, path)
            except OSError:
                if system.get_file_info(path).type == FileType.NotFound:
                    return None
                time.sleep(pause)
        return _content(system, path)


def _content(system: FileSystem, path: str) -> bytes | None:
    try:
        with system.open_input_stream(path) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def delete(uri: str, options: Mapping[str, str] | None = None) -> None:
    """Take an object away; none there is no error."""
    system, path = opened(uri, options)
    with plain(uri):
        try:
            system.delete_file(path)
        except FileNotFoundError:
            return


@contextmanager
def plain(uri: str, error: type[SeasyncError] = StoreError) -> Iterator[None]:
    """A store's errors as one line."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as caught:
        raise error(f"{uri}: {explained(str(caught))}") from caught


def explained(text: str) -> str:
    """What a store or Lance says, on one line, without the places in its source, and what to do about it."""
    said = re.sub(r",? ?/\S+\.rs:\d+(:\d+)?", "", text).replace("\n", " ")
    for signs, hint in _HINTS.items():
        if re.search(signs, said):
            return f"{said[:300]}; {hint}"
    return said[:300]


_SAFE = "what is in the sea is safe"
_HINTS = {
    "No space left": f"the disk is full, make room and run it again: {_SAFE}",
    "(?i)40[13] |forbidden|access.?denied|access.?key|signature.?does.?not|unauthorized|credential": (
        "the store refuses these credentials: check its environment variables (AWS_ACCESS_KEY_ID, …) or "
        "--storage-option"
    ),
    "no storage account": "name it in AZURE_STORAGE_ACCOUNT_NAME, or with --storage-option",
    "HTTP error: builder error": "an address with http:// needs --storage-option allow_http=true",
    "resolve region": "name it in AWS_REGION, and the store in AWS_ENDPOINT if it is not Amazon's",
    r"NoSuchBucket|NO_SUCH_BUCKET|(bucket|container) does not exist|Container(Being|Not)": (
        "make the bucket (or container) first"
    ),
    r"error sending request|[Cc]ould ?n.t connect|NETWORK_CONNECTION|[Cc]onnection|[Tt]imed? ?out|50[0-4] ": (
        f"the store does not answer: check its address, and run it again later; {_SAFE}"
    ),
    r"[Cc]onflict|incompatible": f"another writer came in between: run it again; {_SAFE}",
}
