"""A typed client of the HTTP API. It uses the same models as the server."""

from __future__ import annotations

import io
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

import numpy as np

from seasync.encoding import Floats
from seasync.options import (
    Audio,
    FilmFormat,
    FilmLayout,
    Gaps,
    MarkKind,
    Order,
    Partial,
    RecipeName,
    Rerank,
    Side,
    Smooth,
    TimelineFormat,
)
from seasync.serve import models
from seasync.serve.bodies_client import BodiesClient
from seasync.serve.comparisons_client import ComparisonsClient
from seasync.serve.connection import Connection
from seasync.serve.labeling_client import LabelingClient
from seasync.serve.models import AlignmentRequest, Anchor, Job, Mark
from seasync.serve.seas_client import SeasClient


class Client(SeasClient):
    """Talks to a server. Every call returns a model of `seasync.serve.models`, or raises ServeError.

    Parameters
    ----------
    address
        Address of the server, such as "http://127.0.0.1:8080".
    token
        Access token, if the server asks for one.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8080") as client:                            # doctest: +SKIP
    ...     found = client.search("footage", client.upload("query.mp4").ref)
    ...     print(client.align("footage", found.query.ref, found.matches[0].clip.ref).verdict)
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 600.0) -> None:
        super().__init__(Connection(address, token=token, timeout=timeout))
        self.bodies = BodiesClient(self._http)
        self.comparisons = ComparisonsClient(self._http)
        self.labeling = LabelingClient(self._http)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def search(
        self,
        sea: str,
        query: str,
        *,
        start: float | None = None,
        end: float | None = None,
        k: int = 10,
        recipe: RecipeName = "motion",
        rerank: Rerank | None = None,
        candidates: int | None = None,
        max_draq: float | None = None,
        partial: Partial = "auto",
        consensus: bool | None = None,
        label: str | None = None,
    ) -> models.SearchResult:
        """Find the clips that move in step with the video `query`, or with the span from `start` to `end`."""
        asked = models.SearchRequest(
            query=models.Span(ref=query, start=start, end=end),
            k=k,
            recipe=recipe,
            rerank=rerank,
            candidates=candidates,
            max_draq=max_draq,
            partial=partial,
            consensus=consensus,
            label=label,
        )
        return self._http.model(models.SearchResult, "POST", f"/seas/{sea}/search", json=asked.model_dump())

    def footage(self, sea: str, ref: str) -> models.Footage:
        """Describe a video: its size and rate, when each frame is shown."""
        return self._http.model(models.Footage, "GET", f"/seas/{sea}/footage/{ref}")

    def thumbnail(self, sea: str, ref: str) -> bytes:
        """A frame from the middle of a video, as a JPEG."""
        return self._http.ask("GET", f"/seas/{sea}/footage/{ref}/thumbnail").content

    def strip(self, sea: str, ref: str, at: Sequence[float], *, height: int = 90) -> bytes:
        """The frames at these seconds, side by side in one JPEG."""
        params = {"at": list(at), "height": height}
        return self._http.ask("GET", f"/seas/{sea}/footage/{ref}/strip", params=params).content

    def video(self, sea: str, ref: str, *, form: Literal["browser", "original"] = "original") -> bytes:
        """The file of a video: the original, or as browsers play it."""
        return self._http.ask("GET", f"/seas/{sea}/footage/{ref}/video", params={"form": form}).content

    def prepare(self, sea: str, ref: str) -> Job:
        """Start to make a copy of a video that every browser plays; see `wait`."""
        return self._http.model(Job, "POST", f"/seas/{sea}/footage/{ref}/proxy")

    def align(
        self,
        sea: str,
        query: str,
        match: str,
        *,
        start: float | None = None,
        end: float | None = None,
        match_start: float | None = None,
        match_end: float | None = None,
        recipe: RecipeName = "motion",
        partial: Partial = "auto",
        order: Order = "same",
        consensus: bool = False,
        takes: Sequence[str] = (),
        anchor: Sequence[str] = (),
    ) -> models.Alignment:
        """Align two videos. Other calls about an alignment take its `request`."""
        asked = AlignmentRequest(
            query=query,
            match=match,
            start=start,
            end=end,
            match_start=match_start,
            match_end=match_end,
            recipe=recipe,
            partial=partial,
            order=order,
            consensus=consensus,
            takes=list(takes),
            anchor=list(anchor),
        )
        return self._http.model(models.Alignment, "GET", f"/seas/{sea}/alignment", params=_params(asked))

    def cost(self, sea: str, request: AlignmentRequest) -> Floats:
        """The cost matrix of an alignment [shape=(n, m)]."""
        answer = self._http.ask("GET", f"/seas/{sea}/alignment/cost.npy", params=_params(request))
        return np.asarray(np.load(io.BytesIO(answer.content), allow_pickle=False), np.float32)

    def cost_picture(self, sea: str, request: AlignmentRequest) -> bytes:
        """The cost matrix as a PNG, one pixel per cell."""
        return self._http.ask("GET", f"/seas/{sea}/alignment/cost.png", params=_params(request)).content

    def picture(self, sea: str, request: AlignmentRequest) -> bytes:
        """The alignment in one PNG: matrix, path, and frames that correspond."""
        return self._http.ask("GET", f"/seas/{sea}/alignment/picture.png", params=_params(request)).content

    def timeline(
        self, sea: str, request: AlignmentRequest, form: TimelineFormat, *, keep: Side = "query"
    ) -> bytes:
        """A timeline for an editor, as the content of a file."""
        asked = _params(request) | {"keep": keep}
        return self._http.ask("GET", f"/seas/{sea}/alignment/timeline.{form}", params=asked).content

    def film(
        self,
        sea: str,
        request: AlignmentRequest,
        *,
        layout: FilmLayout = "side",
        keep: Side = "query",
        audio: Audio = "query",
        smooth: Smooth = "nearest",
        gaps: Gaps = "dim",
        form: FilmFormat = "mp4",
        size: tuple[int, int] | None = None,
        labels: bool = True,
        marks: bool = False,
        ahead: bool = False,
    ) -> Job:
        """Start to make a film in the background; see `wait` and `fetch`."""
        asked = models.FilmRequest(
            alignment=request,
            layout=layout,
            keep=keep,
            audio=audio,
            smooth=smooth,
            gaps=gaps,
            form=form,
            size=size,
            labels=labels,
            marks=marks,
            ahead=ahead,
        )
        return self._http.model(Job, "POST", f"/seas/{sea}/alignment/film", json=asked.model_dump())

    def grid_film(self, sea: str, request: models.GridRequest) -> Job:
        """Start to make a film of a leader and its followers; see `wait` and `fetch`."""
        return self._http.model(Job, "POST", f"/seas/{sea}/alignment/grid", json=request.model_dump())

    def report(self, sea: str, request: AlignmentRequest, *, since: float | None = None) -> models.Report:
        """How the timing of two videos differs; times count from the second `since` of the query."""
        place, asked = f"/seas/{sea}/alignment/report", models.ReportRequest(**dict(request), since=since)
        return self._http.model(models.Report, "GET", place, params=_params(asked))

    def report_table(self, sea: str, request: AlignmentRequest, *, since: float | None = None) -> str:
        """The report as CSV."""
        asked = models.ReportRequest(**dict(request), since=since)
        return self._http.ask("GET", f"/seas/{sea}/alignment/report.csv", params=_params(asked)).text

    def carried_marks(self, sea: str, request: AlignmentRequest, *, to: Side = "match") -> str:
        """The marks of one video carried over to the other, as CSV."""
        params = _params(request) | {"to": to}
        return self._http.ask("GET", f"/seas/{sea}/alignment/marks.csv", params=params).text

    def anchors(self, sea: str, query: str, match: str) -> list[Anchor]:
        """The anchors between two videos."""
        return self._http.model(models.Anchors, "GET", f"/seas/{sea}/anchors/{query}/{match}").anchors

    def set_anchors(self, sea: str, query: str, match: str, anchors: Sequence[Anchor]) -> None:
        """Replace all anchors between two videos."""
        self._http.ask(
            "PUT", f"/seas/{sea}/anchors/{query}/{match}", json=[one.model_dump() for one in anchors]
        )

    def marks(self, sea: str, ref: str) -> list[Mark]:
        """The marks of a video."""
        return self._http.model(models.Marks, "GET", f"/seas/{sea}/marks/{ref}").marks

    def all_marks(self, sea: str) -> list[models.Marks]:
        """The marks of every marked video."""
        return [models.Marks(**one) for one in self._http.ask("GET", f"/seas/{sea}/marks").json()]

    def marks_table(self, sea: str, *, form: Literal["events", "phases"] = "events") -> str:
        """All marks as the CSV that `seasync evaluate` reads."""
        return self._http.ask("GET", f"/seas/{sea}/marks.csv", params={"form": form}).text

    def mark_names(self, sea: str) -> dict[MarkKind, list[str]]:
        """The names of marks in use, in the order in which they usually come."""
        found: dict[MarkKind, list[str]] = self._http.ask("GET", f"/seas/{sea}/mark-names").json()
        return found

    def set_marks(self, sea: str, ref: str, marks: Sequence[Mark]) -> None:
        """Replace all marks of a video."""
        self._http.ask("PUT", f"/seas/{sea}/marks/{ref}", json=[mark.model_dump() for mark in marks])


def _params(request: AlignmentRequest) -> dict[str, Any]:
    return request.model_dump(exclude_none=True)
