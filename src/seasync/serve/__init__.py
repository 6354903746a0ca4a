"""The web page and the HTTP API.

seasync.serve.serve("footage.sea")                        # until Ctrl-C
seasync.serve.Client("http://127.0.0.1:8080").search("footage", "clip:…")
"""

from typing import TYPE_CHECKING, Any

from seasync.errors import MissingExtra
from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.serve.app import create_app as create_app, serve as serve
    from seasync.serve.client import Client as Client
    from seasync.serve.security import Limits as Limits

_HOMES = {"Client": "client", "Limits": "security", "create_app": "app", "serve": "app"}
__all__ = sorted(_HOMES)
_load = loader(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name in ("fastapi", "uvicorn", "httpx", "pydantic", "starlette"):
            raise MissingExtra("serve", "the server") from error
        raise
