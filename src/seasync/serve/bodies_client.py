"""The part of the client for bodies: joints, angles, drawings."""

from __future__ import annotations

from collections.abc import Sequence

from seasync.serve.connection import Connection
from seasync.serve.models import AlignmentRequest, Angles, Body, Drawing, Drawings, Job


class BodiesClient:
    """Bodies in videos: `client.bodies`.

    Examples
    --------
    >>> for ref in (query.ref, match.ref):                                          # doctest: +SKIP
    ...     client.wait(client.bodies.find("-", ref))
    >>> pair = client.align("-", query.ref, match.ref).request                      # doctest: +SKIP
    >>> knee = client.bodies.angles("-", pair).angles[0]                            # doctest: +SKIP
    """

    def __init__(self, http: Connection) -> None:
        self._http = http

    def find(self, sea: str, ref: str, *, start: float | None = None, end: float | None = None) -> Job:
        """Start to find the joints of the person who moves most in a video; see `Client.wait`."""
        params = _span(start, end)
        return self._http.model(Job, "POST", f"/seas/{sea}/footage/{ref}/body", params=params)

    def get(self, sea: str, ref: str, *, start: float | None = None, end: float | None = None) -> Body:
        """The joints that `find` has found."""
        params = _span(start, end)
        return self._http.model(Body, "GET", f"/seas/{sea}/footage/{ref}/body", params=params)

    def angles(
        self, sea: str, request: AlignmentRequest, *, mirror: bool = False, raw: bool = False
    ) -> Angles:
        """The angles of both bodies over synced time; with `raw`, not smoothed."""
        params = request.model_dump(exclude_none=True) | {"mirror": mirror, "raw": raw}
        return self._http.model(Angles, "GET", f"/seas/{sea}/alignment/angles", params=params)

    def angles_table(
        self, sea: str, request: AlignmentRequest, *, mirror: bool = False, raw: bool = False
    ) -> str:
        """The same as CSV."""
        params = request.model_dump(exclude_none=True) | {"mirror": mirror, "raw": raw}
        return self._http.ask("GET", f"/seas/{sea}/alignment/angles.csv", params=params).text

    def drawings(self, sea: str, query: str, match: str) -> list[Drawing]:
        """The drawings on two videos."""
        return self._http.model(Drawings, "GET", f"/seas/{sea}/drawings/{query}/{match}").drawings

    def set_drawings(self, sea: str, query: str, match: str, drawings: Sequence[Drawing]) -> None:
        """Replace all drawings on two videos."""
        place = f"/seas/{sea}/drawings/{query}/{match}"
        self._http.ask("PUT", place, json=[one.model_dump() for one in drawings])


def _span(start: float | None, end: float | None) -> dict[str, float]:
    return {name: value for name, value in (("start", start), ("end", end)) if value is not None}
