"""A client of the API, on the same models."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
import numpy as np

from seasync.encoding import Floats
from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.models import AlignmentRequest, Anchor, Clip, Job, Mark, SeaInfo, Upload

M = TypeVar("M", bound=models.Model)


class Client:
    """Ask a server: every call gives a model of `seasync.serve.models`, or raises ServeError with its reason.

    >>> with Client("http://127.0.0.1:8080") as client:                            # doctest: +SKIP
    ...     found = client.search("footage", client.upload("query.mp4").ref)
    ...     print(client.align("footage", query=found.query.ref, match=found.matches[0].clip.ref).verdict)
    """

    def __init__(self, address: str, *, token: str | None = None, timeout: float = 600.0) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # Servers close what has been idle for five seconds; asking over it at that moment would fail.
        limits = httpx.Limits(keepalive_expiry=2.0)
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, limits=limits)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def about(self) -> models.About:
        return self._model(models.About, "GET", "")

    def seas(self) -> list[SeaInfo]:
        return [SeaInfo(**one) for one in self._ask("GET", "/seas").json()]

    def sea(self, sea: str) -> SeaInfo:
        return self._model(SeaInfo, "GET", f"/seas/{sea}")

    def clips(self, sea: str, *, text: str = "", label: str | None = None) -> Iterator[Clip]:
        """All clips that fit, fetched page by page."""
        asked: dict[str, Any] = {"text": text, "limit": 500} | ({} if label is None else {"label": label})
        offset = 0
        while True:
            asked["offset"] = offset
            page = self._model(models.ClipPage, "GET", f"/seas/{sea}/clips", params=asked)
            yield from page.clips
            offset += len(page.clips)
            if offset >= page.total or not page.clips:
                return

    def remove(self, sea: str, clip: str) -> None:
        """Take a clip out of the sea."""
        self._ask("DELETE", f"/seas/{sea}/clips/{clip}")

    def upload(self, file: str | Path) -> Upload:
        path = Path(file)
        length = {"Content-Length": str(path.stat().st_size)}
        with path.open("rb") as opened:
            answer = self._ask("POST", "/uploads", params={"name": path.name}, content=opened, headers=length)
        return Upload(**answer.json())

    def add(self, sea: str, *, paths: Sequence[str] = (), uploads: Sequence[str] = (), **options: Any) -> Job:
        """Begin to add; options as in `AddRequest`. See `wait`."""
        asked = models.AddRequest(paths=list(paths), uploads=list(uploads), **options)
        return self._model(Job, "POST", f"/seas/{sea}/add", json=asked.model_dump())

    def search(
        self, sea: str, query: str, *, start: float | None = None, end: float | None = None, **options: Any
    ) -> models.SearchResult:
        """Matches of `clip:ID` or `upload:ID`; options as in `SearchRequest`."""
        asked = models.SearchRequest(query=models.Span(ref=query, start=start, end=end), **options)
        return self._model(models.SearchResult, "POST", f"/seas/{sea}/search", json=asked.model_dump())

    def footage(self, sea: str, ref: str) -> models.Footage:
        return self._model(models.Footage, "GET", f"/seas/{sea}/footage/{ref}")

    def thumbnail(self, sea: str, ref: str) -> bytes:
        """A JPEG."""
        return self._ask("GET", f"/seas/{sea}/footage/{ref}/thumbnail").content

    def align(self, sea: str, **asked: Any) -> models.Alignment:
        """Arguments as in `AlignmentRequest`; the other calls on an alignment take its `request`."""
        return self._model(
            models.Alignment, "GET", f"/seas/{sea}/alignment", params=_params(AlignmentRequest(**asked))
        )

    def cost(self, sea: str, request: AlignmentRequest) -> Floats:
        """(n, m) the cost matrix."""
        answer = self._ask("GET", f"/seas/{sea}/alignment/cost.npy", params=_params(request))
        return np.asarray(np.load(io.BytesIO(answer.content), allow_pickle=False), np.float32)

    def timeline(self, sea: str, request: AlignmentRequest, form: str, *, keep: str = "query") -> bytes:
        """The file for an editing program; `form` is one of `seasync.options.TimelineFormat`."""
        asked = _params(request) | {"keep": keep}
        return self._ask("GET", f"/seas/{sea}/alignment/timeline.{form}", params=asked).content

    def film(self, sea: str, request: AlignmentRequest, **options: Any) -> Job:
        """Begin a film; options as in `FilmRequest`. See `wait` and `fetch`."""
        asked = models.FilmRequest(alignment=request, **options)
        return self._model(Job, "POST", f"/seas/{sea}/alignment/film", json=asked.model_dump())

    def fetch(self, job: Job, file: str | Path) -> None:
        """Write the film that a job has made to `file`."""
        with self._stream(f"/jobs/{job.id}/result") as answer, Path(file).open("wb") as out:
            for chunk in answer.iter_bytes():
                out.write(chunk)

    def anchors(self, sea: str, query: str, match: str) -> list[Anchor]:
        return self._model(models.Anchors, "GET", f"/seas/{sea}/anchors/{query}/{match}").anchors

    def set_anchors(self, sea: str, query: str, match: str, anchors: Sequence[Anchor]) -> None:
        self._ask("PUT", f"/seas/{sea}/anchors/{query}/{match}", json=[one.model_dump() for one in anchors])

    def marks(self, sea: str, ref: str) -> list[Mark]:
        return self._model(models.Marks, "GET", f"/seas/{sea}/marks/{ref}").marks

    def set_marks(self, sea: str, ref: str, marks: Sequence[Mark]) -> None:
        self._ask("PUT", f"/seas/{sea}/marks/{ref}", json=[mark.model_dump() for mark in marks])

    def jobs(self) -> list[Job]:
        return [Job(**one) for one in self._ask("GET", "/jobs").json()]

    def cancel(self, job: Job) -> Job:
        return self._model(Job, "DELETE", f"/jobs/{job.id}")

    def watch(self, job: Job) -> Iterator[Job]:
        """The job as it goes on, to its end."""
        with self._stream("/jobs/events", job=job.id) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield Job(**json.loads(line[6:]))

    def wait(self, job: Job) -> Job:
        """The job when it is done.

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

    def _model(self, kind: type[M], method: str, path: str, **how: Any) -> M:
        return kind(**self._ask(method, path, **how).json())

    def _ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        with self._plainly():
            return _raise_for(self._http.request(method, f"/api/v1{path}", **how))

    @contextmanager
    def _stream(self, path: str, **params: str) -> Iterator[httpx.Response]:
        with self._plainly(), self._http.stream("GET", f"/api/v1{path}", params=params) as answer:
            if answer.is_error:
                answer.read()
            yield _raise_for(answer)

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            raise ServeError(f"{self._http.base_url}: no answer ({error})", status=503) from error


def _params(request: AlignmentRequest) -> dict[str, Any]:
    return request.model_dump(exclude_none=True)


def _raise_for(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        try:
            detail = answer.json()["detail"]
        except (ValueError, KeyError, TypeError):
            detail = answer.reason_phrase
        raise ServeError(str(detail), status=answer.status_code)
    return answer
