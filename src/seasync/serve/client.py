"""A typed client of the HTTP API. It uses the same forms as the server."""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import httpx
import numpy as np
from pydantic import TypeAdapter

from seasync.encoding import Floats
from seasync.errors import ServeError
from seasync.files import Location, Place, atomic_write, fetch
from seasync.forms import RepetitionsForm
from seasync.options import MarkKind, RecipeName, Side, TimelineFormat
from seasync.serve import models
from seasync.serve.models import AlignmentRequest, Comparison, JobForm
from seasync.serve.tokens import find_token

if TYPE_CHECKING:
    from seasync.group.timing import Report

T = TypeVar("T")
MarksByRef = Mapping[str, Sequence[models.MarkForm]]
PAGE = 500
NOTHING: Mapping[str, Any] = {}
_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


class Connection:
    """A connection to the API of a server.

    Parameters
    ----------
    address
        Address of the server, such as "http://127.0.0.1:8080".
    token
        Access token, if the server asks for one. Default: that of your own server on this machine.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(self, address: str, *, token: str | None, timeout: float) -> None:
        address = address.partition("?")[0]  # the one that `seasync serve` prints has a code
        token = token or find_token(address)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Servers close connections after five idle seconds; a request sent at that moment would fail.
        limits = httpx.Limits(keepalive_expiry=2.0)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, limits=limits)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, kind: type[T], path: str, **params: Any) -> T:
        """GET an answer of this kind."""
        return self.read(kind, "GET", path, params=params)

    def read(self, kind: type[T], method: str, path: str, **request: Any) -> T:
        """Send a request; return its answer as one of this kind."""
        answer: T = _adapter(kind).validate_json(self.ask(method, path, **request).content)
        return answer

    def ask(
        self, method: str, path: str, *, params: Mapping[str, Any] = NOTHING, **body: Any
    ) -> httpx.Response:
        """Send a request; return its answer, or raise ServeError with the server's reason."""
        given = {name: value for name, value in params.items() if value is not None}
        with self._explained():
            return _raise_for(self._http.request(method, f"/api/v1{path}", params=given, **body))

    def send(self, kind: type[T], path: str, file: Place, **params: Any) -> T:
        """POST a file."""
        local = fetch(file)
        length = {"Content-Length": str(local.stat().st_size)}
        with local.open("rb") as opened:
            return self.read(kind, "POST", path, params=params, content=opened, headers=length)

    @contextmanager
    def stream(self, path: str, **params: Any) -> Iterator[httpx.Response]:
        """Get an answer piece by piece."""
        with self._explained(), self._http.stream("GET", f"/api/v1{path}", params=params) as answer:
            if answer.is_error:
                answer.read()
            yield _raise_for(answer)

    def save(self, path: str, file: Place, **params: Any) -> None:
        """Write an answer to a file."""
        with (
            self.stream(path, **params) as answer,
            atomic_write(file, error=ServeError) as part,
            part.open("wb") as out,
        ):
            for chunk in answer.iter_bytes():
                out.write(chunk)

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

    def find(self, sea: str, ref: str, **span: float | None) -> JobForm:
        """Start to find the joints of the person who moves most in a video, or from its `start` to `end`.

        See `Client.wait`.
        """
        return self._http.read(JobForm, "POST", f"/seas/{sea}/footage/{ref}/body", params=span)

    def get(self, sea: str, ref: str, **span: float | None) -> models.BodyForm:
        """The joints that `find` has found."""
        return self._http.get(models.BodyForm, f"/seas/{sea}/footage/{ref}/body", **span)

    def angles(self, sea: str, request: AlignmentRequest, **how: bool) -> models.Angles:
        """The angles of both bodies over synced time; `AnglesRequest` has the options."""
        return self._http.get(models.Angles, f"/seas/{sea}/alignment/angles", **dict(request), **how)

    def angles_table(self, sea: str, request: AlignmentRequest, **how: bool) -> str:
        """The same as CSV."""
        asked = dict(request) | how
        return self._http.ask("GET", f"/seas/{sea}/alignment/angles.csv", params=asked).text

    def drawings(self, sea: str, query: str, match: str) -> list[models.DrawingForm]:
        """The drawings on two videos."""
        return self._http.get(models.Drawings, f"/seas/{sea}/drawings/{query}/{match}").drawings

    def set_drawings(self, sea: str, query: str, match: str, drawings: Sequence[models.DrawingForm]) -> None:
        """Replace all drawings on two videos."""
        self._http.ask("PUT", f"/seas/{sea}/drawings/{query}/{match}", json=_plain(drawings))


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
        return self._http.get(list[Comparison], "/comparisons")

    def get(self, comparison: str) -> Comparison:
        """The comparison with this id."""
        return self._http.get(Comparison, f"/comparisons/{comparison}")

    def keep(
        self,
        query: str,
        match: str,
        *,
        sea: str = models.NO_SEA,
        name: str | None = None,
        grid: bool = False,
        **options: Any,
    ) -> Comparison:
        """Keep two videos, or spans of them, as a comparison. Without a sea, both are uploads.

        With `grid`, the match and the `takes` follow the query in a grid. `AlignmentRequest` has the options.
        """
        alignment = AlignmentRequest(query=query, match=match, **options)
        asked = models.ComparisonRequest(sea=sea, name=name, alignment=alignment, grid=grid)
        return self._http.read(Comparison, "POST", "/comparisons", json=asked.model_dump())

    def rename(self, comparison: Comparison, name: str) -> Comparison:
        """Give a comparison another name."""
        return self._http.read(Comparison, "PATCH", f"/comparisons/{comparison.id}", json={"name": name})

    def remove(self, comparison: Comparison) -> None:
        """Forget a comparison."""
        self._http.ask("DELETE", f"/comparisons/{comparison.id}")

    def save(self, comparison: Comparison, file: Place, *, embed: bool = True) -> None:
        """Save a comparison as a `.seasync` file, with its videos if `embed`."""
        self._http.save(f"/comparisons/{comparison.id}/file", file, embed=embed)

    def open(self, file: Place) -> Comparison:
        """Open a `.seasync` file on the server."""
        return self._http.send(Comparison, "/comparisons/file", file)


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

    def carry(self, sea: str, marks: MarksByRef | None = None, **options: Any) -> JobForm:
        """Start to carry marks to all other clips of a sea; see `Client.wait`.

        Parameters
        ----------
        marks
            Marks by the reference of their clip. Default: all marks that the sea keeps.
        options
            `label` and `tolerance`; see `LabelingRequest`.
        """
        given = None
        if marks is not None:
            given = [models.Marks(ref=ref, marks=list(own)) for ref, own in marks.items()]
        asked = models.LabelingRequest(marks=given, **options)
        return self._http.read(JobForm, "POST", f"/seas/{sea}/carry", json=asked.model_dump())

    def summary(self, sea: str) -> models.CarriedPage:
        """How many clips the marks were carried to, and the most doubtful of them."""
        return self._http.get(models.CarriedPage, f"/seas/{sea}/carried")

    def carried(self, sea: str, *, sure: bool = True) -> Iterator[models.CarriedClip]:
        """The clips with carried marks, the most doubtful first; without `sure` ones, only those to check."""
        offset, total = 0, 1
        while offset < total:
            page = self._http.get(models.CarriedPage, f"/seas/{sea}/carried", offset=offset, limit=PAGE)
            yield from (each for each in page.clips if sure or not each.sure)
            total = page.total if sure else page.doubtful
            offset += PAGE

    def csv(self, sea: str) -> bytes:
        """All marks of the sea, set by people or carried, as the content of a CSV file."""
        return self._http.ask("GET", f"/seas/{sea}/carried.csv").content


