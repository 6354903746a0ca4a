"""Object storage by URI (s3://, gs://, az://), with the options and environment variables that Lance takes.

Options come from `SEASYNC_STORAGE_OPTIONS` (a JSON object, or KEY=VALUE separated by blanks;
`--storage-option` adds to it) and from the store's own variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT,
GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, …). Processes that are started later inherit both.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from seasync import plugins
from seasync.errors import SeasyncError, StoreError, VideoError
from seasync.files.local import DiskCache, PendingFile, cache_folder, touch, why_not_written
from seasync.files.location import Location, Place

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


PREFIXES = {"s3": "aws_", "gs": "google_", "az": "azure_", "file": ""}
CONNECT_SECONDS, REQUEST_SECONDS, ATTEMPTS = 5, 60, 4
AZURITE = (  # the emulator's account, which is the same everywhere
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "http://127.0.0.1:10000",
)

KEPT = 16  # file systems, with their connections

Option = Callable[..., str | None]
_kept: OrderedDict[tuple[str, bytes], FileSystem] = OrderedDict()


def is_known(scheme: str | None) -> bool:
    """Whether there is a file system for this scheme, here or in an installed package."""
    return scheme in PREFIXES or plugins.find("storage", scheme or "") is not None


def file_system(scheme: str, options: Mapping[str, str]) -> FileSystem:
    """That of a scheme, by options of Lance and, beneath them, the store's own environment variables."""
    if scheme not in PREFIXES and (plugin := plugins.find("storage", scheme)):
        return plugin.run(lambda make: make(options))
    if scheme == "file":
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem()
    prefix = PREFIXES[scheme]
    known = {name.lower(): value for name, value in os.environ.items() if name.lower().startswith(prefix)}
    known |= options
    # A digest: what is secret among the options is not held here any longer than it is needed.
    key = scheme, hashlib.sha256(repr(sorted(known.items())).encode()).digest()
    if key not in _kept:

        def option(*names: str) -> str | None:
            """The first of these that is known, with the scheme's prefix or without."""
            spelled = [f"{start}{name}" for name in names for start in (prefix, "")]
            return next((known[name] for name in spelled if known.get(name)), None)

        _kept[key] = _made(scheme, option)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return _kept[key]


def _made(scheme: str, option: Option) -> FileSystem:
    from pyarrow import fs

    if scheme == "s3":
        return fs.S3FileSystem(
            access_key=option("access_key_id"),
            secret_key=option("secret_access_key"),
            session_token=option("session_token", "token"),
            region=option("region", "default_region") or "us-east-1",
            endpoint_override=option("endpoint", "endpoint_url"),
            anonymous=option("skip_signature") == "true",
            force_virtual_addressing=option("virtual_hosted_style_request") == "true",
            allow_delayed_open=True,  # small objects in one request
            connect_timeout=CONNECT_SECONDS,
            request_timeout=REQUEST_SECONDS,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        )
    if scheme == "gs":
        if service := option("service_account", "service_account_path", "application_credentials"):
            os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = service  # the only way this library takes it
        base, token = urlsplit(option("base_url") or ""), option("storage_token", "bearer_token")
        return fs.GcsFileSystem(
            anonymous=option("skip_signature") == "true",
            access_token=token,
            credential_token_expiration=datetime.now(UTC) + timedelta(hours=1) if token else None,
            scheme=base.scheme or "https",
            endpoint_override=base.netloc or None,
            retry_time_limit=timedelta(seconds=REQUEST_SECONDS),
        )
    emulator = AZURITE if option("storage_use_emulator", "use_emulator") == "true" else ("", None, "")
    account = option("storage_account_name", "account_name") or emulator[0]
    key = option("storage_account_key", "storage_access_key", "account_key", "access_key") or emulator[1]
    endpoint = urlsplit(option("storage_endpoint", "endpoint") or emulator[2])
    # The account is part of the host's name, or else of the path, as emulators have it.
    blobs = endpoint.netloc.removeprefix(account) or None
    return fs.AzureFileSystem(
        account,
        account_key=key,
        sas_token=option("storage_sas_token", "storage_sas_key", "sas_token", "sas_key"),
        client_id=option("storage_client_id", "client_id"),
        client_secret=option("storage_client_secret", "client_secret"),
        tenant_id=option("storage_tenant_id", "tenant_id", "storage_authority_id", "authority_id"),
        blob_storage_authority=blobs,
        blob_storage_scheme=endpoint.scheme or None,
        dfs_storage_authority=blobs and blobs.replace(".blob.", ".dfs."),
        dfs_storage_scheme=endpoint.scheme or None,
    )


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
    from pyarrow.fs import FileSelector

    system, path = opened(uri, options)
    with plain(uri):
        there = system.get_file_info(path.rstrip("/"))
        below = FileSelector(path.rstrip("/"), allow_not_found=True, recursive=True)
        found = [there] if there.is_file else [each for each in system.get_file_info(below) if each.is_file]
    scheme = uri.partition("://")[0]
    named = (Path(info.path).as_uri() if scheme == "file" else f"{scheme}://{info.path}" for info in found)
    listed = [
        Object(name, info.size, (info.mtime_ns or 0) / 1e9) for name, info in zip(named, found, strict=True)
    ]
    return sorted(listed, key=lambda each: each.uri)


