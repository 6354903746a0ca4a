"""Bodies: joints of the people in videos, their angles over synced time, and drawings on the pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Response

from seasync.errors import ServeError
from seasync.options import Side
from seasync.serve import models
from seasync.serve.backend import Backend
from seasync.serve.body_angles import angles_csv, body_model, compare_angles, read_body
from seasync.serve.routes import BackendDep, RefPath, SeaDep
from seasync.serve.served_sea import ServedSea

router = APIRouter(prefix="/seas/{sea}", tags=["bodies"])
Seconds = Annotated[models.Moment | None, Query()]
AnglesQuery = Annotated[models.AnglesRequest, Query()]
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}


@router.post("/footage/{ref}/body", status_code=202)
def find_body(
    sea: SeaDep, backend: BackendDep, ref: RefPath, start: Seconds = None, end: Seconds = None
) -> models.Job:
    """Find the joints of the person who moves most, in the background. `GET` gives them when it is done."""
    span = models.Span(ref=ref, start=start, end=end)
    clip = backend.library.clip_to_encode(sea, span)
    title = f"Find the body in {Path(clip.file).name}"
    return backend.jobs.submit("body", sea.name, span.model_dump(), title=title)


@router.get("/footage/{ref}/body")
def get_body(
    sea: SeaDep, backend: BackendDep, ref: RefPath, start: Seconds = None, end: Seconds = None
) -> models.Body:
    """The joints of the person who moves most. `409` until they have been found by `POST`."""
    span = models.Span(ref=ref, start=start, end=end)
    clip = backend.library.opened(sea, span)
    return body_model(ref, read_body(_place(backend, sea, span)), Path(clip.file).name)


@router.get("/alignment/angles")
def get_angles(sea: SeaDep, backend: BackendDep, request: AnglesQuery) -> models.Angles:
    """The angles of knees, hips, elbows, shoulders and trunk of both bodies, over synced time."""
    return _angles(backend, sea, request)


@router.get("/alignment/angles.csv", response_class=Response, responses=CSV)
def get_angles_table(sea: SeaDep, backend: BackendDep, request: AnglesQuery) -> Response:
    """The angles of both bodies as a table: a row per synced moment."""
    name = {"Content-Disposition": 'attachment; filename="angles.csv"'}
    return Response(angles_csv(_angles(backend, sea, request)), media_type="text/csv", headers=name)


@router.get("/drawings/{query}/{match}")
def get_drawings(sea: SeaDep, query: RefPath, match: RefPath) -> models.Drawings:
    """The drawings on two videos."""
    found = sea.annotations.get(f"drawings/{query}/{match}") or []
    return models.Drawings(query=query, match=match, drawings=found)


@router.put("/drawings/{query}/{match}")
def set_drawings(
    sea: SeaDep, query: RefPath, match: RefPath, drawings: list[models.Drawing]
) -> models.Drawings:
    """Replace all drawings on two videos. An empty list removes them."""
    kept = models.Drawings(query=query, match=match, drawings=drawings)
    sea.annotations.put(f"drawings/{query}/{match}", [one.model_dump() for one in kept.drawings] or None)
    return kept


def _angles(backend: Backend, sea: ServedSea, request: models.AnglesRequest) -> models.Angles:
    sides: tuple[Side, Side] = ("query", "match")
    spans = dict(zip(sides, request.spans, strict=True))
    bodies = {side: read_body(_place(backend, sea, spans[side])) for side in sides}
    names = {side: Path(backend.library.opened(sea, spans[side]).file).name for side in sides}
    alignment = backend.solver.solve(sea, request)
    return compare_angles(alignment, bodies, names, mirror=request.mirror, raw=request.raw)


def _place(backend: Backend, sea: ServedSea, span: models.Span) -> Path:
    file = backend.library.body_place(backend.library.opened(sea, span))
    if not file.exists():
        raise ServeError(
            "the body in this video has not been found yet; POST to its `body` first", status=409
        )
    return file
