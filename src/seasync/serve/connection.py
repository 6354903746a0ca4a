"""The HTTP requests of the client, and their errors in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, TypeVar

import httpx

from seasync.errors import ServeError
from seasync.serve.models import Model

M = TypeVar("M", bound=Model)


class Connection:
    """A connection to the API of a server.

    Parameters
    ----------
    address
        Address of the server, such as "http://127.0.0.1:8080".
    token
        Access token, if the server asks for one.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(self, address: str, *, token: str | None, timeout: float) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Servers close connections after five idle seconds; a request sent at that moment would fail.
        limits = httpx.Limits(keepalive_expiry=2.0)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, limits=limits)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def model(
        self,
        kind: type[M],
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
    ) -> M:
        """Send a request; return its answer as a model."""
        return kind(**self.ask(method, path, params=params, json=json).json())

    def ask(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """Send a request; return its answer, or raise ServeError with the server's reason."""
        with self._explained():
            return _raise_for(
                self._http.request(
                    method, f"/api/v1{path}", params=params, json=json, content=content, headers=headers
                )
            )

    @contextmanager
    def stream(self, path: str, *, params: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """Get an answer piece by piece."""
        with self._explained(), self._http.stream("GET", f"/api/v1{path}", params=params) as answer:
            if answer.is_error:
                answer.read()
            yield _raise_for(answer)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            raise ServeError(f"{self._http.base_url}: no answer ({error})", status=503) from error


def _raise_for(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        try:
            detail = answer.json()["detail"]
        except (ValueError, KeyError, TypeError):
            detail = answer.reason_phrase
        raise ServeError(str(detail), status=answer.status_code)
    return answer
