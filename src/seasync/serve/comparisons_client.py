"""The part of the client that keeps, names, saves and opens comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from seasync.errors import ServeError
from seasync.files import Place, atomic_write, fetch
from seasync.serve.connection import Connection
from seasync.serve.models import (
    NO_SEA,
    AlignmentRequest,
    Comparison,
    ComparisonRequest,
    ComparisonUpdate,
)


class ComparisonsClient:
    """Comparisons of a server: `client.comparisons`.

    Examples
    --------
    >>> query, match = client.upload("before.mp4"), client.upload("after.mp4")      # doctest: +SKIP
    >>> kept = client.comparisons.keep(query.ref, match.ref, name="My swing")       # doctest: +SKIP
    >>> client.comparisons.save(kept, "swing.seasync")                              # doctest: +SKIP
    """

    def __init__(self, http: Connection) -> None:
        self._http = http

    def all(self) -> list[Comparison]:
        """All comparisons, the most recently changed first."""
        return [Comparison(**one) for one in self._http.ask("GET", "/comparisons").json()]

    def get(self, comparison: str) -> Comparison:
        """The comparison with this id."""
        return self._http.model(Comparison, "GET", f"/comparisons/{comparison}")

    def keep(
        self,
        query: str,
        match: str,
        *,
        sea: str = NO_SEA,
        name: str | None = None,
        start: float | None = None,
        end: float | None = None,
        match_start: float | None = None,
        match_end: float | None = None,
        takes: Sequence[str] = (),
        grid: bool = False,
    ) -> Comparison:
        """Keep two videos, or spans of them, as a comparison. Without a sea, both are uploads.

        With `grid`, the match and the `takes` follow the query in a grid.
        """
        alignment = AlignmentRequest(
            query=query,
            match=match,
            start=start,
            end=end,
            match_start=match_start,
            match_end=match_end,
            takes=list(takes),
        )
        asked = ComparisonRequest(sea=sea, name=name, alignment=alignment, grid=grid)
        return self._http.model(Comparison, "POST", "/comparisons", json=asked.model_dump())

    def rename(self, comparison: Comparison, name: str) -> Comparison:
        """Give a comparison another name."""
        asked = ComparisonUpdate(name=name)
        place = f"/comparisons/{comparison.id}"
        return self._http.model(Comparison, "PATCH", place, json=asked.model_dump(exclude_none=True))

    def remove(self, comparison: Comparison) -> None:
        """Forget a comparison."""
        self._http.ask("DELETE", f"/comparisons/{comparison.id}")

    def save(self, comparison: Comparison, file: Place, *, embed: bool = True) -> None:
        """Save a comparison as a `.seasync` file, with its videos if `embed`."""
        params = {"embed": str(embed).lower()}
        with (
            self._http.stream(f"/comparisons/{comparison.id}/file", params=params) as answer,
            atomic_write(file, error=ServeError) as part,
            part.open("wb") as out,
        ):
            for chunk in answer.iter_bytes():
                out.write(chunk)

    def open(self, file: Place) -> Comparison:
        """Open a `.seasync` file on the server."""
        path = fetch(file)
        length = {"Content-Length": str(path.stat().st_size)}
        with path.open("rb") as opened:
            answer = self._http.ask("POST", "/comparisons/file", content=opened, headers=length)
        return Comparison(**answer.json())