def exists(place: Place) -> bool:
    """Whether there is a file at a path or URI; there is none at a URI of an unknown kind."""
    location = Location(place)
    if location.is_local:
        return os.path.isfile(location.path)  # unlike Path.is_file, no error for a name that is too long
    if not is_known(location.scheme):
        return False
    system, path = opened(location.text)
    with plain(location.text):
        return bool(system.get_file_info(path).is_file)


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
    system, path = opened(uri, options)
    with plain(uri):
        if _is_missing(system, path.partition("/")[0]):
            raise StoreError(f"{uri}: the bucket does not exist; make the bucket (or container) first")


def read(uri: str, options: Mapping[str, str] | None = None) -> bytes | None:
    """The bytes of a small object, None if it is not there.

    An object that is deleted between the request for its size and the one for its content reads as a broken
    stream, because the answer "not found" is longer than the object. So a failed read is tried again while
    the store says that the object is there, and the last failure is reported.
    """
    system, path = opened(uri, options)
    with plain(uri):
        for pause in READ_PAUSES:
            try:
                return _content(system, path)
            except OSError:
                if _is_missing(system, path):
                    return None
                time.sleep(pause)
        return _content(system, path)


def _is_missing(system: FileSystem, path: str) -> bool:
    return bool(system.get_file_info(path).type.name == "NotFound")


def _content(system: FileSystem, path: str) -> bytes | None:
    try:
        with system.open_input_stream(path) as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def delete(uri: str, options: Mapping[str, str] | None = None) -> None:
    """Take an object away; none there is no error."""
    system, path = opened(uri, options)
    with plain(uri), suppress(FileNotFoundError):
        system.delete_file(path)


@contextmanager
def plain(uri: str, error: type[SeasyncError] = StoreError) -> Iterator[None]:
    """A store's errors as one line."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as caught:
        raise error(f"{uri}: {explained(str(caught))}") from caught
    except BaseException as caught:
        if type(caught).__name__ != "PanicException":  # Lance's, where it meets damaged files
            raise
        raise error(f"{uri}: cannot be read, its files are damaged ({explained(str(caught))})") from caught


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


LIMIT = "SEASYNC_VIDEO_CACHE_GB"
DEFAULT_GB = 20.0
FRESH_SECONDS = 60.0  # how long a file is believed to be unchanged
IN_USE_SECONDS = 600.0  # what was asked for so recently is not deleted
REMEMBERED = 1024  # URIs

_seen: OrderedDict[str, tuple[float, Path]] = OrderedDict()
_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()  # one as long as anyone uses it
_guard = threading.Lock()


def fetch(file: Place) -> Path:
    """The path of a file on this machine; what lies at a URI is downloaded first, unless the cache has it.

    The cache is `videos` in `SEASYNC_CACHE`, of at most `SEASYNC_VIDEO_CACHE_GB` gigabytes (20).

    Raises
    ------
    VideoError
        If it is not there, cannot be read to its end, or does not fit into the cache.
    StoreError
        If the store cannot be reached.
    """
    location = Location(file)
    if location.is_local:
        return location.path
    uri = location.text
    with _guard:
        lock = _locks.setdefault(uri, threading.Lock())
        checked, path = _seen.get(uri, (-FRESH_SECONDS, Path()))
    with lock:
        if time.monotonic() - checked >= FRESH_SECONDS or not path.is_file():
            path = _find_or_download(location)
            with _guard:
                _seen[uri] = time.monotonic(), path
                _seen.move_to_end(uri)
                while len(_seen) > REMEMBERED:
                    _seen.popitem(last=False)
        touch(path)
        return path


def _find_or_download(location: Location) -> Path:
    uri = location.text
    there = next((each for each in objects(uri) if each.uri == uri), None)
    if there is None:
        raise VideoError(f"{uri}: no such file")
    cache = DiskCache(cache_folder() / "videos", _limit_bytes(), in_use_seconds=IN_USE_SECONDS)
    path = cache.place(uri, there.size, there.written, suffix=location.suffix.lower())
    if path.is_file() and path.stat().st_size == there.size:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        cache.trim(spare_bytes=there.size)
        if there.size > min(shutil.disk_usage(cache.folder).free, cache.limit_bytes):
            raise _too_full(there, cache.folder)
        _download(uri, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _too_full(there, cache.folder) from error
        here = error.filename is not None
        reason = why_not_written(error, path) if here else explained(str(error))
        raise VideoError(f"{uri}: cannot be fetched ({reason})") from error
    return path


def _download(uri: str, path: Path) -> None:
    system, there = opened(uri)
    pending = PendingFile(path)
    try:
        with system.open_input_stream(there) as source, pending.path.open("wb") as target:
            shutil.copyfileobj(source, target, CHUNK)
        pending.commit()
    finally:
        pending.discard()


def _limit_bytes() -> float:
    given = os.environ.get(LIMIT)
    try:
        return float(given or DEFAULT_GB) * 1e9
    except ValueError:
        raise VideoError(f"{LIMIT}={given}: expected a number of gigabytes, such as 20") from None


def _too_full(there: Object, folder: Path) -> VideoError:
    return VideoError(
        f"{there.uri}: {there.size / 1e6:.0f} MB do not fit into the cache {folder}; make room there, name "
        f"another folder with SEASYNC_CACHE, or raise {LIMIT}"
    )
