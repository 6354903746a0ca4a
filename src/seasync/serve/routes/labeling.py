"""Labeling a collection: marks of a few clips carried to all others."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from seasync.errors import ServeError
from seasync.serve import models
from seasync.serve.carried_marks import carried_csv, still_carried, usable_marks
from seasync.serve.routes import BackendDep, SeaDep

router = APIRouter(prefix="/seas/{sea}", tags=["labeling"])
CSV: dict[int | str, dict[str, object]] = {200: {"content": {"text/csv": {}}}}


@router.post("/carry", status_code=202)
def carry_marks(sea: SeaDep, backend: BackendDep, request: models.LabelingRequest) -> models.Job:
    """Carry the marks of the labeled clips to all other clips of the sea, in the background.

    `carried` then lists the clips. Set the marks of a doubtful clip right, and carry again: it counts as
    labeled and improves the rest.
    """
    sea.expect_clips()
    marks = usable_marks(sea, request.marks)
    if not marks:
        raise ServeError("no clip of this sea has marks; mark at least one", status=409)
    title = "Carry marks of 1 clip" if len(marks) == 1 else f"Carry marks of {len(marks)} clips"
    asked = request.model_copy(update={"marks": marks})
    return backend.jobs.submit("carry", sea.name, asked.model_dump(), title=title)


@router.get("/carried")
def list_carried(
    sea: SeaDep,
    backend: BackendDep,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> models.CarriedPage:
    """The clips that marks were carried to, the most doubtful first; none before the first `carry`."""
    found = backend.carried.get(sea.name)
    rows = still_carried(sea, found)
    shown = rows[offset : offset + limit]
    ids = ", ".join(f"'{row.clip}'" for row in shown)
    known = backend.library.clip_models(sea, f"id IN ({ids})", offset=0, limit=limit) if ids else []
    clips = {clip.id: clip for clip in known}
    return models.CarriedPage(
        labeled=found.labeled,
        total=len(rows),
        doubtful=sum(not row.sure for row in rows),
        outdated=found.marks != usable_marks(sea, None),
        label=found.label,
        tolerance=found.tolerance,
        offset=offset,
        clips=[
            models.CarriedClip(
                clip=clips[row.clip],
                confidence=row.confidence,
                sure=row.sure,
                sources=row.sources,
                marks=row.marks,
            )
            for row in shown
        ],
    )


@router.get("/carried.csv", response_class=Response, responses=CSV)
def get_carried_table(sea: SeaDep, backend: BackendDep) -> Response:
    """All marks, set by people or carried with their confidence, as `seasync transfer` writes them."""
    text = carried_csv(sea, backend.carried.get(sea.name))
    name = {"Content-Disposition": 'attachment; filename="marks.csv"'}
    return Response(text, media_type="text/csv", headers=name)
