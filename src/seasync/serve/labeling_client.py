"""The part of the client that labels a collection: marks of a few clips carried to all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from seasync.serve.connection import Connection
from seasync.serve.models import CarriedClip, CarriedPage, Job, LabelingRequest, Mark, Marks

PAGE = 500


class LabelingClient:
    """Carried marks of a server: `client.labeling`.

    Examples
    --------
    >>> top = Mark(kind="moment", name="top", frame=12, seconds=0.4)                # doctest: +SKIP
    >>> client.set_marks("footage", clip.ref, [top])                                # doctest: +SKIP
    >>> client.wait(client.labeling.carry("footage"))                               # doctest: +SKIP
    >>> for doubtful in client.labeling.carried("footage", sure=False):             # doctest: +SKIP
    ...     print(doubtful.clip.name, doubtful.confidence)
    """

    def __init__(self, http: Connection) -> None:
        self._http = http

    def carry(
        self,
        sea: str,
        marks: Mapping[str, Sequence[Mark]] | None = None,
        *,
        label: str | None = None,
        tolerance: float = 0.1,
    ) -> Job:
        """Start to carry marks to all other clips of a sea; see `Client.wait`.

        Parameters
        ----------
        marks
            Marks by the reference of their clip. Default: all marks that the sea keeps.
        label
            Only clips with this label.
        tolerance
            Confidence is how likely a mark is this near to the truth, in seconds.
        """
        given = None if marks is None else [Marks(ref=ref, marks=list(own)) for ref, own in marks.items()]
        asked = LabelingRequest(marks=given, label=label, tolerance=tolerance)
        return self._http.model(Job, "POST", f"/seas/{sea}/carry", json=asked.model_dump())

    def summary(self, sea: str) -> CarriedPage:
        """How many clips the marks were carried to, and the most doubtful of them."""
        return self._http.model(CarriedPage, "GET", f"/seas/{sea}/carried")

    def carried(self, sea: str, *, sure: bool = True) -> Iterator[CarriedClip]:
        """The clips with carried marks, the most doubtful first; without `sure` ones, only those to check."""
        offset, total = 0, 1
        while offset < total:
            asked = {"offset": offset, "limit": PAGE}
            page = self._http.model(CarriedPage, "GET", f"/seas/{sea}/carried", params=asked)
            yield from (each for each in page.clips if sure or not each.sure)
            total = page.total if sure else page.doubtful
            offset += PAGE

    def csv(self, sea: str) -> bytes:
        """All marks of the sea, set by people or carried, as the content of a CSV file."""
        return self._http.ask("GET", f"/seas/{sea}/carried.csv").content
