"""Alignments and what is made from them. The request says all they depend on: there is nothing to store."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from seasync.errors import ServeError
from seasync.options import TimelineFormat
from seasync.serve import models, tasks
from seasync.serve.backend import Backend
from seasync.serve.mark_tables import moments_csv
from seasync.serve.routes import BackendDep, SeaDep

if TYPE_CHECKING:
    from seasync.alignment import Alignment
    from seasync.alignment.warp import Stretch
    from seasync.encoding import Floats, Seconds

router = APIRouter(prefix="/seas/{sea}/alignment", tags=["alignment"])
RequestQuery = Annotated[models.AlignmentRequest, Query()]
MEDIA_TYPES = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".otio": "application/json",
    ".fcpxml": "application/xml",
    ".edl": "text/plain",
    ".zip": "application/zip",
    ".xml": "application/xml",
    ".png": "image/png",
}
PNG: dict[int | str, dict[str, object]] = {200: {"content": {"image/png": {}}}}
NPY: dict[int | str, dict[str, object]] = {200: {"content": {"application/octet-stream": {}}}}
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}
TIMELINES: dict[int | str, dict[str, object]] = {
    200: {"content": {kind: {} for kind in sorted(set(MEDIA_TYPES.values()) - {"image/png"})}}
}


@router.get("")
def get_alignment(
    sea: SeaDep, backend: BackendDep, request: Annotated[models.AlignmentQuery, Query()]
) -> models.Alignment:
    """Align two videos: which moments correspond, how well, and the maps of time in both directions."""
    solved, detail = backend.solver.solve_soon(sea, request)
    return models.Alignment(
        **solved.to_json(),
        request=models.AlignmentRequest(**request.model_dump(exclude={"detail"})),
        detail=detail,
        warps={
            "query": [_stretch(one) for one in solved.warp(keep="query").stretches],
            "match": [_stretch(one) for one in solved.warp(keep="match").stretches],
        },
        axes={
            "query": _axis(solved.query_seconds, solved.query_step),
            "match": _axis(solved.match_seconds, solved.match_step),
        },
        has_cost=solved.cost is not None,
    )


@router.get("/cost.png", response_class=Response, responses=PNG)
def get_cost_picture(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> Response:
    """The cost matrix as a picture, one pixel per cell: the query to the right, the match upward."""
    from PIL import Image

    from seasync.render.picture import heat

    data = io.BytesIO()
    Image.fromarray(heat(_cost(backend.solver.solve(sea, request)))).save(data, "PNG")
    return Response(data.getvalue(), media_type="image/png")


@router.get("/cost.npy", response_class=Response, responses=NPY)
def get_cost_array(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> Response:
    """The cost matrix as a NumPy file: float32, query samples by match samples."""
    data = io.BytesIO()
    np.save(data, _cost(backend.solver.solve(sea, request)), allow_pickle=False)
    return Response(data.getvalue(), media_type="application/octet-stream")


@router.get("/picture.png", response_class=FileResponse, responses=PNG)
def get_picture(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> FileResponse:
    """The alignment in one picture: matrix, path, and frames that correspond."""
    alignment = backend.solver.solve_for_files(sea, request, cost=True)

    def make(folder: Path) -> Path:
        file = folder / f"{_title(alignment)}.png"
        _run(backend, tasks.picture, alignment, str(file))
        return file

    return _send(backend, make)


@router.get("/timeline.{form}", response_class=FileResponse, responses=TIMELINES)
def get_timeline(
    sea: SeaDep,
    backend: BackendDep,
    form: TimelineFormat,
    request: Annotated[models.TimelineRequest, Query()],
) -> FileResponse:
    """A timeline for an editor, or the frame map as CSV or JSON. MLT comes as a zip with its sound."""
    alignment = backend.solver.solve_for_files(sea, request)

    def make(folder: Path) -> Path:
        file = folder / f"{_title(alignment)}.{form}"
        written = _run(backend, tasks.timeline, alignment, request.keep, str(file))
        if form != "mlt":
            return file
        with zipfile.ZipFile(file.with_suffix(".zip"), "w") as packed:
            for one in written:
                packed.write(one, Path(one).name)
        return file.with_suffix(".zip")

    return _send(backend, make)


@router.get("/marks.csv", response_class=FileResponse, responses=CSV)
def get_carried_marks(
    sea: SeaDep, backend: BackendDep, request: Annotated[models.CarryRequest, Query()]
) -> FileResponse:
    """The marks of one video, carried over to the other."""
    alignment = backend.solver.solve_for_files(sea, request)
    source = moments_csv(sea, request.match if request.to == "query" else request.query)

    def make(folder: Path) -> Path:
        labels, file = folder / "labels.csv", folder / f"{_title(alignment)} marks.csv"
        labels.write_text(source, encoding="utf-8")
        _run(backend, tasks.carried_marks, alignment, str(labels), request.to, str(file))
        return file

    return _send(backend, make)


@router.post("/film", status_code=202)
def make_film(sea: SeaDep, backend: BackendDep, request: models.FilmRequest) -> models.Job:
    """Make a film in the background. `GET /api/v1/jobs/ID/result` gives it when the job is done."""
    title, asked = backend.solver.title(sea, request.alignment), request.model_dump(exclude={"ahead"})
    if not request.ahead:
        return backend.jobs.submit("film", sea.name, asked, title=f"Film {title}")
    made = backend.film_place(asked).exists()
    return backend.jobs.submit("ahead", sea.name, asked, title=f"Film {title}", again=not made)


@router.post("/grid", status_code=202)
def make_grid_film(sea: SeaDep, backend: BackendDep, request: models.GridRequest) -> models.Job:
    """Make a film of a leader and up to eight followers in a grid, in the background."""
    title = f"{Path(backend.library.opened(sea, models.Span(ref=request.leader)).file).stem} in a grid"
    return backend.jobs.submit("grid", sea.name, request.model_dump(), title=f"Film {title}")


def _run(backend: Backend, function: Callable[..., Any], *args: object) -> Any:
    return backend.inspector.run(function, *args, seconds=backend.limits.inspect_seconds)


def _send(backend: Backend, make: Callable[[Path], Path]) -> FileResponse:
    """Send a file that `make` writes into a temporary folder; the folder is deleted afterwards."""
    folder = Path(tempfile.mkdtemp(dir=backend.state.folder))
    try:
        file = make(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        file,
        media_type=MEDIA_TYPES.get(file.suffix, "text/plain"),
        filename=file.name,
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


def _title(alignment: Alignment) -> str:
    assert alignment.query
    assert alignment.match
    return f"{Path(alignment.match.file).stem} in step with {Path(alignment.query.file).stem}"


def _cost(solved: Alignment) -> Floats:
    if solved.cost is None:
        raise ServeError("the cost matrix is too large to be kept; choose shorter spans", status=422)
    return solved.cost


def _stretch(stretch: Stretch) -> models.Stretch:
    return models.Stretch(
        times=stretch.times.round(6).tolist(),
        values=stretch.values.round(6).tolist(),
        end=round(stretch.end, 6),
    )


def _axis(seconds: Seconds, step: float) -> models.Axis:
    half = float(np.median(np.diff(seconds))) / 2 if len(seconds) > 1 else step / 2
    return models.Axis(start=float(seconds[0]) - half, end=float(seconds[-1]) + half, count=len(seconds))
