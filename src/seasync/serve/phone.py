"""How a phone on the same network opens the page: an address with the token, as a QR code."""

from __future__ import annotations

import io
import socket
from dataclasses import dataclass
from urllib.parse import quote

from seasync.errors import MissingExtra, ServeError
from seasync.serve.models import Phone
from seasync.serve.security import is_loopback


@dataclass(frozen=True)
class Access:
    """Where a server listens, and what opens it."""

    host: str = "127.0.0.1"
    root_path: str = ""
    token: str | None = None


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
    name = _own_address() if everywhere else access.host
    name = f"[{name}]" if ":" in name else name
    place = f"http://{name}" + (f":{port}" if port else "")
    address = f"{place}{access.root_path}/" + (f"?token={quote(access.token)}" if access.token else "")
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
