"""Access control: tokens, hosts, origins, sizes, and the security headers of every answer."""

import hashlib
import io
import ipaddress
import logging
import os
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from time import monotonic
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seasync.errors import MissingExtra, ServeError, StoreError
from seasync.files import Location, is_uri
from seasync.serve.models import Phone
from seasync.serve.tokens import OneTimeCodes, is_loopback
from seasync.serve.worker import INTERNAL_ERROR

log = logging.getLogger("seasync.serve")
COOKIE = "seasync_token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
UPLOADS = ("/api/v1/uploads", "/api/v1/comparisons/file")  # bodies may be large
HEADERS = {
    "Content-Security-Policy": "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' blob: data:",
            "media-src 'self' blob:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
HTTPS_ONLY = "max-age=31536000"  # a browser that has once come by HTTPS does not come by HTTP for a year
# Wrong tokens of one address, and the seconds in which they count. ASVS 2.2.1 asks for 100 an hour at most.
WRONG_TOKEN_LIMITS = ((20, 60.0), (100, 3600.0))
MOST_ADDRESSES = 1_000  # that are remembered


class Hosts:
    """The host names a server answers to. This stops DNS rebinding, which makes a browser use another name.

    A server that other machines can reach answers to plain IP addresses too: rebinding needs a name.

    Parameters
    ----------
    bound
        The address the server listens on.
    names
        Further names.
    """

    def __init__(self, bound: str, names: Iterable[str] = ()) -> None:
        self._outside = not is_loopback(bound)
        self._names = {"localhost", "127.0.0.1", "::1", bound.lower(), *(name.lower() for name in names)}

    def allow(self, host: str) -> bool:
        """Whether this Host header names the server."""
        name = (urlsplit(f"//{host}").hostname or "") if _is_host(host) else ""
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._outside


def _is_host(text: str) -> bool:
    try:
        _ = urlsplit(f"//{text}").port
    except ValueError:
        return False
    return not set(text) & set("/?#@\\ ")


class WrongTokens:
    """Counts wrong tokens by address, to slow down guessing.

    An address that has sent too many is refused for a while, with the right token too: otherwise the answer
    to the right guess would still give it away. The same wrong token again is no further guess: a page that
    is still open when the server starts with another token must not lock its user out.
    """

    def __init__(self) -> None:
        self._times: dict[str, dict[bytes, float]] = {}  # by address: when each wrong token came, by its hash

    def note(self, address: str, token: str) -> None:
        """Count a wrong token."""
        times = self._times.pop(address, {})
        times.setdefault(hashlib.sha256(token.encode()).digest(), monotonic())
        if len(times) > WRONG_TOKEN_LIMITS[-1][0]:
            del times[next(iter(times))]
        self._times[address] = times  # the latest is at the end
        if len(self._times) > MOST_ADDRESSES:
            del self._times[next(iter(self._times))]

    def wait_seconds(self, address: str) -> float:
        """How long the address must wait; 0 if it need not."""
        times = list(self._times.get(address, {}).values())
        waits = [times[-most] + seconds for most, seconds in WRONG_TOKEN_LIMITS if len(times) >= most]
        return max(0.0, max(waits, default=0.0) - monotonic())


class Guard:
    """ASGI middleware that checks Host, token, origin and body size, and adds security headers."""

    def __init__(self, app: ASGIApp, *, hosts: Hosts, access: "Access", body_bytes: int) -> None:
        self._app, self._hosts, self._token, self._body_bytes = app, hosts, access.token, body_bytes
        self._codes = access.codes
        self._place = {"root_path": access.root_path} if access.root_path else {}
        self._wrong_tokens = WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        scope, guarded = {**scope, **self._place}, _Guarded(send, https=scope["scheme"] == "https")
        headers = Headers(scope=scope)
        try:
            entry = self._entry(scope, headers)
            if entry is None:
                self._check(scope, headers)
        except ServeError as error:
            await JSONResponse({"detail": str(error)}, error.status)(scope, receive, guarded)
            return
        if entry is not None:
            await entry(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except ClientDisconnect:  # in the middle of an upload: nobody waits for an answer
            log.info("%s %s: the client has gone", scope["method"], scope["path"])
        except Exception:
            log.exception("%s %s", scope["method"], scope["path"])
            if guarded.begun:  # too late for an error answer
                raise
            await JSONResponse({"detail": INTERNAL_ERROR}, 500)(scope, receive, guarded)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if not self._hosts.allow(headers.get("host", "")):
            raise ServeError(
                "Host: this is not a name of this server (`seasync serve --allow-host NAME`)", status=421
            )
        self._check_site(scope, headers)
        is_api = _path(scope).startswith("/api")  # the page itself is public: it asks for the token
        if is_api and self._token is not None and not self._is_token(_given_token(headers, scope), scope):
            raise ServeError(
                "a token is needed; open the address that `seasync serve` printed, or send the token",
                status=401,
            )
        length = headers.get("content-length", "0")
        if _path(scope).rstrip("/") not in UPLOADS:
            if "transfer-encoding" in headers:
                raise ServeError("send a Content-Length instead of Transfer-Encoding", status=411)
            if not length.isdecimal() or int(length) > self._body_bytes:
                raise ServeError(f"a request may have at most {self._body_bytes} bytes", status=413)

    def _check_site(self, scope: Scope, headers: Headers) -> None:
        """Refuse requests that pages of other sites make. Following a link to our page is allowed."""
        site = headers.get("sec-fetch-site", "none")
        opens_page = headers.get("sec-fetch-mode") == "navigate" and not _path(scope).startswith("/api")
        if site not in ("none", "same-origin") and not (opens_page and scope["method"] in SAFE_METHODS):
            raise ServeError("requests from other sites are refused", status=403)
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{headers.get('host')}":
            raise ServeError(
                "Origin: requests from other sites are refused; a proxy must pass on Host and "
                "X-Forwarded-Proto",
                status=403,
            )

    def _is_token(self, given: str, scope: Scope) -> bool:
        """Whether this is the token. Raises ServeError if its address has sent too many wrong ones."""
        address = scope["client"][0] if scope.get("client") else ""
        if given and (seconds := self._wrong_tokens.wait_seconds(address)):
            raise ServeError(f"too many wrong tokens; try again in {seconds:.0f} s", status=429)
        right = secrets.compare_digest(given.encode(), (self._token or "").encode())
        if given and not right:
            self._wrong_tokens.note(address, given)
            log.warning("wrong token from %s", address)
        return right

    def _is_code(self, given: str, scope: Scope) -> bool:
        """Whether this code opens the page. It does so once; a wrong one counts as a wrong token."""
        address = scope["client"][0] if scope.get("client") else ""
        right = not self._wrong_tokens.wait_seconds(address) and self._codes.take(given)
        if not right:
            self._wrong_tokens.note(address, given)
        return right

    def _entry(self, scope: Scope, headers: Headers) -> Response | None:
        """`/?token=…` and `/?code=…`: turn the right one into a cookie and remove it from the address bar."""
        if self._token is None or _path(scope) != "/" or not self._hosts.allow(headers.get("host", "")):
            return None
        given = parse_qs(scope["query_string"].decode("latin-1"))
        codes, tokens = given.get("code"), given.get("token")
        if not (codes and scope["method"] == "GET" and self._is_code(codes[0], scope)) and not (
            tokens and self._is_token(tokens[0], scope)
        ):
            return None
        answer = RedirectResponse("./", 303)
        place, secure = f"{scope.get('root_path', '')}/", scope["scheme"] == "https"
        name = _cookie_name(scope)
        answer.set_cookie(name, self._token, path=place, httponly=True, samesite="strict", secure=secure)
        return answer


def _cookie_name(scope: Scope) -> str:
    """Browsers let nobody but this host set a `__Host-` cookie; it needs HTTPS, and the path "/".

    Without HTTPS, servers at other ports of this machine have the same cookies.
    """
    if scope["scheme"] != "https":
        return f"{COOKIE}_{scope['server'][1]}" if scope.get("server") else COOKIE
    return COOKIE if scope.get("root_path") else f"__Host-{COOKIE}"


def _given_token(headers: Headers, scope: Scope) -> str:
    """The token that a request sends, in its header or its cookie; empty without any."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(_cookie_name(scope))
    except CookieError:
        return ""
    return cookie.value if cookie else ""


def _path(scope: Scope) -> str:
    """The path as the routes see it, without the prefix of a proxy."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


class _Guarded:
    """Sends an answer with the security headers added."""

    def __init__(self, send: Send, *, https: bool) -> None:
        self._send, self._https, self.begun = send, https, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            if self._https:
                headers["Strict-Transport-Security"] = HTTPS_ONLY
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


# The folders, local or at URIs, whose files a server may open.


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
        self._local_uris = [_absolute_path(uri) for uri in self.uris if Location(uri).is_local]

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
                return _lies_in(_absolute_path(uri), self._local_uris)
            except (StoreError, OSError, ValueError, RuntimeError):
                return False
        is_plain = "%" not in uri and not {"..", "."} & set(uri.split("/"))
        return is_plain and any(uri == root or uri.startswith(f"{root}/") for root in self.uris)


def _absolute_path(uri: str) -> Path:
    """The real path behind a file:// URI."""
    return Location(uri).path.resolve()


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _outside(file: str) -> ServeError:
    return ServeError(
        f"{file[:200]!r}: not a file or folder under the served folders (`seasync serve --root`)", status=403
    )


# Limits on what requests may use.


GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Limits of a server on uploads, decoding, memory and disk.

    Parameters
    ----------
    upload_bytes, quota_bytes
        Size of one upload, and of all uploads together.
    upload_hours
        How long an upload stays that is not part of a sea or of a comparison.
    pixels, video_seconds
        Largest picture and longest video.
    span_seconds
        Longest span that is encoded while a request waits: a query, or one side of an alignment.
    inspect_seconds, encode_seconds
        Time to inspect one file (type check, thumbnail, timeline), and to encode one span.
    wait_seconds
        How long a request waits for its turn to have something inspected or encoded; then it is refused.
    memory_bytes
        Memory of each worker process, where the system can enforce it.
    body_bytes
        Size of a request that is not an upload.
    connections, address_connections
        Connections at a time, and of one address; fewer where the process may open few files.
    header_seconds, body_seconds
        How long a client may take to send the headers of a request, and the next 16 kB of its body.
    cache_bytes, film_bytes
        Disk space of thumbnails and browser copies together, and of films.
    alignment_bytes
        Memory of the alignments that are remembered.
    search_processes
        Processes that search while more searches wait than there are cores. Each holds the clip vectors or
        the index of the seas it searches.
    queued_jobs
        How many jobs may wait.
    job_days, job_records
        How long, and how many, finished jobs are remembered.
    """

    upload_bytes: int = 4 * GIB
    quota_bytes: int = 20 * GIB
    upload_hours: float = 24.0
    pixels: int = 8192 * 4352
    video_seconds: float = 6 * 3600.0
    span_seconds: float = 300.0
    inspect_seconds: float = 60.0
    encode_seconds: float = 600.0
    wait_seconds: float = 300.0
    memory_bytes: int = 12 * GIB
    body_bytes: int = 1 << 20
    connections: int = 512
    address_connections: int = 128
    header_seconds: float = 15.0
    body_seconds: float = 30.0
    cache_bytes: int = 5 * GIB
    film_bytes: int = 10 * GIB
    alignment_bytes: int = GIB // 2
    search_processes: int = min(os.cpu_count() or 1, 4) if (os.cpu_count() or 1) > 1 else 0
    queued_jobs: int = 200
    job_days: float = 7.0
    job_records: int = 1000


# How a phone on the same network opens the page: an address with a code, as a QR code.


@dataclass(frozen=True)
class Access:
    """Where a server listens, and what opens it."""

    host: str = "127.0.0.1"
    root_path: str = ""
    token: str | None = None
    codes: OneTimeCodes = field(default_factory=OneTimeCodes, repr=False, compare=False)

    def address(self, port: int | None) -> str:
        """The address of the page, with a new code that opens it once."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        place = f"http://{name}" + (f":{port}" if port else "") + f"{self.root_path}/"
        return place + (f"?code={self.codes.make()}" if self.token else "")


def phone(access: Access, port: int | None) -> Phone:
    """The address for a phone, and its QR code.

    Parameters
    ----------
    port
        The port that the request came to.

    Raises
    ------
    ServeError
        If only this machine can reach the server.
    """
    if is_loopback(access.host):
        raise ServeError(
            "only this machine can reach the server; start it with `seasync serve --host 0.0.0.0`", status=409
        )
    everywhere = access.host in ("0.0.0.0", "::")  # nosec B104
    address = replace(access, host=_own_address() if everywhere else access.host).address(port)
    return Phone(address=address, qr=_qr(address))


def _own_address() -> str:
    """The address of this machine in its network. Nothing is sent: the socket only chooses a way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        try:
            way.connect(("192.0.2.1", 9))
            return str(way.getsockname()[0])
        except OSError:
            return socket.gethostname()


def _qr(text: str) -> str:
    try:
        import segno
    except ImportError as error:
        raise MissingExtra("serve", "the QR code for a phone") from error
    out = io.BytesIO()
    segno.make(text, error="m").save(
        out, kind="svg", border=3, scale=8, dark="#000", light="#fff", xmldecl=False
    )
    return out.getvalue().decode()
