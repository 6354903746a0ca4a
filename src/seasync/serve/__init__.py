"""The web page and the HTTP API.

seasync.serve.serve("footage.sea")                        # until Ctrl-C
seasync.serve.Client("http://127.0.0.1:8080").search("footage", "clip:…")
"""

from typing import TYPE_CHECKING, Any

from seasync.errors import MissingExtra
from seasync.lazy import loader

if TYPE_CHECKING:
    from seasync.serve.app import create_app, serve
    from seasync.serve.client import Client
    from seasync.serve.security import Limits

__all__ = ["Client", "Limits", "create_app", "serve"]
_load = loader(__name__, {"app": ("create_app", "serve"), "client": ("Client",), "security": ("Limits",)})


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if error.name in ("fastapi", "uvicorn", "httpx", "pydantic", "starlette"):
            raise MissingExtra("serve", "the server") from error
        raise
