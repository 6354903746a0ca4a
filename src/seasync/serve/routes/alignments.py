"""Alignments, and what is made of them: all from the request alone, so any server of the sea can answer."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from seasync.errors import ServeError
from seasync.options import TimelineFormat
from seasync.serve import models, work
from seasync.serve.core import Core
from seasync.serve.marks import moments_csv
from seasync.serve.routes import Insides, Sea

if TYPE_CHECKING:
    from seasync.align import Alignment
    from seasync.align.warp import Stretch
    from seasync.encoding import Floats, Seconds

router = APIRouter(prefix="/seas/{sea}/alignment", tags=["alignment"])
Asked = Annotated[models.AlignmentRequest, Query()]
KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "otio": "application/json",
    "fcpxml": "application/xml",
    "edl": "text/plain",
    "mlt": "application/zip",
    "xml": "application/xml",
}


@router.get("")
def alignment(sea: Sea, core: Insides, asked: Asked) -> models.Alignment:
    """Which moment goes with which, how well, and the warps both ways."""
    solved = core.solve(sea, asked)
    known = solved.to_json()
    return models.Alignment(
        request=asked,
        draq=solved.draq,
        dtw_cost=solved.dtw_cost,
        random_cost=solved.random_cost,
        threshold=solved.recipe.threshold,
        alignable=solved.alignable,
        verdict=solved.verdict,
        coverage=known["coverage"],
        pieces=known["pieces"],
        path=known["path"],
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


@router.get("/cost.png", response_class=Response, responses={200: {"content": {"image/png": {}}}})
def cost_picture(sea: Sea, core: Insides, asked: Asked) -> Response:
    """The cost matrix, a pixel for each pair: the query's time to the right, the match's upwards."""
    from PIL import Image

    from seasync.render.picture import heat

    data = io.BytesIO()
    Image.fromarray(heat(_cost(core.solve(sea, asked)))).save(data, "PNG")
    return Response(data.getvalue(), media_type="image/png")


@router.get(
    "/cost.npy", response_class=Response, responses={200: {"content": {"application/octet-stream": {}}}}
)
def cost_array(sea: Sea, core: Insides, asked: Asked) -> Response:
    """The cost matrix as NumPy's `.npy`: float32 (query samples, match samples)."""
    data = io.BytesIO()
    np.save(data, _cost(core.solve(sea, asked)), allow_pickle=False)
    return Response(data.getvalue(), media_type="application/octet-stream")


@router.get("/picture.png", response_class=FileResponse, responses={200: {"content": {"image/png": {}}}})
def picture(sea: Sea, core: Insides, asked: Asked) -> FileResponse:
    """The whole alignment in one picture: matrix, path, frames in step."""
    solve, folder = core.to_solve(sea, asked), Path(tempfile.mkdtemp(dir=core.state.folder))
    file = folder / f"{_title(solve)}.png"
    return _made(core, folder, [file], work.picture, sea.at, solve, str(file))


@router.get(
    "/timeline.{form}",
    response_class=FileResponse,
    responses={200: {"content": {kind: {} for kind in sorted(set(KINDS.values()))}}},
)
def timeline(
    sea: Sea, core: Insides, form: TimelineFormat, asked: Annotated[models.TimelineRequest, Query()]
) -> FileResponse:
    """A timeline for an editing program, or the frame map as CSV or JSON. MLT comes zipped with its sound."""
    solve, folder = core.to_solve(sea, asked), Path(tempfile.mkdtemp(dir=core.state.folder))
    name = f"{_title(solve)}.{form}"
    return _made(
        core, folder, [folder / name], work.timeline, sea.at, solve, asked.keep, name, str(folder), kind=form
    )


@router.get("/marks.csv", response_class=FileResponse, responses={200: {"content": {"text/csv": {}}}})
def marks(sea: Sea, core: Insides, asked: Annotated[models.CarryRequest, Query()]) -> FileResponse:
    """The marks of one video carried over to the other."""
    solve, folder = core.to_solve(sea, asked), Path(tempfile.mkdtemp(dir=core.state.folder))
    source = asked.match if asked.to == "query" else asked.query
    labels, file = folder / "labels.csv", folder / f"{_title(solve)} marks.csv"
    labels.write_text(moments_csv(sea, source), encoding="utf-8")
    return _made(
        core, folder, [file], work.carried, sea.at, solve, str(labels), asked.to, str(file), kind="csv"
    )


@router.post("/film", status_code=202)
def film(sea: Sea, core: Insides, asked: models.FilmRequest) -> models.Job:
    """Make a film in the background; it is at `GET /api/v1/jobs/ID/result` when it is done."""
    solve = core.to_solve(sea, asked.alignment)
    return core.jobs.submit("film", core.name_of(sea), asked.model_dump(), title=f"Film {_title(solve)}")


def _made(
    core: Core, folder: Path, files: list[Path], function: object, *args: object, kind: str = ""
) -> FileResponse:
    """Have a lane make a file in a folder of its own, which is gone once the file is sent."""
    try:
        written = core.look.run(function, *args, seconds=core.limits.look_seconds)  # type: ignore[arg-type]
        file = files[0]
        if kind == "mlt":
            file = file.with_suffix(".zip")
            with zipfile.ZipFile(file, "w") as packed:
                for one in written:
                    packed.write(one, Path(one).name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return FileResponse(
        file,
        media_type=KINDS.get(kind, "image/png"),
        filename=file.name,
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )


def _title(solve: work.Solve) -> str:
    return f"{Path(solve.match.file).stem} in step with {Path(solve.query.file).stem}"


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
