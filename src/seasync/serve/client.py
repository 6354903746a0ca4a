"""A typed client of the HTTP API. It uses the same models as the server."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

import httpx
import numpy as np
from pydantic import TypeAdapter

from seasync.encoding import Floats
from seasync.errors import ServeError
from seasync.files import Location, Place, atomic_write, fetch
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
    Split,
    TimelineFormat,
)
from seasync.serve import models
from seasync.serve.models import (
    NO_SEA,
    AlignmentRequest,
    Anchor,
    Angles,
    Body,
    CarriedClip,
    CarriedPage,
    Clip,
    Comparison,
    ComparisonRequest,
    ComparisonUpdate,
    Drawing,
    Drawings,
    Job,
    LabelingRequest,
    MarkForm,
    Marks,
    SeaInfo,
    Upload,
)

# The HTTP requests of the client, and their errors in plain words.


if TYPE_CHECKING:
    from seasync.group.timing import Report

M = TypeVar("M")


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
        answer = self.ask(method, path, params=params, json=json).json()
        return TypeAdapter(kind).validate_python(answer)

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


# The part of the client for bodies: joints, angles, drawings.


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


# The part of the client that keeps, names, saves and opens comparisons.


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


# The part of the client that labels a collection: marks of a few clips carried to all others.


PAGE = 500


class LabelingClient:
    """Carried marks of a server: `client.labeling`.

    Examples
    --------
    >>> top = MarkForm(kind="moment", name="top", frame=12, seconds=0.4)                # doctest: +SKIP
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
        marks: Mapping[str, Sequence[MarkForm]] | None = None,
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


# The part of the client that follows jobs and fetches what they make.


class JobsClient:
    """Jobs of a server. `Client` inherits these calls."""

    def __init__(self, http: Connection) -> None:
        self._http = http

    def fetch(self, job: Job, file: Place) -> None:
        """Write the film that a job has made to `file`."""
        with (
            self._http.stream(f"/jobs/{job.id}/result") as answer,
            atomic_write(file, error=ServeError) as part,
            part.open("wb") as out,
        ):
            for chunk in answer.iter_bytes():
                out.write(chunk)

    def jobs(self) -> list[Job]:
        """All jobs, newest first."""
        return [Job(**one) for one in self._http.ask("GET", "/jobs").json()]

    def job(self, job: str) -> Job:
        """The job with this id, as it is now."""
        return self._http.model(Job, "GET", f"/jobs/{job}")

    def cancel(self, job: Job) -> Job:
        """Cancel a job."""
        return self._http.model(Job, "DELETE", f"/jobs/{job.id}")

    def watch(self, job: Job) -> Iterator[Job]:
        """Yield the job whenever it changes, until it ends."""
        with self._http.stream("/jobs/events", params={"job": job.id}) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield Job(**json.loads(line[6:]))

    def wait(self, job: Job) -> Job:
        """Wait for a job, and return it when it is done.

        Raises
        ------
        ServeError
            If it failed, with the reason.
        """
        for now in self.watch(job):
            job = now
        if job.state != "done":
            raise ServeError(job.error or f"{job.title}: {job.state}")
        return job


# The part of the client for seas and their clips, uploads and adding.


