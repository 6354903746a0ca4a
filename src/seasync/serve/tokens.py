"""The token of a server: kept in a file that only its owner can read, and found there by clients."""

import os
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from seasync.errors import ServeError
from seasync.files.local import Locked, lock

TOKEN_FILE = "token"  # in the state folder


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def servers_folder() -> Path:
    """Where servers keep their state unless told otherwise."""
    return Path(platformdirs.user_data_dir("seasync", appauthor=False)) / "serve"


def kept_token(state: Path) -> str:
    """The token in a state folder, made on first use."""
    file = state / TOKEN_FILE
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write_private(file, secrets.token_urlsafe(24), flags=os.O_EXCL)
    except FileExistsError:
        file.chmod(0o600)
    except OSError as error:
        raise ServeError(f"{file}: cannot be written ({error.strerror}); name another --state") from error
    return read_token(file)


def read_token(file: Path) -> str:
    """The token in a file.

    Raises
    ------
    ServeError
        If it cannot be read or is empty.
    """
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ServeError(f"{file}: the token cannot be read ({error})") from error
    if not token.isprintable() or not token:
        raise ServeError(f"{file}: expected a token on one line")
    return token


@contextmanager
def findable(port: int, state: Path) -> Iterator[None]:
    """Let clients of the same user find the token of the server at this port, as long as it runs."""
    place = servers_folder() / "ports" / str(port)
    with ExitStack() as stack:
        with suppress(OSError, Locked):  # without it, clients must be given the token
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            stack.enter_context(lock(place.with_suffix(".lock"), wait=False))
            _write_private(place, str(state.absolute() / TOKEN_FILE))
            stack.callback(place.unlink, missing_ok=True)
        yield


def find_token(address: str) -> str | None:
    """The token of a server of this user on this machine, if one runs at this address."""
    at = urlsplit(address)
    place = servers_folder() / "ports" / str(at.port or 80)
    if not is_loopback(at.hostname or "") or not place.exists():
        return None
    with suppress(Locked, OSError), lock(place.with_suffix(".lock"), wait=False):
        return None  # its server was killed, and others may listen there now
    with suppress(OSError, ServeError):
        return read_token(Path(place.read_text(encoding="utf-8")))
    return None


def _write_private(file: Path, text: str, *, flags: int = 0) -> None:
    """Write a file that only its owner can read."""
    number = os.open(file, os.O_WRONLY | os.O_CREAT | (flags or os.O_TRUNC), 0o600)
    with open(number, "w", encoding="utf-8") as opened:
        opened.write(text)


class OneTimeCodes:
    """Codes that open the page once each: what a terminal, a log or a picture shows is soon worth nothing."""

    def __init__(self) -> None:
        self._codes = deque[str](maxlen=16)

    def make(self) -> str:
        """Another code. Of many, the newest count."""
        self._codes.append(secrets.token_urlsafe(16))
        return self._codes[-1]

    def take(self, given: str) -> bool:
        """Whether this code has been made and not taken."""
        for code in list(self._codes):
            if secrets.compare_digest(code.encode(), given.encode()):
                with suppress(ValueError):  # somebody else was faster
                    self._codes.remove(code)
                    return True
        return False