class Client:
    """Talks to a server. Every call returns a form of `seasync.serve.models`, or raises ServeError.

    The options that a call passes on are the fields of the request's form, such as `SearchRequest`.

    Parameters
    ----------
    address
        Address of the server, such as "http://127.0.0.1:8080".
    token
        Access token, if the server asks for one. Default: that of your own server on this machine.
    timeout
        Seconds to wait for an answer.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8080") as client:                            # doctest: +SKIP
    ...     found = client.search("footage", client.upload("query.mp4").ref)
    ...     print(client.align("footage", found.query.ref, found.matches[0].clip.ref).verdict)
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 600.0) -> None:
        self._http = Connection(address, token=token, timeout=timeout)
        self.bodies = BodiesClient(self._http)
        self.comparisons = ComparisonsClient(self._http)
        self.labeling = LabelingClient(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._http.close()

    # The server, its seas and their clips.

    def server(self) -> models.ServerInfo:
        """Describe the server: its seas, its limits, and the choices that requests offer."""
        return self._http.get(models.ServerInfo, "")

    def phone(self) -> models.Phone:
        """The address that opens the page on a phone once, also as a QR code."""
        return self._http.get(models.Phone, "/phone")

    def seas(self) -> list[models.SeaInfo]:
        """All seas with their statistics."""
        return self._http.get(list[models.SeaInfo], "/seas")

    def sea(self, sea: str) -> models.SeaInfo:
        """One sea with its statistics."""
        return self._http.get(models.SeaInfo, f"/seas/{sea}")

    def make_sea(self, name: str) -> models.SeaInfo:
        """Make an empty sea in the server's own folder."""
        return self._http.read(models.SeaInfo, "POST", "/seas", json={"name": name})

    def delete_sea(self, sea: str) -> None:
        """Delete a sea that `make_sea` has made."""
        self._http.ask("DELETE", f"/seas/{sea}")

    def clips(self, sea: str, **options: Any) -> Iterator[models.ServedClip]:
        """The clips of a sea, page by page.

        Parameters
        ----------
        options
            `text` in their path, name, label or tags; `label`; `order`: "added", "name", "label" or "length";
            `reverse`: last first.
        """
        offset, total = 0, 1
        while offset < total:
            asked = options | {"offset": offset, "limit": PAGE}
            page = self._http.get(models.ClipPage, f"/seas/{sea}/clips", **asked)
            yield from page.clips
            offset, total = offset + PAGE, page.total

    def clip(self, sea: str, clip: str) -> models.ServedClip:
        """The clip with this id."""
        return self._http.get(models.ServedClip, f"/seas/{sea}/clips/{clip}")

    def change(self, sea: str, clip: str, **changes: Any) -> models.ServedClip:
        """Change `name`, `label` or `tags` of the clip with this id. "" removes a name or label."""
        body = models.ClipUpdate(**changes).model_dump(exclude_none=True)
        return self._http.read(models.ServedClip, "PATCH", f"/seas/{sea}/clips/{clip}", json=body)

    def remove(self, sea: str, clip: str) -> None:
        """Remove the clip with this id from the sea."""
        self._http.ask("DELETE", f"/seas/{sea}/clips/{clip}")

    def add(self, sea: str, **options: Any) -> JobForm:
        """Start to add videos in the background; `AddRequest` has the options. See `wait`."""
        asked = models.AddRequest(**options).model_dump()
        return self._http.read(JobForm, "POST", f"/seas/{sea}/add", json=asked)

    # Videos.

    def upload(self, file: Place, *, compare: bool = False) -> models.Upload:
        """Upload a video. With `compare`, the server starts to encode it at once, for a comparison."""
        return self._http.send(models.Upload, "/uploads", file, name=Location(file).name, compare=compare)

    def uploads(self) -> list[models.Upload]:
        """All uploads, the most recently used first."""
        return self._http.get(list[models.Upload], "/uploads")

    def uploaded(self, upload: str) -> models.Upload:
        """The upload with this id."""
        return self._http.get(models.Upload, f"/uploads/{upload}")

    def delete_upload(self, upload: str) -> None:
        """Delete an upload that is part of no sea and no comparison."""
        self._http.ask("DELETE", f"/uploads/{upload}")

    def footage(self, sea: str, ref: str) -> models.FootageForm:
        """Describe a video: its size and rate, when each frame is shown."""
        return self._http.get(models.FootageForm, f"/seas/{sea}/footage/{ref}")

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

    def prepare(self, sea: str, ref: str) -> JobForm:
        """Start to make a copy of a video that every browser plays; see `wait`."""
        return self._http.read(JobForm, "POST", f"/seas/{sea}/footage/{ref}/proxy")

    # Searches, alignments and what is made from them.

    def search(
        self, sea: str, query: str, *, start: float | None = None, end: float | None = None, **options: Any
    ) -> models.SearchResult:
        """Find the clips that move in step with the video `query`, or with its span from `start` to `end`.

        `SearchRequest` has the other options.
        """
        span = models.SpanForm(ref=query, start=start, end=end)
        asked = models.SearchRequest(query=span, **options).model_dump()
        return self._http.read(models.SearchResult, "POST", f"/seas/{sea}/search", json=asked)

    def confirm(
        self,
        sea: str,
        query: str,
        match: str,
        same: bool | None,
        *,
        start: float | None = None,
        end: float | None = None,
        recipe: RecipeName = "motion",
    ) -> models.AnswerResult:
        """Say whether a match shows the query's movement; None takes it back. See `seasync.Sea.confirm`."""
        span = models.SpanForm(ref=query, start=start, end=end)
        asked = models.AnswerRequest(query=span, match=match, same=same, recipe=recipe).model_dump()
        return self._http.read(models.AnswerResult, "POST", f"/seas/{sea}/answers", json=asked)

    def repetitions(self, sea: str, ref: str, **span: float) -> list[RepetitionsForm]:
        """The movements that a video repeats. `RepetitionsQuery` has the span and the template."""
        asked = models.RepetitionsQuery(ref=ref, **span)
        return self._http.get(list[RepetitionsForm], f"/seas/{sea}/repetitions", **dict(asked))

    def align(self, sea: str, query: str, match: str, **options: Any) -> models.ServedAlignment:
        """Align two videos. Other calls about an alignment take its `request`, which has the options."""
        asked = AlignmentRequest(query=query, match=match, **options)
        return self._http.get(models.ServedAlignment, f"/seas/{sea}/alignment", **dict(asked))

    def cost(self, sea: str, request: AlignmentRequest) -> Floats:
        """The cost matrix of an alignment [shape=(n, m)]."""
        data = io.BytesIO(self._made(sea, request, "cost.npy"))
        return np.asarray(np.load(data, allow_pickle=False), np.float32)

    def cost_picture(self, sea: str, request: AlignmentRequest) -> bytes:
        """The cost matrix as a PNG, one pixel per cell."""
        return self._made(sea, request, "cost.png")

    def picture(self, sea: str, request: AlignmentRequest) -> bytes:
        """The alignment in one PNG: matrix, path, and frames that correspond."""
        return self._made(sea, request, "picture.png")

    def timeline(
        self, sea: str, request: AlignmentRequest, form: TimelineFormat, *, keep: Side = "query"
    ) -> bytes:
        """A timeline for an editor, as the content of a file."""
        return self._made(sea, request, f"timeline.{form}", keep=keep)

    def report(self, sea: str, request: AlignmentRequest, *, since: float | None = None) -> "Report":
        """How the timing of two videos differs; times count from the second `since` of the query."""
        asked = dict(request) | {"since": since}
        from seasync.group.timing import Report

        return self._http.get(Report, f"/seas/{sea}/alignment/report", **asked)

    def report_table(self, sea: str, request: AlignmentRequest, *, since: float | None = None) -> str:
        """The report as CSV."""
        return self._made(sea, request, "report.csv", since=since).decode()

    def carried_marks(self, sea: str, request: AlignmentRequest, *, to: Side = "match") -> str:
        """The marks of one video carried over to the other, as CSV."""
        return self._made(sea, request, "marks.csv", to=to).decode()

    def film(self, sea: str, request: AlignmentRequest, **options: Any) -> JobForm:
        """Start to make a film in the background; `FilmRequest` has the options. See `wait` and `fetch`."""
        asked = models.FilmRequest(alignment=request, **options).model_dump()
        return self._http.read(JobForm, "POST", f"/seas/{sea}/alignment/film", json=asked)

    def grid_film(self, sea: str, request: models.GridRequest) -> JobForm:
        """Start to make a film of a leader and its followers; see `wait` and `fetch`."""
        return self._http.read(JobForm, "POST", f"/seas/{sea}/alignment/grid", json=request.model_dump())

    def _made(self, sea: str, request: AlignmentRequest, what: str, **more: Any) -> bytes:
        return self._http.ask("GET", f"/seas/{sea}/alignment/{what}", params=dict(request) | more).content

    # Anchors and marks.

    def anchors(self, sea: str, query: str, match: str) -> list[models.Anchor]:
        """The anchors between two videos."""
        return self._http.get(models.Anchors, f"/seas/{sea}/anchors/{query}/{match}").anchors

    def set_anchors(self, sea: str, query: str, match: str, anchors: Sequence[models.Anchor]) -> None:
        """Replace all anchors between two videos."""
        self._http.ask("PUT", f"/seas/{sea}/anchors/{query}/{match}", json=_plain(anchors))

    def marks(self, sea: str, ref: str) -> list[models.MarkForm]:
        """The marks of a video."""
        return self._http.get(models.Marks, f"/seas/{sea}/marks/{ref}").marks

    def all_marks(self, sea: str) -> list[models.Marks]:
        """The marks of every marked video."""
        return self._http.get(list[models.Marks], f"/seas/{sea}/marks")

    def marks_table(self, sea: str, *, form: Literal["events", "phases"] = "events") -> str:
        """All marks as the CSV that `seasync evaluate` reads."""
        return self._http.ask("GET", f"/seas/{sea}/marks.csv", params={"form": form}).text

    def mark_names(self, sea: str) -> dict[MarkKind, list[str]]:
        """The names of marks in use, in the order in which they usually come."""
        return self._http.get(dict[MarkKind, list[str]], f"/seas/{sea}/mark-names")

    def set_marks(self, sea: str, ref: str, marks: Sequence[models.MarkForm]) -> None:
        """Replace all marks of a video."""
        self._http.ask("PUT", f"/seas/{sea}/marks/{ref}", json=_plain(marks))

    # Jobs.

    def jobs(self) -> list[JobForm]:
        """All jobs, newest first."""
        return self._http.get(list[JobForm], "/jobs")

    def job(self, job: str) -> JobForm:
        """The job with this id, as it is now."""
        return self._http.get(JobForm, f"/jobs/{job}")

    def cancel(self, job: JobForm) -> JobForm:
        """Cancel a job."""
        return self._http.read(JobForm, "DELETE", f"/jobs/{job.id}")

    def watch(self, job: JobForm) -> Iterator[JobForm]:
        """Yield the job whenever it changes, until it ends."""
        with self._http.stream("/jobs/events", job=job.id) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield JobForm(**json.loads(line[6:]))

    def wait(self, job: JobForm) -> JobForm:
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

    def fetch(self, job: JobForm, file: Place) -> None:
        """Write the film that a job has made to `file`."""
        self._http.save(f"/jobs/{job.id}/result", file)


def _plain(values: Sequence[models.Model]) -> list[dict[str, Any]]:
    return [value.model_dump() for value in values]
