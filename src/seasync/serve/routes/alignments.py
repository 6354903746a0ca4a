"""Alignments and what is made from them, bodies over synced time, and comparisons that people keep.

The request for an alignment says all that it depends on: there is nothing to store.
"""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse
from starlette.concurrency import run_in_threadpool

from seasync.alignment import Alignment, warp
from seasync.alignment.spans import Span
from seasync.encoding import Floats, Seconds
from seasync.errors import ServeError
from seasync.forms import RepetitionsForm
from seasync.group.repeated import RepeatedMovement
from seasync.options import Side, TimelineFormat, values
from seasync.repetitions import find_movements
from seasync.serve import comparison_file, mark_tables, models, routes, tasks
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, IdPath, SeaDep

alignments = APIRouter(prefix="/seas/{sea}/alignment", tags=["alignment"])
repetitions = APIRouter(prefix="/seas/{sea}/repetitions", tags=["alignment"])
comparisons = APIRouter(prefix="/comparisons", tags=["comparisons"])
RequestQuery = Annotated[models.AlignmentRequest, Query()]
TIMELINE_TYPES = sorted(
    {"application/zip", *(routes.MEDIA_TYPES[f".{form}"] for form in values(TimelineFormat) if form != "mlt")}
)
COMPARISON_TYPE = "application/vnd.seasync+zip"


@alignments.get("")
def get_alignment(
    sea: SeaDep, backend: BackendDep, request: Annotated[models.AlignmentQuery, Query()]
) -> models.ServedAlignment:
    """Align two videos: which moments correspond, how well, and the maps of time in both directions."""
    solved, detail = backend.solver.solve_soon(sea, request)
    return models.ServedAlignment(
        **vars(solved.form()),
        request=models.AlignmentRequest(**request.model_dump(exclude={"detail"})),
        detail=detail,
        warps={side: [_stretch(one) for one in solved.warp(keep=side).stretches] for side in models.SIDES},
        axes={
            "query": _axis(solved.query_seconds, solved.query_step),
            "match": _axis(solved.match_seconds, solved.match_step),
        },
        has_cost=solved.cost is not None,
    )