class SeasClient(JobsClient):
    """Seas of a server. `Client` inherits these calls."""

    def server(self) -> models.ServerInfo:
        """Describe the server: its seas, its limits, and the choices that requests offer."""
        return self._http.model(models.ServerInfo, "GET", "")

    def seas(self) -> list[SeaInfo]:
        """All seas with their statistics."""
        return [SeaInfo(**one) for one in self._http.ask("GET", "/seas").json()]

    def sea(self, sea: str) -> SeaInfo:
        """One sea with its statistics."""
        return self._http.model(SeaInfo, "GET", f"/seas/{sea}")

    def make_sea(self, name: str) -> SeaInfo:
        """Make an empty sea in the server's own folder."""
        return self._http.model(SeaInfo, "POST", "/seas", json={"name": name})

    def delete_sea(self, sea: str) -> None:
        """Delete a sea that `make_sea` has made."""
        self._http.ask("DELETE", f"/seas/{sea}")

    def phone(self) -> models.Phone:
        """The address for a phone on the same network, with the token, also as a QR code."""
        return self._http.model(models.Phone, "GET", "/phone")

    def clips(
        self,
        sea: str,
        *,
        text: str = "",
        label: str | None = None,
        order: models.ClipOrder = "added",
        reverse: bool = False,
    ) -> Iterator[Clip]:
        """All clips with this text in their path, name, label or tags, and with this label; page by page."""
        asked: dict[str, Any] = {"text": text, "limit": 500, "order": order, "reverse": reverse}
        asked |= {} if label is None else {"label": label}
        offset = 0
        while True:
            asked["offset"] = offset
            page = self._http.model(models.ClipPage, "GET", f"/seas/{sea}/clips", params=asked)
            yield from page.clips
            offset += len(page.clips)
            if offset >= page.total or not page.clips:
                return

    def clip(self, sea: str, clip: str) -> Clip:
        """The clip with this id."""
        return self._http.model(Clip, "GET", f"/seas/{sea}/clips/{clip}")

    def change(
        self,
        sea: str,
        clip: str,
        *,
        name: str | None = None,
        label: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> Clip:
        """Change the name, the label or the tags of the clip with this id. "" removes a name or label."""
        asked = models.ClipUpdate(name=name, label=label, tags=None if tags is None else list(tags))
        body = asked.model_dump(exclude_none=True)
        return self._http.model(Clip, "PATCH", f"/seas/{sea}/clips/{clip}", json=body)

    def remove(self, sea: str, clip: str) -> None:
        """Remove the clip with this id from the sea."""
        self._http.ask("DELETE", f"/seas/{sea}/clips/{clip}")

    def upload(self, file: Place, *, compare: bool = False) -> Upload:
        """Upload a video. With `compare`, the server starts to encode it at once, for a comparison."""
        path = fetch(file)
        params = {"name": Location(file).name, "compare": str(compare).lower()}
        length = {"Content-Length": str(path.stat().st_size)}
        with path.open("rb") as opened:
            answer = self._http.ask("POST", "/uploads", params=params, content=opened, headers=length)
        return Upload(**answer.json())

    def uploads(self) -> list[Upload]:
        """All uploads, the most recently used first."""
        return [Upload(**one) for one in self._http.ask("GET", "/uploads").json()]

    def uploaded(self, upload: str) -> Upload:
        """The upload with this id."""
        return self._http.model(Upload, "GET", f"/uploads/{upload}")

    def delete_upload(self, upload: str) -> None:
        """Delete an upload that is part of no sea and no comparison."""
        self._http.ask("DELETE", f"/uploads/{upload}")

    def add(
        self,
        sea: str,
        *,
        paths: Sequence[str] = (),
        uploads: Sequence[str] = (),
        split: Split | float = "none",
        label: str | None = None,
        labels: Literal["folder"] | None = None,
        tags: Sequence[str] = (),
    ) -> Job:
        """Start to add videos in the background; `AddRequest` has the arguments. See `wait`."""
        asked = models.AddRequest(
            paths=list(paths),
            uploads=list(uploads),
            split=split,
            label=label,
            labels=labels,
            tags=list(tags),
        )
        return self._http.model(Job, "POST", f"/seas/{sea}/add", json=asked.model_dump())


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

    def report(self, sea: str, request: AlignmentRequest, *, since: float | None = None) -> Report:
        """How the timing of two videos differs; times count from the second `since` of the query."""
        place, asked = f"/seas/{sea}/alignment/report", models.ReportRequest(**dict(request), since=since)
        from seasync.group.timing import Report

        return self._http.model(Report, "GET", place, params=_params(asked))

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

    def marks(self, sea: str, ref: str) -> list[MarkForm]:
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

    def set_marks(self, sea: str, ref: str, marks: Sequence[MarkForm]) -> None:
        """Replace all marks of a video."""
        self._http.ask("PUT", f"/seas/{sea}/marks/{ref}", json=[mark.model_dump() for mark in marks])


def _params(request: AlignmentRequest) -> dict[str, Any]:
    return request.model_dump(exclude_none=True)
