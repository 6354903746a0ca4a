"""Anchors and marks that people set, marks carried from them to a whole sea, and the timing they tell of."""

from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from seasync.errors import ServeError
from seasync.group.timing import Report, compare_timing, report_csv
from seasync.options import MarkKind, Side
from seasync.serve import mark_tables as tables, models, routes, served_sea
from seasync.serve.backend import Backend
from seasync.serve.routes import BackendDep, RefPath, SeaDep

report = APIRouter(prefix="/seas/{sea}/alignment", tags=["report"])
marks = APIRouter(prefix="/seas/{sea}", tags=["marks"])
labeling = APIRouter(prefix="/seas/{sea}", tags=["labeling"])
ReportQuery = Annotated[models.ReportRequest, Query()]
CSV = routes.announce("text/csv")


@report.get("/report")
def get_report(sea: SeaDep, backend: BackendDep, request: ReportQuery) -> Report:
    """How the timing of two videos differs: moments, phases and tempo, in words and numbers.

    Marks of either video are used; a mark that only one has is carried over to the other.
    """
    return _report(backend, sea, request)


@report.get("/report.csv", response_class=Response, responses=CSV)
def get_report_table(sea: SeaDep, backend: BackendDep, request: ReportQuery) -> Response:
    """The compare report as a table."""
    return routes.send_table(report_csv(_report(backend, sea, request)), "report")


def _report(backend: Backend, sea: served_sea.ServedSea, request: models.ReportRequest) -> Report:
    alignment = backend.solver.solve(sea, request)
    refs: dict[Side, str] = {"query": request.query, "match": request.match}
    clips = {"query": alignment.query, "match": alignment.match}
    names: dict[Side, str] = {side: Path(clip.file).name if (clip := clips[side]) else side for side in refs}
    if names["query"] == names["match"]:
        names = {"query": "The query", "match": "The match"}
    found = {side: tables.read_forms(tables.marks_of(sea, refs[side])) for side in refs}
    return compare_timing(alignment, found, names, since=request.since)


@marks.get("/anchors/{query}/{match}")
def get_anchors(sea: SeaDep, query: RefPath, match: RefPath) -> models.Anchors:
    """The anchors between two videos."""
    found = sea.annotations.get(f"anchors/{query}/{match}") or []
    return models.Anchors(query=query, match=match, anchors=found)


@marks.put("/anchors/{query}/{match}")
def set_anchors(sea: SeaDep, query: RefPath, match: RefPath, anchors: list[models.Anchor]) -> models.Anchors:
    """Replace all anchors between two videos. An empty list removes them."""
    kept = models.Anchors(query=query, match=match, anchors=sorted(anchors, key=lambda one: one.query))
    sea.annotations.put(f"anchors/{query}/{match}", [one.model_dump() for one in kept.anchors] or None)
    return kept


@marks.get("/marks")
def list_marks(sea: SeaDep) -> list[models.Marks]:
    """The marks of every marked video."""
    return tables.all_marks(sea)


@marks.get("/marks.csv", response_class=Response, responses=CSV)
def get_marks_table(
    sea: SeaDep, form: Annotated[Literal["events", "phases"], Query()] = "events"
) -> Response:
    """All marks as `seasync evaluate` reads them: events.csv (clips with all key moments) or phases.csv."""
    text = tables.events_csv(sea) if form == "events" else tables.phases_csv(sea)
    return routes.send_table(text, form)


@marks.get("/mark-names")
def get_mark_names(sea: SeaDep) -> dict[MarkKind, list[str]]:
    """The names in use, in the order in which they usually come."""
    return tables.names_in_use(sea)


@marks.get("/marks/{ref}")
def get_marks(sea: SeaDep, ref: RefPath) -> models.Marks:
    """The marks of one video."""
    return models.Marks(ref=ref, marks=tables.marks_of(sea, ref))


@marks.put("/marks/{ref}")
def set_marks(sea: SeaDep, ref: RefPath, marks: list[models.MarkForm]) -> models.Marks:
    """Replace all marks of a video. An empty list removes them."""
    kept = models.Marks(ref=ref, marks=sorted(marks, key=lambda mark: mark.frame))
    sea.annotations.put(f"marks/{ref}", kept.model_dump() if marks else None)
    return kept


@labeling.post("/carry", status_code=202)
def carry_marks(sea: SeaDep, backend: BackendDep, request: models.LabelingRequest) -> models.JobForm:
    """Carry the marks of the labeled clips to all other clips of the sea, in the background.

    `carried` then lists the clips. Set the marks of a doubtful clip right, and carry again: it counts as
    labeled and improves the rest.
    """
    sea.expect_clips()
    marks = tables.usable_marks(sea, request.marks)
    if not marks:
        raise ServeError("no clip of this sea has marks; mark at least one", status=409)
    title = "Carry marks of 1 clip" if len(marks) == 1 else f"Carry marks of {len(marks)} clips"
    asked = request.model_copy(update={"marks": marks})
    return backend.jobs.submit("carry", sea.name, asked.model_dump(), title=title)


@labeling.get("/carried")
def list_carried(
    sea: SeaDep,
    backend: BackendDep,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
) -> models.CarriedPage:
    """The clips that marks were carried to, the most doubtful first; none before the first `carry`."""
    found = backend.carried.get(sea.name)
    rows = tables.still_carried(sea, found)
    shown = rows[offset : offset + limit]
    ids = ", ".join(f"'{row.clip}'" for row in shown)
    known = backend.library.clip_models(sea, f"id IN ({ids})", offset=0, limit=limit) if ids else []
    clips = {clip.id: clip for clip in known}
    return models.CarriedPage(
        labeled=found.labeled,
        total=len(rows),
        doubtful=sum(not row.sure for row in rows),
        outdated=found.marks != tables.usable_marks(sea, None),
        label=found.label,
        tolerance=found.tolerance,
        offset=offset,
        clips=[_shown(row, clips[row.clip]) for row in shown],
    )


def _shown(row: tables.CarriedRow, clip: models.ServedClip) -> models.CarriedClip:
    judged = {"confidence": row.confidence, "sure": row.sure}
    return models.CarriedClip(**vars(row) | judged | {"clip": clip})


@labeling.get("/carried.csv", response_class=Response, responses=CSV)
def get_carried_table(sea: SeaDep, backend: BackendDep) -> Response:
    """All marks, set by people or carried with their confidence, as `seasync transfer` writes them."""
    return routes.send_table(tables.carried_csv(sea, backend.carried.get(sea.name)), "marks")