@alignments.get("/cost.png", response_class=Response, responses=routes.announce("image/png"))
def get_cost_picture(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> Response:
    """The cost matrix as a picture, one pixel per cell: the query to the right, the match upward."""
    from PIL import Image

    from seasync.render.picture import heat

    data = io.BytesIO()
    Image.fromarray(heat(_cost(backend.solver.solve(sea, request)))).save(data, "PNG")
    return Response(data.getvalue(), media_type="image/png")


@alignments.get("/cost.npy", response_class=Response, responses=routes.announce("application/octet-stream"))
def get_cost_array(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> Response:
    """The cost matrix as a NumPy file: float32, query samples by match samples."""
    data = io.BytesIO()
    np.save(data, _cost(backend.solver.solve(sea, request)), allow_pickle=False)
    return Response(data.getvalue(), media_type="application/octet-stream")


@alignments.get("/picture.png", response_class=FileResponse, responses=routes.announce("image/png"))
def get_picture(sea: SeaDep, backend: BackendDep, request: RequestQuery) -> FileResponse:
    """The alignment in one picture: matrix, path, and frames that correspond."""
    alignment = backend.solver.solve_for_files(sea, request, cost=True)

    def make(folder: Path) -> Path:
        file = folder / f"{_title(alignment)}.png"
        _run(backend, tasks.picture, alignment, str(file))
        return file

    return routes.send_made(backend, make)


@alignments.get("/timeline.{form}", response_class=FileResponse, responses=routes.announce(*TIMELINE_TYPES))
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

    return routes.send_made(backend, make)


@alignments.get("/marks.csv", response_class=FileResponse, responses=routes.announce("text/csv"))
def get_carried_marks(
    sea: SeaDep, backend: BackendDep, request: Annotated[models.CarryRequest, Query()]
) -> FileResponse:
    """The marks of one video, carried over to the other."""
    alignment = backend.solver.solve_for_files(sea, request)
    source = mark_tables.moments_csv(sea, request.match if request.to == "query" else request.query)

    def make(folder: Path) -> Path:
        labels, file = folder / "labels.csv", folder / f"{_title(alignment)} marks.csv"
        labels.write_text(source, encoding="utf-8")
        _run(backend, tasks.carried_marks, alignment, str(labels), request.to, str(file))
        return file

    return routes.send_made(backend, make)


@alignments.post("/film", status_code=202)
def make_film(sea: SeaDep, backend: BackendDep, request: models.FilmRequest) -> models.JobForm:
    """Make a film in the background. `GET /api/v1/jobs/ID/result` gives it when the job is done."""
    title, asked = backend.solver.title(sea, request.alignment), request.model_dump(exclude={"ahead"})
    if not request.ahead:
        return backend.jobs.submit("film", sea.name, asked, title=f"Film {title}")
    made = backend.film_place(asked).exists()
    return backend.jobs.submit("ahead", sea.name, asked, title=f"Film {title}", again=not made)


@alignments.post("/grid", status_code=202)
def make_grid_film(sea: SeaDep, backend: BackendDep, request: models.GridRequest) -> models.JobForm:
    """Make a film of a leader and up to eight followers in a grid, in the background."""
    title = f"{Path(backend.library.opened(sea, models.SpanForm(ref=request.leader)).file).stem} in a grid"
    return backend.jobs.submit("grid", sea.name, request.model_dump(), title=f"Film {title}")


def _run(backend: Backend, function: Callable[..., Any], *args: object) -> Any:
    return backend.inspector.run(function, *args, seconds=backend.limits.inspect_seconds)


def _title(alignment: Alignment) -> str:
    assert alignment.query
    assert alignment.match
    return f"{Path(alignment.match.file).stem} in step with {Path(alignment.query.file).stem}"


def _cost(solved: Alignment) -> Floats:
    if solved.cost is None:
        raise ServeError("the cost matrix is too large to be kept; choose shorter spans", status=422)
    return solved.cost


def _stretch(stretch: warp.Stretch) -> models.StretchForm:
    return models.StretchForm(
        times=stretch.times.round(6).tolist(),
        values=stretch.values.round(6).tolist(),
        end=round(stretch.end, 6),
    )


def _axis(seconds: Seconds, step: float) -> models.Axis:
    half = float(np.median(np.diff(seconds))) / 2 if len(seconds) > 1 else step / 2
    return models.Axis(start=float(seconds[0]) - half, end=float(seconds[-1]) + half, count=len(seconds))


# Repetitions.


@repetitions.get("")
def get_repetitions(
    sea: SeaDep, backend: BackendDep, request: Annotated[models.RepetitionsQuery, Query()]
) -> list[RepetitionsForm]:
    """The movements that a video repeats, with every repetition of each; empty if nothing repeats."""
    snapshot = sea.latest()
    clip = backend.library.clip(sea, request, snapshot)
    film = sea.query(clip, snapshot=snapshot)
    template = None
    if request.like_start is not None and request.like_end is not None:
        template = Span(request.like_start, request.like_end)
        if not clip.start <= template.start < template.end <= film.end:
            raise ServeError(
                f"like_start, like_end: expected a stretch within {clip.start:g}–{film.end:g} s", status=422
            )
    movements = find_movements(film.encoding, template=template)
    return [RepeatedMovement(clip, movement, film.encoding, film.end).form() for movement in movements]


# Comparisons.


@comparisons.get("")
def list_comparisons(backend: BackendDep) -> list[models.Comparison]:
    """All comparisons, the most recently changed first."""
    return backend.comparisons.all()


@comparisons.post("", status_code=201)
def keep_comparison(backend: BackendDep, request: models.ComparisonRequest) -> models.Comparison:
    """Keep two videos as a comparison, or several as a grid.

    It needs no sea: uploads are compared in the sea called `-`.
    """
    videos = _names(backend, request.sea, request.alignment)
    return backend.comparisons.add(
        request.sea, request.alignment, videos, name=request.name, grid=request.grid
    )


def _names(backend: Backend, sea: str, alignment: models.AlignmentRequest) -> dict[Side, str]:
    """The names of the files of query and match, which must be there."""
    opened = backend.sea(sea)
    query, match = (Path(backend.library.opened(opened, span).file).name for span in alignment.spans)
    return {"query": query, "match": match}


@comparisons.post("/file", status_code=201, openapi_extra=routes.RAW_BODY)
async def open_comparison_file(request: Request, backend: BackendDep) -> models.Comparison:
    """Open a `.seasync` file, sent as the body of the request."""
    async with backend.uploads.received(routes.length_of(request), request.stream()) as file:
        return await run_in_threadpool(comparison_file.load, backend, file)


@comparisons.get("/{comparison}")
def get_comparison(backend: BackendDep, comparison: IdPath) -> models.Comparison:
    """One comparison."""
    return backend.comparisons.get(comparison)


@comparisons.patch("/{comparison}")
def change_comparison(
    backend: BackendDep, comparison: IdPath, change: models.ComparisonUpdate
) -> models.Comparison:
    """Rename a comparison, or change its alignment."""
    videos = None
    if change.alignment is not None:
        videos = _names(backend, backend.comparisons.get(comparison).sea, change.alignment)
    return backend.comparisons.update(comparison, name=change.name, alignment=change.alignment, videos=videos)


@comparisons.delete("/{comparison}", status_code=204)
def delete_comparison(backend: BackendDep, comparison: IdPath) -> Response:
    """Forget a comparison. Its uploads expire like others from now on."""
    backend.comparisons.remove(comparison)
    return Response(status_code=204)


@comparisons.get(
    "/{comparison}/file", response_class=FileResponse, responses=routes.announce(COMPARISON_TYPE)
)
def save_comparison_file(
    backend: BackendDep,
    comparison: IdPath,
    embed: Annotated[bool, Query(description="Whether the file includes the videos.")] = True,
) -> FileResponse:
    """A comparison as one `.seasync` file, with anchors and marks, to open on another machine."""
    found = backend.comparisons.get(comparison)
    if found.grid:
        raise ServeError("a grid cannot be saved as a file; save the pairs that you open from it", status=409)
    name = re.sub(r"[^\w .()+-]+", "_", found.name).strip(" .")[:80] or "comparison"

    def make(folder: Path) -> Path:
        file = folder / f"{name}.seasync"
        comparison_file.save(backend, found, file, embed=embed)
        return file

    return routes.send_made(backend, make, COMPARISON_TYPE)
